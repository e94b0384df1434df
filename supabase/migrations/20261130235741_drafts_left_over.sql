-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.transfer_evaluate(input jsonb, use text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_destination uuid := (input ->> 'destination_warehouse_id')::uuid;
  v_lines jsonb;
  v_inferred boolean := false;
begin
  with found as materialized (
    select s.*, row_number() over (partition by coalesce(s.parcel_id, s.item_id) order by s.place) as time
    from warehousing.transfer_selection(input) s
  )
  select jsonb_agg(jsonb_build_object('kind', f.kind, 'value', f.value,
    'id', coalesce(p.id, f.item_id), 'raw', p.id is null and f.item_id is not null,
    'barcode', p.barcode, 'delivery_code', p.delivery_code, 'status', p.status, 'current_warehouse_id', p.current_warehouse_id,
    'destination', nullif(p.dropoff_warehouse_id, v_source),
    'reason', case
      when p.id is null and f.item_id is null then 'not_found'
      when f.time > 1 then 'duplicate'
      when p.id is null then case when warehousing.units_available(f.item_id, v_source) < 1 then 'not_available' end
      when exists (select from warehousing.waybill_deliveries w
        where w.tenant_id = v_tenant and w.delivery_id = p.id and w.is_open) then 'already_in_waybill'
      when coalesce(p.current_warehouse_id, case when p.status in ('draft', 'pending') and p.delivery_flow <> 'pnd_parent'
        then p.pickup_warehouse_id end) <> v_source then 'wrong_source_warehouse'
      when not warehousing.parcel_is_movable(p, l, use) or delivery.return_under_way(p.id) is not null
        -- No driver takes it along.
        or use = 'single_delivery' and delivery.is_for_waybill(p) then 'not_transferable_status'
      when delivery.has_unresolved_exception(p.id) or (l.id is not null and delivery.has_unresolved_exception(l.id)) then 'open_exception'
      -- No warehouse holds it and none is where it is ordered from. On paper a staged one may move before it is brought.
      when p.current_warehouse_id is null and p.pickup_warehouse_id is null and not (use = 'system_only' and p.delivery_flow = 'pnd_parent')
        then 'package_not_here'
      -- Out of a warehouse goes the whole parcel; a delivery from door to door may have nothing on a shelf, and what a store sold is set aside.
      -- A return takes along what of it lies there, unless that is picked for its driver.
      when use = 'waybill' and p.delivery_flow = 'operational_return' and delivery.leaves_warehouse(p) then
        case when delivery.pick_of(p) is not null or not warehousing.parcel_lies_in(p.id, v_source)
          and warehousing.return_to_pick(p.id, v_source) is null then 'not_available' end
      when use = 'waybill' and (l.id is not null or delivery.leaves_warehouse(p)) and exists (
        select from delivery.delivery_items i
        where i.tenant_id = v_tenant and i.delivery_id = p.id and p.order_id is null
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, v_source)) then 'not_available'
      -- The draft of a piece of inventory may be left over from a waybill that was cancelled, and its goods be gone since.
      when use = 'waybill' and delivery.is_for_waybill(p) and exists (
        select from delivery.delivery_items i
        join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
        where i.tenant_id = v_tenant and i.delivery_id = p.id
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, v_source)) then 'not_available'
    end) order by f.place)
  into v_lines
  from found f
  left join delivery.deliveries p on p.tenant_id = v_tenant and p.id = f.parcel_id
  left join lateral (
    select x.* from delivery.deliveries x
    where p.delivery_flow = 'pnd_parent' and x.tenant_id = v_tenant and x.parent_id = p.id and x.status not in ('delivered', 'cancelled')
    order by x.sequence_plan limit 1) l on true;
  if v_destination is null then
    select (n.line ->> 'destination')::uuid into v_destination from jsonb_array_elements(v_lines) with ordinality n (line, place)
    where n.line ->> 'reason' is null and (n.line ->> 'destination')::uuid <> v_source order by n.place limit 1;
    v_inferred := v_destination is not null;
  end if;
  if use = 'waybill' and v_destination is not null then
    select jsonb_agg(case when n.line ->> 'reason' is null and (n.line ->> 'destination')::uuid <> v_destination
      then n.line || '{"reason": "destination_mismatch"}' else n.line end order by n.place)
    into v_lines from jsonb_array_elements(v_lines) with ordinality n (line, place);
  end if;
  return jsonb_build_object('lines', coalesce(v_lines, '[]'), 'destination_warehouse_id', v_destination, 'inferred', v_inferred);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.transfer_selection(input jsonb)
 RETURNS TABLE(place bigint, kind text, value text, parcel_id uuid, item_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select p.place, 'package' as kind, p.value, null::uuid as id
    from jsonb_array_elements_text(coalesce(input -> 'package_barcodes', '[]')) with ordinality p (value, place)
    union all
    select 1000000 + p.place, 'delivery', p.value, p.value::uuid
    from jsonb_array_elements_text(coalesce(input -> 'delivery_ids', '[]')) with ordinality p (value, place)
    union all
    select 2000000 + p.place, 'inventory_item', p.value, p.value::uuid
    from jsonb_array_elements_text(coalesce(input -> 'inventory_item_ids', '[]')) with ordinality p (value, place)
  ), mine as materialized (
    select (select app.tenant_id()) as tenant_id, (input ->> 'source_warehouse_id')::uuid as source,
      (input ->> 'destination_warehouse_id')::uuid as destination
  )
  select a.place, a.kind, a.value,
    case a.kind when 'package' then warehousing.parcel_named(a.value)
      when 'delivery' then (select coalesce(d.parent_id, d.id) from delivery.deliveries d where d.tenant_id = m.tenant_id and d.id = a.id)
      else coalesce(i.parcel_delivery_id, (
        select d.id from delivery.delivery_items x
        join delivery.deliveries d on d.tenant_id = x.tenant_id and d.id = x.delivery_id
        where x.tenant_id = m.tenant_id and x.item_id = a.id and d.status in ('draft', 'pending') and d.current_warehouse_id = m.source
          and (m.destination is null or coalesce(nullif(d.dropoff_warehouse_id, m.source), m.destination) = m.destination)
          and delivery.is_for_waybill(d)
          and not exists (select from warehousing.waybill_deliveries w where w.tenant_id = d.tenant_id and w.delivery_id = d.id and w.is_open)
        order by d.delivery_code limit 1)) end,
    i.id
  from asked a
  cross join mine m
  left join warehousing.inventory_items i on a.kind = 'inventory_item' and i.tenant_id = m.tenant_id and i.id = a.id;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130235741';
end $$;

grant execute on function private.schema_version() to barid_api;
