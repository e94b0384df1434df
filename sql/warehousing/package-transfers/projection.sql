-- Every waybill between two warehouses with a package on it has one transfer that stands for it, with the same packages.

-- Creates the transfer of a waybill with its first package; later packages join it. SECURITY DEFINER: the person who attaches a package has it
-- recorded, and nobody records one otherwise.
create or replace function warehousing.waybill_projected() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform warehousing.package_transfers_project(array(select distinct n.waybill_id from new_rows n), false);
  return null;
end $$;

-- Writes the transfers of these waybills that are missing, and the packages they lack; to_closed: also of those to a
-- warehouse that there is no more. -> transfers made
create or replace function warehousing.package_transfers_project(waybills uuid[], to_closed boolean) returns bigint
language plpgsql set search_path = '' as $$
declare
  v_made bigint;
begin
  insert into warehousing.package_transfers (tenant_id, mode, operation_type, source_warehouse_id, destination_warehouse_id, waybill_id, notes,
    performed_by, created_at)
  select w.tenant_id, 'delivery_operation', 'waybill', w.source_warehouse_id, w.destination_warehouse_id, w.id, w.notes, w.created_by, w.created_at
  from warehousing.waybills w
  join warehousing.warehouses d on d.tenant_id = w.tenant_id and d.id = w.destination_warehouse_id
  where w.id = any (waybills) and w.source_warehouse_id <> w.destination_warehouse_id and (to_closed or d.deleted_at is null)
    and exists (select from warehousing.waybill_deliveries p where p.tenant_id = w.tenant_id and p.waybill_id = w.id)
    and not exists (select from warehousing.package_transfers t where t.tenant_id = w.tenant_id and t.waybill_id = w.id)
  on conflict on constraint one_transfer_per_waybill do nothing;
  get diagnostics v_made = row_count;
  insert into warehousing.package_transfer_deliveries (tenant_id, transfer_id, delivery_id, position)
  select p.tenant_id, t.id, p.delivery_id, p.position
  from warehousing.waybill_deliveries p
  join warehousing.package_transfers t on t.tenant_id = p.tenant_id and t.waybill_id = p.waybill_id
  where t.waybill_id = any (waybills)
    and not exists (select from warehousing.package_transfer_deliveries x
      where x.tenant_id = p.tenant_id and x.transfer_id = t.id and x.delivery_id = p.delivery_id)
  on conflict do nothing;
  return v_made;
end $$;

-- Makes the transfers that older waybills lack; may be run at any time and again. -> transfers made
create or replace function warehousing.package_transfers_backfill() returns bigint
language plpgsql set search_path = '' as $$
begin
  return warehousing.package_transfers_project(array(select w.id from warehousing.waybills w), true);
end $$;

-- Removes a package from the transfer when it leaves the waybill, and the transfer with its last package.
create or replace function warehousing.waybill_unprojected() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from warehousing.package_transfer_deliveries x using old_rows o, warehousing.package_transfers t
  where t.tenant_id = o.tenant_id and t.waybill_id = o.waybill_id
    and x.tenant_id = t.tenant_id and x.transfer_id = t.id and x.delivery_id = o.delivery_id;
  delete from warehousing.package_transfers t
  where (t.tenant_id, t.waybill_id) in (select o.tenant_id, o.waybill_id from old_rows o)
    and not exists (select from warehousing.package_transfer_deliveries x where x.tenant_id = t.tenant_id and x.transfer_id = t.id);
  return null;
end $$;

drop trigger if exists waybill_unprojected on warehousing.waybill_deliveries;
create trigger waybill_unprojected after delete on warehousing.waybill_deliveries referencing old table as old_rows
  for each statement execute function warehousing.waybill_unprojected();

drop trigger if exists waybill_projected on warehousing.waybill_deliveries;
create trigger waybill_projected after insert on warehousing.waybill_deliveries referencing new table as new_rows
  for each statement execute function warehousing.waybill_projected();

-- Transfers whose waybill's number contains a text, for the list. SECURITY DEFINER because ILIKE is not leakproof; it looks at
-- the caller's own tenant only and answers ids that the caller still has to read through the policies.
create or replace function warehousing.waybills_with(part text) returns setof uuid
language plpgsql stable security definer rows 20 set search_path = '' as $$
declare
  v_patterns text[] := array[app.contains_pattern(app.ascii_digits(part))];
begin
  return query execute $query$
    select w.id from warehousing.waybills w where w.tenant_id = $1 and w.waybill_number operator(pg_catalog.~~*) any ($2)
      and (w.waybill_number || '') operator(pg_catalog.~~*) any ($3)
  $query$ using app.tenant_id(), app.index_patterns(v_patterns), v_patterns;
end $$;

grant execute on function warehousing.waybills_with(text) to barid_caller;

-- Nobody calls these but other functions and triggers.
revoke execute on function warehousing.package_transfers_backfill(), warehousing.package_transfers_project(uuid[],boolean),
  warehousing.waybill_projected(), warehousing.waybill_unprojected() from barid_caller;
