-- The sender's side: what is due is claimed under a lease, sent by a function, and its result written down.

-- After the n-th failure of a schedule the next attempt comes this much later; null: it was the last.
create or replace function integration.retry_after(failures integer) returns interval
language plpgsql immutable set search_path = '' as $$
begin
  return (array['5 seconds', '5 minutes', '30 minutes', '2 hours', '5 hours', '10 hours', '10 hours']::interval[])[failures];
end $$;

-- Leases up to `batch` due deliveries, at most `each` of a subscription, and one at a time of one that only fails. Of those that only fail a worker
-- has at most ten in hand, which is half of its connections: however many addresses are broken, those that answer are not kept waiting.
-- The lease of a subscription belongs to one worker, so that it alone decides how many connections
-- it gets; `mine` are the subscriptions that the caller has in hand already. An event waits while an earlier one
-- of its thing is unfinished there. A worker renews what it has in hand every second (integration.webhooks_renew): after
-- `silence` its subscriptions are anybody's, but what it had in hand is so only after `lease`, since sending
-- something twice is worse than waiting. Answers [{id, claim_token, url, body, secrets, subscription_id,
-- trace_context}].
create or replace function integration.webhooks_claim(
  batch integer, mine uuid[] default '{}', each integer default 20, lease interval default '10 seconds',
  silence interval default '3 seconds'
) returns jsonb
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_claimed jsonb;
  v_slow integer := 10 - (select count(*) from integration.webhook_subscriptions s where s.id = any (mine) and s.failing_since is not null);
begin
  with open as materialized (
    -- Locked: of two workers one gets a subscription, the other passes over it.
    select s.id, s.failing_since from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id
    where integration.hears(s) and exists (select from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now() and (e.claim_token is null or e.claimed_at < now() - lease))
    for no key update of s skip locked
  ), due as (
    select d.id, d.next_attempt_at, d.position, s.failing_since is null or row_number() over (
        partition by s.failing_since is not null order by d.next_attempt_at, d.position) <= v_slow as is_in_time
    from open s
    cross join lateral (
      select count(*) as leased from integration.webhook_events u
      where u.subscription_id = s.id and u.claim_token is not null and u.claimed_at >= now() - silence
    ) under_way
    cross join lateral (
      select e.id, e.next_attempt_at, e.position from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now()
        and (e.claim_token is null or e.claimed_at < now() - lease)
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at, e.position
      limit greatest(0, case when s.failing_since is null then each else 1 end - under_way.leased)
      for update skip locked
    ) d
    where under_way.leased = 0 or s.id = any (mine)
  ), taken as (
    select d.id from due d where d.is_in_time order by d.next_attempt_at, d.position limit batch
  ), claimed as (
    update integration.webhook_events e set claim_token = gen_random_uuid(), claimed_at = now()
    from taken t where e.id = t.id
    returning e.id, e.claim_token, e.body, e.subscription_id, e.position, e.trace_context
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'claim_token', c.claim_token, 'body', c.body, 'url', s.url,
      'subscription_id', s.id, 'secrets', integration.secrets_of(s), 'trace_context', c.trace_context) order by c.position), '[]') into v_claimed
  from claimed c join integration.webhook_subscriptions s on s.id = c.subscription_id;
  return v_claimed;
end $$;

-- Extends the lease of what its worker still has in hand. {ids} and {tokens} belong together. Answers how many.
create or replace function integration.webhooks_renew(ids uuid[], tokens uuid[]) returns integer
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  v_count integer;
begin
  update integration.webhook_events e set claimed_at = now()
  from unnest(ids, tokens) as mine (id, token) where e.id = mine.id and e.claim_token = mine.token;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- The sealed secrets that sign now, the newest first.
create or replace function integration.secrets_of(s integration.webhook_subscriptions) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return to_jsonb(string_to_array(concat_ws(' ', s.secret, case when s.previous_secret_until > now() then s.previous_secret end), ' '));
end $$;

-- True when something waits for the sender, or is due before the clock of `integration.kick_jobs` looks again: the sender
-- then stays until its time has come (integration.webhooks_watch).
create or replace function integration.webhooks_waiting(ahead interval default '65 seconds') returns boolean
language plpgsql stable set search_path = '' as $$
#variable_conflict use_variable
begin
  return exists (
    select from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id
    where integration.hears(s) and exists (
      select from integration.webhook_events e where e.subscription_id = s.id and e.next_attempt_at <= now() + ahead)
  ) or exists (
    select from integration.listening() l where exists (select from integration.system_events e
      where e.tenant_id = l.tenant_id and not e.is_dispatched and e.position > l.from_position));
end $$;

