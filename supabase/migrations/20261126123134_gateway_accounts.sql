-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table money.payment_gateways, money.payments in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "audit_delete" ON "money"."payment_gateways";

DROP TRIGGER "audit_insert" ON "money"."payment_gateways";

DROP TRIGGER "audit_update" ON "money"."payment_gateways";

ALTER TABLE "money"."payments" DROP CONSTRAINT "texts_within_bounds";

ALTER TABLE "money"."payment_gateways" ADD COLUMN "previous_accounts" jsonb NOT NULL DEFAULT '{}'::jsonb;

ALTER TABLE "money"."payments" ADD COLUMN "gateway_account" text;

CREATE OR REPLACE FUNCTION money.gateway_account(settings jsonb)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(settings ->> 'account_id', settings ->> 'terminal');
end $function$;

CREATE OR REPLACE FUNCTION money.gateway_account_of(p money.payments)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(case when p.gateway_account <> money.gateway_account(g.settings) then
        g.previous_accounts -> p.gateway_account #- '{secrets,previous_webhook_secret}' end,
      jsonb_build_object('settings', g.settings, 'secrets', g.secrets))
    from money.payment_gateways g where g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code);
end $function$;

REVOKE ALL ON FUNCTION "money"."gateway_account_of"(money.payments) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.gateway_put(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_code text := input ->> 'gateway_code';
  g money.payment_gateways;
  v_missing jsonb;
  v_account text;
begin
  insert into money.payment_gateways (tenant_id, gateway_code) values (v_tenant, v_code)
  on conflict on constraint gateway_configured do nothing;
  select * into strict g from money.payment_gateways x where x.tenant_id = v_tenant and x.gateway_code = v_code for update;
  v_account := money.gateway_account(g.settings);
  if v_account <> money.gateway_account(g.settings || coalesce(input -> 'settings', '{}')) then
    g.previous_accounts := (
      select jsonb_object_agg(kept.name, kept.value)
      from (
        select a.name, a.value from jsonb_each(g.previous_accounts || jsonb_build_object(v_account, jsonb_build_object(
          'settings', g.settings, 'replaced_at', clock_timestamp(),
          'secrets', g.secrets || jsonb_strip_nulls(jsonb_build_object('previous_webhook_secret', g.previous_webhook_secret))))) a (name, value)
        order by a.value ->> 'replaced_at' desc limit 10
      ) kept);
    g.previous_webhook_secret := null;
  elsif input #>> '{secrets,webhook_secret}' is not null and g.secrets ? 'webhook_secret'
      and g.webhook_secret_print is distinct from input ->> 'webhook_secret_print' then
    g.previous_webhook_secret := g.secrets ->> 'webhook_secret';
  elsif (input ->> 'forget_previous_secret')::boolean then
    g.previous_webhook_secret := null;
    g.previous_accounts := '{}';
  end if;
  g.settings := jsonb_strip_nulls(g.settings || coalesce(input -> 'settings', '{}'));
  g.previous_accounts := g.previous_accounts - coalesce(money.gateway_account(g.settings), '');
  g.secrets := g.secrets || coalesce(input -> 'secrets', '{}');
  g.is_active := coalesce((input ->> 'is_active')::boolean, g.is_active);
  if g.is_active then
    select jsonb_agg(n.name order by n.position) into v_missing
    from jsonb_array_elements_text(input -> 'needs') with ordinality n (name, position)
    where not (g.settings ? n.name or g.secrets ? n.name);
    if v_missing is not null then
      perform app.fail('gateway_incomplete', jsonb_build_object('field', v_missing -> 0, 'missing', v_missing));
    end if;
  end if;
  update money.payment_gateways x set is_active = g.is_active, settings = g.settings, secrets = g.secrets,
    webhook_secret_print = coalesce(input ->> 'webhook_secret_print', x.webhook_secret_print),
    previous_webhook_secret = g.previous_webhook_secret, previous_accounts = g.previous_accounts
  where x.tenant_id = v_tenant and x.id = g.id;
  return money.gateways_get(jsonb_build_object('gateway_code', v_code)) -> 0;
end $function$;

CREATE OR REPLACE FUNCTION money.gateway_signers(code text, account_id text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('tenant_id', g.tenant_id, 'secret', g.secret, 'previous', g.previous)), '[]')
    from (
      select x.* from (
        select t.tenant_id, t.gateway_code, t.is_active, t.created_at, t.id, t.secrets ->> 'webhook_secret' as secret,
          t.previous_webhook_secret as previous
        from money.payment_gateways t
        where t.gateway_code = code and t.settings ->> 'account_id' = gateway_signers.account_id
        union all
        select t.tenant_id, t.gateway_code, false, t.created_at, t.id, t.previous_accounts #>> array[gateway_signers.account_id, 'secrets', 'webhook_secret'],
          t.previous_accounts #>> array[gateway_signers.account_id, 'secrets', 'previous_webhook_secret']
        from money.payment_gateways t
        where t.gateway_code = code and t.previous_accounts <> '{}' and t.previous_accounts ? gateway_signers.account_id
      ) x
      where x.is_active or exists (select from money.payments p where p.tenant_id = x.tenant_id and p.gateway_code = x.gateway_code)
      order by x.created_at, x.id limit 50
    ) g);
end $function$;

