-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table app.jobs, integration.system_events, integration.webhook_events in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "integration"."system_events" DROP CONSTRAINT "texts_within_bounds";

ALTER TABLE "integration"."webhook_events" DROP CONSTRAINT "texts_within_bounds";

CREATE UNLOGGED TABLE "integration"."metric_counts" ("series" text NOT NULL, "value" double precision NOT NULL, CONSTRAINT "metric_counts_pkey" PRIMARY KEY (series), CONSTRAINT "texts_within_bounds" CHECK ((octet_length(series) <= 1000)));

ALTER TABLE "integration"."metric_counts" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "integration"."metric_counts" FORCE ROW LEVEL SECURITY;

ALTER TABLE "app"."jobs" ADD COLUMN "trace_context" text;

ALTER TABLE "app"."jobs" ALTER COLUMN "trace_context" SET DEFAULT NULLIF(current_setting('app.trace_context'::text, true), ''::text);

ALTER TABLE "integration"."system_events" ADD COLUMN "trace_context" text;

ALTER TABLE "integration"."system_events" ALTER COLUMN "trace_context" SET DEFAULT NULLIF(current_setting('app.trace_context'::text, true), ''::text);

ALTER TABLE "integration"."webhook_events" ADD COLUMN "trace_context" text;

CREATE OR REPLACE FUNCTION integration.deliveries_add(event_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  insert into integration.webhook_events (id, tenant_id, subscription_id, system_event_id, event_type, entity_key, body, trace_context)
  select n.id, n.tenant_id, n.subscription_id, n.event_id, n.event_type, n.entity_key,
    integration.webhook_body(n.id, n.event_type, n.created_at, n.tenant_id, n.event_data), n.trace_context
  from (
    select gen_random_uuid() as id, e.tenant_id, s.id as subscription_id, e.id as event_id, e.event_type,
      e.entity_type || '/' || e.entity_id as entity_key, e.event_data, e.created_at, e.position, e.trace_context
    from integration.system_events e
    join integration.webhook_subscriptions s on s.tenant_id = e.tenant_id and s.is_active
    join tenancy.modules m on m.id = s.module_id
    where e.id = any (event_ids) and m.key = integration.module_of(e.event_type, e.source_module)
      and integration.wants(s.event_types, e.event_type)
    order by e.position offset 0
  ) n
  on conflict (subscription_id, system_event_id) do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION integration.metrics_add(counts jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  insert into integration.metric_counts as m (series, value)
  select c.key, c.value::double precision from jsonb_each_text(counts) c order by c.key
  on conflict (series) do update set value = m.value + excluded.value;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "integration"."metrics_add"(jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.metrics_of_books()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
  select 'barid_payments_unmatched', jsonb_build_object('gateway', e.gateway_code), count(*)::double precision
  from money.payment_webhook_events e where e.outcome = 'unmatched' and e.resolution is null group by e.gateway_code
  union all
  -- With each type written out, so that it is planned by how rare it is.
  select 'barid_cash_mismatch_tenants', '{}', count(distinct e.tenant_id)::double precision
  from integration.system_events e
  where e.event_type = 'cod.mismatch' and e.status <> 'processed' and e.created_at > now() - interval '25 hours'
  union all
  select 'barid_stock_mismatch_tenants', '{}', count(distinct e.tenant_id)::double precision
  from integration.system_events e
  where e.event_type = 'stock.mismatch' and e.status <> 'processed' and e.created_at > now() - interval '25 hours';
end $function$;

REVOKE ALL ON FUNCTION "integration"."metrics_of_books"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.metrics_of_cron()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if to_regclass('cron.job_run_details') is null then
    return;
  end if;
  -- As text, because pg_cron need not exist for this function to be made.
  return query execute $q$
    select m.name, jsonb_build_object('cron_job', r.jobname), m.value
    from (
      select j.jobname, extract(epoch from max(d.end_time) filter (where d.status = 'succeeded'))::double precision as succeeded_at,
        (max(d.runid) filter (where d.status = 'failed') > coalesce(max(d.runid) filter (where d.status = 'succeeded'), 0)) as has_failed
      from cron.job j join cron.job_run_details d on d.jobid = j.jobid
      where j.jobname like 'barid\_%' and j.active and d.status in ('succeeded', 'failed')
      group by j.jobname
    ) r
    cross join lateral (values ('barid_cron_job_last_success_timestamp_seconds', r.succeeded_at),
      ('barid_cron_job_failed', coalesce(r.has_failed, false)::integer::double precision)) m (name, value)
    where m.value is not null$q$;
end $function$;

REVOKE ALL ON FUNCTION "integration"."metrics_of_cron"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.metrics_of_queues()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
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
  from integration.webhook_subscriptions s
  join integration.webhook_events e on e.subscription_id = s.id and e.next_attempt_at is not null
  where s.is_active
  union all
  select 'barid_webhooks_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(w.due_at)), 0)::double precision
  from integration.webhook_subscriptions s
  cross join lateral (
    (select e.next_attempt_at as due_at from integration.webhook_events e
      where s.failing_since is null and e.subscription_id = s.id and e.next_attempt_at <= now()
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at limit 1)
    union all
    (select e.created_at from integration.system_events e
      where e.tenant_id = s.tenant_id and not e.is_dispatched and e.position > s.from_position order by e.position limit 1)
  ) w
  where s.is_active
  union all
  select 'barid_webhook_subscriptions_failing', '{}', count(*)::double precision
  from integration.webhook_subscriptions s where s.is_active and s.failing_since is not null;
end $function$;

REVOKE ALL ON FUNCTION "integration"."metrics_of_queues"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.metrics_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not app.has_permission('view:metrics:system') then
    perform app.fail('forbidden');
  end if;
  return jsonb_build_object('schema', private.schema_version(),
    'counts', (select coalesce(jsonb_object_agg(c.series, c.value), '{}') from integration.metric_counts c),
    'gauges', (
      select jsonb_agg(to_jsonb(g) order by g.name, g.labels) from (
        select * from integration.metrics_of_queues()
        union all select * from integration.metrics_of_books()
        union all select * from integration.metrics_of_cron()) g));
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_claim(batch integer, mine uuid[] DEFAULT '{}'::uuid[], each integer DEFAULT 20, lease interval DEFAULT '00:00:10'::interval, silence interval DEFAULT '00:00:03'::interval)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_claimed jsonb;
begin
  with open as materialized (
    -- Locked: of two workers one gets a subscription, the other passes over it.
    select s.id, s.failing_since from integration.webhook_subscriptions s
    where s.is_active and exists (select from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now() and (e.claim_token is null or e.claimed_at < now() - lease))
    for no key update of s skip locked
  ), due as (
    select d.id
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
    order by d.next_attempt_at, d.position
    limit batch
  ), claimed as (
    update integration.webhook_events e set claim_token = gen_random_uuid(), claimed_at = now()
    from due where e.id = due.id
    returning e.id, e.claim_token, e.body, e.subscription_id, e.position, e.trace_context
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'claim_token', c.claim_token, 'body', c.body, 'url', s.url,
      'subscription_id', s.id, 'secrets', integration.secrets_of(s), 'trace_context', c.trace_context) order by c.position), '[]') into v_claimed
  from claimed c join integration.webhook_subscriptions s on s.id = c.subscription_id;
  return v_claimed;
end $function$;

CREATE OR REPLACE FUNCTION private.api_key_scopes(tenant_id uuid, maker uuid, scopes text[])
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return array(
    select s.scope from unnest(scopes) s (scope)
    where s.scope not like '%:system'
      and (exists (select from tenancy.system_users u where u.user_id = maker)
        or exists (
          select from tenancy.tenant_users u
          join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
          join tenancy.role_permissions p on p.role_key = r.role_key and p.permission_key = s.scope
          where u.tenant_id = api_key_scopes.tenant_id and u.user_id = maker and u.is_active)));
end $function$;

CREATE OR REPLACE FUNCTION private.enter(claims jsonb, rule jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_who record;
begin
  -- pg_stat_activity and the lines of PostgreSQL's log name the trace and the span of a statement that is under way.
  perform
    set_config('app.trace_context', coalesce(claims ->> 'trace_context', ''), true),
    set_config('application_name', concat_ws(' ', 'barid', substr(claims ->> 'trace_context', 4, 49)), true);
  v_who := private.identify(claims);
  perform
    set_config('app.user_id', coalesce(v_who.user_id::text, ''), true),
    set_config('app.tenant_id', coalesce(v_who.tenant_id::text, ''), true),
    set_config('app.api_key', coalesce(claims ->> 'api_key_hash', ''), true),
    set_config('app.api_key_id', coalesce(v_who.api_key_id::text, ''), true),
    set_config('app.grants', v_who.grants::text, true),
    set_config('app.sees_tenant', case when v_who.sees_tenant then 'on' else 'off' end, true),
    set_config('app.language', coalesce(claims ->> 'language', v_who.language, 'en'), true),
    set_config('app.request_id', coalesce(claims ->> 'request_id', ''), true),
    set_config('app.client_request_id', coalesce(claims ->> 'client_request_id', ''), true),
    set_config('app.operation', coalesce(claims ->> 'operation', ''), true),
    set_config('role', 'barid_caller', true);
  if (rule ->> 'reads_only')::boolean then
    perform set_config('transaction_read_only', 'on', true);
  else
    -- A write finds its rows by their keys, whatever the values are: planning for each of them costs more than
    -- it saves. A read may look for anything.
    perform set_config('plan_cache_mode', 'force_generic_plan', true);
  end if;
  if rule ? 'feature' and not coalesce((
      select (s.settings ->> 'enabled')::boolean from tenancy.tenant_settings s
      where s.tenant_id = v_who.tenant_id and s.module = 'delivery' and s.group_key = rule ->> 'feature'), false) then
    perform app.fail((rule ->> 'feature') || '_disabled');
  end if;
  if (rule ->> 'person')::boolean and v_who.is_company_key then
    perform app.fail('api_key_not_a_person');
  end if;
  if not (rule -> 'access') ?| v_who.grants then
    perform app.fail(coalesce(rule ->> 'denied', 'forbidden'));
  end if;
  return v_who.language;
end $function$;

CREATE OR REPLACE FUNCTION private.jobs_claim(kinds text[], batch integer DEFAULT 10, lease interval DEFAULT '00:02:00'::interval)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_jobs jsonb;
begin
  with due as (
    select j.id from app.jobs j
    where j.kind = any (kinds) and j.run_at <= now()
      and (j.status = 'queued' or (j.status = 'running' and j.lease_until < now()))
      and not exists (
        select from app.jobs e where e.entity_key = j.entity_key and e.id < j.id and e.status in ('queued', 'running'))
    order by j.run_at, j.id
    limit batch
    for update of j skip locked
  ), leased as (
    update app.jobs j set status = 'running', attempts = j.attempts + 1, lease_until = now() + lease,
      lease_token = gen_random_uuid()
    from due where j.id = due.id
    returning j.*
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'tenant_id', l.tenant_id, 'kind', l.kind,
    'payload', l.payload, 'attempts', l.attempts, 'lease_token', l.lease_token, 'trace_context', l.trace_context) order by l.id), '[]')
  into v_jobs from leased l;
  return v_jobs;
