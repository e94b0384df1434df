-- Webhook subscriptions: one of a module for a tenant, and one of a merchant for what is theirs. Each caller keeps their own, and to everybody
-- else's they are not there (integration.subscription_owner). Secrets come sealed from the function, in `made`, and go
-- back to it sealed; only there they are opened, to be shown once.

-- Every module with the tenant's subscription, or nulls; of a merchant the one module that they can subscribe to. -> {subscriptions}
create or replace function integration.subscriptions_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_owner uuid := integration.subscription_owner();
begin
  return (
    select jsonb_build_object('subscriptions', coalesce(jsonb_agg(jsonb_build_object('id', s.id,
      'module', jsonb_build_object('id', m.id, 'key', m.key, 'name', m.name), 'url', s.url,
      'event_types', coalesce(to_jsonb(s.event_types), '[]'), 'is_active', coalesce(s.is_active, false),
      'failing_since', s.failing_since, 'disabled_at', s.disabled_at, 'disabled_reason', s.disabled_reason,
      'created_at', s.created_at, 'updated_at', s.updated_at) order by m.position), '[]'))
    from tenancy.modules m
    left join integration.webhook_subscriptions s on s.module_id = m.id and s.tenant_id = (select app.tenant_id())
      and s.owner_user_id is not distinct from v_owner
    where v_owner is null or m.key = 'delivery');
end $$;

-- A subscription as clients see it. Fails: webhook_subscription_not_found.
create or replace function integration.subscription_of(id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_subscription jsonb := (select to_jsonb(s) from integration.webhook_subscriptions_list s where s.id = subscription_of.id);
begin
  if v_subscription is null then
    perform app.fail('webhook_subscription_not_found');
  end if;
  return v_subscription;
end $$;

-- The event types of a subscription that do not reach it: `unknown_event_types` are those that neither Barid nor the publishers of the caller's
-- tenant are known to send, `other_module_event_types` those that Barid sends to the subscriptions of other modules alone.
-- Of a merchant's subscription `company_event_types` are those that no merchant hears of.
-- {id, event_types?} -> {unknown_event_types?, other_module_event_types?, company_event_types?}, each where there are any
create or replace function integration.event_types_named(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_unknown text[];
  v_others text[];
  v_published text[];
begin
  if integration.subscription_owner() is not null then
    return integration.merchant_event_types_named(input);
  end if;
  with named as (
    select n.name from unnest(integration.event_types_of(input)) n (name) where n.name <> '*'
  ), known as (
    select n.name, bool_or(t.source_module is null or integration.module_of(t.event_type, t.source_module) = m.key) as heard
    from named n
    join integration.event_types t on integration.wants(array[n.name], t.event_type)
    left join integration.webhook_subscriptions s on s.id = (input ->> 'id')::uuid
    left join tenancy.modules m on m.id = s.module_id
    group by n.name
  )
  select array_agg(n.name order by n.name) filter (where k.heard is null), array_agg(n.name order by n.name) filter (where not k.heard)
  into v_unknown, v_others
  from named n left join known k on k.name = n.name;
  if v_unknown is not null or v_others is not null then
    v_published := private.published_types();
    v_unknown := array(
      select n.name from unnest(v_unknown) with ordinality n (name, place)
      where not exists (select from unnest(v_published) p (event_type) where integration.wants(array[n.name], p.event_type))
      order by n.place);
    v_others := array(
      select n.name from unnest(v_others) with ordinality n (name, place)
      where not exists (select from unnest(v_published) p (event_type) where integration.wants(array[n.name], p.event_type))
      order by n.place);
  end if;
  return jsonb_strip_nulls(jsonb_build_object('unknown_event_types', nullif(to_jsonb(v_unknown), '[]'),
    'other_module_event_types', nullif(to_jsonb(v_others), '[]')));
end $$;

-- The same for a merchant, whom what others publish does not reach. {event_types?} -> {unknown_event_types?, company_event_types?}
create or replace function integration.merchant_event_types_named(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'unknown_event_types', jsonb_agg(n.name order by n.name) filter (where k.heard is null),
      'company_event_types', jsonb_agg(n.name order by n.name) filter (where not k.heard)))
    from unnest(integration.event_types_of(input)) n (name)
    cross join lateral (
      select bool_or(t.merchant_fields is not null) as heard from integration.event_types t where integration.wants(array[n.name], t.event_type)) k
    where n.name <> '*');
end $$;

-- Saves a subscription; a merchant's is of the module `delivery`. {module_id, url, event_types, is_active?, made: {id, secret}}
-- -> {subscription, secret, unknown_event_types?, other_module_event_types?, company_event_types?}
-- Fails: invalid_reference, webhook_subscription_exists.
create or replace function integration.subscription_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input #>> '{made,id}')::uuid;
  v_owner uuid := integration.subscription_owner();
