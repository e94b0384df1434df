-- The consequences of an assignment wherever it is written: the row a driver's app listens to, the handoff that waits for a
-- driver who is no longer the one, and the event of one that ended before its delivery was completed.

-- Updates the row that a driver's app listens to, cancels the handoff of a driver who no longer has the delivery, and
-- emits the event of an assignment that ended early.
create or replace function delivery.assignments_after_change() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_bulks uuid[];
begin
  if tg_op = 'INSERT' then
    insert into public.delivery_realtime_assignments (tenant_id, driver_id, assignment_id, delivery_id, assignment_status,
      requires_driver_response, total_units)
    select n.tenant_id, n.driver_id, n.id, n.delivery_id, n.status, n.status = 'pending', n.units
    from new_rows n where n.bulk_assignment_id is null;
    insert into public.delivery_realtime_assignments (tenant_id, driver_id, bulk_assignment_id, assignment_status,
      requires_driver_response, is_bulk, assignment_count, total_units)
    select b.tenant_id, b.driver_id, b.id, min(n.status), min(n.status) = 'pending', true, b.assignment_count, b.total_units
    from new_rows n join delivery.bulk_assignments b on b.tenant_id = n.tenant_id and b.id = n.bulk_assignment_id
    group by b.tenant_id, b.id
    on conflict on constraint realtime_bulk do nothing;
    return null;
  end if;
  update public.delivery_realtime_assignments r set assignment_status = n.status, requires_driver_response = n.status = 'pending'
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and r.tenant_id = n.tenant_id and r.assignment_id = n.id;

  -- A bulk waits as long as one of its rows does; then it is what the first of these words says of any. What was
  -- taken from the driver is no longer counted, as long as anything is left.
  -- Locked before it is worked out: of two answers at the same moment the later one sees the earlier.
  select array_agg(distinct n.bulk_assignment_id) into v_bulks
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status and n.bulk_assignment_id is not null;
  if v_bulks is not null then
    perform from public.delivery_realtime_assignments r where r.bulk_assignment_id = any (v_bulks)
    order by r.bulk_assignment_id for no key update;
    update public.delivery_realtime_assignments r set assignment_status = s.status, requires_driver_response = s.status = 'pending',
      assignment_count = coalesce(s.remaining, r.assignment_count), total_units = coalesce(s.units, r.total_units)
    from (
      select a.tenant_id, a.bulk_assignment_id,
        (array_agg(a.status order by array_position('{pending,accepted,assigned,completed,rejected,returned}', a.status)))[1] as status,
        nullif(count(*) filter (where a.status <> 'returned'), 0) as remaining, sum(a.units) filter (where a.status <> 'returned') as units
      from delivery.assignments a where a.bulk_assignment_id = any (v_bulks)
      group by a.tenant_id, a.bulk_assignment_id
    ) s
    where r.tenant_id = s.tenant_id and r.bulk_assignment_id = s.bulk_assignment_id
      and (r.assignment_status <> s.status or r.assignment_count <> s.remaining);
  end if;

  -- The pick is done and the stock stays reserved: the handoff waits for the next driver.
  update delivery.package_handoffs h set assignment_id = null, driver_id = null
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.status in ('rejected', 'returned')
    and h.tenant_id = n.tenant_id and h.assignment_id = n.id and h.status = 'pending';

  if exists (select from new_rows n join old_rows o on o.id = n.id where n.status = 'returned' and o.status <> 'returned') then
    perform app.events_add((
      select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.returned', 'entity_type', 'assignment',
        'entity_id', n.id, 'event_data', jsonb_build_object('assignment_ids', array[n.id], 'driver_id', n.driver_id,
          'delivery_id', n.delivery_id, 'delivery_ids', array[n.delivery_id], 'status', n.status, 'actor_id', app.user_id())) order by n.id)
      from new_rows n join old_rows o on o.id = n.id where n.status = 'returned' and o.status <> 'returned'));
  end if;
  return null;
end $$;

-- Writes the assignments of a delivery of which something changed that they show. Who follows the list of assignments by its cursor reads them
-- again, those that have ended too; of a parcel those of its legs as well, which show its terms. A move is shown by the assignments of its
-- delivery alone; that of who delivers ends with it. Rows that this transaction wrote before are read again already.
create or replace function delivery.assignments_follow_deliveries() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_tenants uuid[];
  v_parcels uuid[];
  v_moved uuid[];
  v_done uuid[];
  v_shown uuid[];