end $function$;

ALTER TABLE "app"."jobs" ADD CONSTRAINT "jobs_trace_context_check" CHECK ((octet_length(trace_context) <= 1000)) NOT VALID;

ALTER TABLE "integration"."system_events" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(event_type) <= 1000) AND (octet_length(source_module) <= 1000) AND (octet_length(target_module) <= 1000) AND (octet_length(entity_type) <= 1000) AND (octet_length(status) <= 1000) AND (octet_length(error_message) <= 4000) AND (octet_length(trace_context) <= 1000))) NOT VALID;

ALTER TABLE "integration"."webhook_events" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(event_type) <= 1000) AND (octet_length(entity_key) <= 1000) AND (octet_length(body) <= 1048576) AND (octet_length(status) <= 1000) AND (octet_length(error_message) <= 4000) AND (octet_length(trace_context) <= 1000))) NOT VALID;

CREATE POLICY "deny_all" ON "integration"."metric_counts" FOR ALL TO "barid_caller" USING (false);

REVOKE ALL ON FUNCTION "integration"."metrics_add"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."metrics_add"(jsonb) TO "barid_api";

REVOKE ALL ON FUNCTION "integration"."metrics_of_books"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."metrics_of_cron"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."metrics_of_queues"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."metrics_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."metrics_read"(jsonb) TO "barid_caller";

