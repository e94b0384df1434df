-- The fields of a refusal, from PostgreSQL's diagnostics.
do $$ begin
  create type private.refused as (state text, message text, detail text, constraint_name text, context text);
exception when duplicate_object then null;
end $$;

-- The answer of a call that was refused: {refused: {state, message, detail, constraint, context}, call_id}. `message` is
-- the code and `detail` its params (app.fail) in state RULE0; else a constraint or PostgreSQL itself refused, and only
-- then `context` says where, for the log of the functions.
create or replace function private.refusal(refused private.refused, claims jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('call_id', claims ->> 'call_id',
    'api_key', case when claims ? 'api_key_hash' then private.api_key_id(claims) end, 'refused', jsonb_strip_nulls(jsonb_build_object(
    'state', refused.state, 'message', refused.message, 'detail', nullif(refused.detail, ''),
    'constraint', nullif(refused.constraint_name, ''),
    'context', case when refused.state <> 'RULE0' then refused.context end)));
end $$;

-- One request, one statement, one transaction: enter as the caller, run `work`, answer.
--
-- work is the name of a core, area.noun_verb(input jsonb) returns jsonb.
-- With claims.idempotency_key the answer is remembered in the same transaction and replayed for the
-- same caller, operation, key and input; jsonb is canonical, so key order and spacing do not matter.
-- `made` in the input is what the function made for this call, a secret for instance: another at every
-- attempt, so it is no part of what a key stands for.
-- rule.replay_only: nothing but an answer that is remembered; without one it refuses with validation_failed.
-- rule.version names the row the endpoint is about: its version is returned, and when `expected` lists the versions that
-- the client knows, the row must have one of them from before the work until its first change. What only reads looks at the version first: a
-- change that comes between the two makes the answer's version too old, which refuses a change that need not be refused, and never too new,
-- which would let somebody overwrite what they have not read.
-- Answers {data, replayed, jobs, events, language, tenant, api_key, version}; jobs is true when background work waits for a runner,
-- events that somebody listens to what happened.
-- A refusal is an answer too, {refused, call_id} (see private.refusal): everything the call did is undone with its
-- subtransaction, and PostgreSQL, which logs the statement of every error, does not log what the caller sent.
-- Refuses with: what private.enter and the core fail with, idempotency_conflict (or the rule's `conflict`), version_conflict.
-- Raises what is no refusal: faults, deadlocks, time-outs.
create or replace function private.call(claims jsonb, rule jsonb, work text, input jsonb) returns json
language plpgsql set search_path = '' as $$
declare
  v_language text;
  v_answer jsonb;
  v_version text;
  v_reads_only boolean := coalesce((rule ->> 'reads_only')::boolean, false);
  -- A dry run is undone, and made again to see whether what it found was mended: there is nothing to remember.
  v_key text := case when input ->> 'dry_run' is distinct from 'true' then claims ->> 'idempotency_key' end;
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
  if rule ? 'replay_only' then
    perform app.fail('validation_failed');
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
end $$;

-- The same for a core that only reads and returns a long answer as JSON text: area.noun_verb(input jsonb) returns text. -> data, which is
-- passed on as it is, and answer {language, tenant, api_key, version, call_id}, or {refused, call_id} without data.
create or replace function private.call_text(claims jsonb, rule jsonb, work text, input jsonb, out answer json, out data text)
language plpgsql set search_path = '' as $$
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
end $$;

-- Executes a statement of a list, or one that reads a version, by the plan that the connection keeps of it. -> the columns that it answers
create or replace function private.read_kept(statement text, params jsonb, out answer json, out total bigint)
language plpgsql set search_path = '' as $$
declare
  v_plan text := 'list_' || md5(statement);
begin
  execute format('execute %I (%L)', v_plan, params) into answer, total;
exception when invalid_sql_statement_name then
  perform private.plan_keep(v_plan, statement);
  execute format('execute %I (%L)', v_plan, params) into answer, total;
end $$;

-- The same for a list: `statement` is written by the list engine from declared columns only; every
-- value a client sent is inside `params`, which the statement reads as $1.
-- It answers what is shown, and the total where that is kept; else params.count, a statement too, counts it.
-- With params.one_plan the connection keeps one plan for all values: under the policies planning a page costs more than reading it.
create or replace function private.read(claims jsonb, rule jsonb, statement text, params jsonb) returns json
language plpgsql set search_path = '' as $$
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
end $$;

-- Prepares a statement for the caller's role, under a name that is its own. A plan holds up to a megabyte, so
-- a connection keeps 24 of them: the one asked for most rarely makes room. Whichever client of a pooler comes next to
-- this connection finds it, and one that finds it gone prepares it again.
create or replace function private.plan_keep(name text, statement text) returns void
language plpgsql set search_path = '' as $$
declare
  v_rare text;
begin
  for v_rare in select p.name from pg_catalog.pg_prepared_statements p where p.name like 'list\_%'
    order by (p.generic_plans + p.custom_plans) / (1 + extract(epoch from clock_timestamp() - p.prepare_time)) desc offset 23
  loop
    execute format('deallocate %I', v_rare);
  end loop;
  execute format('prepare %I (jsonb) as %s', name, statement);
end $$;

-- Only the checks that come before the input's: asked when the input is already known to be wrong.
create or replace function private.check(claims jsonb, rule jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_language text;
  v_refused private.refused;
begin
  v_language := private.enter(claims, rule);
  return jsonb_build_object('language', v_language, 'tenant', app.tenant_id(),
      'api_key', app.request_setting('api_key_id'), 'call_id', claims ->> 'call_id');
exception when sqlstate 'RULE0' or integrity_constraint_violation or data_exception or insufficient_privilege then
  get stacked diagnostics v_refused.state = returned_sqlstate, v_refused.message = message_text, v_refused.detail = pg_exception_detail,
    v_refused.constraint_name = constraint_name, v_refused.context = pg_exception_context;
  if v_refused.message = 'internal_server_error' then
    raise;
  end if;
  return private.refusal(v_refused, claims);
end $$;

grant execute on function private.plan_keep(text, text), private.read_kept(text, jsonb) to barid_caller;
grant execute on function private.refusal(private.refused, jsonb) to barid_api, barid_caller;
grant execute on function private.call(jsonb, jsonb, text, jsonb), private.call_text(jsonb, jsonb, text, jsonb), private.read(jsonb, jsonb, text, jsonb),
  private.check(jsonb, jsonb) to barid_api;
