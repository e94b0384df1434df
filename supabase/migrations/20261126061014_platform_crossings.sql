-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION integration.carrier_secret(carrier_code text, tenant_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select k.webhook_secret from integration.tenant_carriers k
    join integration.carriers c on c.code = k.carrier_code and c.is_active
    join tenancy.tenants t on t.id = k.tenant_id
    where k.carrier_code = carrier_secret.carrier_code and k.tenant_id = carrier_secret.tenant_id
      and (k.is_enabled and app.is_effective(t) or exists (
        select from integration.carrier_shipments s
        where s.tenant_id = k.tenant_id and s.carrier_code = k.carrier_code and s.status <> 'cancelled')));
end $function$;

CREATE OR REPLACE FUNCTION integration.result_save(result jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ok boolean := (result ->> 'ok')::boolean;
  v_manual boolean := coalesce((result ->> 'is_manual')::boolean, false);
  v_code integer := (result ->> 'http_status_code')::integer;
  v_wait interval;
  e integration.webhook_events;
  s integration.webhook_subscriptions;
begin
  select w.* into e from integration.webhook_events w where w.id = (result ->> 'id')::uuid for update;
  if not found then
    return null;
  end if;
  insert into integration.webhook_attempts (tenant_id, event_id, is_manual, http_status_code, latency_ms, response_body, error_message)
  values (e.tenant_id, e.id, v_manual, v_code, (result ->> 'latency_ms')::integer, result ->> 'response_body', result ->> 'error_message');
  if e.claim_token is distinct from (result ->> 'claim_token')::uuid then
    return jsonb_build_object('id', e.id, 'status', e.status, 'retry_count', e.retry_count);
  end if;
  if not v_ok then
    -- Failures of one subscription take turns: what was sent beside the one that ended it is not tried again either.
    select x.* into s from integration.webhook_subscriptions x where x.id = e.subscription_id for no key update;
  end if;
  if not v_ok and not v_manual and s.disabled_at is null then
    -- A subscriber may ask for a longer pause, up to an hour.
    v_wait := integration.retry_after(e.attempts + 1);
    if v_wait is not null and result ->> 'retry_after' is not null then
      v_wait := greatest(v_wait, make_interval(secs => least((result ->> 'retry_after')::integer, 3600)));
    end if;
  end if;
  update integration.webhook_events w set
    status = case when v_ok then 'success' when v_wait is null then 'failed' else 'retrying' end,
    http_status_code = v_code, error_message = case when v_ok then w.error_message else left(result ->> 'error_message', 2000) end,
    retry_count = w.retry_count + (not v_ok)::int, attempts = w.attempts + (not v_manual)::int,
    next_attempt_at = now() + v_wait, claim_token = null, claimed_at = null
  where w.id = e.id returning w.* into e;
  if v_ok then
    update integration.webhook_subscriptions x set failing_since = null where x.id = e.subscription_id and x.failing_since is not null;
  else
    update integration.webhook_subscriptions x set failing_since = now() where x.id = e.subscription_id and x.failing_since is null;
    if v_code = 410 then
      perform integration.subscription_disable(e.subscription_id, 'gone');
    elsif s.failing_since < now() - interval '5 days' then
      perform integration.subscription_disable(e.subscription_id, 'failing');
    end if;
  end if;
  return jsonb_build_object('id', e.id, 'status', e.status, 'retry_count', e.retry_count);
end $function$;

CREATE OR REPLACE FUNCTION integration.secrets_of(s integration.webhook_subscriptions)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return to_jsonb(string_to_array(concat_ws(' ', s.secret, case when s.previous_secret_until > now() then s.previous_secret end), ' '));
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
  where s.id = (input ->> 'id')::uuid;
  return jsonb_build_object('subscription', integration.subscription_of((input ->> 'id')::uuid),
    'secret', input #>> '{made,secret}', 'previous_secret_expires_at', v_until);
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_finish(results jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_count integer := 0;
  v_result jsonb;
begin
  -- All of them before their subscriptions, each of which a failure locks.
  perform from integration.webhook_events e
  where e.id in (select (r.value ->> 'id')::uuid from jsonb_array_elements(results) r) order by e.id for update;
  for v_result in select r.value from jsonb_array_elements(results) r order by r.value ->> 'id' loop
    perform integration.result_save(v_result);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION money.gateway_signers(code text, account_id text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('tenant_id', g.tenant_id, 'secret', g.secrets ->> 'webhook_secret',
      'previous', g.previous_webhook_secret)), '[]')
    from (
      select * from money.payment_gateways x
      where x.gateway_code = code and (x.is_active or exists (
          select from money.payments p where p.tenant_id = x.tenant_id and p.gateway_code = x.gateway_code))
        and x.settings ->> 'account_id' = gateway_signers.account_id
      order by x.created_at, x.id limit 50
    ) g);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.change_currency(code text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if exists (select from money.accounts a
      where a.tenant_id = app.tenant_id() and a.currency <> code and a.version > 0)
    or exists (select from delivery.deliveries d
      where d.tenant_id = app.tenant_id() and d.currency <> code and d.status not in ('delivered', 'returned', 'cancelled'))
    or exists (select from storefront.storefront_orders o
      where o.tenant_id = app.tenant_id() and o.currency <> code and o.status not in ('delivered', 'completed', 'cancelled')) then
    perform app.fail('currency_in_use', '{"field": "general.currency.settings.currency_code"}');
  end if;
  perform money.account_of('wallet', u.tenant_user_type, u.user_id, code)
  from tenancy.tenant_users u
  where u.tenant_id = app.tenant_id() and u.tenant_user_type in ('driver', 'institution', 'customer');
  -- A shop names the currency of its prices.
  update storefront.markets m set settings = m.settings || jsonb_build_object('currency', change_currency.code)
  where m.tenant_id = app.tenant_id() and m.settings ->> 'currency' <> change_currency.code;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.change_decimals(code text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if exists (select from money.accounts a where a.tenant_id = app.tenant_id() and a.currency = code and a.version > 0)
    or exists (select from delivery.deliveries d
      where d.tenant_id = app.tenant_id() and d.currency = code and d.status not in ('delivered', 'returned', 'cancelled'))
    or exists (select from storefront.storefront_orders o
      where o.tenant_id = app.tenant_id() and o.currency = code and o.status not in ('delivered', 'completed', 'cancelled')) then
    perform app.fail('currency_in_use', '{"field": "general.currency.settings.decimals"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.settings_save(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_currency record := app.currency();
  v_now record;
  v_before jsonb := tenancy.manifest_settings();
  v_groups jsonb;
begin
  perform private.version_alone();
  insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
  select app.tenant_id(), p ->> 'module', p ->> 'group', app.merge_patch('{}', p -> 'settings'), app.user_id()
  from jsonb_array_elements(input -> 'patches') p
  order by p ->> 'module', p ->> 'group'
  on conflict (tenant_id, module, group_key) do update set updated_by = excluded.updated_by,
    settings = app.merge_patch(s.settings, (
      select q -> 'settings' from jsonb_array_elements(input -> 'patches') q
      where q ->> 'module' = excluded.module and q ->> 'group' = excluded.group_key));

  select jsonb_agg(jsonb_build_array(p ->> 'module', p ->> 'group')) into v_groups
  from jsonb_array_elements(input -> 'patches') p;
  perform tenancy.require_references(input -> 'patches');
  if v_groups @> '[["delivery", "transfer_manifest"]]' then
    perform tenancy.require_workflow();
    perform tenancy.require_default_service(v_before);
  end if;
  v_now := app.currency();
  if v_now.code <> v_currency.code then
    perform tenancy.change_currency(v_now.code);
  elsif v_now.decimals <> v_currency.decimals then
    perform tenancy.change_decimals(v_now.code);
  end if;
  return tenancy.settings_get(jsonb_build_object('groups', v_groups));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.subscription_settle()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  update tenancy.tenants t set subscription_status = s.status, effective_until = s.until, updated_by = app.user_id()
  from (
    select case
        when bool_or(s.status = 'ACTIVE' and s.type = 'UNLIMITED') then 'UNLIMITED'
        when bool_or(s.status = 'ACTIVE' and s.ends_at > now()) then 'ACTIVE'
        when bool_or(s.status = 'PENDING') then 'PENDING'
        when bool_or(s.status = 'ACTIVE') then 'ACTIVE'
        when bool_or(s.status = 'CANCELLED') then 'CANCELLED'
        else 'NONE' end as status,
      case when not bool_or(s.status = 'ACTIVE' and s.type = 'UNLIMITED') then max(s.ends_at) filter (where s.ends_at is distinct from s.starts_at) end as until
    from tenancy.subscriptions s where s.tenant_id = v_tenant
  ) s
  where t.id = v_tenant;
end $function$;

REVOKE ALL ON FUNCTION "tenancy"."change_decimals"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "tenancy"."change_decimals"(text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126061014';
end $$;

grant execute on function private.schema_version() to barid_api;
