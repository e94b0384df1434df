-- Members of warehouses.

-- True when the caller may work in a warehouse: they run warehouses or operations, or is active staff there.
create or replace function warehousing.works_in(warehouse uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return (
    select app.has_permission('manage:operations:tenant') or app.has_permission('manage:module:warehouse') or exists (
      select from warehousing.warehouse_staff s
      where s.tenant_id = app.tenant_id() and s.warehouse_id = warehouse and s.user_id = app.user_id() and s.is_active));
end $$;

-- Fails: forbidden.
create or replace function warehousing.require_works_in(warehouse uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not warehousing.works_in(warehouse) then
    perform app.fail('forbidden');
  end if;
end $$;

-- The parcel a scanner or a person names: by its barcode as it was sent, then as barcodes are written, else by a
-- delivery code (of a leg: its parcel). Of deliveries with the same barcode the live one, else the last one cancelled.
-- Null: none.
create or replace function warehousing.parcel_named(name text) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_written text := delivery.barcode_normalise(name);
  v_code bigint := case when v_written ~ '^[0-9]{1,18}$' then v_written::bigint end;
  v_id uuid;
begin
  select d.id into v_id from delivery.deliveries d
  where d.tenant_id = v_tenant and d.barcode = parcel_named.name and d.parent_id is null
  order by d.status = 'cancelled', d.created_at desc limit 1;
  if not found and v_written <> name then
    select d.id into v_id from delivery.deliveries d
    where d.tenant_id = v_tenant and d.barcode = v_written and d.parent_id is null
    order by d.status = 'cancelled', d.created_at desc limit 1;
  end if;
  if v_id is null and v_code is not null then
    select coalesce(d.parent_id, d.id) into v_id from delivery.deliveries d
    where d.tenant_id = v_tenant and d.delivery_code = v_code;
  end if;
  return v_id;
end $$;

-- The warehouse that holds a parcel: where it was last received, or where it is picked and waits for its driver. Null: none does, it is
-- with its sender, on the road, or still on the shelves.
create or replace function warehousing.parcel_place(d delivery.deliveries) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(d.current_warehouse_id, (
    select k.warehouse_id from warehousing.picking_orders k
    where k.tenant_id = d.tenant_id and k.delivery_id = d.id and k.status = 'completed'));
end $$;
