-- One request, one statement, one transaction: enter as the caller, run `work`, answer.
--
-- work is the name of a core, area.noun_verb(input jsonb) returns jsonb.
-- With claims.idempotency_key the answer is remembered in the same transaction and replayed for the
-- same caller, operation, key and input; jsonb is canonical, so key order and spacing do not matter.
-- `made` in the input is what the function made for this call, a secret for instance: another at every
-- attempt, so it is no part of what a key stands for.
-- rule.version names the row the endpoint is about: its version is told, and when `expected` lists the versions that
-- the client knows, the row must have one of them from before the work until its first change.
-- Answers {data, replayed, jobs, events, language, tenant, version}; jobs tells that background work waits for a runner,
-- events that somebody listens to what happened.
-- Fails: what private.enter and the core fail with, idempotency_conflict (or the rule's `conflict`), version_conflict.
create or replace function private.call(claims jsonb, rule jsonb, work text, input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_language text := private.enter(claims, rule);
  v_answer jsonb;
  v_key text := claims ->> 'idempotency_key';
begin
  if v_key is not null then
    -- For cores that remember for longer than the engine does.
    perform set_config('app.idempotency_key', v_key, true);
    v_answer := private.idempotency_claim(claims ->> 'operation', v_key, input - 'made', coalesce(rule ->> 'conflict', 'idempotency_conflict'));
    if v_answer is not null then
      return jsonb_build_object('data', v_answer, 'replayed', true, 'language', v_language, 'tenant', app.tenant_id(), 'call_id', claims ->> 'call_id');
    end if;
  end if;
  if rule #> '{version,expected}' is not null then
    perform private.version_expect(rule -> 'version');
  end if;
  execute format('select %I.%I($1)', split_part(work, '.', 1), split_part(work, '.', 2)) into v_answer using input;
  if v_key is not null then
    perform private.idempotency_store(claims ->> 'operation', v_key, coalesce(v_answer, 'null'));
  end if;
  return jsonb_build_object('data', v_answer, 'language', v_language, 'tenant', app.tenant_id(), 'call_id', claims ->> 'call_id',
    'version', case when rule ? 'version' then private.version_of(rule -> 'version') end,
    'jobs', coalesce(nullif(current_setting('app.jobs_queued', true), ''), 'off') = 'on',
    'events', coalesce(nullif(current_setting('app.events_queued', true), ''), 'off') = 'on');
end $$;

-- The same for a list: `statement` is written by the list engine from declared columns only; every
-- value a client sent is inside `params`, which the statement reads as $1.
-- With params.keep_plan the connection keeps the plan: under the policies planning a page costs as much as reading it.
create or replace function private.read(claims jsonb, rule jsonb, statement text, params jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_language text := private.enter(claims, rule);
  v_plan text := 'list_' || md5(statement);
  v_answer jsonb;
begin
  if params -> 'keep_plan' is distinct from 'true' then
    execute statement into v_answer using params;
  else
    begin
      execute format('execute %I (%L)', v_plan, params) into v_answer;
    exception when invalid_sql_statement_name then
      perform private.plan_keep(v_plan, statement);
      execute format('execute %I (%L)', v_plan, params) into v_answer;
    end;
  end if;
  return jsonb_build_object('data', v_answer, 'language', v_language, 'tenant', app.tenant_id(), 'call_id', claims ->> 'call_id',
    'version', case when rule ? 'version' then private.version_of(rule -> 'version') end);
end $$;

-- Prepares a statement of a list for the caller's role, under a name that is its own. A plan holds up to a megabyte, so
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
  v_language text := private.enter(claims, rule);
begin
  return jsonb_build_object('language', v_language, 'tenant', app.tenant_id(), 'call_id', claims ->> 'call_id');
end $$;

grant execute on function private.plan_keep(text, text) to barid_caller;
grant execute on function private.call(jsonb, jsonb, text, jsonb), private.read(jsonb, jsonb, text, jsonb),
  private.check(jsonb, jsonb) to barid_api;
