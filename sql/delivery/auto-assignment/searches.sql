-- When a search for a driver begins and ends: heard from deliveries and assignments, in every way they are written.

-- The setting general.delivery.on_demand_auto_assignment with its defaults. At least one attempt, and at least a minute for an answer.
create or replace function delivery.auto_assignment_settings(
  out enabled boolean, out checks jsonb, out max_attempts integer, out retry_after interval, out notify boolean)
language plpgsql stable set search_path = '' as $$
declare
  v_set jsonb := coalesce(app.settings('general', 'delivery') -> 'on_demand_auto_assignment', '{}');
begin
  enabled := app.boolean_or(v_set -> 'enabled', false);
  checks := coalesce(nullif(v_set -> 'priority_checks', 'null'), '{}');
  max_attempts := greatest(coalesce((v_set ->> 'max_retry_attempts')::integer, 3), 1);
  retry_after := make_interval(mins => greatest(coalesce((v_set ->> 'retry_after_minutes')::integer, 5), 1));
  notify := app.boolean_or(v_set -> 'notify_admin_on_failure', false);
end $$;

-- True for deliveries that may be assigned automatically: carried by the tenant's own drivers, in one piece, and from no manifest.
create or replace function delivery.is_auto_assignable(d delivery.deliveries) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return d.carrier_type = 'internal' and d.delivery_flow in ('standard', 'customer_return') and d.parent_id is null and d.manifest_id is null;
end $$;

-- Begins the search for these deliveries of the caller's tenant anew, or continues one whose offer was rejected, and queues its next
-- step, which runs right after the commit. declined: [{delivery_id, driver_id}], the drivers who have just rejected.
create or replace function delivery.searches_begin(delivery_ids uuid[], declined jsonb default '[]') returns void
language plpgsql set search_path = '' as $$
begin
  if cardinality(delivery_ids) = 0 then
    return;
  end if;
  insert into delivery.driver_searches as s (tenant_id, delivery_id, status, next_attempt_at, declined)
  select app.tenant_id(), i.id, 'searching', clock_timestamp(), array(
    select x.driver_id from jsonb_to_recordset(searches_begin.declined) x (delivery_id uuid, driver_id uuid) where x.delivery_id = i.id)
  from unnest(delivery_ids) i (id) order by i.id
  on conflict (tenant_id, delivery_id) do update set status = 'searching', next_attempt_at = excluded.next_attempt_at,
    attempts = case when s.status = 'offered' then s.attempts else 0 end,
    declined = case when s.status = 'offered' then s.declined || excluded.declined else excluded.declined end,
    passed_over = case when s.status = 'offered' then s.passed_over else '{}' end
  where s.status <> 'searching';
  perform app.job_add('delivery.auto_assignment', '{}');
end $$;

