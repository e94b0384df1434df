-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table tenancy.tenant_users in share row exclusive mode;
      set local lock_timeout = '100ms';
      lock table integration.event_types in access exclusive mode;
      lock table integration.webhook_attempts in access exclusive mode;
      lock table integration.webhook_events in access exclusive mode;
      lock table integration.webhook_subscriptions in access exclusive mode;
      alter view integration.webhook_subscriptions_list reset (security_barrier);
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP POLICY "tenant" ON "integration"."webhook_attempts";

DROP POLICY "write_delete" ON "integration"."webhook_attempts";

DROP POLICY "write_insert" ON "integration"."webhook_attempts";

DROP POLICY "write_update" ON "integration"."webhook_attempts";

DROP POLICY "tenant" ON "integration"."webhook_events";

DROP POLICY "write_delete" ON "integration"."webhook_events";

DROP POLICY "write_insert" ON "integration"."webhook_events";

DROP POLICY "write_update" ON "integration"."webhook_events";

DROP POLICY "tenant" ON "integration"."webhook_subscriptions";

DROP POLICY "write_delete" ON "integration"."webhook_subscriptions";

DROP POLICY "write_insert" ON "integration"."webhook_subscriptions";

DROP POLICY "write_update" ON "integration"."webhook_subscriptions";

DROP VIEW "integration"."webhook_subscriptions_list";

ALTER TABLE "integration"."webhook_subscriptions" DROP CONSTRAINT "webhook_subscription_exists";

ALTER TABLE "integration"."webhook_subscriptions" DROP CONSTRAINT "webhook_subscriptions_disabled_reason_check";

ALTER TABLE "integration"."event_types" ADD COLUMN "merchant_fields" jsonb;

