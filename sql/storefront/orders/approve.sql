-- The shop's part in an order: it promises the goods and sends them.

-- Holds an order of the caller's tenant. Fails: order_not_found, version_conflict (changed since If-Match was compared).
create or replace function storefront.lock_order(order_id uuid) returns storefront.storefront_orders
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = lock_order.order_id for no key update;
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  perform private.version_unchanged();
  return o;
end $$;

-- The lines of an order in their order: [{order_item_id, inventory_item_id, quantity, variant_id, product_name}].
create or replace function storefront.order_lines(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('order_item_id', i.id, 'inventory_item_id', i.inventory_item_id, 'quantity', i.quantity,
      'variant_id', i.variant_id, 'product_name', i.product_name) order by i.position, i.id), '[]')
    from storefront.storefront_order_items i where i.tenant_id = o.tenant_id and i.order_id = o.id);
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

-- The receiver of an order: whom its address names, else its customer; at the telephone of the address, else at the customer's own; in digits
-- that telephones dial. -> {name?, phone?}
create or replace function storefront.order_recipient(o storefront.storefront_orders) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((
    select jsonb_strip_nulls(jsonb_build_object(
      'name', coalesce(nullif(left(trim(o.shipping_address #>> '{contact_info,name}'), 200), ''), p.full_name),
      'phone', app.ascii_digits(coalesce(nullif(trim(o.shipping_address #>> '{contact_info,phone}'), ''), p.phone))))
    from tenancy.profiles p where p.id = o.user_id), '{}');
end $$;

-- The deliveries of an order, one from each of its sources (see storefront.order_supply), not written: to the address and the receiver that a
-- source names, else to `dropoff` and the order's own. The fee that the customer was told
-- is on the first, unless another delivery of the order has it; cash on delivery is that fee and the goods, divided by their value.
-- Fails: staging_warehouse_required (no warehouse to send from), what delivery_terms fails with.
create or replace function storefront.order_deliveries(o storefront.storefront_orders, lines jsonb, sources jsonb, dropoff uuid)
returns delivery.deliveries[]
language plpgsql set search_path = '' as $$
declare
  v_place jsonb := o.shipping_address;
  v_recipient jsonb := storefront.order_recipient(o);
  v_goods numeric[];
  v_source record;
  v_made delivery.deliveries[] := '{}';
begin
  if sources #>> '{0,warehouse_id}' is null then
    perform app.fail('staging_warehouse_required', '{"field": "warehouse_id"}');
  end if;
  if o.payment_method = 'cash_on_delivery' then
    select storefront.shares(storefront.goods_total(o), array_agg(v.value order by v.place), money.decimals_of(o.currency)) into v_goods
    from (
      select s.place, sum(i.unit_price * l.quantity) as value
      from jsonb_array_elements(sources) with ordinality s (source, place)
      cross join lateral jsonb_to_recordset(s.source -> 'lines') as l (line integer, quantity integer)
      join storefront.storefront_order_items i on i.tenant_id = o.tenant_id and i.id = (lines -> (l.line - 1) ->> 'order_item_id')::uuid
      group by 1) v;
  end if;
  for v_source in
    select s.source, s.place, case when s.place = 1 and not exists (
        select from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status <> 'cancelled' and d.delivery_fee > 0)
      then o.shipping_cost else 0 end as fee
    from jsonb_array_elements(sources) with ordinality s (source, place) order by s.place
  loop
    v_made := v_made || delivery.delivery_terms(storefront.order_quote_input(o.delivery_service_id::text, v_source.source, v_place) - '{pickup,dropoff}'::text[]
      || jsonb_build_object('order_id', o.id, 'delivery_fee', v_source.fee, 'customer_id', o.user_id, 'payer_type', 'sender',
        'payment_method', 'wallet', 'cod_amount',
        case when o.payment_method = 'cash_on_delivery' then least(v_source.fee, o.total_price) + coalesce(v_goods[v_source.place], 0) else 0 end,
        'pickup_warehouse_id', v_source.source -> 'warehouse_id', 'external_reference_id', o.order_number,
        'dropoff_address_id', coalesce(v_source.source ->> 'dropoff_address_id', dropoff::text),
        'notes', o.customer_notes, 'promised_at', o.estimated_delivery, 'recipient', coalesce(v_source.source -> 'recipient', v_recipient)));
  end loop;
  return v_made;
end $$;

-- The goods that leave with one delivery of an order, as the delivery says what is in it.
create or replace function storefront.order_contents(lines jsonb, source jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('item_id', i.inventory_item_id, 'name', coalesce(left(app.localized(i.product_name), 200), i.sku),
      'sku', i.sku, 'quantity', l.quantity) order by l.line)
    from jsonb_to_recordset(source -> 'lines') as l (line integer, quantity bigint)
    join storefront.storefront_order_items i on i.tenant_id = app.tenant_id() and i.id = (lines -> (l.line - 1) ->> 'order_item_id')::uuid);
end $$;

-- Approves an order: its goods are set aside in one warehouse that has all of them, or else in as few as have them together; each is
-- given a picking order, and where the market says so a delivery. Wallets and gateways must have paid, and nothing of it may be given
-- back but as goodwill; cash is paid at the door. What others want as well is locked last and for as short as can be: when too little is there it fails
-- before anything is made, and what needs no lock is worked out before. Stock is locked before the deliveries are numbered: after a
-- delivery's number nobody takes stock that a store sells.
-- {order_id, admin_notes?, estimated_delivery_date?} -> {order, inventory_reserved, delivery_assigned: the first, deliveries: all}
-- Fails: order_not_found, order_not_pending, order_not_paid, validation_failed (a day that is over), insufficient_stock, what order_deliveries
-- and delivery_write fail with.
create or replace function storefront.order_approve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_lines jsonb;
  v_supply jsonb;
  v_found jsonb;
  v_reserved jsonb := '[]';
  v_sends boolean;
  v_dropoff uuid;
  v_deliveries delivery.deliveries[] := '{}';
  v_ids uuid[] := '{}';
  v_agreed jsonb;
  v_answer jsonb;
begin
  if o.status not in ('pending', 'awaiting_approval') then
    perform app.fail('order_not_pending', jsonb_build_object('status', o.status));
  elsif o.payment_method <> 'cash_on_delivery' and (o.payment_status <> 'paid' or storefront.order_paid(o) < o.total_price) then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  end if;
  v_lines := storefront.order_lines(o);
  v_supply := storefront.order_supplied(v_lines, o.shipping_address);
  if input ->> 'estimated_delivery_date' is not null then
    o.estimated_delivery := app.promised_until(input ->> 'estimated_delivery_date');
    if o.estimated_delivery < now() then
      perform app.fail('validation_failed', '{"field": "estimated_delivery_date", "reason_key": "reason_past"}');
    end if;
  end if;
  v_sends := (select app.boolean_or(m.settings -> 'auto_create_delivery', false) from storefront.markets m
    where m.tenant_id = o.tenant_id and m.id = o.market_id);
  if v_sends then
    v_dropoff := storefront.order_dropoff(o);
    v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
  end if;
  v_agreed := storefront.order_snapshot_to_json(o);

  perform storefront.lock_stock_of_order(v_lines);
  v_found := storefront.order_supplied(v_lines, o.shipping_address);
  if v_found <> v_supply then
    -- Somebody else took some of it meanwhile.
    v_supply := v_found;
    if v_sends then
      v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
    end if;
  end if;
  v_found := (
    select jsonb_agg(jsonb_build_object('item_id', l.line -> 'inventory_item_id', 'warehouse_id', s.source -> 'warehouse_id',
      'quantity', q.quantity, 'field', 'order_id') order by s.place, q.line)
    from jsonb_array_elements(v_supply -> 'sources') with ordinality s (source, place)
    cross join lateral jsonb_to_recordset(s.source -> 'lines') as q (line integer, quantity bigint)
    cross join lateral (select v_lines -> (q.line - 1) as line) l
    where l.line ->> 'inventory_item_id' is not null);
  if v_found is not null then
    v_reserved := warehousing.stock_reserve('order', o.id, v_found);
  end if;
  for place in 1..cardinality(v_deliveries) loop
    v_ids := v_ids || delivery.delivery_write(v_deliveries[place], storefront.order_contents(v_lines, v_supply -> 'sources' -> (place - 1)));
  end loop;
  perform storefront.order_parts_make(o.id, v_lines, v_supply -> 'sources', v_reserved, v_ids);
  update storefront.storefront_orders x set status = 'confirmed', approved_at = now(), approved_by = app.user_id(),
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = input ->> 'admin_notes',
    estimated_delivery = o.estimated_delivery, delivery_id = v_ids[1]
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  v_answer := storefront.order_state_to_json(o) || v_agreed;
  return jsonb_build_object('order', v_answer, 'inventory_reserved', v_reserved <> '[]', 'deliveries', v_answer -> 'deliveries',
    'delivery_assigned', jsonb_build_object('delivery_id', o.delivery_id,
      'driver_assigned', coalesce((v_answer #>> '{delivery_assignment,driver_assigned}')::boolean, false),
      'tracking_number', v_answer #>> '{delivery_assignment,tracking_number}'));
end $$;

-- storefront.order_supply() of an order to be approved. Fails: insufficient_stock.
create or replace function storefront.order_supplied(lines jsonb, address jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_supply jsonb := storefront.order_supply(lines, address);
begin
  if v_supply ->> 'short' is not null then
    perform app.fail('insufficient_stock', '{"field": "order_id"}'::jsonb || storefront.order_shortage(lines, v_supply));
  end if;
  return v_supply;
end $$;