-- Writes one result down: {id, claim_token, ok, http_status_code?, latency_ms, response_body?, error_message?,
-- retry_after?, is_manual?}. An attempt whose claim was lost meanwhile is kept as an attempt and changes nothing else.
-- Answers {id, status, retry_count}. With the rights of its caller: the sender, or who retries by hand.
create or replace function integration.result_save(result jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_ok boolean := (result ->> 'ok')::boolean;
  v_manual boolean := coalesce((result ->> 'is_manual')::boolean, false);
  v_code integer := (result ->> 'http_status_code')::integer;
  v_wait interval;
  e integration.webhook_events;
  s integration.webhook_subscriptions;
begin
  select w.* into e from integration.webhook_events w where w.id = (result ->> 'id')::uuid for update;
  if not found then
    return null;
  end if;
  insert into integration.webhook_attempts (tenant_id, event_id, is_manual, http_status_code, latency_ms, response_body, error_message)
  values (e.tenant_id, e.id, v_manual, v_code, (result ->> 'latency_ms')::integer, result ->> 'response_body', result ->> 'error_message');
  if e.claim_token is distinct from (result ->> 'claim_token')::uuid then
    return jsonb_build_object('id', e.id, 'status', e.status, 'retry_count', e.retry_count);
  end if;
  if not v_ok then
    -- Failures of one subscription take turns: what was sent beside the one that ended it is not tried again either.
    select x.* into s from integration.webhook_subscriptions x where x.id = e.subscription_id for no key update;
  end if;
  if not v_ok and not v_manual and s.disabled_at is null then
    -- A subscriber may ask for a longer pause, up to an hour.
    v_wait := integration.retry_after(e.attempts + 1);
    if v_wait is not null and result ->> 'retry_after' is not null then
      v_wait := greatest(v_wait, make_interval(secs => least((result ->> 'retry_after')::integer, 3600)));
    end if;
  end if;
  update integration.webhook_events w set
    status = case when v_ok then 'success' when v_wait is null then 'failed' else 'retrying' end,
    http_status_code = v_code, error_message = case when v_ok then w.error_message else left(result ->> 'error_message', 2000) end,
    retry_count = w.retry_count + (not v_ok)::int, attempts = w.attempts + (not v_manual)::int,
    next_attempt_at = now() + v_wait, claim_token = null, claimed_at = null
  where w.id = e.id returning w.* into e;
  if v_ok then
    update integration.webhook_subscriptions x set failing_since = null where x.id = e.subscription_id and x.failing_since is not null;
  else
    -- A test or an attempt by hand proves that the subscriber answers, and not that it never does.
    update integration.webhook_subscriptions x set failing_since = now()
    where x.id = e.subscription_id and x.failing_since is null and not v_manual;
    if v_code = 410 then
      perform integration.subscription_disable(e.subscription_id, 'gone');
    elsif s.failing_since < now() - interval '5 days' and not v_manual and v_wait is null then
      -- An event has used up its attempts: one failure after days without events is not five days of them.
      perform integration.subscription_disable(e.subscription_id, 'failing');
    end if;
  end if;
  return jsonb_build_object('id', e.id, 'status', e.status, 'retry_count', e.retry_count);
end $$;

-- Ends deliveries that wait for subscriptions that were disabled, the oldest first, at most so many. They are skipped where an attempt is at work on
-- them. -> how many
create or replace function integration.waiting_fail(subscriptions uuid[], most integer) returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  update integration.webhook_events e set status = 'failed', next_attempt_at = null,
    error_message = coalesce(e.error_message, 'subscription disabled')
  where e.id in (
    select w.id from integration.webhook_events w
    where w.subscription_id = any (waiting_fail.subscriptions) and w.next_attempt_at is not null and w.claim_token is null
    order by w.next_attempt_at limit waiting_fail.most for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Ends a subscription that is gone or only failed: nothing more is sent, and its tenant is notified by an event. Its events that were committed
-- by now and not handed out yet are among those that fail, so that they can be recovered. Of a long backlog a part fails at once, and the rest by
-- integration.webhooks_release(): this stands in the transaction that writes down results of others, within the time limit of a statement.
create or replace function integration.subscription_disable(id uuid, reason text) returns void
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
declare
  v_tenant uuid;
begin
  perform integration.subscription_hand_out(id);
  update integration.webhook_subscriptions s set is_active = false, disabled_at = now(), disabled_reason = reason
  where s.id = id and s.is_active returning s.tenant_id into v_tenant;
  if not found then
    return;
  end if;
  perform integration.waiting_fail(array[id], 5000);
  perform integration.subscription_disabled_event_emit(v_tenant, id, reason);
end $$;

-- Emits that a tenant's subscription was disabled, and notifies its administrators; of a merchant's, the merchant. SECURITY DEFINER, since events
-- are written by few; it reveals no more than what is so. Fails: forbidden (app.require_tenant).
create or replace function integration.subscription_disabled_event_emit(tenant_id uuid, subscription_id uuid, reason text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.require_tenant(tenant_id);
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select s.tenant_id, 'webhook_subscription.disabled', 'webhooks', 'webhook_subscription', s.id,
    jsonb_build_object('subscription_id', s.id, 'reason', reason)
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
  perform integration.subscription_owner_notify(s, reason)
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
end $$;

-- Notifies whose subscription it is that nothing more is sent by it: the company's administrators, or the merchant while they are a member.
create or replace function integration.subscription_owner_notify(s integration.webhook_subscriptions, reason text) returns void
language plpgsql set search_path = '' as $$
declare
  v_payload jsonb := jsonb_build_object('subscription_id', s.id, 'url', s.url, 'reason', reason);
begin
  if s.owner_user_id is null then
    perform tenancy.notify_roles(s.tenant_id, '{tenant_admin}', 'webhook_disabled', v_payload);
  else
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select u.tenant_id, u.user_id, 'webhook_disabled', v_payload from tenancy.tenant_users u
    where u.tenant_id = s.tenant_id and u.user_id = s.owner_user_id and u.is_active;
  end if;
end $$;

-- Writes what the sender has sent: [result, ...]. Manual attempts whose process died end as failed.
create or replace function integration.webhooks_finish(results jsonb) returns integer
language plpgsql security definer set search_path = '' as $$
declare
  v_count integer := 0;
  v_result jsonb;
begin
  -- All of them before their subscriptions, each of which a failure locks.
  perform from integration.webhook_events e
  where e.id in (select (r.value ->> 'id')::uuid from jsonb_array_elements(results) r) order by e.id for update;
  perform from integration.webhook_subscriptions s
  where s.id in (
    select e.subscription_id from jsonb_array_elements(results) r join integration.webhook_events e on e.id = (r.value ->> 'id')::uuid
    where not (r.value ->> 'ok')::boolean)
  order by s.id for no key update;
  for v_result in select r.value from jsonb_array_elements(results) r order by r.value ->> 'id' loop
    perform integration.result_save(v_result);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;

-- Ends manual attempts that nobody will end any more: their process died more than five minutes ago. And the next part of what waits for subscriptions
-- that were disabled (integration.subscription_disable). Run by cron.
create or replace function integration.webhooks_release() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  update integration.webhook_events e set status = 'failed', claim_token = null, claimed_at = null,
    error_message = coalesce(e.error_message, 'interrupted')
  where e.claim_token is not null and e.next_attempt_at is null and e.claimed_at < now() - interval '5 minutes';
  get diagnostics v_count = row_count;
  return v_count + integration.waiting_fail(array(
    select s.id from integration.webhook_subscriptions s where not s.is_active and s.disabled_reason in ('gone', 'failing')), 20000);
end $$;

-- Forgets deliveries of more than 90 days ago that ended, or that wait for a subscription that is sent nothing (integration.hears): one that was
-- switched off, or whose merchant left. Their attempts go with them. A batch a run. Run by cron. -> how many
-- Locks the deliveries that it forgets; skips those that are locked. Fails with nothing of its own.
create or replace function integration.webhooks_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  -- Asked once for each subscription that something old waits for, and not for each delivery.
  with waited_for as materialized (
    select distinct x.subscription_id as id from integration.webhook_events x
    where x.created_at < now() - interval '90 days' and (x.next_attempt_at is not null or x.claim_token is not null)
  ), silent as materialized (
    select w.id from waited_for w
    where (select integration.hears(s) from integration.webhook_subscriptions s where s.id = w.id) is not true
  )
  delete from integration.webhook_events e where e.id in (
    select x.id from integration.webhook_events x
    where x.created_at < now() - interval '90 days' and (x.next_attempt_at is null and x.claim_token is null
      or coalesce(x.claimed_at < now() - interval '1 day', true) and x.subscription_id in (select s.id from silent s))
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

grant execute on function integration.subscription_disabled_event_emit(uuid, uuid, text) to barid_caller;
grant execute on function integration.webhooks_claim(integer, uuid[], integer, interval, interval),
  integration.webhooks_renew(uuid[], uuid[]), integration.webhooks_finish(jsonb) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function integration.webhooks_claim(integer,uuid[],integer,interval,interval), integration.webhooks_finish(jsonb),
  integration.webhooks_purge(), integration.webhooks_release(), integration.webhooks_renew(uuid[],uuid[]),
  integration.webhooks_waiting(interval) from barid_caller;
