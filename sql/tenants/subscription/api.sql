-- The subscription of a tenant, while the system asks for one. No payment provider is
-- connected: that a subscription is paid for is what a system administrator says.

-- Whether tenants need a subscription: system setting tenant_subscription.enabled.
create or replace function tenancy.subscriptions_required() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select s.value = 'true' from tenancy.system_settings s where s.key = 'tenant_subscription.enabled'), false);
end $$;

-- A subscription as responses show it; the internal note to those who manage the system alone.
create or replace function tenancy.subscription_to_json(subscription tenancy.subscriptions) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return to_jsonb(subscription) - array['tenant_id', 'updated_at']
    - case when app.has_permission('manage:system') then '{}' else '{note_internal}' end::text[];
end $$;

-- The tenant's subscription: the one that waits to be paid, else the last that holds, else the last there was, of those that came to their
-- turn if any did.
create or replace function tenancy.subscription_now() returns tenancy.subscriptions
language plpgsql stable set search_path = '' as $$
declare
  v_now tenancy.subscriptions;
begin
  select s.* into v_now from tenancy.subscriptions s where s.tenant_id = app.tenant_id()
  order by s.status = 'PENDING' desc, (s.status = 'ACTIVE' and coalesce(s.ends_at > now(), true)) desc,
    coalesce(s.starts_at < coalesce(s.ends_at, 'infinity'), false) desc, s.created_at desc, s.id
  limit 1;
  return v_now;
end $$;

-- When the tenant's terms end that have an end; null: none has. Paid time stays when one is cancelled; of one that was cancelled before its
-- turn there is none.
create or replace function tenancy.subscription_paid_until() returns timestamptz
language plpgsql stable set search_path = '' as $$
begin
  return (
    select max(s.ends_at) filter (where s.ends_at is distinct from s.starts_at)
    from tenancy.subscriptions s where s.tenant_id = app.tenant_id());
end $$;

-- Writes on the tenant what its subscriptions amount to.
create or replace function tenancy.subscription_settle() returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  update tenancy.tenants t set subscription_status = s.status, effective_until = s.until, updated_by = app.user_id()
  from (
    select case
        when bool_or(s.status = 'ACTIVE' and s.type = 'UNLIMITED') then 'UNLIMITED'
        when bool_or(s.status = 'ACTIVE' and s.ends_at > now()) then 'ACTIVE'
        else coalesce((tenancy.subscription_now()).status, 'NONE') end as status,
      case when not bool_or(s.status = 'ACTIVE' and s.type = 'UNLIMITED') then tenancy.subscription_paid_until() end as until
    from tenancy.subscriptions s where s.tenant_id = v_tenant
  ) s
  where t.id = v_tenant;
end $$;

-- The months of a term; null: it has no end.
create or replace function tenancy.subscription_months(type text) returns integer
language plpgsql immutable set search_path = '' as $$
begin
  return case type when 'MONTHLY' then 1 when 'ANNUAL' then 12 end;
end $$;

-- When a term ends that begins at a moment; null: never. Months are counted from the day on which the first of the terms began that lead to this
-- one without a gap, by the tenant's calendar: those from the 31st of January end on the 28th of February, the 31st of March, the 30th of April.
create or replace function tenancy.subscription_ends_at(from_moment timestamptz, type text) returns timestamptz
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_zone text := app.timezone();
begin
  return (
    with recursive terms (begins, months) as (
      select from_moment, tenancy.subscription_months(subscription_ends_at.type)
      union all
      select s.starts_at, t.months + tenancy.subscription_months(s.type)
      from terms t
      join tenancy.subscriptions s on s.tenant_id = v_tenant and s.ends_at = t.begins and s.starts_at < s.ends_at and s.type <> 'UNLIMITED'
    )
    select (t.begins at time zone v_zone + make_interval(months => t.months)) at time zone v_zone from terms t order by t.months desc limit 1);
end $$;

-- Begins the subscription that waits, if one does: where paid time ends, or now. It is the caller's to
-- hold the tenant's row.
create or replace function tenancy.subscription_begin() returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_from timestamptz;
  v_id uuid;
  v_type text;
