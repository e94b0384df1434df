-- The order of an item while it is made: priced, then charged to wallet_id, unless it has a failure.
do $$
begin
  if to_regtype('private.item_order') is null then
    create type private.item_order as (
      position bigint, item_id uuid, delivery_id uuid, payment_id uuid, delivery_code bigint, institution_user_id uuid, distance_km numeric,
      price numeric, unit_size numeric, unit_size_source text, wallet_id uuid, failure text, failure_params jsonb);
  end if;
end $$;

-- Makes the delivery orders of received items, a batch of a request at a time: priced, paid from
-- the institution's wallet, with the origin of each written down for good. Sets, not loops: one
-- statement each for deliveries, payments, books and items.
--
-- {item_ids (in scan order), destination (from delivery.manifest_destination)} -> {failures: [{item_id, code, params?}]}
-- Items that already have an order, or are not fit for one any more, are passed over. An item whose
-- price cannot be found or whose wallet is short fails alone and stays received. All of them fail where the destination is gone.
-- Fails: conflict (a delivery has a reserved number, as after a restore that set the counter back).
-- Locks: the destination (for key share), manifests by id (shared: two batches of one manifest run side by side), items by id,
-- the default driver who gets what is made, the counter of codes where legs are made, wallets by id.
create or replace function delivery.manifest_orders_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb := input -> 'destination';
  v_obstacle text := delivery.manifest_destination_obstacle(v_destination, true);
begin
  if v_obstacle is not null then
    return jsonb_build_object('failures', delivery.items_failed(v_ids, v_obstacle));
  end if;
  perform from delivery.transfer_manifests m
  where m.id in (select i.manifest_id from delivery.transfer_manifest_items i where i.id = any (v_ids))
  order by m.id for share;
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;
  perform delivery.lock_staging_driver();
  return jsonb_build_object('failures', delivery.manifest_orders_make(v_ids, v_destination));
end $$;

-- The same for who holds the manifests, the items and the default driver already, and has asked for the destination. -> the failures
create or replace function delivery.manifest_orders_make(item_ids uuid[], destination jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_orders private.item_order[];
begin
  perform app.keep_currency();
  v_orders := delivery.manifest_orders_charge(delivery.manifest_orders_price(item_ids, destination));
  perform delivery.manifest_orders_write(array(select o from unnest(v_orders) o where o.failure is null order by o.position), destination);
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', o.item_id, 'code', o.failure, 'params', o.failure_params))
      order by o.position), '[]')
    from unnest(v_orders) o where o.failure is not null);
end $$;

-- Prices the items that are still fit for an order, in scan order; one whose price cannot be found, or whose institution may not use
-- the service, has a failure and the values of its text: invalid_coordinates where the service charges by distance and nobody knows it.
-- The price starts at the processing point, or at the manifest's stored source address when the setting
-- delivery_fee_origin says source_location; the pick-up place is the processing point either way.
create or replace function delivery.manifest_orders_price(item_ids uuid[], destination jsonb) returns private.item_order[]
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_units jsonb := app.settings('general', 'unit_size');
  v_decimals integer := (app.currency()).decimals;
  v_from_source boolean := tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location';
  v_service delivery.delivery_services;
  v_to delivery.addresses;
  v_allowed uuid[];
