-- With which account a tenant uses a gateway. Secrets come sealed and are never shown.

-- {gateway_code?} -> [the tenant's gateways], or of one.
create or replace function money.gateways_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('gateway_code', g.gateway_code, 'is_active', g.is_active, 'settings', g.settings,
      'secrets', (select coalesce(jsonb_object_agg(s.name, true), '{}') from jsonb_object_keys(g.secrets) s (name)),
      'has_previous_webhook_secret', g.previous_webhook_secret is not null, 'updated_at', g.updated_at) order by g.gateway_code), '[]')
    from money.payment_gateways g
    where g.tenant_id = app.tenant_id() and (input ->> 'gateway_code' is null or g.gateway_code = input ->> 'gateway_code'));
end $$;

-- Configures a gateway; what is not sent stays. A new webhook secret keeps the one before beside it, until that is
-- to be forgotten: events on their way are signed with it.
-- {gateway_code, is_active?, settings?, secrets? {name: sealed}, webhook_secret_print?, forget_previous_secret?,
--  needs: [names of settings and secrets without which it cannot be used]} -> the gateway
-- Fails: gateway_incomplete (field: the first, missing: all).
create or replace function money.gateway_put(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_code text := input ->> 'gateway_code';
  g money.payment_gateways;
  v_missing jsonb;
begin
  insert into money.payment_gateways (tenant_id, gateway_code) values (v_tenant, v_code)
  on conflict on constraint gateway_configured do nothing;
  select * into strict g from money.payment_gateways x where x.tenant_id = v_tenant and x.gateway_code = v_code for update;
  if input #>> '{secrets,webhook_secret}' is not null and g.secrets ? 'webhook_secret'
      and g.webhook_secret_print is distinct from input ->> 'webhook_secret_print' then
    g.previous_webhook_secret := g.secrets ->> 'webhook_secret';
  elsif (input ->> 'forget_previous_secret')::boolean then
    g.previous_webhook_secret := null;
  end if;
  g.settings := jsonb_strip_nulls(g.settings || coalesce(input -> 'settings', '{}'));
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
    previous_webhook_secret = g.previous_webhook_secret
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

-- Those whose secret may have signed an event of this account: [{tenant_id, secrets, previous_webhook_secret}]. A gateway that is switched off
-- takes no payment any more, and is heard about those that it took.
create or replace function money.gateway_signers(code text, account_id text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
