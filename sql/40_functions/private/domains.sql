-- Looking pending domains up again, without anybody asking.

-- Queues a look-up for each domain that has waited for its records for less than a week and is not queued
-- already. What waited longer is archived: a name nobody proved is free for who owns it. Answers how many were
-- queued. Run by cron.
create or replace function private.domains_recheck() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  update storefront.custom_domains d set status = 'archived', disconnected_at = now()
  where d.status = 'pending_dns' and d.created_at <= now() - interval '7 days';
  insert into app.jobs (tenant_id, kind, payload, entity_key, attempts_max)
  select d.tenant_id, 'storefront.verify_domain', jsonb_build_object('domain_id', d.id), d.id::text, 1
  from storefront.custom_domains d
  where d.status = 'pending_dns' and d.created_at > now() - interval '7 days'
    and not exists (select from app.jobs j where j.entity_key = d.id::text and j.status in ('queued', 'running'));
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- The domain a job is to look up, or null when it waits no more.
create or replace function private.domain_of_job(domain_id uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select to_jsonb(d) from storefront.custom_domains d where d.id = domain_id and d.status = 'pending_dns');
end $$;

-- Writes down what a job found, in the tenant of the domain. One disconnected meanwhile is left alone.
create or replace function private.domain_checked_by_job(domain_id uuid, complete boolean) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid;
begin
  select d.tenant_id into v_tenant from storefront.custom_domains d
  where d.id = domain_id and d.status = 'pending_dns' for update;
  if v_tenant is null then
    return false;
  end if;
  perform set_config('app.tenant_id', v_tenant::text, true);
  perform storefront.domain_checked(jsonb_build_object('id', domain_id, 'complete', domain_checked_by_job.complete));
  return true;
end $$;

grant execute on function private.domain_of_job(uuid), private.domain_checked_by_job(uuid, boolean) to barid_api;
