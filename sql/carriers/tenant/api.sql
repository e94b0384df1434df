-- Which carriers a tenant works with. Credentials and webhook secrets come and go sealed.

-- -> {carriers}: the active ones with this tenant's configuration, or null.
create or replace function integration.carriers_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('carriers', coalesce(jsonb_agg(to_jsonb(c) - 'position' order by c.position), '[]'))
    from integration.carriers_list c);
end $$;

-- An active carrier. Fails: carrier_not_found.
create or replace function integration.carrier_of(carrier_code text) returns integration.carriers
language plpgsql stable set search_path = '' as $$
declare
  c integration.carriers;
begin
  select k.* into c from integration.carriers k where k.code = carrier_of.carrier_code and k.is_active;
  if not found then
    perform app.fail('carrier_not_found');
  end if;
  return c;
end $$;

-- Sets what is sent. {carrier_code, is_enabled?, prefer_internal?, default_price?, credentials_print?,
-- made: {credentials?, was?, missing?, secret?}} -> {carrier, tenant_id, webhook_secret?}: the sealed secret when this call enabled
-- a carrier with a webhook. An existing secret stays. was: the sealed credentials that the new ones were made from; when
-- others stand there by now nothing is written. missing: the credentials that the carrier is then without. Fails:
-- carrier_not_found, carrier_incomplete (field: the first, missing: all), service_unavailable (field credentials: make them again).
create or replace function integration.carrier_configure(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  c integration.carriers := integration.carrier_of(input ->> 'carrier_code');
  v_was integration.tenant_carriers;
  v_is integration.tenant_carriers;
begin
  insert into integration.tenant_carriers (tenant_id, carrier_code) values (v_tenant, c.code)
  on conflict (tenant_id, carrier_code) do nothing;
  select t.* into v_was from integration.tenant_carriers t where t.tenant_id = v_tenant and t.carrier_code = c.code for update;
  if input -> 'made' ? 'was' and v_was.credentials is distinct from input #>> '{made,was}' then
    perform app.fail('service_unavailable', '{"field": "credentials"}');
  end if;
  update integration.tenant_carriers t set
    is_enabled = coalesce((input ->> 'is_enabled')::boolean, t.is_enabled),
    prefer_internal = coalesce((input ->> 'prefer_internal')::boolean, t.prefer_internal),
    default_price = case when input ? 'default_price' then (input ->> 'default_price')::numeric else t.default_price end,
    credentials = coalesce(input #>> '{made,credentials}', t.credentials),
    webhook_secret = case when c.supports_webhook and (input ->> 'is_enabled')::boolean
      then coalesce(t.webhook_secret, input #>> '{made,secret}') else t.webhook_secret end
  where t.id = v_was.id returning t.* into v_is;
  if v_is.is_enabled and input #> '{made,missing,0}' is not null then
    perform app.fail('carrier_incomplete', jsonb_build_object('field', input #> '{made,missing,0}', 'missing', input #> '{made,missing}'));
  end if;
  return jsonb_build_object('tenant_id', v_tenant, 'carrier', integration.carrier_to_json(c.code),
    'webhook_secret', case when c.supports_webhook and v_is.is_enabled and not v_was.is_enabled then v_is.webhook_secret end);
end $$;

-- A carrier as clients see it, with this tenant's configuration.
create or replace function integration.carrier_to_json(carrier_code text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(l) - 'position' from integration.carriers_list l where l.code = carrier_to_json.carrier_code);
end $$;

-- The sealed credentials of a carrier, for merging new ones into them. {carrier_code} -> {credentials}
create or replace function integration.carrier_sealed(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('credentials', (select t.credentials from integration.tenant_carriers t
    where t.tenant_id = app.tenant_id() and t.carrier_code = input ->> 'carrier_code'));
end $$;

-- Another webhook secret; the old one holds no more. {carrier_code, made: {secret}} -> {carrier, tenant_id, webhook_secret}
-- Fails: carrier_not_found, carrier_not_enabled.
create or replace function integration.carrier_rotate(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  c integration.carriers := integration.carrier_of(input ->> 'carrier_code');
begin
  update integration.tenant_carriers t set webhook_secret = input #>> '{made,secret}'
  where t.tenant_id = v_tenant and t.carrier_code = c.code and t.is_enabled and c.supports_webhook;
  if not found then
    perform app.fail('carrier_not_enabled');
  end if;
  return jsonb_build_object('tenant_id', v_tenant, 'carrier', integration.carrier_to_json(c.code),
    'webhook_secret', input #>> '{made,secret}');
end $$;
