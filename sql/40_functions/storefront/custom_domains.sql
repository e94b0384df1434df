-- The domain of a market's own. The functions look the records up; what they found is written here.

-- A connected domain as responses show it.
create or replace function storefront.domain_shown(domain storefront.custom_domains) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return case when domain.id is not null then to_jsonb(domain) end;
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

-- Tells what happened to a domain: an event for other modules.
create or replace function storefront.tell_domain(domain storefront.custom_domains, happened text) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'custom_domain.' || happened,
    'source_module', 'storefront', 'entity_type', 'custom_domain', 'entity_id', domain.id,
    'event_data', jsonb_build_object('custom_domain_id', domain.id, 'market_id', domain.market_id,
      'custom_domain', domain.custom_domain, 'status', domain.status, 'actor_id', app.user_id()))));
end $$;

-- -> {custom_domain}, null without one. Fails: market_not_found.
create or replace function storefront.domain_get(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return jsonb_build_object('custom_domain', storefront.domain_shown(storefront.own_domain()));
end $$;

-- Begins a connection. {custom_domain, routing: {type, name, value}} -> {custom_domain} with the records its
-- owner has to make: the routing one and a proof that the zone is his.
-- Fails: market_not_found, custom_domain_already_connected, custom_domain_taken (by another market).
create or replace function storefront.domain_connect(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_market storefront.markets := storefront.own_market();
  v_domain storefront.custom_domains := storefront.own_domain();
  v_broken text;
begin
  if v_domain.id is not null then
    perform app.fail('custom_domain_already_connected');
  end if;
  begin
    insert into storefront.custom_domains (tenant_id, market_id, custom_domain, dns_records)
    values (v_market.tenant_id, v_market.id, input ->> 'custom_domain', jsonb_build_array(
      (input -> 'routing') || '{"purpose": "routing"}',
      jsonb_build_object('type', 'TXT', 'name', '_market-verify.' || (input ->> 'custom_domain'),
        'value', 'market-verify=' || replace(gen_random_uuid()::text, '-', ''), 'purpose', 'ownership')))
    returning * into v_domain;
  exception when unique_violation then
    -- Another tenant's domain is seen by the index alone.
    get stacked diagnostics v_broken = constraint_name;
    perform app.fail(v_broken, '{"field": "custom_domain"}');
  end;
  perform storefront.tell_domain(v_domain, 'connected');
  return jsonb_build_object('custom_domain', storefront.domain_shown(v_domain));
end $$;

-- What to look up. -> {id, custom_domain, status, dns_records}
-- Fails: market_not_found, custom_domain_not_found.
create or replace function storefront.domain_due(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_domain storefront.custom_domains := storefront.own_domain();
begin
  if v_domain.id is null then
    perform app.fail('custom_domain_not_found');
  end if;
  return to_jsonb(v_domain);
end $$;

-- Writes down what a look-up found. {id, complete: true when every record is there}
-- -> {verified, custom_domain {id, custom_domain, status, dns_verified_at}}; a domain once active stays so.
-- Fails: custom_domain_not_found (disconnected meanwhile).
create or replace function storefront.domain_checked(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_domain storefront.custom_domains;
begin
  select * into v_domain from storefront.custom_domains d
  where d.tenant_id = v_tenant and d.id = (input ->> 'id')::uuid and d.status <> 'archived' for update;
  if v_domain.id is null then
    perform app.fail('custom_domain_not_found');
  end if;
  if v_domain.status = 'pending_dns' then
    update storefront.custom_domains d set dns_checked_at = now(),
      status = case when (input ->> 'complete')::boolean then 'active' else d.status end,
      dns_verified_at = case when (input ->> 'complete')::boolean then now() end
    where d.tenant_id = v_tenant and d.id = v_domain.id
    returning * into v_domain;
    if v_domain.status = 'active' then
      perform storefront.tell_domain(v_domain, 'verified');
    end if;
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
  perform storefront.tell_domain(v_domain, 'disconnected');
  return jsonb_build_object('custom_domain', jsonb_build_object('id', v_domain.id, 'custom_domain', v_domain.custom_domain,
    'status', v_domain.status, 'disconnected_at', v_domain.disconnected_at));
end $$;
