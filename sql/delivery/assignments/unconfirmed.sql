-- Parcels on the road that were handed over to a driver who is shut out or gone before they confirmed them: back to who has them in hand.

-- True for who drives for a tenant no more: shut out, gone, or come back as somebody else. Who is at rest still drives.
create or replace function delivery.drives_no_more(tenant uuid, driver uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not exists (select from tenancy.tenant_users u
    where u.tenant_id = tenant and u.user_id = driver and u.is_active and u.tenant_user_type = 'driver');
end $$;

-- Nobody waits for a driver who is shut out or gone to confirm what was handed over to them. Deliveries are locked before drivers, so this only
-- queues the job that withdraws it (delivery.handovers_withdraw). Heard also of a driver who was at rest before: their row is written again. It
-- is asked once the row is held, so that no handover is made meanwhile.
create or replace function delivery.handovers_follow_drivers() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if delivery.drives_no_more(new.tenant_id, new.user_id) and exists (
      select from delivery.assignments a
      where a.tenant_id = new.tenant_id and a.driver_id = new.user_id and a.status = 'pending' and a.handed_over_from is not null) then
    perform app.job_add('delivery.handovers_withdraw', jsonb_build_object('driver_id', new.user_id));
  end if;
  return null;
end $$;

drop trigger if exists handovers_follow_drivers on delivery.drivers;
create trigger handovers_follow_drivers after update of status on delivery.drivers
  for each row when (new.status = 'inactive') execute function delivery.handovers_follow_drivers();

-- Notifies the office of assignments of one driver that came to nothing: who assigned them, or everybody of it when they are of it no more, once
-- with their number, the first twenty parcels, why the driver rejected them, and with whom those are that were handed over (`holders`). Of no
-- assignment nobody is notified, nor is the caller.
create or replace function delivery.assigners_notify(p_type text, assignment_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_office constant text[] := '{tenant_admin,operations_manager,dispatcher}';
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, n.user_id, p_type, delivery.codes_noted(v_tenant, array_agg(a.delivery_id)) || jsonb_strip_nulls(jsonb_build_object(
    'driver_id', p.id, 'driver_name', p.full_name, 'assignment_count', count(*),
    'reason', max(a.response_reason) filter (where a.status = 'rejected'),
    'holders', jsonb_agg(distinct jsonb_build_object('driver_id', h.id, 'driver_name', h.full_name)) filter (where h.id is not null)))
  from delivery.assignments a
  join tenancy.profiles p on p.id = a.driver_id
  left join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
  left join tenancy.profiles h on h.id = f.driver_id
  left join tenancy.tenant_users b on b.tenant_id = a.tenant_id and b.user_id = a.assigned_by and b.is_active and exists (
    select from tenancy.tenant_user_roles r where r.tenant_id = b.tenant_id and r.user_id = b.user_id and r.role_key = any (v_office))
  cross join lateral (
    select b.user_id where b.user_id is not null
    union
    select u.user_id from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = any (v_office)
    where b.user_id is null and u.tenant_id = v_tenant and u.is_active) n
  where a.tenant_id = v_tenant and a.id = any (assignment_ids) and n.user_id is distinct from app.user_id()
  group by n.user_id, p.id, p.full_name;
end $$;

-- Notifies the office of assignments that the caller rejected: of a handover, which leaves the parcel with who has it, and of deliveries that wait
-- for another driver whom no search looks for.
create or replace function delivery.rejections_notify(rejected uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_mine uuid[] := array(select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.id = any (rejected) and a.status = 'rejected' and a.driver_id = app.user_id());
begin
  perform delivery.assigners_notify('handover_rejected', array(
    select a.id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_mine) and a.handed_over_from is not null));
  perform delivery.assigners_notify('assignments_rejected', array(
    select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.id = any (v_mine) and a.handed_over_from is null and not exists (
      select from delivery.driver_searches s
      where s.tenant_id = v_tenant and s.delivery_id = a.delivery_id and s.status in ('searching', 'offered'))));
end $$;

-- Notifies everybody of the office of what a driver reports and the office alone can solve. SECURITY DEFINER: a driver sees none of them.
create or replace function delivery.office_notify(type text, payload jsonb) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform tenancy.notify_roles(app.tenant_id(), '{tenant_admin,operations_manager,dispatcher}', office_notify.type, office_notify.payload);
end $$;

grant execute on function delivery.rejections_notify(uuid[]), delivery.office_notify(text, jsonb) to barid_caller;

-- Withdraws what was handed over on the road to a driver who drives no more and was not confirmed: the assignments end as returned
-- (driver_inactive), the parcels are with those who have them in hand as after a rejection, and the office is notified: who handed over, or
-- everybody of it when they work here no more. -> how many parcels; 0 when the driver drives again.
-- Locks: deliveries, drivers by id, assignments.
create or replace function delivery.handovers_withdraw(tenant uuid, driver uuid) returns integer
language plpgsql security definer set search_path = '' as $$
declare
  v_deliveries uuid[];
  v_ids uuid[];
begin
  perform set_config('app.tenant_id', tenant::text, true);
  v_deliveries := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending' and a.handed_over_from is not null);
  perform delivery.lock_deliveries(v_deliveries);
  perform from delivery.drivers d
  where d.tenant_id = tenant and (d.user_id = driver or d.user_id in (
    select f.driver_id from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending'))
  order by d.user_id for no key update;
  if not delivery.drives_no_more(tenant, driver) then
    return 0;
  end if;
  -- As they are now: while this waited, the office may have handed them over to somebody else.
  v_ids := array(select a.id from delivery.assignments a
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending' and a.handed_over_from is not null
      and a.delivery_id = any (v_deliveries) order by a.id);
  -- Written all the same, as by an answer, so that the list of what changed since shows the driver who has them now.
  update delivery.deliveries d set status = d.status
  from delivery.assignments a where a.tenant_id = tenant and a.id = any (v_ids) and d.tenant_id = tenant and d.id = a.delivery_id;
  perform delivery.assignments_return(v_ids, 'driver_inactive');
  perform delivery.handovers_undo(v_ids);
  perform delivery.assigners_notify('handover_withdrawn', v_ids);
  return cardinality(v_ids);
end $$;

grant execute on function delivery.handovers_withdraw(uuid, uuid) to barid_api;

-- Nobody calls these but other functions, triggers and the job.
revoke execute on function delivery.drives_no_more(uuid, uuid), delivery.handovers_follow_drivers(), delivery.handovers_withdraw(uuid, uuid),
  delivery.assigners_notify(text, uuid[]) from barid_caller;