CREATE OR REPLACE FUNCTION integration.deliveries_add(event_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  insert into integration.webhook_events (id, tenant_id, subscription_id, system_event_id, event_type, entity_key, body, trace_context)
  select n.id, n.tenant_id, n.subscription_id, n.event_id, n.event_type, n.entity_key,
    integration.webhook_body(n.id, n.event_type, n.created_at, n.tenant_id, n.data), n.trace_context
  from (
    select overlay(overlay(md5(s.subscription_id || '/' || e.id) placing '8' from 13) placing '8' from 17)::uuid as id, e.tenant_id, s.subscription_id,
      e.id as event_id, e.event_type, e.entity_type || '/' || e.entity_id as entity_key, e.created_at, e.trace_context,
      case when s.merchant_fields is null then e.event_data
        else integration.merchant_data(s.merchant_fields, s.about || e.event_data) end as data
    from integration.subscribers_of(event_ids) s
    join integration.system_events e on e.id = s.event_id
    order by e.position offset 0
  ) n
  on conflict (subscription_id, system_event_id) do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION integration.event_types_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_merchant boolean := integration.subscription_owner() is not null;
begin
  return (
    select jsonb_build_object('event_types', coalesce(jsonb_agg(jsonb_build_object('event_type', t.event_type, 'module', t.module,
      'entity_type', t.entity_type, 'event_data', t.event_data) order by t.module collate "C" nulls last, t.event_type collate "C"), '[]'))
    from (
      select e.event_type, e.entity_type, case when v_merchant then e.merchant_fields else e.event_data end as event_data,
        case when e.source_module is not null then integration.module_of(e.event_type, e.source_module) end as module
      from integration.event_types e where not v_merchant or e.merchant_fields is not null) t
    where input ->> 'module' is null or t.module is null or t.module = input ->> 'module');
end $function$;

CREATE OR REPLACE FUNCTION integration.event_types_named(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_unknown text[];
  v_others text[];
  v_published text[];
begin
  if integration.subscription_owner() is not null then
    return integration.merchant_event_types_named(input);
  end if;
  with named as (
    select n.name from unnest(integration.event_types_of(input)) n (name) where n.name <> '*'
  ), known as (
    select n.name, bool_or(t.source_module is null or integration.module_of(t.event_type, t.source_module) = m.key) as heard
    from named n
    join integration.event_types t on integration.wants(array[n.name], t.event_type)
    left join integration.webhook_subscriptions s on s.id = (input ->> 'id')::uuid
    left join tenancy.modules m on m.id = s.module_id
    group by n.name
  )
  select array_agg(n.name order by n.name) filter (where k.heard is null), array_agg(n.name order by n.name) filter (where not k.heard)
  into v_unknown, v_others
  from named n left join known k on k.name = n.name;
  if v_unknown is not null or v_others is not null then
    v_published := private.published_types();
    v_unknown := array(
      select n.name from unnest(v_unknown) with ordinality n (name, place)
      where not exists (select from unnest(v_published) p (event_type) where integration.wants(array[n.name], p.event_type))
      order by n.place);
    v_others := array(
      select n.name from unnest(v_others) with ordinality n (name, place)
      where not exists (select from unnest(v_published) p (event_type) where integration.wants(array[n.name], p.event_type))
      order by n.place);
  end if;
  return jsonb_strip_nulls(jsonb_build_object('unknown_event_types', nullif(to_jsonb(v_unknown), '[]'),
    'other_module_event_types', nullif(to_jsonb(v_others), '[]')));
end $function$;

CREATE OR REPLACE FUNCTION integration.events_requeue(event_ids uuid[], dry_run boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_created integer;
  v_requeued integer;
begin
  if not integration.may_publish() then
    perform app.fail('forbidden');
  end if;
  if dry_run then
    select count(*) filter (where w.id is null), count(w.id) filter (where w.next_attempt_at is null and w.claim_token is null)
    into v_created, v_requeued
    from integration.subscribers_of(event_ids) s
    left join integration.webhook_events w on w.subscription_id = s.subscription_id and w.system_event_id = s.event_id;
  else
    update integration.webhook_events w set status = 'pending', attempts = 0, next_attempt_at = now()
    from integration.webhook_subscriptions s
    where s.id = w.subscription_id and integration.hears(s) and w.system_event_id = any (event_ids)
      and w.next_attempt_at is null and w.claim_token is null;
    get diagnostics v_requeued = row_count;
    v_created := integration.deliveries_add(event_ids);
    if v_created + v_requeued > 0 then
      perform set_config('app.events_queued', 'on', true);
    end if;
  end if;
  return jsonb_build_object('created', v_created, 'requeued', v_requeued);
end $function$;

CREATE OR REPLACE FUNCTION integration.events_waiting(tenants uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from integration.listening() l
    where (array_position(tenants, null) is not null or l.tenant_id = any (tenants)) and exists (select from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position));
end $function$;

CREATE OR REPLACE FUNCTION integration.hears(s integration.webhook_subscriptions)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return s.is_active and (s.owner_user_id is null or exists (
    select from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = 'institution'
    join private.open_accounts a on a.id = u.user_id
    where u.tenant_id = s.tenant_id and u.user_id = s.owner_user_id and u.is_active));
end $function$;

CREATE OR REPLACE FUNCTION integration.listening()
 RETURNS TABLE(tenant_id uuid, from_position bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with recursive tenants (tenant_id, from_position) as (
    (select s.tenant_id, s.from_position from integration.webhook_subscriptions s where s.is_active order by s.tenant_id, s.from_position limit 1)
    union all
    select n.tenant_id, n.from_position
    from tenants t
    cross join lateral (
      select s.tenant_id, s.from_position from integration.webhook_subscriptions s
      where s.is_active and s.tenant_id > t.tenant_id order by s.tenant_id, s.from_position limit 1) n)
  select t.tenant_id, t.from_position from tenants t;
end $function$;

REVOKE ALL ON FUNCTION "integration"."listening"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.merchant_data(merchant_fields jsonb, event_data jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_object_agg(f.name, coalesce(event_data -> f.name, 'null')) from jsonb_object_keys(merchant_fields) f (name));
end $function$;

REVOKE ALL ON FUNCTION "integration"."merchant_data"(jsonb, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.merchant_event_types_named(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'unknown_event_types', jsonb_agg(n.name order by n.name) filter (where k.heard is null),
      'company_event_types', jsonb_agg(n.name order by n.name) filter (where not k.heard)))
    from unnest(integration.event_types_of(input)) n (name)
    cross join lateral (
      select bool_or(t.merchant_fields is not null) as heard from integration.event_types t where integration.wants(array[n.name], t.event_type)) k
    where n.name <> '*');
end $function$;

CREATE OR REPLACE FUNCTION integration.merchant_subscription_delete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  if not exists (select from integration.webhook_subscriptions s where s.id = v_id and s.owner_user_id is not null) then
    perform app.fail('webhook_subscription_not_found');
  end if;
  perform integration.subscription_remove(v_id, true);
  return jsonb_build_object('id', v_id);
end $function$;

CREATE OR REPLACE FUNCTION integration.merchant_subscription_set(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_start boolean := (input ->> 'is_active')::boolean;
  s integration.webhook_subscriptions;
begin
  if v_start and exists (select from integration.webhook_subscriptions x where x.id = v_id and x.disabled_reason = 'stopped') then
    -- Deliveries before their subscription, as results lock them.
    perform integration.waiting_due(v_id);
  end if;
  select * into s from integration.webhook_subscriptions x where x.id = v_id and x.owner_user_id is not null for update;
  if not found then
    perform app.fail('webhook_subscription_not_found');
  end if;
  if v_start = (s.disabled_reason is not distinct from 'stopped') then
    update integration.webhook_subscriptions x set is_active = v_start, disabled_at = now(), disabled_reason = 'stopped'
    where x.id = v_id returning x.* into s;
    if not v_start then
      perform integration.subscription_stopped_notify(v_id);
    end if;
  end if;
  return jsonb_build_object('subscription', (
    select to_jsonb(l) - 'owner_user_id' from integration.merchant_subscriptions_list l where l.id = v_id));
end $function$;

CREATE OR REPLACE FUNCTION integration.metrics_of_queues()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', j.status), count(*)::double precision
  from app.jobs j where j.status in ('queued', 'running') group by j.kind, j.status
  union all
  -- Apart, because each of the two has an index of its own.
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', 'dead'), count(*)::double precision
  from app.jobs j where j.status = 'dead' group by j.kind
  union all
  select 'barid_jobs_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(j.run_at)), 0)::double precision
  from app.jobs j
  where j.status in ('queued', 'running') and j.run_at <= now() and (j.status = 'queued' or j.lease_until < now())
  union all
  select 'barid_webhooks_waiting', '{}', count(*)::double precision
  from integration.subscriptions_waiting() w (id)
  join integration.webhook_subscriptions s on s.id = w.id
  join integration.webhook_events e on e.subscription_id = s.id and e.next_attempt_at is not null
  where integration.hears(s)
  union all
  select 'barid_webhooks_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(w.due_at)), 0)::double precision
  from (
    select d.due_at
    from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id and s.failing_since is null
    cross join lateral (
      select e.next_attempt_at as due_at from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now()
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at limit 1) d
    where integration.hears(s)
    union all
    select u.created_at
    from integration.listening() l
    cross join lateral (
      select e.created_at from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position order by e.position limit 1) u
  ) w
  union all
  select 'barid_webhook_subscriptions_failing', '{}', count(*)::double precision
  from integration.webhook_subscriptions s where s.is_active and s.failing_since is not null;
end $function$;

CREATE OR REPLACE FUNCTION integration.retry_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'event_id')::uuid;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  update integration.webhook_events w set status = 'retrying', next_attempt_at = null, claim_token = gen_random_uuid(), claimed_at = now()
  where w.id = v_id and ((w.status = 'failed' and w.claim_token is null)
    or (w.status = 'retrying' and w.claimed_at < now() - interval '5 minutes'))
    and exists (select from integration.webhook_subscriptions_list s where s.id = w.subscription_id)
  returning w.* into e;
  if not found then
    perform app.fail(case when exists (select from integration.webhook_events w join integration.webhook_subscriptions_list s on s.id = w.subscription_id
        where w.id = v_id)
      then 'webhook_event_not_failed' else 'webhook_event_not_found' end);
  end if;
  return jsonb_build_object('claimed', integration.claimed(e));
end $function$;

CREATE OR REPLACE FUNCTION integration.subscribers_of(event_ids uuid[])
 RETURNS TABLE(event_id uuid, subscription_id uuid, merchant_fields jsonb, about jsonb)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with events as materialized (
    select e.id, e.tenant_id, e.event_type, e.entity_type, e.entity_id, integration.module_of(e.event_type, e.source_module) as module
    from integration.system_events e where e.id = any (event_ids)
  )
  select t.id, s.id, null::jsonb, null::jsonb
  from events t
  join integration.webhook_subscriptions s on s.tenant_id = t.tenant_id and s.owner_user_id is null
  join tenancy.modules m on m.id = s.module_id and m.key = t.module
  where s.is_active and integration.wants(s.event_types, t.event_type)
  union all
  select t.id, s.id, c.merchant_fields, o.about
  from events t
  join integration.event_types c on c.event_type = t.event_type and c.merchant_fields is not null
  cross join lateral (
    select d.institution_user_id, jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode,
      'external_reference_id', d.external_reference_id)
    from delivery.deliveries d where t.entity_type = 'delivery' and d.tenant_id = t.tenant_id and d.id = t.entity_id
    union all
    select m.owner_user_id, '{}'
    from money.merchant_statements m where t.entity_type = 'merchant_statement' and m.tenant_id = t.tenant_id and m.id = t.entity_id
  ) o (merchant, about)
  join integration.webhook_subscriptions s on s.tenant_id = t.tenant_id and s.owner_user_id = o.merchant
  where t.module = 'delivery' and integration.wants(s.event_types, t.event_type) and integration.hears(s);
end $function$;

REVOKE ALL ON FUNCTION "integration"."subscribers_of"(uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.subscription_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input #>> '{made,id}')::uuid;
  v_owner uuid := integration.subscription_owner();
begin
  if not exists (select from tenancy.modules m where m.id = (input ->> 'module_id')::uuid and (v_owner is null or m.key = 'delivery')) then
    perform app.fail('invalid_reference', '{"field": "module_id"}');
  end if;
  insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, is_active, secret, created_by, owner_user_id)
  values (v_id, app.tenant_id(), (input ->> 'module_id')::uuid, input ->> 'url', integration.event_types_of(input),
    coalesce((input ->> 'is_active')::boolean, true), input #>> '{made,secret}', app.user_id(), v_owner);
  return jsonb_build_object('subscription', integration.subscription_of(v_id), 'secret', input #>> '{made,secret}')
    || integration.event_types_named(input || jsonb_build_object('id', v_id));
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_delete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  if not exists (select from integration.webhook_subscriptions s
      where s.id = v_id and s.owner_user_id is not distinct from integration.subscription_owner()) then
    perform app.fail('webhook_subscription_not_found');
  end if;
  perform integration.subscription_remove(v_id, false);
  return jsonb_build_object('id', v_id);
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_disabled_event_emit(tenant_id uuid, subscription_id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant_id);
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select s.tenant_id, 'webhook_subscription.disabled', 'webhooks', 'webhook_subscription', s.id,
    jsonb_build_object('subscription_id', s.id, 'reason', reason)
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
  perform integration.subscription_owner_notify(s, reason)
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_owner()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when not app.sees_tenant() then app.user_id() end;
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_owner_notify(s integration.webhook_subscriptions, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_payload jsonb := jsonb_build_object('subscription_id', s.id, 'url', s.url, 'reason', reason);
begin
  if s.owner_user_id is null then
    perform tenancy.notify_roles(s.tenant_id, '{tenant_admin}', 'webhook_disabled', v_payload);
  else
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select u.tenant_id, u.user_id, 'webhook_disabled', v_payload from tenancy.tenant_users u
    where u.tenant_id = s.tenant_id and u.user_id = s.owner_user_id and u.is_active;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_remove(id uuid, also_stopped boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- Deliveries before their subscription, as whoever writes a result down locks them.
  perform from integration.webhook_events e where e.subscription_id = subscription_remove.id order by e.id for update;
  delete from integration.webhook_subscriptions s
  where s.id = subscription_remove.id and (also_stopped or s.disabled_reason is distinct from 'stopped');
  if not found then
    if exists (select from integration.webhook_subscriptions s where s.id = subscription_remove.id) then
      perform app.fail('webhook_subscription_stopped');
    end if;
    perform app.fail('webhook_subscription_not_found');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_rotate(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_until timestamptz := now() + interval '24 hours';
begin
  update integration.webhook_subscriptions s set secret = input #>> '{made,secret}', previous_secret_until = v_until,
    previous_secret = array_to_string((s.secret
      || case when s.previous_secret_until > now() then string_to_array(s.previous_secret, ' ') else '{}' end)[:4], ' ')
  where s.id = (input ->> 'id')::uuid and s.owner_user_id is not distinct from integration.subscription_owner();
  return jsonb_build_object('subscription', integration.subscription_of((input ->> 'id')::uuid),
    'secret', input #>> '{made,secret}', 'previous_secret_expires_at', v_until);
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_stopped_notify(subscription uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x
  where x.id = subscription_stopped_notify.subscription and x.owner_user_id is not null and x.disabled_reason = 'stopped';
  perform app.require_tenant(s.tenant_id);
  perform integration.subscription_owner_notify(s, 'stopped');
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x
  where x.id = v_id and x.owner_user_id is not distinct from integration.subscription_owner();
  if not found then
    perform app.fail('webhook_subscription_not_found');
  elsif (input ->> 'is_active')::boolean and s.disabled_reason = 'stopped' then
    perform app.fail('webhook_subscription_stopped');
  end if;
  if coalesce((input ->> 'is_active')::boolean, s.is_active) and (not s.is_active or input ->> 'url' <> s.url) then
    -- Deliveries before their subscription, as results lock them.
    perform integration.waiting_due(v_id);
  end if;
  update integration.webhook_subscriptions x set
    url = coalesce(input ->> 'url', x.url),
    event_types = coalesce(integration.event_types_of(input), x.event_types),
    is_active = coalesce((input ->> 'is_active')::boolean, x.is_active)
  -- Stopped meanwhile, it stays so.
  where x.id = v_id and ((input ->> 'is_active')::boolean is not true or x.disabled_reason is distinct from 'stopped');
  if not found then
    perform app.fail('webhook_subscription_stopped');
  end if;
  return jsonb_build_object('subscription', integration.subscription_of(v_id)) || integration.event_types_named(input);
end $function$;

CREATE OR REPLACE FUNCTION integration.subscriptions_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_owner uuid := integration.subscription_owner();
begin
  return (
    select jsonb_build_object('subscriptions', coalesce(jsonb_agg(jsonb_build_object('id', s.id,
      'module', jsonb_build_object('id', m.id, 'key', m.key, 'name', m.name), 'url', s.url,
      'event_types', coalesce(to_jsonb(s.event_types), '[]'), 'is_active', coalesce(s.is_active, false),
      'failing_since', s.failing_since, 'disabled_at', s.disabled_at, 'disabled_reason', s.disabled_reason,
      'created_at', s.created_at, 'updated_at', s.updated_at) order by m.position), '[]'))
    from tenancy.modules m
    left join integration.webhook_subscriptions s on s.module_id = m.id and s.tenant_id = (select app.tenant_id())
      and s.owner_user_id is not distinct from v_owner
    where v_owner is null or m.key = 'delivery');
end $function$;

CREATE OR REPLACE FUNCTION integration.subscriptions_waiting()
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  with recursive waiting (id) as (
    (select e.subscription_id from integration.webhook_events e where e.next_attempt_at is not null order by e.subscription_id limit 1)
    union all
    select n.subscription_id
    from waiting w
    cross join lateral (
      select e.subscription_id from integration.webhook_events e
      where e.next_attempt_at is not null and e.subscription_id > w.id order by e.subscription_id limit 1) n)
  select w.id from waiting w;
end $function$;

REVOKE ALL ON FUNCTION "integration"."subscriptions_waiting"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.webhooks_claim(batch integer, mine uuid[] DEFAULT '{}'::uuid[], each integer DEFAULT 20, lease interval DEFAULT '00:00:10'::interval, silence interval DEFAULT '00:00:03'::interval)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_claimed jsonb;
  v_slow integer := 10 - (select count(*) from integration.webhook_subscriptions s where s.id = any (mine) and s.failing_since is not null);
begin
  with open as materialized (
    -- Locked: of two workers one gets a subscription, the other passes over it.
    select s.id, s.failing_since from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id
    where integration.hears(s) and exists (select from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now() and (e.claim_token is null or e.claimed_at < now() - lease))
    for no key update of s skip locked
  ), due as (
    select d.id, d.next_attempt_at, d.position, s.failing_since is null or row_number() over (
        partition by s.failing_since is not null order by d.next_attempt_at, d.position) <= v_slow as is_in_time
    from open s
    cross join lateral (
      select count(*) as leased from integration.webhook_events u
      where u.subscription_id = s.id and u.claim_token is not null and u.claimed_at >= now() - silence
    ) under_way
    cross join lateral (
      select e.id, e.next_attempt_at, e.position from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now()
        and (e.claim_token is null or e.claimed_at < now() - lease)
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at, e.position
      limit greatest(0, case when s.failing_since is null then each else 1 end - under_way.leased)
      for update skip locked
    ) d
    where under_way.leased = 0 or s.id = any (mine)
  ), taken as (
    select d.id from due d where d.is_in_time order by d.next_attempt_at, d.position limit batch
  ), claimed as (
    update integration.webhook_events e set claim_token = gen_random_uuid(), claimed_at = now()
    from taken t where e.id = t.id
    returning e.id, e.claim_token, e.body, e.subscription_id, e.position, e.trace_context
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'claim_token', c.claim_token, 'body', c.body, 'url', s.url,
      'subscription_id', s.id, 'secrets', integration.secrets_of(s), 'trace_context', c.trace_context) order by c.position), '[]') into v_claimed
  from claimed c join integration.webhook_subscriptions s on s.id = c.subscription_id;
  return v_claimed;
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_fan_out(batch integer DEFAULT 500)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant record;
  v_ids uuid[];
  v_events integer := 0;
  v_deliveries integer := 0;
begin
  for v_tenant in
    select l.tenant_id, l.from_position from integration.listening() l
    where exists (select from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position)
    order by l.tenant_id
  loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('webhooks/' || v_tenant.tenant_id, 0));
    select array_agg(p.id order by p.position) into v_ids from (
      select e.id, e.position from integration.system_events e
      where e.tenant_id = v_tenant.tenant_id and not e.is_dispatched and e.position > v_tenant.from_position
      order by e.position limit batch for update) p;
    continue when v_ids is null;
    v_deliveries := v_deliveries + integration.deliveries_add(v_ids);
    update integration.system_events e set is_dispatched = true where e.id = any (v_ids);
    v_events := v_events + cardinality(v_ids);
  end loop;
  return jsonb_build_object('events', v_events, 'deliveries', v_deliveries);
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_waiting(ahead interval DEFAULT '00:01:05'::interval)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
begin
  return exists (
    select from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id
    where integration.hears(s) and exists (
      select from integration.webhook_events e where e.subscription_id = s.id and e.next_attempt_at <= now() + ahead)
  ) or exists (
    select from integration.listening() l where exists (select from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position));
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_watch(watcher uuid, take boolean, ahead interval DEFAULT '00:01:05'::interval)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
begin
  if take then
    insert into integration.sender_watch as w (watcher) values (watcher)
    on conflict (is_only) do update set watcher = excluded.watcher;
  elsif not exists (select from integration.sender_watch w where w.watcher = watcher) then
    return null;
  end if;
  return (
    select min(ceil(1000 * greatest(0, extract(epoch from d.next_attempt_at - clock_timestamp()))))::integer
    from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id
    cross join lateral (
      select e.next_attempt_at from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now() + ahead and e.claim_token is null
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at limit 1
    ) d
    where integration.hears(s) and not exists (select from integration.webhook_events u
      where u.subscription_id = s.id and u.claim_token is not null and u.next_attempt_at is not null
        and u.claimed_at >= now() - interval '3 seconds'));
end $function$;

ALTER TABLE "integration"."event_types" ADD CONSTRAINT "event_types_merchant_fields_check" CHECK ((jsonb_typeof(merchant_fields) = 'object'::text)) NOT VALID;

ALTER TABLE "integration"."webhook_subscriptions" ADD CONSTRAINT "webhook_subscription_exists" UNIQUE USING INDEX "webhook_subscription_exists_of_owner";

ALTER TABLE "integration"."webhook_subscriptions" ADD CONSTRAINT "webhook_subscriptions_disabled_reason_check" CHECK ((disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text, 'stopped'::text]))) NOT VALID;

ALTER TABLE "integration"."webhook_subscriptions" ADD CONSTRAINT "webhook_subscriptions_tenant_id_owner_user_id_fkey" FOREIGN KEY (tenant_id, owner_user_id) REFERENCES tenancy.tenant_users(tenant_id, user_id) ON DELETE CASCADE NOT VALID;

CREATE VIEW "integration"."merchant_subscriptions_list" WITH (security_invoker=true) AS  SELECT s.id,
    s.owner_user_id,
    jsonb_build_object('id', p.id, 'full_name', p.full_name) AS owner,
    s.url,
    s.event_types,
    s.is_active,
    s.failing_since,
    s.disabled_at,
    s.disabled_reason,
    s.created_at,
    s.updated_at
   FROM (integration.webhook_subscriptions s
     JOIN tenancy.profiles p ON ((p.id = s.owner_user_id)));

CREATE VIEW "integration"."webhook_subscriptions_list" WITH (security_invoker=true) AS  SELECT s.id,
    jsonb_build_object('id', m.id, 'key', m.key, 'name', m.name) AS module,
    s.url,
    s.event_types,
    s.is_active,
    s.failing_since,
    s.disabled_at,
    s.disabled_reason,
    s.created_at,
    s.updated_at
   FROM (integration.webhook_subscriptions s
     JOIN tenancy.modules m ON ((m.id = s.module_id)))
  WHERE (NOT (s.owner_user_id IS DISTINCT FROM ( SELECT integration.subscription_owner() AS subscription_owner)));

CREATE POLICY "tenant" ON "integration"."webhook_attempts" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM integration.webhook_events e
  WHERE ((e.tenant_id = webhook_attempts.tenant_id) AND (e.id = webhook_attempts.event_id)))))));

