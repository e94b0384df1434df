-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.manifest_orders_price(item_ids uuid[], destination jsonb)
 RETURNS private.item_order[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_changes_evaluate(item_ids uuid[], destination jsonb)
 RETURNS private.order_change[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_service uuid := (destination ->> 'service_id')::uuid;
  v_units jsonb := app.settings('general', 'unit_size');
  v_decimals integer := (app.currency()).decimals;
  v_from_source boolean := tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location';
  v_to delivery.addresses;
begin
  select a.* into v_to from delivery.addresses a where a.id = (destination ->> 'address_id')::uuid;
  return array(
    select row(asked.position, asked.id, i.manifest_id, d.id, d.delivery_code, d.institution_user_id, p.id, s.id,
      q.price, case when g.same then 0 else q.price - d.delivery_fee end, q.unit_size, q.unit_size_source, round(k.km::numeric, 3),
      coalesce(g.same, false), null, null, f.code, case
        when f.code in ('delivery_ended', 'delivery_already_picked_up') then jsonb_build_object('status', d.status)
        when f.code = q.error_code then coalesce(q.error_params, '{}') || '{"field": "package_details"}'
        when f.code = 'invalid_coordinates' then jsonb_build_object('field', case when v_to.latitude is not null then 'item_ids'
          when v_branch is not null then 'destination_branch_id' else 'destination_address_id' end) end)::private.order_change
    from unnest(item_ids) with ordinality asked (id, position)
    left join delivery.transfer_manifest_items i on i.id = asked.id
    left join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    left join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
    left join money.payments p on p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'
    left join delivery.delivery_services s on s.tenant_id = d.tenant_id and s.id = coalesce(v_service, d.delivery_service_id)
    left join delivery.addresses a on a.tenant_id = d.tenant_id and a.id = coalesce(d.ordered_from_address_id, d.pickup_address_id)
    cross join lateral (select delivery.order_has_destination(i, d, v_branch, v_to.id, s.id) as same) g
    cross join lateral (select delivery.road_distance_km(
      case when v_from_source then (m.source_snapshot #>> '{address,latitude}')::double precision else a.latitude end,
      case when v_from_source then (m.source_snapshot #>> '{address,longitude}')::double precision else a.longitude end,
      v_to.latitude, v_to.longitude) as km) k
    cross join lateral delivery.quote(s, d.package_details, null, k.km, v_units, v_decimals) q
    cross join lateral (select coalesce(delivery.order_change_obstacle(asked.id, i, d),
      case when not g.same then delivery.order_change_misfit(d, s, v_to.zone_id, q.unit_size,
        coalesce(q.error_code, case when k.km is null and s.price_per_km > 0 then 'invalid_coordinates' end)) end) as code) f
    order by asked.position);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126062603';
end $$;

grant execute on function private.schema_version() to barid_api;
