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

-- What an order takes out of stock, an entry for each item: [{inventory_item_id, quantity}]; null is what is not kept there.
create or replace function storefront.order_goods(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('inventory_item_id', g.item_id, 'quantity', g.quantity) order by g.item_id), '[]')
    from (
      select i.inventory_item_id as item_id, sum(i.quantity) as quantity from storefront.storefront_order_items i
      where i.tenant_id = o.tenant_id and i.order_id = o.id group by 1
    ) g);
end $$;

-- Writes down where an order goes, as an address of its own. -> its id
create or replace function storefront.order_dropoff(o storefront.storefront_orders) returns uuid
language plpgsql set search_path = '' as $$
declare
  v_place jsonb := o.shipping_address;
  v_id uuid;
begin
  insert into delivery.addresses (tenant_id, title, full_address, city, country, latitude, longitude, contact_info, owner_user_id, in_address_book)
  values (o.tenant_id, jsonb_build_object('en', o.order_number), v_place ->> 'full_address', v_place ->> 'city', v_place ->> 'country',
    (v_place ->> 'latitude')::double precision, (v_place ->> 'longitude')::double precision, coalesce(v_place -> 'contact_info', '{}'),
    o.user_id, false)
  returning id into v_id;
  return v_id;
end $$;

-- The terms of the delivery of an order: from a warehouse to the address of the order, at the fee the customer was told.
-- Cash on delivery is the whole total: goods and fee. -> the delivery, not written
-- Fails: staging_warehouse_required (no warehouse to send from), what delivery_terms fails with.
create or replace function storefront.order_delivery_terms(o storefront.storefront_orders, supply jsonb, warehouse uuid, dropoff uuid)
returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  v_place jsonb := o.shipping_address;
  v_from uuid := (select w.address_id from warehousing.warehouses w where w.tenant_id = o.tenant_id and w.id = warehouse);
begin
  if v_from is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  return delivery.delivery_terms(storefront.order_trip(o.delivery_service_id::text, supply, v_place) - '{pickup,dropoff}'::text[]
    || jsonb_build_object('order_id', o.id, 'delivery_fee', o.shipping_cost, 'customer_id', o.user_id, 'payer_type', 'sender',
      'payment_method', 'wallet', 'cod_amount', case when o.payment_method = 'cash_on_delivery' then o.total_price else 0 end,
      'pickup_address_id', v_from, 'dropoff_address_id', dropoff, 'external_reference_id', o.order_number, 'notes', o.customer_notes,
      'promised_at', o.estimated_delivery, 'recipient', jsonb_strip_nulls(jsonb_build_object('phone', v_place #>> '{contact_info,phone}',
        'name', (select p.full_name from tenancy.profiles p where p.id = o.user_id)))));
end $$;

-- Approves an order: its goods are set aside, and where the market says so its delivery is made. Wallets and gateways
-- must have paid, and nothing of it may be given back; cash is paid at the door. What others want as well is locked last and for as short as can be: when
-- too little is there it fails before anything is made, and what needs no lock is worked out before. Stock is locked
-- before the delivery is numbered: the delivery leaves from where the goods were found, and nobody takes stock after a
-- delivery's number.
-- {order_id, admin_notes?, estimated_delivery_date?} -> {order, inventory_reserved, delivery_assigned}
-- Fails: order_not_found, order_not_pending, order_not_paid, insufficient_stock, what order_delivery_terms and
-- delivery_write fail with.
create or replace function storefront.order_approve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.order_hold((input ->> 'order_id')::uuid);
  v_goods jsonb;
  v_supply jsonb;
  v_lines jsonb;
  v_reserved jsonb := '[]';
  v_sends boolean;
  v_guess uuid;
  v_warehouse uuid;
  v_dropoff uuid;
  d delivery.deliveries;
  v_agreed jsonb;
  v_answer jsonb;
begin
  if o.status not in ('pending', 'awaiting_approval') then
    perform app.fail('order_not_pending', jsonb_build_object('status', o.status));
  elsif o.payment_method <> 'cash_on_delivery' and (o.payment_status <> 'paid' or private.order_refundable(o) < o.total_price) then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  end if;
  v_goods := storefront.order_goods(o);
  v_supply := private.order_supply(v_goods);
  if v_supply ->> 'short' is not null then
    perform app.fail('insufficient_stock', jsonb_build_object('field', 'order_id', 'item_id', v_supply -> 'short'));
  end if;
  o.estimated_delivery := coalesce(app.day_start(input ->> 'estimated_delivery_date'), o.estimated_delivery);
  v_sends := (select app.boolean_or(m.settings -> 'auto_create_delivery', false) from storefront.markets m
    where m.tenant_id = o.tenant_id and m.id = o.market_id);
  v_guess := (v_supply ->> 'warehouse_id')::uuid;
  if v_sends then
    v_dropoff := storefront.order_dropoff(o);
    if v_guess is not null then
      d := storefront.order_delivery_terms(o, v_supply, v_guess, v_dropoff);
    end if;
  end if;
  v_agreed := storefront.order_agreed(o);

  v_lines := (select jsonb_agg(jsonb_build_object('item_id', g.inventory_item_id, 'quantity', g.quantity, 'field', 'order_id')
      order by g.inventory_item_id)
    from jsonb_to_recordset(v_goods) as g (inventory_item_id uuid, quantity bigint) where g.inventory_item_id is not null);
  if v_lines is not null then
    v_reserved := warehousing.stock_reserve('order', o.id, v_lines);
  end if;
  if v_sends then
    v_warehouse := coalesce((
      select r.warehouse_id from jsonb_to_recordset(v_reserved) as r (warehouse_id uuid, quantity bigint)
      group by 1 order by sum(r.quantity) desc, 1 limit 1), v_guess);
    if v_warehouse is distinct from v_guess or v_guess is null then
      d := storefront.order_delivery_terms(o, v_supply, v_warehouse, v_dropoff);
    end if;
    o.delivery_id := delivery.delivery_write(d);
  end if;
  update storefront.storefront_orders x set status = 'confirmed', approved_at = now(), approved_by = app.user_id(),
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = input ->> 'admin_notes',
    estimated_delivery = o.estimated_delivery, delivery_id = o.delivery_id
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  v_answer := storefront.order_standing(o) || v_agreed;
  return jsonb_build_object('order', v_answer, 'inventory_reserved', v_reserved <> '[]',
    'delivery_assigned', jsonb_build_object('delivery_id', o.delivery_id,
      'driver_assigned', coalesce((v_answer #>> '{delivery_assignment,driver_assigned}')::boolean, false),
      'tracking_number', v_answer #>> '{delivery_assignment,tracking_number}'));
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