CREATE POLICY "write_delete" ON "integration"."webhook_attempts" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "write_insert" ON "integration"."webhook_attempts" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "write_update" ON "integration"."webhook_attempts" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "tenant" ON "integration"."webhook_events" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM integration.webhook_subscriptions s
  WHERE ((s.tenant_id = webhook_events.tenant_id) AND (s.id = webhook_events.subscription_id) AND (s.owner_user_id = ( SELECT app.user_id() AS user_id))))))));

CREATE POLICY "write_delete" ON "integration"."webhook_events" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "write_insert" ON "integration"."webhook_events" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "write_update" ON "integration"."webhook_events" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "tenant" ON "integration"."webhook_subscriptions" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (owner_user_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "integration"."webhook_subscriptions" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "write_insert" ON "integration"."webhook_subscriptions" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

CREATE POLICY "write_update" ON "integration"."webhook_subscriptions" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT (app.has_permission('manage:tenant'::text) OR ((NOT app.sees_tenant()) AND app.has_role('institution'::text)))));

REVOKE ALL ON FUNCTION "integration"."hears"(integration.webhook_subscriptions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."hears"(integration.webhook_subscriptions) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."listening"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."merchant_data"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."merchant_event_types_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."merchant_event_types_named"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."merchant_subscription_delete"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."merchant_subscription_delete"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."merchant_subscription_set"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."merchant_subscription_set"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."subscribers_of"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."subscription_owner"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."subscription_owner"() TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."subscription_owner_notify"(integration.webhook_subscriptions, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."subscription_owner_notify"(integration.webhook_subscriptions, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."subscription_remove"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."subscription_remove"(uuid, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."subscription_stopped_notify"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."subscription_stopped_notify"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."subscriptions_waiting"() FROM PUBLIC;

GRANT SELECT ON TABLE "integration"."merchant_subscriptions_list" TO "barid_caller";

GRANT SELECT ON TABLE "integration"."webhook_subscriptions_list" TO "barid_caller";

insert into integration.event_types (event_type, source_module, entity_type, event_data, merchant_fields)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb, m.merchant_fields::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery.outcome}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason_code": "string?", "actor_id": "uuid?"}'),
  ('{delivery.postponed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "postponed_to": "string", "reason_code": "string", "actor_id": "uuid?"}'),
  ('{delivery.outcome_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.pickup_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.refund_due}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "amount": "number", "currency": "string", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "shortage": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_handover.resolved}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "resolution": "string", "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string?", "from_user_id": "uuid?", "to_owner_type": "string?",
      "to_user_id": "uuid?", "wallet_id": "uuid?", "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.reversed}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.opened}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "actor_id": "uuid?"}'),
  ('{merchant_statement.paid}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reference": "string?", "actor_id": "uuid"}'),
  ('{merchant_statement.reversed}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.voided}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "reason": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "missing": "integer", "damaged": "integer", "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill_return.refund_due}', 'warehousing', 'delivery',
    '{"delivery_id": "uuid", "waybill_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_return.refund_due}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "kind": "string", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due,order.fee_not_collected}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "refund_method": "string", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.deleted}', 'tenants', 'tenant', '{"tenant_id": "uuid", "files": "integer", "people": "integer", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
-- What merchants hear of, and the fields that they are sent: what they see of their own parcels and statements in the API, and nothing of the
-- people who did it. Of a parcel's event its id, code, barcode and the merchant's own reference are among them, whether its data has them or not.
left join (values
  ('{delivery.created}'::text[],
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "status": "string",
      "delivery_flow": "string", "reason": "string?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "status": "string",
      "from_status": "string", "delivery_flow": "string", "reason": "string?"}'),
  ('{delivery.outcome}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "result": "string",
      "reason_code": "string?"}'),
  ('{delivery.postponed}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?",
      "postponed_to": "string", "reason_code": "string"}'),
  ('{delivery.outcome_undone}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "result": "string"}'),
  ('{delivery.pickup_undone}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?"}'),
  ('{delivery.amount_changed}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?",
      "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number", "currency": "string", "reason": "string"}'),
  ('{delivery.redirected}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?",
      "previous_address_id": "uuid", "dropoff_address_id": "uuid", "delivery_fee": "number", "price_difference": "number",
      "currency": "string"}'),
  ('{merchant_statement.opened}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer"}'),
  ('{merchant_statement.paid}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer", "payout_id": "uuid",
      "method": "string", "reference": "string?"}'),
  ('{merchant_statement.reversed}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer", "payout_id": "uuid",
      "method": "string", "reason": "string"}'),
  ('{merchant_statement.voided}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer", "reason": "string?"}'),
  ('{webhook.test}', '{"test": "boolean"}')
) m (event_types, merchant_fields) on t.event_type = any (m.event_types)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data, merchant_fields = excluded.merchant_fields;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130122629';
end $$;

grant execute on function private.schema_version() to barid_api;
