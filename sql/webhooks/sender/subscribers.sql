-- The subscribers of an event: the company by its own subscriptions, and the merchant whose parcel or statement it is about by theirs. A company may have
-- thousands of merchants who listen: each function looks up those that it is about and reads none of the others.

-- True when a subscription is sent anything now: it is active and, of a merchant, the merchant is an active member with the role `institution` and an
-- open account. Asked when events are handed out and when they are claimed, so nothing is sent from the moment on in which a merchant leaves or is
-- shut out. One who comes back is sent what waited for them, and what happens from then on.
create or replace function integration.hears(s integration.webhook_subscriptions) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return s.is_active and (s.owner_user_id is null or exists (
    select from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = 'institution'
    join private.open_accounts a on a.id = u.user_id
    where u.tenant_id = s.tenant_id and u.user_id = s.owner_user_id and u.is_active));
end $$;

-- The subscriptions that these events go to. `merchant_fields` and `about` are null for the company's, which get the data as it is; a merchant gets
-- the named fields of what it is about, by the parcel's or statement's row and not by what the event says of itself.
-- -> (event_id, subscription_id, merchant_fields, about), one row each
create or replace function integration.subscribers_of(event_ids uuid[])
returns table (event_id uuid, subscription_id uuid, merchant_fields jsonb, about jsonb)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  return query
  with events as materialized (
    select e.id, e.tenant_id, e.event_type, e.entity_type, e.entity_id, integration.module_of(e.event_type, e.source_module) as module
    from integration.system_events e where e.id = any (event_ids)
  )
  select t.id, s.id, null::jsonb, null::jsonb
  from events t
  join integration.webhook_subscriptions s on s.tenant_id = t.tenant_id and s.owner_user_id is null
  join tenancy.modules m on m.id = s.module_id and m.key = t.module
  where s.is_active and integration.wants(s.event_types, t.event_type)
  union all
  select t.id, s.id, c.merchant_fields, o.about
  from events t
  join integration.event_types c on c.event_type = t.event_type and c.merchant_fields is not null
  cross join lateral (
    select d.institution_user_id, jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'barcode', d.barcode,
      'external_reference_id', d.external_reference_id)
    from delivery.deliveries d where t.entity_type = 'delivery' and d.tenant_id = t.tenant_id and d.id = t.entity_id
    union all
    select m.owner_user_id, '{}'
    from money.merchant_statements m where t.entity_type = 'merchant_statement' and m.tenant_id = t.tenant_id and m.id = t.entity_id
  ) o (merchant, about)
  join integration.webhook_subscriptions s on s.tenant_id = t.tenant_id and s.owner_user_id = o.merchant
  where t.module = 'delivery' and integration.wants(s.event_types, t.event_type) and integration.hears(s);
end $$;

-- These fields of an event's data, each of them, null where it is not there.
create or replace function integration.merchant_data(merchant_fields jsonb, event_data jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select jsonb_object_agg(f.name, coalesce(event_data -> f.name, 'null')) from jsonb_object_keys(merchant_fields) f (name));
end $$;

-- The tenants with an active subscription, each with the position after which the first of them listens. One look into the index a tenant.
create or replace function integration.listening() returns table (tenant_id uuid, from_position bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  return query
  with recursive tenants (tenant_id, from_position) as (
    (select s.tenant_id, s.from_position from integration.webhook_subscriptions s where s.is_active order by s.tenant_id, s.from_position limit 1)
    union all
    select n.tenant_id, n.from_position
    from tenants t
    cross join lateral (
      select s.tenant_id, s.from_position from integration.webhook_subscriptions s
      where s.is_active and s.tenant_id > t.tenant_id order by s.tenant_id, s.from_position limit 1) n)
  select t.tenant_id, t.from_position from tenants t;
end $$;

-- The subscriptions, active or not, with deliveries that are to be sent. One look into the index a subscription.
create or replace function integration.subscriptions_waiting() returns setof uuid
language plpgsql stable set search_path = '' as $$
begin
  return query
  with recursive waiting (id) as (
    (select e.subscription_id from integration.webhook_events e where e.next_attempt_at is not null order by e.subscription_id limit 1)
    union all
    select n.subscription_id
    from waiting w
    cross join lateral (
      select e.subscription_id from integration.webhook_events e
      where e.next_attempt_at is not null and e.subscription_id > w.id order by e.subscription_id limit 1) n)
  select w.id from waiting w;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function integration.subscribers_of(uuid[]), integration.merchant_data(jsonb, jsonb), integration.listening(),
  integration.subscriptions_waiting() from barid_caller;
