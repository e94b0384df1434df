-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_exception_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  e delivery.delivery_exceptions;
begin
  select * into e from delivery.delivery_exceptions x where x.id = v_id;
  if not found then
    perform app.fail('delivery_exception_not_found');
  end if;
  perform delivery.lock_deliveries(array[e.delivery_id]);
  update delivery.delivery_exceptions x set status = 'resolved', resolution = input ->> 'resolution',
    resolution_notes = input ->> 'notes', resolved_by = app.user_id(), resolved_at = clock_timestamp()
  where x.id = v_id and x.status = 'open';
  if not found then
    perform app.fail('delivery_exception_resolved');
  end if;
  perform warehousing.receipts_withdraw(l.id) from delivery.deliveries l
  where l.tenant_id = e.tenant_id and (l.id = e.delivery_id or l.parent_id = e.delivery_id) and l.status in ('picked_up', 'in_transit')
    and not delivery.has_unresolved_exception(l.id) and (l.parent_id is null or not delivery.has_unresolved_exception(l.parent_id));
  perform delivery.search_resume(e.delivery_id);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'delivery_exception.resolved', 'source_module', 'delivery',
    'entity_type', 'delivery_exception', 'entity_id', v_id, 'event_data', jsonb_build_object('exception_id', v_id,
      'delivery_id', e.delivery_id, 'resolution', input ->> 'resolution', 'actor_id', app.user_id()))));
  return jsonb_build_object('exception', (select to_jsonb(l) from delivery.delivery_exceptions_list l where l.id = v_id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_resume(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update delivery.driver_searches s set next_attempt_at = clock_timestamp()
  where s.tenant_id = app.tenant_id() and s.delivery_id = p_delivery and s.status = 'searching' and not delivery.has_unresolved_exception(p_delivery);
  if found then
    perform app.job_add('delivery.auto_assignment', '{}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_step(tenant uuid, delivery_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_settings record;
  s delivery.driver_searches;
  d delivery.deliveries;
  v_offer delivery.assignments;
  v_reasons jsonb;
  v_drivers uuid[];
  v_driver uuid;
  v_plan jsonb;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  perform pg_advisory_xact_lock(hashtextextended('driver searches ' || tenant, 0));
  perform delivery.lock_deliveries(array[search_step.delivery_id]);
  select * into s from delivery.driver_searches x where x.tenant_id = tenant and x.delivery_id = search_step.delivery_id for no key update;
  if not found or s.next_attempt_at is null or s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  v_settings := delivery.auto_assignment_settings();
  if s.status = 'offered' then
    -- Its time passed long ago and nobody looked: the company was suspended, or the functions were away, and the driver could not
    -- answer. It is open for its whole time again.
    if s.next_attempt_at < clock_timestamp() - interval '12 hours' then
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
end $function$;

REVOKE ALL ON FUNCTION "delivery"."search_resume"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."search_resume"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126185747';
end $$;

grant execute on function private.schema_version() to barid_api;
