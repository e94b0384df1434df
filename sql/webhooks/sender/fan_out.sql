-- From events to deliveries. The outbox is the table of events itself: whoever publishes pays for one look
-- whether anybody listens; the rest happens after the commit, in the functions or by the clock.

-- Asks for the sender when the caller's tenant has a subscriber. Events of a job are found when it ends (integration.events_waiting), those of
-- cron by the clock.
create or replace function integration.events_wake() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if coalesce(current_setting('app.events_queued', true), '') <> 'on' and exists (
      select from integration.webhook_subscriptions s where s.is_active
        and s.tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) then
    perform set_config('app.events_queued', 'on', true);
  end if;
  return null;
end $$;

-- True when events of these tenants, a null of any of them, wait to be handed to an active subscription. Asked after each job, which wakes the
-- sender. SECURITY DEFINER, as the fan-out.
create or replace function integration.events_waiting(tenants uuid[]) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (
    select from integration.listening() l
    where (array_position(tenants, null) is not null or l.tenant_id = any (tenants)) and exists (select from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position));
end $$;

-- A new subscription receives events from now on: those that others see by now are past, those of transactions that are still open are not.
-- No request lasts a minute, so an event that is not committed yet has a position beyond those of a minute ago. Where others listen, its
-- events are handed out with theirs.
create or replace function integration.subscription_listens() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.is_active and (tg_op = 'INSERT' or not old.is_active) then
    new.from_position := coalesce((
      select e.position from integration.system_events e
      where e.tenant_id = new.tenant_id and e.created_at < now() - interval '1 minute' order by e.created_at desc limit 1), 0);
    if not exists (select from integration.webhook_subscriptions s where s.tenant_id = new.tenant_id and s.is_active and s.id <> new.id) then
      update integration.system_events e set is_dispatched = true
      where e.tenant_id = new.tenant_id and not e.is_dispatched and e.position > new.from_position;
    end if;
    new.failing_since := null;
    new.disabled_at := null;
    new.disabled_reason := null;
  end if;
  return new;
end $$;

-- The body of a webhook: {id, type, timestamp, tenant_id, data}, as the text that is signed.
create or replace function integration.webhook_body(id uuid, event_type text, at timestamptz, tenant_id uuid, data jsonb) returns text
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', id, 'type', event_type,
    'timestamp', to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'tenant_id', tenant_id, 'data', data)::text;
end $$;

-- Makes a delivery of each of these events for each active subscription that wants it and has none yet.
-- Answers how many. In the order of the events. A delivery's id follows from its event and its subscription, so that a receiver knows an event
-- that is replayed when its delivery has been forgotten: a UUID of version 8 (RFC 9562, 5.8), of a digest of both.
create or replace function integration.deliveries_add(event_ids uuid[]) returns integer
language plpgsql set search_path = '' as $$
declare
  v_count integer;
begin
  insert into integration.webhook_events (id, tenant_id, subscription_id, system_event_id, event_type, entity_key, body, trace_context)
  select n.id, n.tenant_id, n.subscription_id, n.event_id, n.event_type, n.entity_key,
    integration.webhook_body(n.id, n.event_type, n.created_at, n.tenant_id, n.data), n.trace_context
  from (
    select overlay(overlay(md5(s.subscription_id || '/' || e.id) placing '8' from 13) placing '8' from 17)::uuid as id, e.tenant_id, s.subscription_id,
      e.id as event_id, e.event_type, e.entity_type || '/' || e.entity_id as entity_key, e.created_at, e.trace_context,
      case when s.merchant_fields is null then e.event_data
        else integration.merchant_data(s.merchant_fields, s.about || e.event_data) end as data
    from integration.subscribers_of(event_ids) s
    join integration.system_events e on e.id = s.event_id
    order by e.position offset 0
  ) n
  on conflict (subscription_id, system_event_id) do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Hands events to their subscriptions and marks them dispatched, which is the sender's mark; the status is the consumer's. Up to
-- `batch` of a tenant; one worker at a time for a tenant, or a later event could overtake an earlier one.
-- Only tenants with an active subscription are looked at, in no order, and none any more after ten batches: the caller asks until nothing is left,
-- and after hours without a sender one statement for all of them would outlast its time limit each time. Answers {events, deliveries}.
create or replace function integration.webhooks_fan_out(batch integer default 500) returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_tenant record;
  v_ids uuid[];
  v_events integer := 0;
  v_deliveries integer := 0;
begin
  for v_tenant in
    select l.tenant_id, l.from_position from integration.listening() l
    where exists (select from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position)
    order by random()
  loop
    exit when v_events >= 10 * batch;
    continue when not pg_try_advisory_xact_lock(hashtextextended('webhooks/' || v_tenant.tenant_id, 0));
    select array_agg(p.id order by p.position) into v_ids from (
      select e.id, e.position from integration.system_events e
      where e.tenant_id = v_tenant.tenant_id and not e.is_dispatched and e.position > v_tenant.from_position
      order by e.position limit batch for update) p;
    continue when v_ids is null;
    v_deliveries := v_deliveries + integration.deliveries_add(v_ids);
    update integration.system_events e set is_dispatched = true where e.id = any (v_ids);
    v_events := v_events + cardinality(v_ids);
  end loop;
  return jsonb_build_object('events', v_events, 'deliveries', v_deliveries);
end $$;

-- Makes the deliveries of a subscription's events that are not handed out yet; the fan-out, which comes later, finds them made. SECURITY
-- DEFINER: an attempt by hand hands nothing out. Fails: forbidden (app.require_tenant).
create or replace function integration.subscription_hand_out(subscription uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x where x.id = subscription_hand_out.subscription;
  perform app.require_tenant(s.tenant_id);
  -- One at a time for a tenant, as the fan-out.
  perform pg_advisory_xact_lock(hashtextextended('webhooks/' || s.tenant_id, 0));
  perform integration.deliveries_add(array(
    select e.id from integration.system_events e
    where e.tenant_id = s.tenant_id and not e.is_dispatched and e.position > s.from_position order by e.position limit 10000));
end $$;

-- The work of integration.events_replay(), which has checked its caller; checked again here.
create or replace function integration.events_requeue(event_ids uuid[], dry_run boolean) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_created integer;
  v_requeued integer;
begin
  if not integration.may_publish() then
    perform app.fail('forbidden');
  end if;
  if dry_run then
    select count(*) filter (where w.id is null), count(w.id) filter (where w.next_attempt_at is null and w.claim_token is null)
    into v_created, v_requeued
    from integration.subscribers_of(event_ids) s
    left join integration.webhook_events w on w.subscription_id = s.subscription_id and w.system_event_id = s.event_id;
  else
    update integration.webhook_events w set status = 'pending', attempts = 0, next_attempt_at = now()
    from integration.subscribers_of(event_ids) s
    where w.subscription_id = s.subscription_id and w.system_event_id = s.event_id and w.next_attempt_at is null and w.claim_token is null;
    get diagnostics v_requeued = row_count;
    v_created := integration.deliveries_add(event_ids);
    if v_created + v_requeued > 0 then
      perform set_config('app.events_queued', 'on', true);
    end if;
  end if;
  return jsonb_build_object('created', v_created, 'requeued', v_requeued);
end $$;

grant execute on function integration.events_requeue(uuid[], boolean), integration.subscription_hand_out(uuid) to barid_caller;
grant execute on function integration.webhooks_fan_out(integer), integration.events_waiting(uuid[]) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function integration.deliveries_add(uuid[]), integration.events_wake(), integration.subscription_listens(),
  integration.webhooks_fan_out(integer), integration.events_waiting(uuid[]) from barid_caller;
