-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.count_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_whole_bins boolean := coalesce((input ->> 'whole_bins')::boolean, false);
  v_count uuid := gen_random_uuid();
  v_lines warehousing.inventory_count_lines[];
  v_sums record;
  v_short record;
begin
  perform warehousing.require_warehouse(v_warehouse);
  perform warehousing.require_places(v_warehouse, input -> 'items', 'items');
  perform warehousing.require_goods(input -> 'items', 'items');
  v_lines := warehousing.count_lines(v_warehouse, input -> 'items');
  v_lines := warehousing.stock_counted(v_lines, v_whole_bins);
  perform warehousing.require_pieces(v_lines);
  perform warehousing.require_lots(v_lines, jsonb_array_length(input -> 'items'), v_whole_bins);
  select l.position, l.item_id, l.reserved into v_short from unnest(v_lines) l where l.counted < l.reserved order by l.position limit 1;
  if found then
    perform app.fail('count_below_reserved', jsonb_build_object('item_id', v_short.item_id, 'reserved', v_short.reserved, 'field',
      case when v_short.position > jsonb_array_length(input -> 'items') then 'whole_bins' else format('items.%s.counted', v_short.position - 1) end));
  end if;

  select count(*) as lines, count(*) filter (where l.counted <> l.expected) as differences,
    sum(greatest(l.counted - l.expected, 0)) as found, sum(greatest(l.expected - l.counted, 0)) as missing
  into v_sums from unnest(v_lines) l;
  insert into warehousing.inventory_counts (id, tenant_id, warehouse_id, notes, whole_bins, counted_by, lines, differences, units_found, units_missing)
  values (v_count, v_tenant, v_warehouse, input ->> 'notes', v_whole_bins, app.user_id(), v_sums.lines, v_sums.differences, v_sums.found, v_sums.missing);
  insert into warehousing.inventory_count_lines (tenant_id, count_id, position, warehouse_id, bin_id, item_id, status, lot_number, serial_number,
    expected, reserved, counted)
  select v_tenant, v_count, l.position, l.warehouse_id, l.bin_id, l.item_id, l.status, l.lot_number, l.serial_number,
    l.expected, l.reserved, l.counted
  from unnest(v_lines) l;
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'count', 'item_id', l.item_id, 'warehouse_id', v_warehouse, 'quantity', abs(l.counted - l.expected),
      case when l.counted > l.expected then 'to' else 'from' end, jsonb_strip_nulls(jsonb_build_object('bin_id', l.bin_id, 'status', l.status,
        'lot_number', l.lot_number, 'serial_number', l.serial_number)),
      'reference_type', 'count', 'reference_id', v_count, 'reason', input ->> 'notes', 'field', format('items.%s.counted', l.position - 1))
      order by l.position)
    from unnest(v_lines) l where l.counted <> l.expected));
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'inventory.counted', 'source_module', 'warehousing',
    'entity_type', 'warehouse', 'entity_id', v_warehouse, 'event_data', jsonb_build_object('count_id', v_count, 'warehouse_id', v_warehouse,
      'lines', v_sums.lines, 'differences', v_sums.differences, 'units_found', v_sums.found, 'units_missing', v_sums.missing, 'actor_id', app.user_id()))));
  return json_build_object('count', warehousing.count_to_json(v_count), 'transactions', warehousing.movements_of(v_count))::jsonb;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_lots(lines warehousing.inventory_count_lines[], sent integer, whole_bins boolean)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_bad record;
begin
  select l.position - 1 as place, l.item_id, b.name into v_bad
  from unnest(lines[:sent]) l
  join warehousing.inventory_items i on i.tenant_id = v_tenant and i.id = l.item_id and not i.is_serialized
  cross join lateral (
    select case when s.lot_number is distinct from l.lot_number then 'lot_number' else 'serial_number' end as name
    from warehousing.stock s
    where s.tenant_id = v_tenant and s.warehouse_id = l.warehouse_id and s.bin_id = l.bin_id and s.item_id = l.item_id and s.quantity > 0
      and s.status = any (case l.status when 'available' then '{available,reserved}' else array[l.status] end)
      and (s.lot_number = l.lot_number or l.lot_number is null) and (s.lot_number is distinct from l.lot_number or s.serial_number is not null)
      and not exists (
        select from unnest(lines[:sent]) o
        where o.bin_id = l.bin_id and o.item_id = l.item_id and o.status = l.status
          and o.lot_number is not distinct from s.lot_number and o.serial_number is not distinct from s.serial_number)
    order by 1 limit 1) b
  where l.serial_number is null
    and case when whole_bins then l.counted > l.expected else l.counted <> l.expected or l.expected = 0 end
  order by l.position limit 1;
  if found then
    perform app.fail('lot_number_required', jsonb_build_object('field', format('items.%s.%s', v_bad.place, v_bad.name), 'item_id', v_bad.item_id));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."require_lots"(warehousing.inventory_count_lines[], integer, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."require_lots"(warehousing.inventory_count_lines[], integer, boolean) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128131158';
end $$;

grant execute on function private.schema_version() to barid_api;