-- The search for a delivery that waited for its exception continues now. SECURITY DEFINER: staff of a warehouse, who resolve exceptions, start no
-- search. The delivery is locked.
create or replace function delivery.search_resume(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update delivery.driver_searches s set next_attempt_at = clock_timestamp()
  where s.tenant_id = app.tenant_id() and s.delivery_id = p_delivery and s.status = 'searching' and not delivery.has_unresolved_exception(p_delivery);
  if found then
    perform app.job_add('delivery.auto_assignment', '{}');
  end if;
end $$;
grant execute on function delivery.search_resume(uuid) to barid_caller;

-- A delivery that becomes pending without a driver is searched for, a postponed one when its day has come, one of a carrier when it is given
-- back to the company's drivers, both unless it is sent back; one that ends, leaves or goes to a carrier is so no longer.
create or replace function delivery.searches_follow_deliveries() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_over uuid[];
  v_open boolean;
begin
  if tg_op = 'INSERT' then
    if (delivery.auto_assignment_settings()).enabled then
      perform delivery.searches_begin(array(select n.id from new_rows n
        where n.tenant_id = app.tenant_id() and n.status = 'pending' and delivery.is_auto_assignable(n)));
    end if;
    return null;
  end if;
  select array_agg(n.id) filter (where (n.status not in ('pending', 'assigned', 'accepted') or n.carrier_type <> 'internal')
      and (n.status <> o.status or n.carrier_type <> o.carrier_type)),
    coalesce(bool_or(n.status = 'pending' and n.postponed_to is null
      and (o.status not in ('pending', 'assigned', 'accepted') or o.postponed_to is not null or o.carrier_type <> n.carrier_type)), false)
  into v_over, v_open
  from new_rows n join old_rows o on o.id = n.id;
  if v_over is not null then
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    from new_rows n
    where n.id = any (v_over) and s.tenant_id = n.tenant_id and s.delivery_id = n.id and s.status in ('searching', 'offered', 'failed');
  end if;
  -- Deliveries that drivers lose before pickup are the affair of their assignments.
  if v_open and (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(array(select n.id from new_rows n join old_rows o on o.id = n.id
      where n.tenant_id = app.tenant_id() and n.status = 'pending' and n.postponed_to is null
        and (o.status not in ('pending', 'assigned', 'accepted')
          or (o.postponed_to is not null or o.carrier_type <> n.carrier_type) and delivery.return_under_way(n.id) is null)
        and delivery.is_auto_assignable(n)));
  end if;
  return null;
end $$;

-- An assignment made by anybody but the search ends it, an accepted offer too. One that the driver rejects sets it going again;
-- one that the office withdraws leaves the delivery to the office.
create or replace function delivery.searches_follow_assignments() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_open jsonb;
  v_enabled boolean;
begin
  if tg_op = 'INSERT' then
    -- The search marks its delivery as offered before it assigns.
    update delivery.driver_searches s set status = 'off', next_attempt_at = null
    from new_rows n
    where s.tenant_id = n.tenant_id and s.delivery_id = n.delivery_id and s.status in ('searching', 'failed');
    return null;
  end if;
  update delivery.driver_searches s set status = case n.status when 'returned' then 'off' else 'assigned' end, next_attempt_at = null
  from new_rows n join old_rows o on o.id = n.id
  where s.tenant_id = n.tenant_id and s.delivery_id = n.delivery_id
    and ((n.status = 'accepted' and o.status = 'pending' and s.status = 'offered')
      or (n.status = 'returned' and o.status in ('pending', 'assigned', 'accepted') and s.status in ('offered', 'assigned')));
  select jsonb_agg(jsonb_build_object('delivery_id', n.delivery_id, 'driver_id', n.driver_id)) into v_open
  from new_rows n
  join old_rows o on o.id = n.id
  join delivery.deliveries d on d.tenant_id = n.tenant_id and d.id = n.delivery_id
  where n.tenant_id = app.tenant_id() and n.status = 'rejected' and o.status <> 'rejected' and d.status = 'pending' and delivery.is_auto_assignable(d);
  if v_open is not null then
    v_enabled := (delivery.auto_assignment_settings()).enabled;
    -- A search that is under way continues to its end, whatever the setting says now.
    perform delivery.searches_begin(array(
      select x.delivery_id from jsonb_to_recordset(v_open) x (delivery_id uuid)
      where v_enabled or exists (select from delivery.driver_searches s
        where s.tenant_id = app.tenant_id() and s.delivery_id = x.delivery_id and s.status = 'offered')), v_open);
  end if;
  return null;
end $$;

-- Nobody waits for the answer of a driver who is made inactive, or goes off duty where only those on duty are asked: the searches that asked them
-- continue. A search locks its delivery before the driver, so this only wakes the job, which finds them (delivery.searches_due).
create or replace function delivery.searches_follow_drivers() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_driver uuid := coalesce(to_jsonb(new) ->> 'user_id', to_jsonb(new) ->> 'driver_id');
begin
  if exists (
      select from delivery.assignments a
      join delivery.driver_searches s on s.tenant_id = a.tenant_id and s.delivery_id = a.delivery_id and s.status = 'offered'
      where a.tenant_id = new.tenant_id and a.driver_id = v_driver and a.status = 'pending') then
    perform app.job_add('delivery.auto_assignment', '{}');
  end if;
  return null;
end $$;

drop trigger if exists searches_follow_drivers on delivery.drivers;
create trigger searches_follow_drivers after update of status on delivery.drivers
  for each row when (new.status = 'inactive' and old.status <> 'inactive') execute function delivery.searches_follow_drivers();
drop trigger if exists searches_follow_duty on delivery.driver_presence;
create trigger searches_follow_duty after update of on_duty on delivery.driver_presence
  for each row when (old.on_duty and not new.on_duty) execute function delivery.searches_follow_drivers();
drop trigger if exists searches_follow_made on delivery.deliveries;
create trigger searches_follow_made after insert on delivery.deliveries referencing new table as new_rows
  for each statement execute function delivery.searches_follow_deliveries();
drop trigger if exists searches_follow_moved on delivery.deliveries;
create trigger searches_follow_moved after update on delivery.deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.searches_follow_deliveries();
drop trigger if exists searches_follow_made on delivery.assignments;
create trigger searches_follow_made after insert on delivery.assignments referencing new table as new_rows
  for each statement execute function delivery.searches_follow_assignments();
drop trigger if exists searches_follow_changed on delivery.assignments;
create trigger searches_follow_changed after update on delivery.assignments referencing old table as old_rows new table as new_rows
  for each statement execute function delivery.searches_follow_assignments();

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.searches_begin(uuid[], jsonb), delivery.searches_follow_deliveries(), delivery.searches_follow_assignments(),
  delivery.searches_follow_drivers() from barid_caller;
