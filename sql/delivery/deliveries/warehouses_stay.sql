-- A warehouse that a delivery begins at, goes through or ends at is not deleted. Before a delivery was written, the core that writes it saw the
-- warehouse; with the row it holds it by its reference, and looks again: the deletion may have come between the two, which looks for deliveries
-- under the lock of the warehouse (warehousing.warehouse_delete). SECURITY DEFINER: not everybody who orders sees the warehouse.
-- Fails: warehouse_not_found {field}.
create or replace function delivery.warehouses_stay() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_field text;
begin
  select case w.id when new.pickup_warehouse_id then 'pickup_warehouse_id' when new.dropoff_warehouse_id then 'dropoff_warehouse_id'
    else 'warehouse_id' end into v_field
  from warehousing.warehouses w
  where w.tenant_id = new.tenant_id and w.id in (new.pickup_warehouse_id, new.dropoff_warehouse_id, new.staging_warehouse_id)
    and w.deleted_at is not null limit 1;
  if found then
    perform app.fail('warehouse_not_found', jsonb_build_object('field', v_field));
  end if;
  return null;
end $$;

-- After the references were checked, which are named before it in the alphabet.
drop trigger if exists warehouses_stay_made on delivery.deliveries;
create trigger warehouses_stay_made after insert on delivery.deliveries for each row
  when (new.pickup_warehouse_id is not null or new.dropoff_warehouse_id is not null or new.staging_warehouse_id is not null)
  execute function delivery.warehouses_stay();
drop trigger if exists warehouses_stay_changed on delivery.deliveries;
create trigger warehouses_stay_changed after update of pickup_warehouse_id, dropoff_warehouse_id, staging_warehouse_id on delivery.deliveries for each row
  when (new.status not in ('delivered', 'returned', 'cancelled') and (
    new.pickup_warehouse_id is distinct from old.pickup_warehouse_id or new.dropoff_warehouse_id is distinct from old.dropoff_warehouse_id
    or new.staging_warehouse_id is distinct from old.staging_warehouse_id))
  execute function delivery.warehouses_stay();

-- Nobody calls it but triggers.
revoke execute on function delivery.warehouses_stay() from barid_caller;
