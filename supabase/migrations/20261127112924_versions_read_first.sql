-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.call(claims jsonb, rule jsonb, work text, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_answer jsonb;
  v_version text;
  v_reads_only boolean := coalesce((rule ->> 'reads_only')::boolean, false);
  v_key text := claims ->> 'idempotency_key';
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if v_key is not null then
    -- For cores that remember for longer than the engine does.
    perform set_config('app.idempotency_key', v_key, true);
    v_answer := private.idempotency_claim(claims ->> 'operation', v_key, input - 'made', coalesce(rule ->> 'conflict', 'idempotency_conflict'));
    if v_answer is not null then
      return json_build_object('data', v_answer, 'replayed', true, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id');
    end if;
  end if;
  if rule #> '{version,expected}' is not null then
    perform private.version_expect(rule -> 'version');
  end if;
  if v_reads_only and rule ? 'version' then
    v_version := private.version_of(rule -> 'version');
  end if;
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into v_answer using input;
  if v_key is not null then
    perform private.idempotency_store(claims ->> 'operation', v_key, coalesce(v_answer, 'null'));
  end if;
  if not v_reads_only then
    -- A deferred constraint that fails at the commit would be an error outside of this block.
    set constraints all immediate;
    if rule ? 'version' then
      v_version := private.version_of(rule -> 'version');
    end if;
  end if;
  return json_build_object('data', v_answer, 'language', coalesce(app.request_setting('shop_language'), v_language), 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id',
    'version', v_version,
    'jobs', coalesce(nullif(current_setting('app.jobs_queued', true), ''), 'off') = 'on',
    'events', coalesce(nullif(current_setting('app.events_queued', true), ''), 'off') = 'on');
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.call_text(claims jsonb, rule jsonb, work text, input jsonb, OUT answer json, OUT data text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_version text;
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if rule ? 'version' then
    v_version := private.version_of(rule -> 'version');
  end if;
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into data using input;
  answer := json_build_object('language', v_language, 'tenant', app.tenant_id(), 'api_key', app.request_setting('api_key_id'),
    'call_id', claims ->> 'call_id', 'version', v_version);
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  data := null;
  answer := private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.read(claims jsonb, rule jsonb, statement text, params jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_language text;
  v_answer json;
  v_total bigint;
  v_version text;
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  if rule ? 'version' then
    v_version := private.version_of(rule -> 'version');
  end if;
  if params -> 'one_plan' is distinct from 'true' then
    execute statement into v_answer, v_total using params;
    if v_total is null and params ? 'count' then
      execute params ->> 'count' into v_total using params;
    end if;
  else
    perform set_config('plan_cache_mode', 'force_generic_plan', true);
    select k.answer, k.total into v_answer, v_total from private.read_kept(statement, params) k;
    if v_total is null and params ? 'count' then
      select k.total into v_total from private.read_kept('select null, (' || (params ->> 'count') || ')', params) k;
    end if;
  end if;
  return json_build_object('data', v_answer, 'total', v_total, 'language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id',
    'version', v_version);
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims)::json;
end $function$;

CREATE OR REPLACE FUNCTION private.version_of(version jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_answer json;
begin
  select k.answer into v_answer from private.read_kept(
    format('select to_json(r.updated_at), null::bigint from %s r where r.%I = ($1 ->> ''key'')::uuid',
      (version ->> 'table')::regclass, version ->> 'column'),
    jsonb_build_object('key', coalesce(version ->> 'key', app.tenant_id()::text))) k;
  return private.version_at((v_answer #>> '{}')::timestamptz);
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127112924';
end $$;

grant execute on function private.schema_version() to barid_api;
