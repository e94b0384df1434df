-- Whether a tenant may be used now: neither suspended nor archived, and, while subscriptions are asked
-- for (system setting tenant_subscription.enabled), with one that is unlimited or not over yet.
-- Worked out on every request, so that a subscription ends at its minute and not at the next update.
create or replace function app.is_effective(tenant tenancy.tenants) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return tenant.status not in ('suspended', 'archived') and (
    coalesce((select s.value <> 'true' from tenancy.system_settings s where s.key = 'tenant_subscription.enabled'), true)
    or tenant.subscription_status = 'UNLIMITED'
    or coalesce(now() < tenant.effective_until, false));
end $$;

-- True of a company that was archived: schedules leave it as it is, and announce nothing of it, since it works elsewhere by now or nowhere.
create or replace function app.is_archived(tenant uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from tenancy.tenants t where t.id = is_archived.tenant and t.status = 'archived');
end $$;
