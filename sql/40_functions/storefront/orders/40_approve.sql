-- The shop's part in an order: it promises the goods and sends them.

-- Holds an order of the caller's tenant. Fails: order_not_found.
create or replace function storefront.order_hold(order_id uuid) returns storefront.storefront_orders
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = order_hold.order_id for no key update;
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  return o;
end $$;

-- What of an order is kept in stock: [{item_id, quantity}].
create or replace function storefront.order_stock_lines(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item_id', l.item_id, 'quantity', l.quantity, 'field', 'order_id') order by l.item_id), '[]')
    from (
      select i.inventory_item_id as item_id, sum(i.quantity) as quantity from storefront.storefront_order_items i
      where i.tenant_id = o.tenant_id and i.order_id = o.id and i.inventory_item_id is not null group by 1
    ) l);
end $$;

-- Makes the delivery of an order: from the warehouse that holds its goods to the address of the order, at the fee the
-- customer was told. Cash on delivery is the whole total: goods and fee. -> the delivery's id
-- Fails: staging_warehouse_required (no warehouse to send from), what delivery_create fails with.
create or replace function storefront.order_dispatch(o storefront.storefront_orders, warehouse uuid) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_to uuid;
  v_place jsonb := o.shipping_address;
  v_from uuid;
  v_supply jsonb;
  v_lines jsonb;
begin
  select jsonb_agg(jsonb_build_object('inventory_item_id', i.inventory_item_id, 'quantity', i.quantity)) into v_lines
  from storefront.storefront_order_items i where i.tenant_id = o.tenant_id and i.order_id = o.id;
  v_supply := private.order_supply(v_lines);
  select w.address_id into v_from from warehousing.warehouses w
  where w.tenant_id = o.tenant_id and w.id = coalesce(warehouse, (v_supply ->> 'warehouse_id')::uuid);
  if v_from is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  insert into delivery.addresses (tenant_id, title, full_address, city, country, latitude, longitude, contact_info, owner_user_id, in_address_book)
  values (o.tenant_id, jsonb_build_object('en', o.order_number), v_place ->> 'full_address', v_place ->> 'city', v_place ->> 'country',
    (v_place ->> 'latitude')::double precision, (v_place ->> 'longitude')::double precision, coalesce(v_place -> 'contact_info', '{}'),
    o.user_id, false)
  returning id into v_to;
  return (delivery.delivery_create(storefront.order_trip(o.delivery_service_id::text, v_supply, v_place) - '{pickup,dropoff}'::text[]
    || jsonb_build_object('order_id', o.id, 'delivery_fee', o.shipping_cost, 'customer_id', o.user_id, 'payer_type', 'sender',
      'payment_method', 'wallet', 'cod_amount', case when o.payment_method = 'cash_on_delivery' then o.total_price else 0 end,
      'pickup_address_id', v_from, 'dropoff_address_id', v_to, 'external_reference_id', o.order_number, 'notes', o.customer_notes,
      'promised_at', o.estimated_delivery, 'recipient', jsonb_strip_nulls(jsonb_build_object('phone', v_place #>> '{contact_info,phone}',
        'name', (select p.full_name from tenancy.profiles p where p.id = o.user_id))))) ->> 'id')::uuid;
end $$;

-- Approves an order: its goods are set aside, and where the market says so its delivery is made. Wallets and gateways
-- must have paid; cash is paid at the door. Stock is locked before the delivery is numbered: the delivery leaves from
-- where the goods were found, and nobody takes stock after a delivery's number.
-- {order_id, admin_notes?, estimated_delivery_date?} -> {order, inventory_reserved, delivery_assigned}
-- Fails: order_not_found, order_not_pending, order_not_paid, insufficient_stock, what order_dispatch fails with.
create or replace function storefront.order_approve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.order_hold((input ->> 'order_id')::uuid);
  v_lines jsonb;
  v_reserved jsonb := '[]';
  v_delivery uuid;
begin
  if o.status not in ('pending', 'awaiting_approval') then
    perform app.fail('order_not_pending', jsonb_build_object('status', o.status));
  elsif o.payment_method <> 'cash_on_delivery' and o.payment_status <> 'paid' then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  end if;
  v_lines := storefront.order_stock_lines(o);
  if v_lines <> '[]' then
    v_reserved := warehousing.stock_reserve('order', o.id, v_lines);
  end if;
  o.estimated_delivery := coalesce(app.day_start(input ->> 'estimated_delivery_date'), o.estimated_delivery);
  if (select app.boolean_or(m.settings -> 'auto_create_delivery', false) from storefront.markets m
      where m.tenant_id = o.tenant_id and m.id = o.market_id) then
    v_delivery := storefront.order_dispatch(o, (
      select r.warehouse_id from jsonb_to_recordset(v_reserved) as r (warehouse_id uuid, quantity bigint)
      group by 1 order by sum(r.quantity) desc, 1 limit 1));
  end if;
  update storefront.storefront_orders x set status = 'confirmed', approved_at = now(), approved_by = app.user_id(),
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = input ->> 'admin_notes',
    estimated_delivery = o.estimated_delivery, delivery_id = v_delivery
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  return jsonb_build_object('order', storefront.order_for_admin(o), 'inventory_reserved', v_reserved <> '[]',
    'delivery_assigned', jsonb_build_object('delivery_id', v_delivery,
      'driver_assigned', coalesce((storefront.order_assignment(o) ->> 'driver_assigned')::boolean, false),
      'tracking_number', storefront.order_assignment(o) ->> 'tracking_number'));
end $$;

-- Sends a confirmed order by the shop's own means: what was set aside leaves. {order_id, note?} -> the order
-- Fails: order_not_found, invalid_status_transition.
create or replace function storefront.order_ship(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.order_hold((input ->> 'order_id')::uuid);
begin
  if o.status not in ('confirmed', 'approved') then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'shipped'));
  end if;
  perform private.order_ship_own(o.id, input ->> 'note');
  return storefront.order_get(input);
end $$;

-- Ends a shipped order by hand; cash for it is taken as paid. A delivery under way ends it itself.
-- {order_id, note?} -> the order. Fails: order_not_found, invalid_status_transition, order_has_delivery.
create or replace function storefront.order_deliver(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.order_hold((input ->> 'order_id')::uuid);
begin
  if o.status <> 'shipped' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'delivered'));
  elsif exists (select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.id = o.delivery_id
      and d.status not in ('cancelled', 'returned')) then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', o.delivery_id));
  end if;
  perform private.order_deliver_own(o.id, input ->> 'note');
  return storefront.order_get(input);
end $$;

-- The two moves an administrator makes by hand; his order is locked and its status was looked at.
create or replace function private.order_ship_own(p_order uuid, p_note text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform private.order_shipped(o, p_note) from storefront.storefront_orders o
  where o.tenant_id = app.tenant_id() and o.id = p_order and app.has_permission('manage:tenant');
end $$;

-- See order_ship_own().
create or replace function private.order_deliver_own(p_order uuid, p_note text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform private.order_delivered(o, false, p_note) from storefront.storefront_orders o
  where o.tenant_id = app.tenant_id() and o.id = p_order and app.has_permission('manage:tenant');
end $$;
grant execute on function private.order_ship_own(uuid, text), private.order_deliver_own(uuid, text) to barid_caller;
