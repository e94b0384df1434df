-- Custom domains across tenants: who has proven one, what becomes of the other claims, and looking them up again by the clock.

-- Publishes what happened to a domain, as an event of its own tenant, which need not be the caller's.
create or replace function storefront.domain_event_write(d storefront.custom_domains, happened text) returns void
language plpgsql set search_path = '' as $$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  values (d.tenant_id, 'custom_domain.' || happened, 'storefront', 'custom_domain', d.id, jsonb_build_object('custom_domain_id', d.id,
    'market_id', d.market_id, 'custom_domain', d.custom_domain, 'status', d.status,
    'actor_id', case when d.tenant_id = app.tenant_id() then app.user_id() end));
end $$;

-- The same for a domain of the caller's tenant. SECURITY DEFINER: nobody writes events otherwise. Fails: forbidden.
create or replace function storefront.domain_event_emit(d storefront.custom_domains, happened text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.require_tenant(d.tenant_id);
  perform storefront.domain_event_write(d, happened);
end $$;

-- The claim of another tenant that has proven a domain: {id, record: its proof of ownership}, or null. For the look-up alone; no answer
-- shows it.
create or replace function storefront.domain_holder(domain text) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', d.id, 'record', (
      select r.record from jsonb_array_elements(d.dns_records) r (record) where r.record ->> 'purpose' = 'ownership' limit 1))
    from storefront.custom_domains d
    where d.custom_domain = domain_holder.domain and d.status = 'active' and d.tenant_id is distinct from app.tenant_id());
end $$;

-- Writes down what a look-up of a domain of the caller's tenant found; complete null: nothing could be found out. A pending one with its
-- records becomes active, and the claims of others to it end: also the proven one whose record is gone (holder_gone). An active one
-- without its records for three days is pending again. Those who verify the same domain take turns. -> the domain, or null
-- Fails: forbidden, custom_domain_taken.
create or replace function storefront.domain_record_lookup(p_domain uuid, complete boolean, holder_gone uuid default null) returns storefront.custom_domains
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  d storefront.custom_domains;
  v_lost storefront.custom_domains;
begin
  if current_setting('role', true) = 'barid_caller' and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select * into d from storefront.custom_domains x where x.tenant_id = v_tenant and x.id = p_domain;
  perform pg_advisory_xact_lock(hashtextextended('domain ' || d.custom_domain, 0));
  select * into d from storefront.custom_domains x
  where x.tenant_id = v_tenant and x.id = p_domain and x.status <> 'archived' for update;
  if d.id is null then
    return null;
  elsif d.status = 'active' then
    return storefront.domain_record_active(d, complete);
  elsif complete is not true then
    update storefront.custom_domains x set dns_checked_at = now() where x.tenant_id = v_tenant and x.id = d.id returning * into d;
    return d;
  end if;
  if exists (select from storefront.custom_domains x
      where x.custom_domain = d.custom_domain and x.status = 'active' and x.id is distinct from holder_gone) then
    perform app.fail('custom_domain_taken', '{"field": "custom_domain"}');
  end if;
  for v_lost in
    update storefront.custom_domains x set status = 'archived', disconnected_at = now()
    where x.custom_domain = d.custom_domain and x.status <> 'archived' and x.id <> d.id returning *
  loop
    perform storefront.domain_event_write(v_lost, 'lost');
  end loop;
  update storefront.custom_domains x set status = 'active', dns_checked_at = now(), dns_verified_at = now()
  where x.tenant_id = v_tenant and x.id = d.id returning * into d;
  perform storefront.domain_event_write(d, 'verified');
  return d;
end $$;

-- The same for an active domain, which is locked.
create or replace function storefront.domain_record_active(d storefront.custom_domains, complete boolean) returns storefront.custom_domains
language plpgsql set search_path = '' as $$
begin
  if complete is null then
    update storefront.custom_domains x set dns_checked_at = now() where x.tenant_id = d.tenant_id and x.id = d.id returning * into d;
  elsif not complete and d.dns_missing_since <= now() - interval '3 days' then
    update storefront.custom_domains x set status = 'pending_dns', dns_checked_at = now(), dns_verified_at = null,
      dns_missing_since = null, pending_since = now()
    where x.tenant_id = d.tenant_id and x.id = d.id returning * into d;
    perform storefront.domain_event_write(d, 'unverified');
  else
    update storefront.custom_domains x set dns_checked_at = now(),
      dns_missing_since = case when not complete then coalesce(x.dns_missing_since, now()) end
    where x.tenant_id = d.tenant_id and x.id = d.id returning * into d;
  end if;
  return d;
end $$;

grant execute on function storefront.domain_event_emit(storefront.custom_domains, text), storefront.domain_holder(text),
  storefront.domain_record_lookup(uuid, boolean, uuid) to barid_caller;

-- Queues a look-up for each domain that has waited for its records for less than a week, and once a day for each that has proven them, unless
-- one is queued already. What waited longer is archived. Answers how many were queued. Run by cron.
create or replace function storefront.domains_recheck() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  update storefront.custom_domains d set status = 'archived', disconnected_at = now()
  where d.status = 'pending_dns' and d.pending_since <= now() - interval '7 days' and not app.is_archived(d.tenant_id);
  insert into app.jobs (tenant_id, kind, payload, entity_key)
  select d.tenant_id, 'storefront.verify_domain', jsonb_build_object('domain_id', d.id), d.id::text
  from (
    select p.tenant_id, p.id from storefront.custom_domains p where p.status = 'pending_dns'
    union all
    select a.tenant_id, a.id from storefront.custom_domains a where a.status = 'active' and a.dns_checked_at <= now() - interval '1 day'
  ) d
  where not app.is_archived(d.tenant_id)
    and not exists (select from app.jobs j where j.entity_key = d.id::text and j.status in ('queued', 'running'));
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Deletes connections that ended 400 days ago: nothing looks at them any more. A batch a run. Run by cron. -> how many
create or replace function storefront.domains_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from storefront.custom_domains d where d.id in (
    select x.id from storefront.custom_domains x
    where x.status = 'archived' and x.disconnected_at < now() - interval '400 days'
    order by x.disconnected_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- The domain that a job is to look up, as storefront.domain_due answers it, or null when it was disconnected.
create or replace function storefront.domain_of_job(domain_id uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  d storefront.custom_domains;
begin
  select * into d from storefront.custom_domains x where x.id = domain_id and x.status <> 'archived';
  if d.id is null then
    return null;
  end if;
  perform set_config('app.tenant_id', d.tenant_id::text, true);
  return to_jsonb(d) || jsonb_build_object('holder', storefront.domain_holder(d.custom_domain));
end $$;

-- Writes down what a job found, in the tenant of the domain; see storefront.domain_record_lookup. One disconnected meanwhile is left alone.
create or replace function storefront.domain_checked_by_job(domain_id uuid, complete boolean, holder_gone uuid) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid;
begin
  select d.tenant_id into v_tenant from storefront.custom_domains d where d.id = domain_id;
  perform set_config('app.tenant_id', coalesce(v_tenant::text, ''), true);
  return (storefront.domain_record_lookup(domain_id, complete, holder_gone)).id is not null;
end $$;

grant execute on function storefront.domain_of_job(uuid), storefront.domain_checked_by_job(uuid, boolean, uuid) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.domain_checked_by_job(uuid,boolean,uuid), storefront.domain_event_write(storefront.custom_domains,text),
  storefront.domain_record_active(storefront.custom_domains,boolean), storefront.domain_of_job(uuid),
  storefront.domains_purge(), storefront.domains_recheck() from barid_caller;