begin
  v_from := greatest(now(), tenancy.subscription_paid_until());
  update tenancy.subscriptions s set status = 'ACTIVE',
    starts_at = case s.type when 'UNLIMITED' then now() else v_from end,
    ends_at = tenancy.subscription_ends_at(v_from, s.type)
  where s.tenant_id = v_tenant and s.status = 'PENDING' returning s.id, s.type into v_id, v_type;
  if not found then
    return;
  end if;
  -- The new one ends one that has no end.
  update tenancy.subscriptions s set status = 'CANCELLED', cancelled_at = now(), ends_at = now()
  where s.tenant_id = v_tenant and s.status = 'ACTIVE' and s.type = 'UNLIMITED' and s.id <> v_id;
  perform tenancy.subscription_settle();
  perform tenancy.tenant_event_emit('subscription_started', jsonb_build_object('type', v_type));
end $$;

-- {enabled, subscription}: the tenant's subscription, or null.
create or replace function tenancy.subscription_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_subscription tenancy.subscriptions := tenancy.subscription_now();
begin
  return jsonb_build_object('enabled', tenancy.subscriptions_required(),
    'subscription', case when v_subscription.id is not null then tenancy.subscription_to_json(v_subscription) end);
end $$;

-- Holds the tenant's row for a change of its subscription.
-- Fails: tenant_subscription_disabled, invalid_status_transition (an archived tenant).
create or replace function tenancy.subscription_open() returns void
language plpgsql set search_path = '' as $$
declare
  v_status text;
begin
  if not tenancy.subscriptions_required() then
    perform app.fail('tenant_subscription_disabled');
  end if;
  select t.status into v_status from tenancy.tenants t where t.id = app.tenant_id() for no key update;
  if v_status = 'archived' then
    perform app.fail('invalid_status_transition', '{"from": "archived", "to": "active"}');
  end if;
end $$;

-- Writes a subscription that waits to be paid; one that waited already is dropped for it.
create or replace function tenancy.subscription_add(subscription jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  update tenancy.subscriptions s set status = 'CANCELLED', cancelled_at = now()
  where s.tenant_id = v_tenant and s.status = 'PENDING';
  insert into tenancy.subscriptions (tenant_id, type, amount, note_public, note_internal, created_by)
  values (v_tenant, subscription ->> 'type', (subscription ->> 'amount')::numeric, subscription ->> 'note_public',
    subscription ->> 'note_internal', app.user_id());
  perform tenancy.subscription_settle();
end $$;

-- {type, amount, note_public?, note_internal?, is_paid} -> {enabled, subscription}. Paid, it begins, and a
-- pending tenant becomes active. Fails: as subscription_open.
create or replace function tenancy.subscription_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform tenancy.subscription_open();
  perform tenancy.subscription_add(input);
  if (input ->> 'is_paid')::boolean or input ->> 'type' = 'UNLIMITED' then
    if exists (select from tenancy.tenants t where t.id = app.tenant_id() and t.status = 'pending') then
      perform tenancy.move_tenant('active');
    else
      perform tenancy.subscription_begin();
    end if;
  end if;
  return tenancy.subscription_get('{}');
end $$;

-- Cancels the subscription that waits, else the last that began: it runs to the end of what is paid for;
-- one without an end ends now, one that has not come to its turn does not come to it.
-- -> {enabled, subscription}. Fails: as subscription_open, subscription_not_found.
create or replace function tenancy.subscription_cancel(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_subscription tenancy.subscriptions;
begin
  perform tenancy.subscription_open();
  v_subscription := tenancy.subscription_now();
  if v_subscription.id is null or v_subscription.status = 'CANCELLED' then
    perform app.fail('subscription_not_found');
  end if;
  update tenancy.subscriptions s set status = 'CANCELLED', cancelled_at = now(),
    ends_at = case when s.starts_at > now() then s.starts_at when s.type = 'UNLIMITED' then now() else s.ends_at end
  where s.tenant_id = v_subscription.tenant_id and (s.id = v_subscription.id
    or v_subscription.type = 'UNLIMITED' and s.type = 'UNLIMITED' and s.status = 'ACTIVE');
  perform tenancy.subscription_settle();
  perform tenancy.tenant_event_emit('subscription_cancelled', jsonb_build_object('type', v_subscription.type));
  return tenancy.subscription_get('{}');
end $$;