CREATE OR REPLACE FUNCTION money.gateways_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('gateway_code', g.gateway_code, 'is_active', g.is_active, 'settings', g.settings,
      'secrets', (select coalesce(jsonb_object_agg(s.name, true), '{}') from jsonb_object_keys(g.secrets) s (name)),
      'has_previous_webhook_secret', g.previous_webhook_secret is not null,
      'previous_accounts', (select coalesce(jsonb_agg(a.name order by a.value ->> 'replaced_at' desc), '[]')
        from jsonb_each(g.previous_accounts) a (name, value)), 'updated_at', g.updated_at) order by g.gateway_code), '[]')
    from money.payment_gateways g
    where g.tenant_id = app.tenant_id() and (input ->> 'gateway_code' is null or g.gateway_code = input ->> 'gateway_code'));
end $function$;

CREATE OR REPLACE FUNCTION money.minor_digits(p money.payments)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((money.gateway_account_of(p) #>> '{settings,amount_exponent}')::integer, money.decimals_of(p.currency));
end $function$;

CREATE OR REPLACE FUNCTION money.payment_evaluate(p money.payments, o storefront.storefront_orders, facts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select case
      when facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' or money.amount_told(p, facts) <> p.amount
        then 'amount_differs'
      when upper(facts ->> 'currency') not in (c.code, c.numeric_code) then 'currency_differs'
      when a.terminal is not null and coalesce(facts ->> 'terminal' not in (a.terminal, g.settings ->> 'terminal'), true) then 'terminal_differs'
      when facts ->> 'order' is not null and lower(facts ->> 'order') not in (p.gateway_order_id, coalesce(p.order_id::text, ''))
        or facts ->> 'reference' ~ '^[0-9]{12,18}$' and facts ->> 'reference' <> p.gateway_order_id then 'order_differs'
      when p.status = 'CANCELLED' or o.status = 'cancelled' then 'order_cancelled'
      when coalesce(facts ->> 'transaction_id', '') = '' then 'transaction_missing'
      when p.status = 'SUCCESS' or o.payment_status = 'paid' then 'already_paid'
    end
    from tenancy.currencies c
    cross join (select money.gateway_account_of(p) #>> '{settings,terminal}' as terminal) a
    left join money.payment_gateways g on g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code
    where c.code = p.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_known(p money.payments)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('id', p.id, 'tenant_id', p.tenant_id, 'gateway_code', p.gateway_code, 'gateway_order_id', p.gateway_order_id,
      'gateway_reference', p.gateway_reference, 'amount', p.amount::text, 'currency', p.currency, 'numeric_code', c.numeric_code,
      'exponent', money.minor_digits(p), 'description', p.reference, 'back_ref', p.back_ref,
      'expires_at', p.expires_at, 'settings', coalesce(a.account -> 'settings', '{}'), 'secrets', coalesce(a.account -> 'secrets', '{}'))
    from tenancy.currencies c
    cross join (select money.gateway_account_of(p) as account) a
    where c.code = p.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_open(p_payment uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  select * into p from money.payments x where x.id = p_payment and x.gateway_order_id is not null for no key update;
  if p.id is null or p.status <> 'pending' then
    return null;
  elsif p.redirect_url is not null then
    return jsonb_build_object('redirect_url', p.redirect_url, 'gateway_order_id', p.gateway_order_id, 'expires_at', p.expires_at);
  elsif p.opened_at > clock_timestamp() - interval '15 seconds' then
    return jsonb_build_object('wait', true);
  end if;
  update money.payments x set opened_at = clock_timestamp(),
    gateway_order_id = case when x.opened_at is null then x.gateway_order_id else nextval('money.gateway_order_ids')::text end,
    gateway_account = (select money.gateway_account(g.settings) from money.payment_gateways g
      where g.tenant_id = x.tenant_id and g.gateway_code = x.gateway_code)
  where x.id = p.id returning * into p;
  perform set_config('app.tenant_id', p.tenant_id::text, true);
  return jsonb_build_object('open', money.payment_known(p));
end $function$;

ALTER TABLE "money"."payment_gateways" ADD CONSTRAINT "payment_gateways_previous_accounts_check" CHECK ((jsonb_typeof(previous_accounts) = 'object'::text)) NOT VALID;

ALTER TABLE "money"."payment_gateways" ADD CONSTRAINT "previous_accounts_above_1048576_bytes" CHECK ((octet_length((previous_accounts)::text) <= 1048576)) NOT VALID;

ALTER TABLE "money"."payments" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(category) <= 1000) AND (octet_length(type) <= 1000) AND (octet_length(status) <= 1000) AND (octet_length(payment_method) <= 1000) AND (octet_length(gateway_code) <= 1000) AND (octet_length(gateway_order_id) <= 1000) AND (octet_length(gateway_reference) <= 1000) AND (octet_length(gateway_transaction_id) <= 1000) AND (octet_length(terminal) <= 1000) AND (octet_length(redirect_url) <= 4000) AND (octet_length(back_ref) <= 4000) AND (octet_length(reference) <= 1000) AND (octet_length(idempotency_key) <= 1000) AND (octet_length(gateway_account) <= 1000))) NOT VALID;

CREATE TRIGGER audit_delete AFTER DELETE ON money.payment_gateways REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('secrets,webhook_secret_print,previous_webhook_secret,previous_accounts');

CREATE TRIGGER audit_insert AFTER INSERT ON money.payment_gateways REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('secrets,webhook_secret_print,previous_webhook_secret,previous_accounts');

CREATE TRIGGER audit_update AFTER UPDATE ON money.payment_gateways REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('secrets,webhook_secret_print,previous_webhook_secret,previous_accounts');

REVOKE ALL ON FUNCTION "money"."gateway_account"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."gateway_account"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."gateway_account_of"(money.payments) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126123134';
end $$;

grant execute on function private.schema_version() to barid_api;
