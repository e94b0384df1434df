-- System events as the system itself, and those who manage it, publish, mark and replay them.

-- Acts in the tenant that is named, or outside any, and answers where it was: an Idempotency-Key belongs there,
-- so a core goes back in the end. Fails: forbidden, tenant_not_found.
create or replace function integration.enter_tenant(tenant_id uuid) returns uuid
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
declare
  v_home uuid := app.tenant_id();
begin
  if not integration.may_publish() then
    perform app.fail('forbidden');
  end if;
  perform set_config('app.tenant_id', coalesce(tenant_id::text, ''), true);
  if tenant_id is not null and not integration.tenant_exists(tenant_id) then
    perform app.fail('tenant_not_found');
  end if;
  return v_home;
end $$;

-- Goes back to where integration.enter_tenant() came from.
create or replace function integration.leave_tenant(home uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform set_config('app.tenant_id', coalesce(home::text, ''), true);
end $$;

-- True for every tenant there is, to those who may publish in all of them; false to all others.
create or replace function integration.tenant_exists(tenant_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return integration.may_publish() and exists (select from tenancy.tenants t where t.id = tenant_exists.tenant_id);
end $$;
grant execute on function integration.tenant_exists(uuid) to barid_caller;

-- Publishes an event. {event_type, source_module, target_module?, entity_type, entity_id, event_data, tenant_id?}
-- -> {event}. Of the tenant that is named, else of the one the caller is in; with a null, or outside any, it is an event
-- of the platform. Fails: forbidden, tenant_not_found.
create or replace function integration.event_publish(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
  v_tenant uuid := case when input ? 'tenant_id' then (input ->> 'tenant_id')::uuid else app.tenant_id() end;
  v_home uuid := integration.enter_tenant(v_tenant);
begin
  -- As it is kept, where a number may take more than it was sent with.
  if octet_length((input -> 'event_data')::text) > 16384 then
    perform app.fail('field_too_large', '{"field": "event_data", "bytes_max": 16384}');
  end if;
  insert into integration.system_events (tenant_id, event_type, source_module, target_module, entity_type, entity_id, event_data)
  values (v_tenant, input ->> 'event_type', input ->> 'source_module', input ->> 'target_module',
    input ->> 'entity_type', (input ->> 'entity_id')::uuid, input -> 'event_data')
  returning id into v_id;
  perform integration.leave_tenant(v_home);
  return (select jsonb_build_object('event', to_jsonb(e)) from integration.system_events_whole e where e.id = v_id);
end $$;

-- An event with all of its data. {id} -> {event}. Fails: event_not_found.
create or replace function integration.event_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('event', app.found((
    select to_jsonb(e)
    from integration.system_events_whole e where e.id = (input ->> 'id')::uuid), 'event_not_found'));
end $$;

-- Marks an event. {id, status, processed_at?, error_message?} -> {event}. Processed without a time is processed
-- now; each failure counts; back to pending forgets how it ended. Fails: forbidden, event_not_found.
create or replace function integration.event_mark(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_status text := input ->> 'status';
  v_tenant uuid;
  v_home uuid;
begin
  select e.tenant_id into v_tenant from integration.system_events e where e.id = v_id;
  if not found then
    perform app.fail('event_not_found');
  end if;
  v_home := integration.enter_tenant(v_tenant);
  update integration.system_events e set status = v_status,
    processed_at = case v_status when 'processed' then coalesce((input ->> 'processed_at')::timestamptz, now())
      when 'pending' then null else coalesce((input ->> 'processed_at')::timestamptz, e.processed_at) end,
    retry_count = e.retry_count + (v_status = 'failed')::int,
    error_message = case v_status when 'failed' then coalesce(input ->> 'error_message', e.error_message) else input ->> 'error_message' end
  where e.id = v_id;
  perform integration.leave_tenant(v_home);
  return (select jsonb_build_object('event', to_jsonb(e)) from integration.system_events_whole e where e.id = v_id);
end $$;

-- Deletes events that are older than the system setting events.keep_days (default 180), whatever their status. A batch a run, so
-- that nobody waits for it. Answers how many. Run by cron.
create or replace function integration.events_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_before timestamptz := now() - make_interval(days => coalesce((
    select s.value::integer from tenancy.system_settings s where s.key = 'events.keep_days' and jsonb_typeof(s.value) = 'number'), 180));
  v_count bigint;
begin
  delete from integration.system_events e where e.id in (
    select x.id from integration.system_events x
    where x.created_at < v_before
    order by x.created_at nulls first, x.id limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Hands events of a time, both ends included, to their subscribers once more: who has none yet gets a delivery, and ended
-- deliveries are sent again under their old id. {since, until?, event_type?, tenant_id?, dry_run}
-- -> {dry_run, events, created, requeued}. Fails: forbidden, tenant_not_found, replay_too_large.
create or replace function integration.events_replay(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_max constant integer := 10000;
  v_events uuid[];
  v_answer jsonb;
  v_home uuid := integration.enter_tenant((input ->> 'tenant_id')::uuid);
begin
  select array_agg(p.id) into v_events from (
    select e.id from integration.system_events e
    where e.tenant_id is not null and (input ->> 'tenant_id' is null or e.tenant_id = (input ->> 'tenant_id')::uuid)
      and e.created_at >= (input ->> 'since')::timestamptz
      and (input ->> 'until' is null or e.created_at <= (input ->> 'until')::timestamptz)
      and (input ->> 'event_type' is null or e.event_type = input ->> 'event_type')
    order by e.position limit v_max + 1) p;
  if cardinality(v_events) > v_max then
    perform app.fail('replay_too_large', jsonb_build_object('field', 'since', 'max', v_max));
  end if;
  v_answer := integration.events_requeue(coalesce(v_events, '{}'), (input ->> 'dry_run')::boolean);
  perform integration.leave_tenant(v_home);
  return v_answer || jsonb_build_object('dry_run', (input ->> 'dry_run')::boolean, 'events', coalesce(cardinality(v_events), 0));
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function integration.events_purge() from barid_caller;