begin
  select s.* into v_service from delivery.delivery_services s where s.id = (destination ->> 'service_id')::uuid;
  select a.* into v_to from delivery.addresses a where a.id = (destination ->> 'address_id')::uuid;
  select coalesce(array_agg(n.institution), '{}') into v_allowed
  from (
    select distinct m.institution_user_id as institution from delivery.transfer_manifest_items i
    join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    where i.id = any (item_ids) offset 0
  ) n
  where delivery.service_allows(v_service, n.institution, v_to.zone_id);
  return array(
    select row(x.position, x.id, gen_random_uuid(), gen_random_uuid(), x.delivery_code, x.institution_user_id, round(x.km::numeric, 3),
      q.price, q.unit_size, q.unit_size_source, null,
      case when x.institution_user_id <> all (v_allowed) then 'delivery_service_not_available' else coalesce(q.error_code, w.code) end,
      case when q.error_code is not null then coalesce(q.error_params, '{}') || '{"field": "package_details"}'
        when w.code is not null then jsonb_build_object('field', w.field) end)::private.item_order
    from (
      -- Kept apart by its order: flattened, the way of an item would be looked up, and its price made, several times.
      select asked.position, i.id, i.package_details, r.delivery_code, m.institution_user_id, delivery.road_distance_km(
        case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end,
        case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end,
        v_to.latitude, v_to.longitude) as km
      from unnest(item_ids) with ordinality asked (id, position)
      join delivery.transfer_manifest_items i on i.id = asked.id and i.status = 'received' and i.delivery_id is null
      join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
        and m.status in ('received', 'received_with_exceptions', 'processing')
      join delivery.delivery_code_reservations r on r.tenant_id = i.tenant_id and r.manifest_item_id = i.id
      join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id
      join delivery.addresses a on a.tenant_id = p.tenant_id and a.id = p.address_id
      join delivery.items_evaluate(item_ids) j on j.id = i.id and j.obstacle is null
      order by asked.position
    ) x
    cross join lateral delivery.quote(v_service, x.package_details, null, x.km, v_units, v_decimals) q
    cross join lateral (select case when x.km is null and v_service.price_per_km > 0 then 'invalid_coordinates' end as code,
      case when v_to.latitude is not null then 'item_ids' when destination ->> 'branch_id' is not null then 'destination_branch_id'
        else 'destination_address_id' end as field) w
    order by x.position);
end $$;

-- Charges each price to the institution's wallet, in scan order, in favour of the tenant's. An order whose wallet holds too little gets
-- the failure insufficient_wallet_balance; a later, smaller one may still pass.
create or replace function delivery.manifest_orders_charge(orders private.item_order[]) returns private.item_order[]
language plpgsql set search_path = '' as $$
declare
  v_currency text := (app.currency()).code;
  v_tenant_wallet uuid := money.account_of('wallet', 'tenant', null, v_currency);
  v_wallets jsonb;
  v_balances jsonb;
  v_balance numeric;
  v_order private.item_order;
  v_charged private.item_order[] := '{}';
begin
  if cardinality(orders) = 0 then
    return orders;
  end if;
  select jsonb_object_agg(o.owner, money.account_of('wallet', 'institution', o.owner, v_currency)) into v_wallets
  from (select distinct u.institution_user_id as owner from unnest(orders) u) o;
  v_balances := money.lock_balances((select array_agg(w.value::uuid) from jsonb_each_text(v_wallets) w) || v_tenant_wallet);

  foreach v_order in array orders loop
    if v_order.failure is null then
      v_order.wallet_id := v_wallets ->> v_order.institution_user_id::text;
      v_balance := v_balances ->> v_order.wallet_id::text;
      if v_balance < v_order.price then
        v_order.failure := 'insufficient_wallet_balance';
        v_order.failure_params := money.wallet_shortage(v_balance,
          money.wallet_held(v_order.wallet_id) + money.wallet_stated(v_order.wallet_id), v_order.price, v_currency);
      else
        v_balances := v_balances || jsonb_build_object(v_order.wallet_id, v_balance - v_order.price);
      end if;
    end if;
    v_charged := v_charged || v_order;
  end loop;

  perform money.post(coalesce((
    select jsonb_agg(jsonb_build_object('journal', o.payment_id, 'kind', 'delivery_fee', 'reference_type', 'payment',
        'reference_id', o.payment_id, 'description', 'Delivery ' || o.delivery_code,
        'account_id', e.account, 'amount', e.amount) order by o.position, e.amount)
    from unnest(v_charged) o
    cross join lateral (values (o.wallet_id, -o.price), (v_tenant_wallet, o.price)) e (account, amount)
    where o.failure is null and o.price > 0), '[]'));
  return v_charged;
end $$;