begin
  if not exists (select from tenancy.modules m where m.id = (input ->> 'module_id')::uuid and (v_owner is null or m.key = 'delivery')) then
    perform app.fail('invalid_reference', '{"field": "module_id"}');
  end if;
  insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, is_active, secret, created_by, owner_user_id)
  values (v_id, app.tenant_id(), (input ->> 'module_id')::uuid, input ->> 'url', integration.event_types_of(input),
    coalesce((input ->> 'is_active')::boolean, true), input #>> '{made,secret}', app.user_id(), v_owner);
  return jsonb_build_object('subscription', integration.subscription_of(v_id), 'secret', input #>> '{made,secret}')
    || integration.event_types_named(input || jsonb_build_object('id', v_id));
end $$;

-- Changes what is sent. {id, url?, event_types?, is_active?}
-- -> {subscription, unknown_event_types?, other_module_event_types?, company_event_types?}
-- With another address, or switched on again, it gets what waits for it at once.
-- Fails: webhook_subscription_not_found; webhook_subscription_stopped: the company has stopped the merchant's.
create or replace function integration.subscription_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x
  where x.id = v_id and x.owner_user_id is not distinct from integration.subscription_owner();
  if not found then
    perform app.fail('webhook_subscription_not_found');
  elsif (input ->> 'is_active')::boolean and s.disabled_reason = 'stopped' then
    perform app.fail('webhook_subscription_stopped');
  end if;
  if coalesce((input ->> 'is_active')::boolean, s.is_active) and (not s.is_active or input ->> 'url' <> s.url) then
    -- Deliveries before their subscription, as results lock them.
    perform integration.waiting_due(v_id);
  end if;
  update integration.webhook_subscriptions x set
    url = coalesce(input ->> 'url', x.url),
    event_types = coalesce(integration.event_types_of(input), x.event_types),
    is_active = coalesce((input ->> 'is_active')::boolean, x.is_active)
  -- Stopped meanwhile, it stays so.
  where x.id = v_id and ((input ->> 'is_active')::boolean is not true or x.disabled_reason is distinct from 'stopped');
  if not found then
    -- Removed meanwhile, or stopped.
    perform integration.subscription_of(v_id);
    perform app.fail('webhook_subscription_stopped');
  end if;
  return jsonb_build_object('subscription', integration.subscription_of(v_id)) || integration.event_types_named(input);
end $$;

-- Makes the deliveries of a subscription that wait for their next attempt due now, on a new schedule, and asks for the sender: the oldest 20,000, which
-- one statement makes within its time limit; the others wait on. Those of one thing are still sent one after the other. -> how many are due now
create or replace function integration.waiting_due(subscription uuid) returns integer
language plpgsql set search_path = '' as $$
declare
  v_count integer;
begin
  update integration.webhook_events e set attempts = 0, next_attempt_at = now()
  where e.id in (
    select w.id from integration.webhook_events w
    where w.subscription_id = waiting_due.subscription and w.next_attempt_at > now() and w.claim_token is null
    order by w.position limit 20000 for update skip locked);
  get diagnostics v_count = row_count;
  if exists (select from integration.webhook_events w where w.subscription_id = waiting_due.subscription and w.next_attempt_at is not null) then
    perform set_config('app.events_queued', 'on', true);
  end if;
  return v_count;
end $$;

-- Removes a subscription with its log. {id} -> {id}
-- Fails: webhook_subscription_not_found; webhook_subscription_stopped: a merchant could make another in place of the one that the company stopped.
create or replace function integration.subscription_delete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  if not exists (select from integration.webhook_subscriptions s
      where s.id = v_id and s.owner_user_id is not distinct from integration.subscription_owner()) then
    perform app.fail('webhook_subscription_not_found');
  end if;
  perform integration.subscription_remove(v_id, false);
  return jsonb_build_object('id', v_id);
end $$;

-- The removal; of one that the company has stopped with `also_stopped` alone. With a log of more than 5,000 deliveries it is there for nobody
-- from now on, and the clock deletes it.
-- Locks: its deliveries, before it. Fails: webhook_subscription_stopped; webhook_subscription_not_found, where somebody was faster.
create or replace function integration.subscription_remove(id uuid, also_stopped boolean) returns void
language plpgsql set search_path = '' as $$
declare
  v_done boolean;
begin
  if exists (select from integration.webhook_events e where e.subscription_id = subscription_remove.id offset 5000) then
    v_done := integration.subscription_hide(subscription_remove.id, also_stopped);
  else
    -- Deliveries before their subscription, as whoever writes a result down locks them.
    perform from integration.webhook_events e where e.subscription_id = subscription_remove.id order by e.id for update;
    delete from integration.webhook_subscriptions s
    where s.id = subscription_remove.id and (also_stopped or s.disabled_reason is distinct from 'stopped');
    v_done := found;
  end if;
  if not v_done then
    if exists (select from integration.webhook_subscriptions s where s.id = subscription_remove.id) then
      perform app.fail('webhook_subscription_stopped');
    end if;
    perform app.fail('webhook_subscription_not_found');
  end if;
end $$;

-- Takes a subscription of the caller's tenant from everybody's sight: nothing is sent by it any more, and another may be made in its place.
-- -> whether it did: not where it is removed already, or the company has stopped it and not `also_stopped`. SECURITY DEFINER: nobody may write a
-- row that they do not see.
create or replace function integration.subscription_hide(subscription uuid, also_stopped boolean) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  update integration.webhook_subscriptions s set is_active = false, disabled_at = null, disabled_reason = null, failing_since = null,
    removed_at = clock_timestamp()
  where s.id = subscription_hide.subscription and s.tenant_id = app.tenant_id() and s.removed_at is null
    and (also_stopped or s.disabled_reason is distinct from 'stopped')
    and (app.has_permission('manage:tenant') or s.owner_user_id = app.user_id());
  return found;
end $$;

-- The removed subscriptions of the caller's tenant that are not deleted yet. SECURITY DEFINER: nobody sees them.
create or replace function integration.subscriptions_removed() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return array(select s.id from integration.webhook_subscriptions s where s.tenant_id = app.tenant_id() and s.removed_at is not null);
end $$;

grant execute on function integration.subscription_hide(uuid, boolean), integration.subscriptions_removed() to barid_caller;

-- Deletes what is left of removed subscriptions: up to `batch` of their deliveries, with the attempts, and those that have none left. Deliveries that are
-- locked wait for the next run. Run by cron. -> how many deliveries. Locks: the deliveries that it deletes, then the subscriptions.
create or replace function integration.subscriptions_purge(batch integer default 50000) returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  delete from integration.webhook_events e where e.id in (
    select x.id from integration.webhook_subscriptions s
    join integration.webhook_events x on x.subscription_id = s.id
    where s.removed_at is not null
    limit batch for update of x skip locked);
  get diagnostics v_count = row_count;
  delete from integration.webhook_subscriptions s
  where s.removed_at is not null and not exists (select from integration.webhook_events e where e.subscription_id = s.id);
  return v_count;
end $$;

-- Nobody calls it but cron.
revoke execute on function integration.subscriptions_purge(integer) from barid_caller;

-- Another secret; the old one signs as well for 24 hours, and with it those that did already: whose answer was lost, or who is only half-way,
-- rotates once more. At most four of them. {id, made: {secret}}
-- -> {subscription, secret, previous_secret_expires_at}. Fails: webhook_subscription_not_found.
create or replace function integration.subscription_rotate(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_until timestamptz := now() + interval '24 hours';
begin
  update integration.webhook_subscriptions s set secret = input #>> '{made,secret}', previous_secret_until = v_until,
    previous_secret = array_to_string((s.secret
      || case when s.previous_secret_until > now() then string_to_array(s.previous_secret, ' ') else '{}' end)[:4], ' ')
  where s.id = (input ->> 'id')::uuid and s.owner_user_id is not distinct from integration.subscription_owner();
  return jsonb_build_object('subscription', integration.subscription_of((input ->> 'id')::uuid),
    'secret', input #>> '{made,secret}', 'previous_secret_expires_at', v_until);
end $$;

-- Sends deliveries of a time, both ends included, again, on a new schedule and under their old ids: those that failed, and with `succeeded` those
-- that the subscriber accepted; at most 10,000. Those that wait for their next attempt, of whatever time, are due now. A dry run counts.
-- {id, since, until?, succeeded?, dry_run?} -> {requeued, waiting, dry_run}
-- Fails: webhook_subscription_not_found, webhook_subscription_inactive, replay_too_large.
create or replace function integration.subscription_recover(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_max constant integer := 10000;
  v_id uuid := (input ->> 'id')::uuid;
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_statuses text[] := case when (input ->> 'succeeded')::boolean then '{failed,success}'::text[] else '{failed}' end;
  v_events uuid[];
  v_waiting integer;
begin
  if not (integration.subscription_of(v_id) ->> 'is_active')::boolean then
    perform app.fail('webhook_subscription_inactive');
  end if;
  select array_agg(p.id) into v_events from (
    select e.id from integration.webhook_events e
    where e.subscription_id = v_id and e.status = any (v_statuses) and e.next_attempt_at is null and e.claim_token is null
      -- A test is not sent twice.
      and (e.status = 'failed' or e.system_event_id is not null)
      and e.created_at >= (input ->> 'since')::timestamptz
      and (input ->> 'until' is null or e.created_at <= (input ->> 'until')::timestamptz)
    limit v_max + 1) p;
  if cardinality(v_events) > v_max then
    perform app.fail('replay_too_large', jsonb_build_object('field', 'since', 'max', v_max));
  end if;
  if v_dry_run then
    v_waiting := (select count(*) from integration.webhook_events w
      where w.subscription_id = v_id and w.next_attempt_at > now() and w.claim_token is null);
  else
    v_waiting := integration.waiting_due(v_id);
    update integration.webhook_events e set status = 'pending', attempts = 0, next_attempt_at = now()
    where e.id in (
      select w.id from integration.webhook_events w where w.id = any (v_events) and w.next_attempt_at is null and w.claim_token is null
      order by w.id for update);
    if v_events is not null then
      perform set_config('app.events_queued', 'on', true);
    end if;
  end if;
  return jsonb_build_object('requeued', coalesce(cardinality(v_events), 0), 'waiting', v_waiting, 'dry_run', v_dry_run);
end $$;
