-- Packages from one warehouse to another without a waybill, and the look ahead before one.

-- Says what a waybill of this selection would be made of; writes nothing. The body of a waybill's creation
-- -> {valid, invalid, accepted, rejected, destination_lock, requires_new_delivery_defaults, can_create}
-- Fails: warehouse_not_found, warehouses_must_differ.
create or replace function warehousing.package_transfer_validate(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Notes that packages go from one warehouse to another.
--   system_only      a record and nothing else: they end where they were ordered to
--   single_delivery  one delivery, which a driver can then bring there; it continues from there
-- {mode, operation_type?, source_warehouse_id, destination_warehouse_id, package_barcodes, notes?}
-- -> {transfer_id, mode, operation_type, transferred_count, delivery_ids, rejected}
-- Fails: warehouse_not_found, warehouses_must_differ, no_transferable_packages.
create or replace function warehousing.package_transfer_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_destination uuid := (input ->> 'destination_warehouse_id')::uuid;
  v_id uuid := gen_random_uuid();
  v_judged jsonb;
  v_parcels uuid[];
begin
  perform warehousing.require_route(v_source, v_destination);
  v_judged := warehousing.transfer_evaluate_locked(input, coalesce(input ->> 'operation_type', 'system_only'));
  v_parcels := warehousing.transfer_parcels(v_judged);
  update delivery.deliveries d set pickup_warehouse_id = v_source, dropoff_warehouse_id = v_destination,
    ordered_to_warehouse_id = delivery.ends_in(d), transfer_kind = coalesce(input ->> 'operation_type', 'system_only')
  where d.tenant_id = v_tenant and d.id = any (v_parcels);
  insert into warehousing.package_transfers (id, tenant_id, mode, operation_type, source_warehouse_id, destination_warehouse_id, notes, performed_by)
  values (v_id, v_tenant, input ->> 'mode', input ->> 'operation_type', v_source, v_destination, input ->> 'notes', app.user_id());
  -- Both ends are held now, by the references; who removed one a moment ago has been waited for.
  perform warehousing.require_route(v_source, v_destination);
  insert into warehousing.package_transfer_deliveries (tenant_id, transfer_id, delivery_id, position)
  select v_tenant, v_id, p.id, p.place from unnest(v_parcels) with ordinality p (id, place);
  return jsonb_build_object('transfer_id', v_id, 'mode', input -> 'mode', 'operation_type', input -> 'operation_type',
    'transferred_count', cardinality(v_parcels), 'delivery_ids', to_jsonb(v_parcels), 'rejected', warehousing.transfer_rejected(v_judged));
end $$;

-- How many transfers there are of each kind, from the kept totals. wanted: the warehouses to look at.
create or replace function warehousing.package_transfer_stats(wanted jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('total', n.system_only + n.single_delivery + n.waybill, 'system_only', n.system_only,
      'single_delivery', n.single_delivery, 'waybill', n.waybill)
    from (
      select coalesce((t.kinds #>> '{"",entries}')::bigint, 0) as system_only,
        coalesce((t.kinds #>> '{single_delivery,entries}')::bigint, 0) as single_delivery,
        coalesce((t.kinds #>> '{waybill,entries}')::bigint, 0) as waybill
      from (select app.tally_by('package_transfers', 'operation_type', wanted) as kinds) t) n);
end $$;
