-- With which account a tenant uses a gateway. Secrets come sealed and are never shown.

-- The name of an account at a gateway, as its settings have it: what a notice names, or the terminal that payments are taken at.
create or replace function money.gateway_account(settings jsonb) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return coalesce(settings ->> 'account_id', settings ->> 'terminal');
end $$;

-- {gateway_code?} -> [the tenant's gateways], or of one.
create or replace function money.gateways_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('gateway_code', g.gateway_code, 'is_active', g.is_active, 'settings', g.settings,
      'secrets', (select coalesce(jsonb_object_agg(s.name, true), '{}') from jsonb_object_keys(g.secrets) s (name)),
      'has_previous_webhook_secret', g.previous_webhook_secret is not null,
      'previous_accounts', (select coalesce(jsonb_agg(a.name order by a.value ->> 'replaced_at' desc), '[]')
        from jsonb_each(g.previous_accounts) a (name, value)), 'updated_at', g.updated_at) order by g.gateway_code), '[]')
    from money.payment_gateways g
    where g.tenant_id = app.tenant_id() and (input ->> 'gateway_code' is null or g.gateway_code = input ->> 'gateway_code'));
end $$;

-- Configures a gateway; what is not sent stays. A new webhook secret keeps the one before beside it, and another account the account of
-- before, until they are to be forgotten: events on their way are signed with it, and payments are open there.
-- {gateway_code, is_active?, settings?, secrets? {name: sealed}, webhook_secret_print?, webhook_secret_prints?, forget_previous_secret?,
--  needs: [names of settings and secrets without which it cannot be used]} -> the gateway
-- webhook_secret_prints: its prints by all keys that open what is sealed; one that is saved again to be sealed anew is no new secret
-- Fails: gateway_incomplete (field: the first, missing: all).
create or replace function money.gateway_put(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
      and g.webhook_secret_print is distinct from input ->> 'webhook_secret_print'
      and not coalesce(input -> 'webhook_secret_prints' ? g.webhook_secret_print, false) then
    g.previous_webhook_secret := g.secrets ->> 'webhook_secret';
  end if;
  -- Also what this call has just put there: a secret that others have seen is exchanged and forgotten at once.
  if (input ->> 'forget_previous_secret')::boolean then
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
end $$;

-- True when the tenant of the shop the request is in, or else the caller's, can be paid through a gateway. SECURITY DEFINER:
-- customers see no accounts.
create or replace function money.gateway_in_use(code text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from money.payment_gateways g where g.tenant_id = coalesce(app.shop_tenant_id(), app.tenant_id())
    and g.gateway_code = code and g.is_active);
end $$;
grant execute on function money.gateway_in_use(text) to barid_caller;

-- Digits after the point of the smallest amount that a gateway of the caller's tenant takes: those it counts by (its account's, or
-- money.gateway_exponent), or the currency's if they are fewer. Of thousandths Razorpay takes tens alone. SECURITY DEFINER: customers see no
-- accounts.
create or replace function money.gateway_digits(code text, currency text) returns integer
language plpgsql stable security definer set search_path = '' as $$
begin
  return least(money.decimals_of(gateway_digits.currency), case code when 'razorpay' then 2 end, coalesce((
    select (g.settings ->> 'amount_exponent')::integer from money.payment_gateways g
    where g.tenant_id = app.tenant_id() and g.gateway_code = code), money.gateway_exponent(gateway_digits.currency)));
end $$;
grant execute on function money.gateway_digits(text, text) to barid_caller;

-- Those whose secret may have signed an event of this account, which is theirs or was: [{tenant_id, secret, previous}]. A gateway that is
-- switched off takes no payment any more, and is heard about those that it took.
create or replace function money.gateway_signers(code text, account_id text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
end $$;
grant execute on function money.gateway_signers(text, text) to barid_api;

-- The tenant secrets are sealed for. -> {tenant_id}
create or replace function money.gateway_owner(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('tenant_id', app.tenant_id());
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.gateway_signers(text,text) from barid_caller;
