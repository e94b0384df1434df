-- Makes the delivery orders of received items, up to a part of a request at a time: priced, paid from
-- the institution's wallet, with the origin of each written down for good. Sets, not loops: one
-- statement each for deliveries, payments, books and items.
--
-- {item_ids (in scan order), destination (from delivery.manifest_destination)} -> {failures: [{item_id, code, params?}]}
-- Items that already have an order, or are not fit for one any more, are passed over. An item whose
-- price cannot be found or whose wallet is short fails alone and stays received.
-- Fails: conflict (a delivery has a reserved number, as after a restore that set the counter back).
-- Locks: manifests by id (shared: two parts of one manifest run side by side), items by id, the default
-- driver where he gets what is made, wallets by id.
create or replace function delivery.manifest_orders_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb := input -> 'destination';
  v_failures jsonb;
  v_orders jsonb;
begin
  perform from delivery.transfer_manifests m
  where m.id in (select i.manifest_id from delivery.transfer_manifest_items i where i.id = any (v_ids))
  order by m.id for share;
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;
  perform delivery.lock_staging_driver();

  select jsonb_agg(o.line order by o.place) into v_orders from delivery.manifest_orders_priced(v_ids, v_destination) o;
  v_orders := delivery.manifest_orders_paid(coalesce(v_orders, '[]'));
  select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item_id', o -> 'item_id', 'code', o -> 'failure',
    'params', o -> 'failure_params'))), '[]') into v_failures
  from jsonb_array_elements(v_orders) o where o ->> 'failure' is not null;
  select coalesce(jsonb_agg(o.line order by o.position), '[]') into v_orders
  from jsonb_array_elements(v_orders) with ordinality o (line, position) where o.line ->> 'failure' is null;

  perform delivery.manifest_orders_write(v_orders, v_destination);
  return jsonb_build_object('failures', v_failures);
end $$;

-- Prices the items that are still fit for an order; lines {item_id, delivery_id, delivery_code,
-- institution_user_id, price, unit_size, ...} or {item_id, failure, failure_params} (what fills its text).
-- The price starts at the processing point, or at the manifest's stored source address when the setting
-- delivery_fee_origin says source_location; the pick-up place is the processing point either way.
create or replace function delivery.manifest_orders_priced(item_ids uuid[], destination jsonb)
returns table (place bigint, line jsonb)
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
    where i.id = any (item_ids)
  ) n
  where delivery.service_allows(v_service, n.institution, v_to.zone_id);
  return query
  select asked.position, jsonb_build_object('item_id', i.id, 'delivery_id', gen_random_uuid(), 'payment_id', gen_random_uuid(),
      'delivery_code', r.delivery_code, 'institution_user_id', m.institution_user_id,
      'distance_km', round(d.km::numeric, 3), 'price', q.price, 'unit_size', q.unit_size, 'unit_size_source', q.unit_size_source,
      'failure', case when m.institution_user_id <> all (v_allowed)
        then 'delivery_service_not_available' else q.error_code end,
      'failure_params', case when q.error_code is not null
        then coalesce(q.error_params, '{}') || '{"field": "package_details"}' end)
  from unnest(item_ids) with ordinality asked (id, position)
  join delivery.transfer_manifest_items i on i.id = asked.id and i.status = 'received' and i.delivery_id is null
  join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    and m.status in ('received', 'received_with_exceptions', 'processing')
  join delivery.delivery_code_reservations r on r.tenant_id = i.tenant_id and r.manifest_item_id = i.id
  join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id
  join delivery.addresses a on a.tenant_id = p.tenant_id and a.id = p.address_id
  cross join lateral (select delivery.road_distance_km(
    case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end,
    case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end,
    v_to.latitude, v_to.longitude) as km) d
  cross join lateral delivery.quote(v_service, i.package_details, null, d.km, v_units, v_decimals) q
  join delivery.items_evaluate(item_ids) j on j.id = i.id and j.obstacle is null;
end $$;

-- Takes each price from the institution's wallet, in scan order, and books it to the tenant's; a line
-- the wallet cannot bear gets the failure insufficient_wallet_balance and later, smaller ones may pass.
create or replace function delivery.manifest_orders_paid(lines jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_currency text := (app.currency()).code;
  v_tenant_wallet uuid := money.account_of('wallet', 'tenant', null, v_currency);
  v_wallets jsonb;
  v_left jsonb;
  v_line jsonb;
  -- An array and not a growing jsonb, which would be copied whole for each line.
  v_lines jsonb[] := '{}';
  v_owner text;
begin
  select jsonb_object_agg(o.owner, money.account_of('wallet', 'institution', o.owner::uuid, v_currency)) into v_wallets
  from (select distinct l ->> 'institution_user_id' as owner from jsonb_array_elements(lines) l) o;
  if v_wallets is null then
    return lines;
  end if;
  v_left := money.lock_balances((select array_agg(w.value::uuid) from jsonb_each_text(v_wallets) w) || v_tenant_wallet);

  for v_line in select l from jsonb_array_elements(lines) l loop
    v_owner := v_wallets ->> (v_line ->> 'institution_user_id');
    if v_line ->> 'failure' is null then
      if (v_left ->> v_owner)::numeric < (v_line ->> 'price')::numeric then
        v_line := v_line || jsonb_build_object('failure', 'insufficient_wallet_balance', 'failure_params', jsonb_build_object(
          'text_key', 'reason_wallet_holds', 'balance', v_left -> v_owner, 'required', v_line -> 'price', 'currency', v_currency));
      else
        v_left := v_left || jsonb_build_object(v_owner, (v_left ->> v_owner)::numeric - (v_line ->> 'price')::numeric);
        v_line := v_line || jsonb_build_object('wallet_id', v_owner);
      end if;
    end if;
    v_lines := array_append(v_lines, v_line);
  end loop;

  perform money.post(coalesce((
    select jsonb_agg(jsonb_build_object('journal', l.line ->> 'payment_id', 'kind', 'delivery_fee', 'reference_type', 'payment',
        'reference_id', l.line ->> 'payment_id', 'description', 'Delivery ' || (l.line ->> 'delivery_code'),
        'account_id', e.account, 'amount', e.amount) order by l.position, e.amount)
    from unnest(v_lines) with ordinality l (line, position)
    cross join lateral (values
      ((l.line ->> 'wallet_id')::uuid, -(l.line ->> 'price')::numeric), (v_tenant_wallet, (l.line ->> 'price')::numeric)
    ) e (account, amount)
    where l.line ->> 'failure' is null and (l.line ->> 'price')::numeric > 0), '[]'));
  return to_jsonb(v_lines);
end $$;
