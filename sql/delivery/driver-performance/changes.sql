-- Queues a new calculation of driver performance, in the transaction that changes it.

-- Queues deliveries that ended, were reopened, or whose figures were corrected.
create or replace function delivery.performance_deliveries_changed() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into delivery.performance_changes (tenant_id, delivery_id)
  select n.tenant_id, n.id from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and (n.status in ('delivered', 'failed', 'returned', 'cancelled') or o.status in ('delivered', 'failed', 'returned', 'cancelled'))
    or (n.picked_up_at, n.delivered_at, n.promised_at, n.distance_km, n.cod_amount, n.delivery_fee)
      is distinct from (o.picked_up_at, o.delivered_at, o.promised_at, o.distance_km, o.cod_amount, o.delivery_fee);
  return null;
end $$;

-- Queues deliveries whose route was measured. The change of a driver counts when the delivery ends, which the trigger above queues.
create or replace function delivery.performance_assignments_changed() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into delivery.performance_changes (tenant_id, delivery_id)
  select n.tenant_id, n.delivery_id from new_rows n join old_rows o on o.id = n.id
  where n.route_details is distinct from o.route_details
    or (n.status <> o.status and (n.status in ('rejected', 'returned') or o.ended_at is distinct from n.ended_at));
  return null;
end $$;

drop trigger if exists performance_deliveries_noted on delivery.deliveries;
create trigger performance_deliveries_noted after update on delivery.deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.performance_deliveries_changed();
drop trigger if exists performance_assignments_noted on delivery.assignments;
create trigger performance_assignments_noted after update on delivery.assignments referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.performance_assignments_changed();

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.performance_assignments_changed(), delivery.performance_deliveries_changed() from barid_caller;
