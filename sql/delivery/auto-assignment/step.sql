-- The search itself: one step for one delivery, in a transaction of its own. Called by the job delivery.auto_assignment.

-- True where only drivers on duty are asked (priority_checks.driver_online).
create or replace function delivery.asks_on_duty(tenant uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((
    select app.boolean_or(s.settings #> '{on_demand_auto_assignment,priority_checks,driver_online}', false) from tenancy.tenant_settings s
    where s.tenant_id = tenant and s.module = 'general' and s.group_key = 'delivery'), false);
end $$;

-- True when an offer to this driver waits for nothing: they were given a rest, shut out or are gone, or went off duty where only those on duty
-- are asked (on_duty_only). One who was never on duty was asked without that.
create or replace function delivery.offer_is_in_vain(r delivery.drivers, on_duty_only boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return r.status <> 'active' or on_duty_only and exists (
    select from delivery.driver_presence p where p.tenant_id = r.tenant_id and p.driver_id = r.user_id and not p.on_duty);
end $$;

-- True for a search whose offer waits for nothing. It is due, whatever its time is.
create or replace function delivery.search_offers_in_vain(s delivery.driver_searches) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return s.status = 'offered' and exists (
    select from delivery.assignments a
    join delivery.drivers r on r.tenant_id = a.tenant_id and r.user_id = a.driver_id
    where a.tenant_id = s.tenant_id and a.delivery_id = s.delivery_id and a.status = 'pending'
      and delivery.offer_is_in_vain(r, delivery.asks_on_duty(s.tenant_id)));
end $$;

-- The deliveries of a tenant whose search has something to do now, the longest due first: [id], at most 100. None of a company that may not
-- be used: its drivers cannot answer, and its searches wait until it may be.
create or replace function delivery.searches_due(tenant uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_on_duty boolean := delivery.asks_on_duty(tenant);
begin
  return (
    select coalesce(jsonb_agg(s.delivery_id order by s.next_attempt_at, s.delivery_id), '[]')
    from (
      (select x.delivery_id, x.next_attempt_at from delivery.driver_searches x
      where x.tenant_id = tenant and x.next_attempt_at <= now()
      order by x.next_attempt_at, x.delivery_id limit 100)
      union
      select x.delivery_id, x.next_attempt_at from delivery.drivers r
      join delivery.assignments a on a.tenant_id = r.tenant_id and a.driver_id = r.user_id and a.status = 'pending'
      join delivery.driver_searches x on x.tenant_id = a.tenant_id and x.delivery_id = a.delivery_id and x.status = 'offered'
      where r.tenant_id = tenant and delivery.offer_is_in_vain(r, v_on_duty)
      order by 2, 1 limit 100) s
    where exists (select from tenancy.tenants t where t.id = tenant and app.is_effective(t)));
end $$;

-- Takes the search for one delivery a step further, if it is due:
--   offered, assigned  a driver was asked, for the first time or again, or has it where no answer is required
--   nobody             no driver may be asked; it is tried again later
--   waits              the delivery itself may not be given to anybody, such as one with an open exception; no attempt is counted
--   withdrawn          the driver who was asked did not answer in time, may not work any more, or went off duty where that counts
--   failed             every attempt was made
--   off                it needs no driver any more
--   again              somebody changed the driver's load meanwhile; still due
--   not_due            another process was faster, or nothing was to do
-- Searches of a tenant take turns, so that each sees what the one before gave away.
-- Locks: the tenant's turn, delivery, search, picking orders, driver.
create or replace function delivery.search_step(tenant uuid, delivery_id uuid) returns text
language plpgsql security definer set search_path = '' as $$
declare
  v_settings record;
  s delivery.driver_searches;
  d delivery.deliveries;
  v_offer delivery.assignments;
  v_vain boolean;
  v_reasons jsonb;
  v_drivers uuid[];
  v_driver uuid;
  v_plan jsonb;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  perform pg_advisory_xact_lock(hashtextextended('driver searches ' || tenant, 0));
  perform delivery.lock_deliveries(array[search_step.delivery_id]);
  select * into s from delivery.driver_searches x where x.tenant_id = tenant and x.delivery_id = search_step.delivery_id for no key update;
  v_vain := delivery.search_offers_in_vain(s);
  if s.next_attempt_at is null or s.next_attempt_at > clock_timestamp() and v_vain is not true then
    return 'not_due';
  end if;
  v_settings := delivery.auto_assignment_settings();
  if s.status = 'offered' then
    -- Its time passed long ago and nobody looked: the company was suspended, or the functions were away, and the driver could not
    -- answer. It is open for its whole time again.
    if not v_vain and s.next_attempt_at < clock_timestamp() - interval '12 hours' then
      perform delivery.search_continue(s, 'offered', v_settings.retry_after);
      return 'offered';
    end if;
    select * into v_offer from delivery.assignments a
    where a.tenant_id = tenant and a.delivery_id = s.delivery_id and a.status = 'pending';
    return delivery.search_withdraw(s, v_offer);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = tenant and x.id = s.delivery_id;
  if d.status <> 'pending' or d.postponed_to is not null or not delivery.is_auto_assignable(d) then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = tenant and x.delivery_id = d.id;
    return 'off';
  end if;
  if exists (select from delivery.preparation_problem(array[d.id])) then
    perform delivery.search_continue(s, 'searching', v_settings.retry_after);
    return 'waits';
  end if;
  if s.attempts >= v_settings.max_attempts then
    return delivery.search_fail(s, d);
  end if;

  with ranked as materialized (select r.place, r.driver_id, r.reasons from delivery.driver_ranking(d) r)
  select array(select r.driver_id from ranked r where r.reasons = '{}' order by r.place), (
    select jsonb_object_agg(c.reason, c.count) from (
      select r.reasons[1] as reason, count(*) from ranked r
      where r.reasons[1] in ('offline', 'capacity', 'zone', 'away', 'declined') group by 1) c)
  into v_drivers, v_reasons;
  -- The ranking and the plan know the same rules; the plan has the last word.
  foreach v_driver in array v_drivers loop
    v_plan := delivery.assignments_plan(array[d.id], v_driver, null, false);
    exit when v_plan ->> 'code' is null and v_plan #>> '{lines,0,code}' is null;
    v_plan := null;
  end loop;
  s.passed_over := delivery.drivers_passed_over(v_reasons);
  s.attempts := s.attempts + 1;
  if v_plan is null then
    if s.attempts >= v_settings.max_attempts then
      return delivery.search_fail(s, d);
    end if;
    perform delivery.search_continue(s, 'searching', v_settings.retry_after);
    return 'nobody';
  end if;
  v_plan := delivery.assignments_plan(array[d.id], v_driver, null, true);
  if v_plan ->> 'code' is not null or v_plan #>> '{lines,0,code}' is not null then
    return 'again';
  end if;
  perform delivery.search_continue(s, 'offered', v_settings.retry_after);
  perform delivery.assignments_write(v_plan, '{}');
  update delivery.driver_searches x set status = 'assigned', next_attempt_at = null
  from delivery.assignments a
  where x.tenant_id = tenant and x.delivery_id = d.id and a.tenant_id = tenant and a.delivery_id = d.id and a.status = 'assigned';
  return case when found then 'assigned' else 'offered' end;
end $$;

-- Notes how a search stands, when its next step is, and that there is one.
create or replace function delivery.search_continue(s delivery.driver_searches, status text, after interval) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.driver_searches x set status = search_continue.status, attempts = s.attempts, passed_over = s.passed_over,
    next_attempt_at = clock_timestamp() + after, declined = s.declined
  where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
  perform app.job_add('delivery.auto_assignment', '{}', run_at => clock_timestamp() + after);
end $$;

-- Withdraws an offer that the driver has not answered, or may not answer; the search continues with the next driver.
create or replace function delivery.search_withdraw(s delivery.driver_searches, offer delivery.assignments) returns text
language plpgsql set search_path = '' as $$
declare
  r delivery.drivers;
  v_vain boolean;
  v_reason text;
begin
  if offer.id is null then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
    return 'off';
  end if;
  select * into r from delivery.drivers x where x.tenant_id = s.tenant_id and x.user_id = offer.driver_id for no key update;
  v_vain := delivery.offer_is_in_vain(r, delivery.asks_on_duty(s.tenant_id));
  if not v_vain and s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  -- A driver who works again later may be asked again.
  if not v_vain then
    s.declined := s.declined || offer.driver_id;
  end if;
  perform delivery.search_continue(s, 'searching', interval '0');
  v_reason := case when r.status <> 'active' then 'driver_inactive' when v_vain then 'driver_off_duty' else 'unanswered' end;
  perform delivery.assignments_return(array[offer.id], v_reason);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (s.tenant_id, offer.driver_id, 'assignment_returned', delivery.return_noted(s.tenant_id, offer.id, s.delivery_id, v_reason));
  return 'withdrawn';
end $$;

-- Ends a search that found nobody: an event, and where the tenant wants it a notification to each person of the office.
create or replace function delivery.search_fail(s delivery.driver_searches, d delivery.deliveries) returns text
language plpgsql set search_path = '' as $$
begin
  update delivery.driver_searches x set status = 'failed', attempts = s.attempts, passed_over = s.passed_over, next_attempt_at = null
  where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.auto_assignment_failed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'attempts', s.attempts, 'passed_over', delivery.drivers_passed_over(s.passed_over), 'actor_id', app.user_id()))));
  if (delivery.auto_assignment_settings()).notify then
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct s.tenant_id, u.user_id, 'auto_assignment_failed', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code)
    from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
    where u.tenant_id = s.tenant_id and u.is_active;
  end if;
  return 'failed';
