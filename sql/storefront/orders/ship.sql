-- Orders that a shop delivers itself.

-- The delivery that still brings an order, of several the first; null: none does.
create or replace function storefront.order_open_delivery(o storefront.storefront_orders) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (
    select d.id from delivery.deliveries d
    where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status not in ('delivered', 'returned', 'cancelled')
    order by d.delivery_code limit 1);
end $$;

-- Marks a confirmed order as shipped by the shop itself: the picked goods leave the stock. {order_id, note?} -> the order
-- Fails: order_not_found, invalid_status_transition, order_has_delivery, goods_not_picked.
create or replace function storefront.order_ship(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
begin
  if o.status not in ('confirmed', 'approved') then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'shipped'));
  elsif storefront.order_open_delivery(o) is not null then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', storefront.order_open_delivery(o)));
  end if;
  perform storefront.order_ship_own(o.id, input ->> 'note');
  return storefront.order_get(input);
end $$;

-- Ends an order that the shop delivered itself; cash on delivery counts as paid.
-- {order_id, note?} -> the order. Fails: order_not_found, invalid_status_transition, order_has_delivery.
create or replace function storefront.order_deliver(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_delivery uuid;
begin
  if o.status <> 'shipped' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'delivered'));
  end if;
  -- Goods that one of our deliveries took out are with the customer when that delivery is delivered, or came back.
  select p.delivery_id into v_delivery from storefront.storefront_order_parts p
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and p.delivery_id is not null order by p.position limit 1;
  if found then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', v_delivery));
  end if;
  perform storefront.order_deliver_own(o.id, input ->> 'note');
  perform storefront.orders_settle();
  return storefront.order_get(input);
end $$;

-- The two moves an administrator makes by hand; the order is locked and its status was looked at.
create or replace function storefront.order_ship_own(p_order uuid, p_note text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  o storefront.storefront_orders;
begin
  select * into strict o from storefront.storefront_orders x
  where x.tenant_id = app.tenant_id() and x.id = p_order and app.has_permission('manage:tenant');
  perform from warehousing.picking_orders k where k.tenant_id = o.tenant_id and k.order_id = o.id order by k.id for no key update;
  -- A cancelled delivery brings nothing of it.
  update storefront.storefront_order_parts p set delivery_id = null
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null;
  perform storefront.order_part_leaves(p, false) from storefront.storefront_order_parts p
  where p.tenant_id = o.tenant_id and p.order_id = o.id;
  perform storefront.order_shipped(o, p_note);
end $$;

-- See order_ship_own().
create or replace function storefront.order_deliver_own(p_order uuid, p_note text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform storefront.order_delivered(o, false, p_note) from storefront.storefront_orders o
  where o.tenant_id = app.tenant_id() and o.id = p_order and app.has_permission('manage:tenant');
end $$;
grant execute on function storefront.order_ship_own(uuid, text), storefront.order_deliver_own(uuid, text) to barid_caller;
