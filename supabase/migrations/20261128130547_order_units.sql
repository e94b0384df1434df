-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.fallback_units(service delivery.delivery_services, unit_settings jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return case unit_settings ->> 'missing_unit_size_fallback' when 'service_min' then service.unit_min when 'service_max' then service.unit_max
    when 'service_half' then round((service.unit_min + service.unit_max) / 2, 3) end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.quote(service delivery.delivery_services, package jsonb, asked_units numeric, distance_km double precision, unit_settings jsonb, decimals integer, OUT price numeric, OUT unit_size numeric, OUT unit_size_source text, OUT error_code text, OUT error_params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_measured record;
begin
  v_measured := delivery.package_units(package, unit_settings);
  if v_measured.wrong then
    error_code := 'invalid_package';
    error_params := delivery.package_fault(package);
    return;
  end if;
  if v_measured.units is not null then
    unit_size := v_measured.units;
    unit_size_source := 'package_details';
  elsif asked_units is not null then
    unit_size := round(asked_units, 3);
    unit_size_source := 'unit_size';
  elsif delivery.fallback_units(service, unit_settings) is not null then
    unit_size := delivery.fallback_units(service, unit_settings);
    unit_size_source := unit_settings ->> 'missing_unit_size_fallback';
  else
    error_code := 'unit_size_or_dimensions_required';
    return;
  end if;
  if unit_size < service.unit_min or unit_size > service.unit_max then
    error_code := 'can_not_use_this_delivery_for_this_unit_size';
    error_params := jsonb_build_object('calculated_unit_size', unit_size, 'allowed_unit_min', service.unit_min,
      'allowed_unit_max', service.unit_max,
      'violation', case when unit_size < service.unit_min then 'below_minimum' else 'above_maximum' end);
    return;
  end if;
  price := round(service.default_price * unit_size
    + service.price_per_km * greatest(0, coalesce(distance_km, 0)::numeric - service.free_km), decimals);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_quote_input(service text, supply jsonb, address jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_settings jsonb := app.settings('general', 'unit_size');
  v_units numeric := (supply ->> 'units')::numeric;
begin
  if (supply ->> 'unmeasured')::boolean and v_units is not null then
    select greatest(v_units, least(v_units + coalesce(delivery.fallback_units(s, v_settings), 1), s.unit_max)) into v_units
    from delivery.delivery_services s where s.id = service::uuid;
  elsif v_units is null and v_settings ->> 'missing_unit_size_fallback' is null then
    v_units := 1;
  end if;
  return jsonb_build_object('delivery_service_id', service, 'service_field', 'deliveryServiceId', 'package_field', 'cartId',
    'place_fields', jsonb_build_array('address', 'address'), 'has_dropoff', true)
    || case when v_units is not null then jsonb_build_object('unit_size', v_units) else '{}' end
    || case when supply ->> 'latitude' is not null and address ->> 'latitude' is not null
      then jsonb_build_object('pickup', jsonb_build_object('latitude', supply -> 'latitude', 'longitude', supply -> 'longitude')) else '{}' end
    || case when address ->> 'latitude' is not null
      then jsonb_build_object('dropoff', jsonb_build_object('latitude', address -> 'latitude', 'longitude', address -> 'longitude')) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_supply(lines jsonb, address jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_default uuid := (app.settings('general', 'warehouse') ->> 'default_warehouse_id')::uuid;
  v_missing jsonb;
  v_sources jsonb := '[]';
  v_asked uuid[] := '{}';
  v_found record;
begin
  select coalesce(jsonb_object_agg(n.item, n.quantity), '{}') into v_missing
  from (select l.inventory_item_id as item, sum(l.quantity) as quantity
    from jsonb_to_recordset(lines) as l (inventory_item_id uuid, quantity bigint) where l.inventory_item_id is not null group by 1) n;
  loop
    select w.id as warehouse_id, a.latitude, a.longitude, coalesce(h.takes, '{}') as takes into v_found
    from warehousing.warehouses w
    join delivery.addresses a on a.tenant_id = w.tenant_id and a.id = w.address_id
    left join (
      select s.warehouse_id, sum(least(s.quantity, m.quantity)) as units, jsonb_object_agg(m.item, least(s.quantity, m.quantity)) as takes
      from (select e.key::uuid as item, e.value::bigint as quantity from jsonb_each_text(v_missing) e) m
      cross join lateral (
        select x.warehouse_id, sum(x.quantity)::bigint as quantity from warehousing.stock x
        where x.tenant_id = v_tenant and x.item_id = m.item and x.status = 'available' and x.quantity > 0 and x.written_off_at is null
        group by 1) s
      group by 1) h on h.warehouse_id = w.id
    where w.tenant_id = v_tenant and w.deleted_at is null and w.id <> all (v_asked)
      and (h.units > 0 or (v_missing = '{}' and w.status in ('active', 'full')))
    order by h.units desc nulls last, w.status in ('active', 'full') desc,
      app.distance_km(a.latitude, a.longitude, (address ->> 'latitude')::double precision, (address ->> 'longitude')::double precision) nulls last,
      w.id = v_default desc nulls last, w.created_at, w.id
    limit 1;
    exit when not found;
    v_asked := v_asked || v_found.warehouse_id;
    v_sources := v_sources || jsonb_build_array(to_jsonb(v_found));
    select coalesce(jsonb_object_agg(m.key, m.left_over), '{}') into v_missing
    from (select e.key, e.value::bigint - coalesce((v_found.takes ->> e.key)::bigint, 0) as left_over from jsonb_each_text(v_missing) e) m
    where m.left_over > 0;
    exit when v_missing = '{}';
  end loop;
  if v_sources = '[]' then
    v_sources := '[{"takes": {}}]';
  end if;
  -- A warehouse's stock of an item and the demand of the lines, laid end to end: each line takes the stretch it covers.
  with line as (
    select l.line, l.inventory_item_id as item, l.quantity, sum(l.quantity) over (partition by l.inventory_item_id order by l.line) as until
    from rows from (jsonb_to_recordset(lines) as (inventory_item_id uuid, quantity bigint)) with ordinality l (inventory_item_id, quantity, line)
  ), taken as (
    select s.place, t.key::uuid as item, t.value::bigint as quantity, sum(t.value::bigint) over (partition by t.key order by s.place) as until
    from jsonb_array_elements(v_sources) with ordinality s (source, place)
    cross join lateral jsonb_each_text(s.source -> 'takes') t
  ), share as (
    select t.place, l.line, l.item, least(l.until, t.until) - greatest(l.until - l.quantity, t.until - t.quantity) as quantity
    from line l join taken t on t.item = l.item and t.until - t.quantity < l.until and l.until - l.quantity < t.until
    union all
    select 1, l.line, null, l.quantity from line l where l.item is null
  ), sized as (
    select s.place, jsonb_agg(jsonb_build_object('line', s.line, 'quantity', s.quantity) order by s.line) as lines,
      sum(i.unit_size * s.quantity) as units, bool_or(i.id is null) as unmeasured
    from share s left join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = s.item
    group by 1
  )
  select jsonb_agg(s.source - 'takes' || jsonb_build_object('units', z.units, 'unmeasured', z.unmeasured, 'lines', z.lines) order by s.place) into v_sources
  from jsonb_array_elements(v_sources) with ordinality s (source, place) join sized z on z.place = s.place;
  v_sources := coalesce(v_sources, '[]');
  return coalesce((v_sources -> 0) - 'lines', '{}') || (
    select jsonb_build_object('short', (select min(e.key) from jsonb_each(v_missing) e), 'sources', v_sources,
      'units', sum((s.source ->> 'units')::numeric), 'unmeasured', coalesce(bool_or((s.source ->> 'unmeasured')::boolean), true))
    from jsonb_array_elements(v_sources) s (source));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."fallback_units"(delivery.delivery_services, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."fallback_units"(delivery.delivery_services, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128130547';
end $$;

grant execute on function private.schema_version() to barid_api;