end $$;

-- Queues a job for each tenant with a search that is due and has none. Run by cron, for what was left. -> how many
create or replace function delivery.searches_sweep() returns integer
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid;
  v_count integer := 0;
begin
  for v_tenant in
    select s.tenant_id from delivery.driver_searches s
    join tenancy.tenants t on t.id = s.tenant_id and app.is_effective(t)
    where s.next_attempt_at <= now()
      and not exists (select from app.jobs j where j.tenant_id = s.tenant_id and j.kind = 'delivery.auto_assignment'
        and j.status in ('queued', 'running') and j.run_at <= now())
    group by s.tenant_id
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    perform app.job_add('delivery.auto_assignment', '{}');
    v_count := v_count + 1;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $$;

grant execute on function delivery.searches_due(uuid), delivery.search_step(uuid, uuid) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function delivery.searches_due(uuid), delivery.search_step(uuid, uuid), delivery.searches_sweep(),
  delivery.search_continue(delivery.driver_searches, text, interval), delivery.search_fail(delivery.driver_searches, delivery.deliveries),
  delivery.search_offers_in_vain(delivery.driver_searches), delivery.offer_is_in_vain(delivery.drivers, boolean),
  delivery.asks_on_duty(uuid), delivery.search_withdraw(delivery.driver_searches, delivery.assignments) from barid_caller;
