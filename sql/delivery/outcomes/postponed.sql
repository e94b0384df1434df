-- Parcels whose receivers asked for another day: they stay with their driver, or wait in a warehouse, until the morning of that day.

-- The hour of the tenant's clock at which a day's work begins: what was postponed to that day is on its way again, and what has spent a
-- night in a van is noticed.
create or replace function delivery.morning() returns interval
language plpgsql immutable set search_path = '' as $$
begin
  return interval '6 hours';
end $$;

-- The day for which the tenant's clock has come to its morning.
create or replace function delivery.working_day() returns date
language plpgsql stable set search_path = '' as $$
begin
  return (now() at time zone app.timezone() - delivery.morning())::date;
end $$;

-- When the office is notified that a parcel postponed to this day has spent a night in a van: the next morning. Null: it is on its way by
-- then, or not postponed.
create or replace function delivery.overnight_notice(postponed_to date) returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
  v_tomorrow date := (now() at time zone app.timezone())::date + 1;
begin
  return case when postponed_to > v_tomorrow then (v_tomorrow + delivery.morning()) at time zone app.timezone() end;
end $$;

-- The days to which a parcel may be postponed, seen from a moment: from tomorrow to 30 days on, in the tenant's time zone. -> {first, last}
create or replace function delivery.postponement_days(seen_from timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_today date := (seen_from at time zone app.timezone())::date;
begin
  return jsonb_build_object('first', v_today + 1, 'last', v_today + 30);
end $$;

-- The day to which an attempt is postponed, seen from the day on which it was agreed at the door: the report may come after midnight.
-- {postponed_to, occurred_at?} -> the day
-- Fails: invalid_postponed_to {first, last}.
create or replace function delivery.require_postponed_to(input jsonb) returns date
language plpgsql stable set search_path = '' as $$
declare
  v_day date := (input ->> 'postponed_to')::date;
  v_days jsonb := delivery.postponement_days(coalesce(app.instant(input ->> 'occurred_at'), now()));
begin
  if v_day is null or v_day not between (v_days ->> 'first')::date and (v_days ->> 'last')::date then
    perform app.fail('invalid_postponed_to', v_days || '{"field": "postponed_to"}');
  end if;
  return v_day;
end $$;

-- A postponed parcel is so until somebody sends it out again, or it ends. On its way into a warehouse, and there, it stays postponed.
create or replace function delivery.postponement_ends() returns trigger
language plpgsql set search_path = '' as $$
begin
  if new.status not in ('failed', 'in_transit', 'pending') and not (new.status = 'returned' and delivery.leaves_warehouse(new))
      or new.carrier_type <> 'internal' and new.status <> 'failed' then
    new.postponed_to := null;
  end if;
  if new.postponed_to is null or new.status <> 'failed' then
    new.overnight_notice_at := null;
  end if;
  return new;
end $$;

drop trigger if exists postponement_ends on delivery.deliveries;
create trigger postponement_ends before update of status on delivery.deliveries
  for each row when (old.postponed_to is not null and new.status <> old.status and new.delivery_flow <> 'pnd_parent')
  execute function delivery.postponement_ends();

-- Sends out again deliveries of a tenant that were postponed to a day whose morning has come, at most so many: in_transit with their drivers, or
-- pending in the warehouses they lie in, where the search for a driver begins. It is no retry and uses up no attempt. -> how many there were; fewer
-- than `many`: there are no more. SECURITY DEFINER: the job has no caller.
-- Locks: the deliveries' families.
create or replace function delivery.postponed_resume_of(tenant uuid, many integer) returns integer
language plpgsql security definer set search_path = '' as $$
declare
  v_day date;
  v_ids uuid[];
  v_failed uuid[];
  v_parents uuid[];
begin
  if app.is_archived(tenant) then
    return 0;
  end if;
  perform set_config('app.tenant_id', tenant::text, true);
  v_day := delivery.working_day();
  v_ids := array(select d.id from delivery.deliveries d
    where d.tenant_id = tenant and d.postponed_to <= v_day and d.delivery_flow <> 'pnd_parent' order by d.id limit many);
  perform delivery.lock_deliveries(v_ids);
  v_failed := array(select d.id from delivery.deliveries d
    where d.tenant_id = tenant and d.id = any (v_ids) and d.postponed_to <= v_day and d.status = 'failed');
  v_parents := array(select d.parent_id from delivery.deliveries d where d.tenant_id = tenant and d.id = any (v_ids) and d.parent_id is not null);
  update delivery.deliveries d set status = case d.status when 'failed' then 'in_transit' else d.status end, postponed_to = null,
    overnight_notice_at = null, status_reason = case d.status when 'failed' then null else d.status_reason end,
    status_notes = case d.status when 'failed' then null else d.status_notes end
  where d.tenant_id = tenant and d.id = any (v_ids) and d.postponed_to <= v_day;
  -- As with a retry: what was to be received of them stays with their drivers.
  perform warehousing.receipts_withdraw(f.id) from unnest(v_failed) f (id);
  -- Those of legs that wait in a warehouse do not follow by themselves.
  update delivery.deliveries p set postponed_to = null
  where p.tenant_id = tenant and p.id = any (v_parents) and p.postponed_to <= v_day;
  return cardinality(v_ids);
end $$;

-- Sends out again what was postponed (delivery.postponed_resume_of), up to 1,000 of each tenant; the rest of a tenant's by a job. Run by cron.
-- -> how many
-- Locks: the deliveries' families, tenant after tenant.
create or replace function delivery.postponed_resume() returns integer
language plpgsql set search_path = '' as $$
declare
  v_many constant integer := 1000;
  v_tenant uuid;
  v_resumed integer;
  v_count integer := 0;
begin
  for v_tenant in
    -- A day ahead of UTC, for clocks east of it.
    select distinct d.tenant_id from delivery.deliveries d where d.postponed_to <= (now() at time zone 'UTC')::date + 1 order by 1
  loop
    v_resumed := delivery.postponed_resume_of(v_tenant, v_many);
    v_count := v_count + v_resumed;
    if v_resumed = v_many and not exists (select from app.jobs j
        where j.tenant_id = v_tenant and j.kind = 'delivery.postponed_resume' and j.status in ('queued', 'running')) then
      perform app.job_add('delivery.postponed_resume', '{}');
    end if;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $$;

-- Notifies the office, once for each, of postponed parcels that have spent a night in a van: they must come to a warehouse. Run by cron.
-- -> how many
create or replace function delivery.postponed_notify() returns integer
language plpgsql set search_path = '' as $$
declare
  v_count integer;
begin
  with due as (
    select d.id from delivery.deliveries d where d.overnight_notice_at <= now() and not app.is_archived(d.tenant_id)
    order by d.overnight_notice_at limit 1000 for no key update skip locked
  ), noticed as (
    update delivery.deliveries d set overnight_notice_at = null from due where d.id = due.id
    returning d.tenant_id, d.id, d.delivery_code, d.postponed_to
  ), written as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct n.tenant_id, u.user_id, 'delivery_postponed_in_van', jsonb_build_object('delivery_id', n.id, 'delivery_code', n.delivery_code,
      'postponed_to', n.postponed_to)
    from noticed n
    join tenancy.tenant_users u on u.tenant_id = n.tenant_id and u.is_active
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
  )
  select count(*) into v_count from noticed;
  return v_count;
end $$;

grant execute on function delivery.postponed_resume_of(uuid, integer) to barid_api;

-- Nobody calls these but other functions, triggers, the job and cron.
revoke execute on function delivery.postponement_ends(), delivery.postponed_resume_of(uuid, integer), delivery.postponed_resume(),
  delivery.postponed_notify() from barid_caller;
