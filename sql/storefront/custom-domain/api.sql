-- The domain of a market's own. The functions look the records up; what they found is written here.

-- A connected domain as responses show it.
create or replace function storefront.domain_to_json(domain storefront.custom_domains) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return case when domain.id is not null then to_jsonb(domain) - '{dns_missing_since,pending_since}'::text[] end;
end $$;

-- The pending or active domain of the caller's tenant, held when it is to be changed; null without one.
-- Fails: market_not_found.
create or replace function storefront.own_domain(hold boolean default false) returns storefront.custom_domains
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market();
  v_domain storefront.custom_domains;
begin
  if hold then
    select * into v_domain from storefront.custom_domains d
    where d.tenant_id = v_market.tenant_id and d.market_id = v_market.id and d.status <> 'archived' for update;
  else
    select * into v_domain from storefront.custom_domains d
    where d.tenant_id = v_market.tenant_id and d.market_id = v_market.id and d.status <> 'archived';
  end if;
  return v_domain;
end $$;

-- -> {custom_domain}, null without one. Fails: market_not_found.
create or replace function storefront.domain_get(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return jsonb_build_object('custom_domain', storefront.domain_to_json(storefront.own_domain()));
end $$;

-- Begins a connection. {custom_domain, routing: {type, name, name_full, value}, ownership: {name, name_full}, made: {holder_gone?: the
-- claim of another market whose record is not there any more}} -> {custom_domain} with the records that its owner has to make: the routing
-- one and a proof of ownership with a value of the tenant's own.
-- Fails: market_not_found, custom_domain_already_connected, custom_domain_taken (another market has proven it).
create or replace function storefront.domain_connect(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market();
  v_domain storefront.custom_domains := storefront.own_domain();
  v_holder jsonb := storefront.domain_holder(input ->> 'custom_domain');
  v_broken text;
begin
  if v_domain.id is not null then
    perform app.fail('custom_domain_already_connected');
  elsif v_holder ->> 'id' <> coalesce(input #>> '{made,holder_gone}', '') then
    perform app.fail('custom_domain_taken', '{"field": "custom_domain"}');
  end if;
  begin
    insert into storefront.custom_domains (tenant_id, market_id, custom_domain, dns_records)
    values (v_market.tenant_id, v_market.id, input ->> 'custom_domain', jsonb_build_array(
      (input -> 'routing') || '{"purpose": "routing"}',
      (input -> 'ownership') || jsonb_build_object('type', 'TXT',
        'value', 'market-verify=' || replace(gen_random_uuid()::text, '-', ''), 'purpose', 'ownership')))
    returning * into v_domain;
  exception when unique_violation then
    -- The same market connects one at the same moment.
    get stacked diagnostics v_broken = constraint_name;
    perform app.fail(v_broken);
  end;
  perform storefront.domain_event_emit(v_domain, 'connected');
  return jsonb_build_object('custom_domain', storefront.domain_to_json(v_domain));
end $$;

-- Another market's proven claim to a domain, whose record is to be looked up. {custom_domain} -> {holder: {id, record} or null}
create or replace function storefront.domain_rival(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('holder', storefront.domain_holder(input ->> 'custom_domain'));
end $$;

-- The domain to look up. -> {id, custom_domain, status, dns_records, holder: {id, record} of another market that has proven it, or null}
-- Fails: market_not_found, custom_domain_not_found.
create or replace function storefront.domain_due(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_domain storefront.custom_domains := storefront.own_domain();
begin
  if v_domain.id is null then
    perform app.fail('custom_domain_not_found');
  end if;
  return to_jsonb(v_domain) || jsonb_build_object('holder', storefront.domain_holder(v_domain.custom_domain));
end $$;

-- Writes down what a look-up found. {id, complete: true when every record is there, holder_gone?: as in domain_connect}
-- -> {verified, custom_domain {id, custom_domain, status, dns_verified_at}}. Complete, the domain is this market's: the claims of
-- others end. An active domain stays so: the daily look-up decides about it.
-- Fails: custom_domain_not_found (disconnected meanwhile), custom_domain_taken.
create or replace function storefront.domain_checked(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_domain storefront.custom_domains := storefront.domain_record_lookup((input ->> 'id')::uuid, (input ->> 'complete')::boolean,
    (input ->> 'holder_gone')::uuid);
begin
  if v_domain.id is null then
    perform app.fail('custom_domain_not_found');
  end if;
  return jsonb_build_object('verified', v_domain.status = 'active', 'custom_domain', jsonb_build_object(
    'id', v_domain.id, 'custom_domain', v_domain.custom_domain, 'status', v_domain.status,
    'dns_verified_at', v_domain.dns_verified_at));
end $$;

-- Ends the connection. -> {custom_domain {id, custom_domain, status, disconnected_at}}
-- Fails: market_not_found, custom_domain_not_found.
create or replace function storefront.domain_disconnect(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_domain storefront.custom_domains := storefront.own_domain(hold => true);
begin
  if v_domain.id is null then
    perform app.fail('custom_domain_not_found');
  end if;
  update storefront.custom_domains d set status = 'archived', disconnected_at = now()
  where d.tenant_id = v_domain.tenant_id and d.id = v_domain.id
  returning * into v_domain;
  perform storefront.domain_event_emit(v_domain, 'disconnected');
  return jsonb_build_object('custom_domain', jsonb_build_object('id', v_domain.id, 'custom_domain', v_domain.custom_domain,
    'status', v_domain.status, 'disconnected_at', v_domain.disconnected_at));
end $$;
