-- The names of a warehouse at the carriers that collect from it.

-- Records a warehouse's number, and name, at a carrier, over what was recorded before.
-- {warehouse_id, carrier_code, external_id, external_name?} -> {carrier_warehouse}. Fails: warehouse_not_found, carrier_not_found.
create or replace function warehousing.carrier_warehouse_set(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  c warehousing.carrier_warehouses := jsonb_populate_record(null::warehousing.carrier_warehouses,
    input || jsonb_build_object('tenant_id', app.tenant_id()));
begin
  perform warehousing.require_warehouse(c.warehouse_id);
  if not exists (select from integration.carriers k where k.code = c.carrier_code and k.is_active) then
    perform app.fail('carrier_not_found');
  end if;
  insert into warehousing.carrier_warehouses select c.*
  on conflict (tenant_id, carrier_code, warehouse_id) do update set external_id = excluded.external_id, external_name = excluded.external_name;
  return jsonb_build_object('carrier_warehouse', to_jsonb(c) - 'tenant_id');
end $$;

-- Forgets it; what is not recorded stays so. {warehouse_id, carrier_code} -> {}. Fails: warehouse_not_found.
create or replace function warehousing.carrier_warehouse_clear(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform warehousing.require_warehouse((input ->> 'warehouse_id')::uuid);
  delete from warehousing.carrier_warehouses c
  where c.tenant_id = app.tenant_id() and c.warehouse_id = (input ->> 'warehouse_id')::uuid and c.carrier_code = input ->> 'carrier_code';
  return '{}';
end $$;
