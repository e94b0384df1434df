-- Opens a request: becomes the caller for the rest of the transaction and applies the endpoint's rule.
--
-- rule: access (any of these grants opens the door), denied (the code when none does),
--       feature (a group of settings of module delivery whose `enabled` must be true), reads_only,
--       person (no company's API key passes, whatever its scopes).
-- A key that only reads opens no door of what does not say reads_only, also where anybody else may enter: the denied code.
-- Order as promised to clients: token, tenant, feature gate, access. Input is the caller's business.
-- Security invoker: the role can only be changed where nobody else's rights are borrowed.
-- Fails: what private.identify fails with, the rule's denied code, <feature>_disabled, api_key_not_a_person.
create or replace function private.enter(claims jsonb, rule jsonb) returns text
language plpgsql set search_path = '' as $$
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
    set_config('app.language_asked', coalesce(claims ->> 'language', ''), true),
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
  if 'only:reads' = any (v_who.grants) and not coalesce((rule ->> 'reads_only')::boolean, false) then
    perform app.fail(coalesce(rule ->> 'denied', 'forbidden'));
  end if;
  return v_who.language;
end $$;

grant execute on function private.enter(jsonb, jsonb) to barid_api;