insert into tenancy.permissions (key, name) values
  ('view:tenant', '{"en": "See the tenant''s data", "ar": "الاطلاع على بيانات الشركة", "ku": "بینینی داتای کۆمپانیا"}'),
  ('manage:tenant', '{"en": "Administer the tenant", "ar": "إدارة الشركة", "ku": "بەڕێوەبردنی کۆمپانیا"}'),
  ('manage:operations:tenant', '{"en": "Run operations", "ar": "إدارة العمليات", "ku": "بەڕێوەبردنی کارگێڕی"}'),
  ('manage:module:warehouse', '{"en": "Run the warehouse", "ar": "إدارة المستودع", "ku": "بەڕێوەبردنی کۆگا"}'),
  ('manage:system', '{"en": "Administer the system", "ar": "إدارة النظام", "ku": "بەڕێوەبردنی سیستەم"}'),
  ('manage:user_access:system', '{"en": "Administer access of all users", "ar": "إدارة صلاحيات جميع المستخدمين", "ku": "بەڕێوەبردنی دەسەڵاتی هەموو بەکارهێنەران"}'),
  ('view:metrics:system', '{"en": "Read the metrics of the system", "ar": "الاطلاع على مقاييس النظام", "ku": "بینینی پێوەرەکانی سیستەم"}')
on conflict (key) do update set name = excluded.name;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125031312';
end $$;

grant execute on function private.schema_version() to barid_api;
