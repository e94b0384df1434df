-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.transfer_under_way(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if d.current_warehouse_id is not null then
    return null;
  end if;
  return (
    select jsonb_build_object('transfer_id', t.id, 'waybill_id', t.waybill_id, 'destination_warehouse_id', w.id, 'warehouse', w.name,
      'text_key', case b.received_state when 'missing' then 'reason_missing_of_waybill' else 'reason_on_transfer' end)
    from warehousing.package_transfer_deliveries p
    join warehousing.package_transfers t on t.tenant_id = p.tenant_id and t.id = p.transfer_id
    join warehousing.warehouses w on w.tenant_id = t.tenant_id and w.id = t.destination_warehouse_id
    left join warehousing.waybills y on y.tenant_id = t.tenant_id and y.id = t.waybill_id
    left join warehousing.waybill_deliveries b on b.tenant_id = t.tenant_id and b.waybill_id = t.waybill_id and b.delivery_id = p.delivery_id
    where p.tenant_id = d.tenant_id and p.delivery_id = delivery.parcel_of(d)
      and case when t.waybill_id is null then delivery.is_transferred(d) and d.status in ('picked_up', 'in_transit', 'failed')
        and t.operation_type = 'single_delivery' and t.destination_warehouse_id = d.dropoff_warehouse_id
        else d.status in ('in_transit', 'failed', 'returned') and (b.is_open and y.status = 'in_transit'
          or b.received_state = 'missing' and exists (select from warehousing.waybill_discrepancies m
            where m.tenant_id = b.tenant_id and m.waybill_id = b.waybill_id and m.delivery_id = b.delivery_id and m.status = 'open')) end
    order by t.created_at desc, t.id limit 1);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.package_transfer_validate(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_judged jsonb;
  v_destination uuid;
begin
  perform warehousing.require_route((input ->> 'source_warehouse_id')::uuid, (input ->> 'destination_warehouse_id')::uuid);
  v_judged := warehousing.transfer_evaluate(input, 'waybill');
  v_destination := (v_judged ->> 'destination_warehouse_id')::uuid;
  -- One that follows from a parcel is judged as the creation judges it.
  perform warehousing.require_route((input ->> 'source_warehouse_id')::uuid, v_destination);
  return jsonb_build_object(
    'valid', (select coalesce(jsonb_agg(jsonb_build_object('barcode', n.line -> 'barcode', 'delivery_id', n.line -> 'id',
        'delivery_code', n.line -> 'delivery_code', 'status', n.line -> 'status',
        'current_warehouse_id', n.line -> 'current_warehouse_id') order by n.place), '[]')
      from jsonb_array_elements(v_judged -> 'lines') with ordinality n (line, place)
      where n.line ->> 'reason' is null and not (n.line ->> 'raw')::boolean),
    'invalid', (select coalesce(jsonb_agg(jsonb_build_object('barcode', case n.line ->> 'kind' when 'package' then n.line -> 'value'
        else coalesce(nullif(n.line -> 'barcode', 'null'), n.line -> 'value') end, 'reason', n.line -> 'reason') order by n.place), '[]')
      from jsonb_array_elements(v_judged -> 'lines') with ordinality n (line, place) where n.line ->> 'reason' is not null),
    'accepted', warehousing.transfer_accepted(v_judged),
    'rejected', warehousing.transfer_rejected(v_judged),
    'destination_lock', case when v_destination is not null then jsonb_build_object('warehouse_id', v_destination,
      'source', case when (v_judged ->> 'inferred')::boolean then 'inferred' else 'request' end) end,
    'requires_new_delivery_defaults', exists (select from jsonb_array_elements(v_judged -> 'lines') l
      where l ->> 'reason' is null and (l ->> 'raw')::boolean),
    'can_create', v_destination is not null and jsonb_array_length(warehousing.transfer_accepted(v_judged)) > 0);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.require_room(total numeric, available numeric, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if available > total and input ?| '{total_capacity,available_capacity}' then
    perform app.fail('validation_failed', jsonb_build_object('field', case when input ? 'available_capacity' then 'available_capacity'
      else 'total_capacity' end, 'reason_key', 'reason_more_than_total'));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
begin
  perform warehousing.require_room((input ->> 'total_capacity')::numeric, (input ->> 'available_capacity')::numeric, input);
  perform delivery.require_public_address((input ->> 'address_id')::uuid);
  insert into warehousing.warehouses (tenant_id, name, code, address_id, status, total_capacity, available_capacity, features, access_mode)
  values (app.tenant_id(), input ->> 'name', input ->> 'code', (input ->> 'address_id')::uuid, coalesce(input ->> 'status', 'active'),
    (input ->> 'total_capacity')::numeric, coalesce(input ->> 'available_capacity', input ->> 'total_capacity')::numeric,
    coalesce(input -> 'features', '{}'), coalesce(input ->> 'access_mode', 'all_users'))
  returning * into v_warehouse;
  perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.warehouse_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_warehouse warehousing.warehouses;
  v_wanted warehousing.warehouses;
  v_from uuid := (select w.address_id from warehousing.warehouses w where w.id = (input ->> 'id')::uuid and w.deleted_at is null);
begin
  -- Parcels are locked before their warehouse.
  if (input ->> 'address_id')::uuid <> v_from then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
    perform delivery.warehouse_moves((input ->> 'id')::uuid, v_from, (input ->> 'address_id')::uuid);
  end if;
  select * into v_warehouse from warehousing.warehouses w
  where w.id = (input ->> 'id')::uuid and w.deleted_at is null for no key update;
  if not found then
    perform app.fail('warehouse_not_found');
  end if;
  v_wanted := jsonb_populate_record(v_warehouse, input);
  perform warehousing.require_room(v_wanted.total_capacity, v_wanted.available_capacity, input);
  if not input ? 'status' and input ? 'available_capacity' then
    v_wanted.status := case
      when v_wanted.available_capacity <= 0 and v_wanted.status = 'active' then 'full'
      when (v_wanted.available_capacity > 0) is not false and v_wanted.status = 'full' then 'active'
      else v_wanted.status end;
  end if;
  -- A list of those who may is not one of those who may not.
  if v_wanted.access_mode <> v_warehouse.access_mode and v_wanted.access_mode <> 'all_users' and input -> 'user_ids' is null then
    perform app.fail('invalid_customer_ids', '{"field": "user_ids", "text_key": "reason_warehouse_users"}');
  end if;
  update warehousing.warehouses w set name = v_wanted.name, code = v_wanted.code, address_id = v_wanted.address_id,
    status = v_wanted.status, total_capacity = v_wanted.total_capacity, available_capacity = v_wanted.available_capacity,
    features = v_wanted.features, access_mode = v_wanted.access_mode
  where w.id = v_warehouse.id
  returning * into v_warehouse;
  perform warehousing.warehouse_set_users(v_warehouse, input -> 'user_ids');
  return warehousing.warehouse_get(jsonb_build_object('id', v_warehouse.id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_discrepancy_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_resolution text := coalesce(input ->> 'resolution', 'found');
  x warehousing.waybill_discrepancies;
begin
  perform warehousing.require_works_in(w.destination_warehouse_id);
  select * into x from warehousing.waybill_discrepancies y
  where y.tenant_id = w.tenant_id and y.waybill_id = w.id and y.id = (input ->> 'discrepancy_id')::uuid;
  if not found then
    perform app.fail('discrepancy_not_found');
  end if;
  if x.status = 'resolved' and x.resolution = v_resolution then
    return warehousing.waybill_get(input);
  elsif x.status = 'resolved' and x.resolution = 'lost' then
    perform app.fail('waybill_action_not_allowed', jsonb_build_object('status', w.status, 'sealed_at', w.sealed_at, 'text_key', 'reason_given_up'));
  elsif x.status = 'resolved' then
    perform warehousing.require_waybill_open(w);
  end if;
  perform delivery.lock_deliveries(array[x.delivery_id]);
  update warehousing.waybill_discrepancies y set status = 'resolved', resolution = v_resolution, notes = input ->> 'notes',
    resolved_by = app.user_id(), resolved_at = clock_timestamp()
  where y.tenant_id = x.tenant_id and y.id = x.id;
  if v_resolution = 'found' then
    update warehousing.waybill_deliveries p set received_state = 'received'
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.delivery_id = x.delivery_id;
    perform warehousing.waybill_arrive(w, array[x.delivery_id], (input ->> 'bin_id')::uuid);
  else
    update delivery.deliveries d set status = 'failed', status_reason = 'lost', status_notes = w.waybill_number
    where d.tenant_id = w.tenant_id and d.status = 'in_transit' and d.delivery_flow <> 'pnd_parent' and x.delivery_id in (d.id, d.parent_id);
  end if;
  return warehousing.waybill_get(input);
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."require_room"(numeric, numeric, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."require_room"(numeric, numeric, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128134521';
end $$;

grant execute on function private.schema_version() to barid_api;