begin
  select array_agg(distinct n.tenant_id), array_agg(distinct coalesce(n.parent_id, n.id)) filter (where c.terms),
    array_agg(n.id) filter (where n.status <> o.status or n.picked_up_at is distinct from o.picked_up_at),
    array_agg(n.id) filter (where n.status = 'delivered' and o.status <> 'delivered')
  into v_tenants, v_parcels, v_moved, v_done
  from new_rows n
  join old_rows o on o.id = n.id
  cross join lateral (select (n.cod_amount, n.delivery_fee, n.currency, n.payer_type, n.payment_method, n.order_id, n.recipient, n.source_snapshot,
      n.pickup_snapshot, n.dropoff_snapshot, n.pickup_warehouse_id, n.transfer_kind, n.carrier_type, n.customer_id, n.institution_user_id, n.barcode,
      n.external_reference_id, n.unit_size, n.notes, n.promised_at, n.deliver_after, n.deliver_before, n.postponed_to)
    is distinct from (o.cod_amount, o.delivery_fee, o.currency, o.payer_type, o.payment_method, o.order_id, o.recipient, o.source_snapshot,
      o.pickup_snapshot, o.dropoff_snapshot, o.pickup_warehouse_id, o.transfer_kind, o.carrier_type, o.customer_id, o.institution_user_id, o.barcode,
      o.external_reference_id, o.unit_size, o.notes, o.promised_at, o.deliver_after, o.deliver_before, o.postponed_to) as terms) c;
  if v_parcels is null and v_moved is null then
    return null;
  end if;
  v_moved := coalesce(v_moved, '{}') || coalesce(v_parcels, '{}') || array(
    select l.id from delivery.deliveries l where l.tenant_id = any (v_tenants) and l.parent_id = any (v_parcels));
  select array_agg(x.id) into v_shown from (
    select a.id from delivery.assignments a
    where a.tenant_id = any (v_tenants) and a.delivery_id = any (v_moved) and a.changed <> pg_current_xact_id()::text::bigint
      and (a.status not in ('pending', 'assigned', 'accepted') or a.delivery_id <> all (coalesce(v_done, '{}')))
    order by a.id for no key update) x;
  if v_shown is not null then
    -- Its trigger says when.
    update delivery.assignments a set updated_at = a.updated_at where a.tenant_id = any (v_tenants) and a.id = any (v_shown);
  end if;
  return null;
end $$;

-- Notes where the work of an assignment begins and ends while that is known, since the parcel may lie elsewhere by the time its way is
-- measured by road, and the straight way. What is written for many brings its way and its warehouses (delivery.ways_ahead).
create or replace function delivery.assignments_begin() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  select w.from_warehouse_id, w.to_warehouse_id, w.route_details into new.from_warehouse_id, new.to_warehouse_id, new.route_details
  from delivery.ways_ahead(new.tenant_id, array[new.delivery_id]) w;
  return new;
end $$;

drop trigger if exists assignments_begin on delivery.assignments;
create trigger assignments_begin before insert on delivery.assignments
  for each row when (new.route_details is null) execute function delivery.assignments_begin();
drop trigger if exists assignments_followed_added on delivery.assignments;
create trigger assignments_followed_added after insert on delivery.assignments referencing new table as new_rows
  for each statement execute function delivery.assignments_after_change();
drop trigger if exists assignments_followed_changed on delivery.assignments;
create trigger assignments_followed_changed after update on delivery.assignments referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.assignments_after_change();
drop trigger if exists assignments_follow_deliveries on delivery.deliveries;
create trigger assignments_follow_deliveries after update on delivery.deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.assignments_follow_deliveries();

-- The driver of an assignment, or of a bulk, in the caller's tenant: a driver does not see what is
-- another's, and must get 403 and not 404.
create or replace function delivery.assignment_driver(assignment uuid, bulk uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select a.driver_id from delivery.assignments a
    where a.tenant_id = app.tenant_id() and (a.id = assignment or a.bulk_assignment_id = bulk)
    limit 1);
end $$;

grant execute on function delivery.assignment_driver(uuid, uuid) to barid_caller;

-- True while the bearer of the token that Realtime verified may act in the company that it names. Asked at each change, so that somebody who
-- is shut out hears no more of their assignments, though their token still holds. SECURITY DEFINER: a policy calls it for `authenticated`, who
-- reads no memberships.
create or replace function delivery.hears_assignments() returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return app.token_grants(app.tenant_id()) <> '{}';
end $$;

-- Nobody calls these but other functions and triggers, and the policy of Realtime.
revoke execute on function delivery.assignments_begin(), delivery.assignments_after_change(), delivery.assignments_follow_deliveries(),
  delivery.hears_assignments() from barid_caller;
