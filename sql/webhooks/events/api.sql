-- Attempts by hand, in three steps around the call: claim, send, write down. The claim is one conditional update,
-- so of any number of callers one sends. An Idempotency-Key (`key`) remembers the answer of the last step.

-- The fields of a claimed delivery that the sender needs: {id, claim_token, body, url, subscription_id, secrets}.
create or replace function integration.claimed(e integration.webhook_events) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', e.id, 'claim_token', e.claim_token, 'body', e.body, 'url', s.url, 'subscription_id', s.id,
      'secrets', integration.secrets_of(s))
    from integration.webhook_subscriptions s where s.id = e.subscription_id);
end $$;

-- Refuses to send by a subscription of the caller's that the company has stopped. Fails: webhook_subscription_stopped.
create or replace function integration.require_not_stopped(subscription uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  if exists (select from integration.webhook_subscriptions_list s where s.id = subscription and s.disabled_reason = 'stopped') then
    perform app.fail('webhook_subscription_stopped');
  end if;
end $$;

-- Claims a failed delivery of a subscription of the caller's for one attempt. {event_id, key?} -> {claimed} or {answer} of an earlier call.
-- A claim older than five minutes, whose process is gone, may be taken over.
-- Fails: webhook_event_not_found, webhook_event_not_failed, idempotency_conflict; webhook_subscription_stopped: the company has stopped the merchant's.
create or replace function integration.retry_begin(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'event_id')::uuid;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  perform integration.require_not_stopped((select w.subscription_id from integration.webhook_events w where w.id = v_id));
  update integration.webhook_events w set status = 'retrying', next_attempt_at = null, claim_token = gen_random_uuid(), claimed_at = now()
  where w.id = v_id and ((w.status = 'failed' and w.claim_token is null)
    or (w.status = 'retrying' and w.claimed_at < now() - interval '5 minutes'))
    and exists (select from integration.webhook_subscriptions_list s where s.id = w.subscription_id)
  returning w.* into e;
  if not found then
    perform app.fail(case when exists (select from integration.webhook_events w join integration.webhook_subscriptions_list s on s.id = w.subscription_id
        where w.id = v_id)
      then 'webhook_event_not_failed' else 'webhook_event_not_found' end);
  end if;
  return jsonb_build_object('claimed', app.found(integration.claimed(e), 'webhook_event_not_found'));
end $$;

-- Makes a test event of a subscription and claims it. {id, key?} -> {claimed}, {answer} of an earlier call, or {busy}: another call under this key is
-- sending it. The event's id follows from the key, so that of any number of calls at the same moment one sends. A claim older than five minutes,
-- whose process is gone, and one that was given back, may be taken over.
-- Fails: webhook_subscription_not_found, idempotency_conflict, webhook_subscription_stopped.
create or replace function integration.test_begin(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := case when input ? 'key' then md5(concat_ws('/', private.idempotency_scope(), input ->> 'id', input ->> 'key'))::uuid
    else gen_random_uuid() end;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  perform integration.subscription_of((input ->> 'id')::uuid);
  perform integration.require_not_stopped((input ->> 'id')::uuid);
  begin
    insert into integration.webhook_events as w (id, tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at,
      claim_token, claimed_at)
    values (v_id, app.tenant_id(), (input ->> 'id')::uuid, 'webhook.test', 'test/' || v_id,
      integration.webhook_body(v_id, 'webhook.test', now(), app.tenant_id(), '{"test": true}'), 'retrying', null, gen_random_uuid(), now())
    on conflict (id) do update set status = 'retrying', claim_token = excluded.claim_token, claimed_at = excluded.claimed_at
    where w.claim_token is null or w.claimed_at < now() - interval '5 minutes'
    returning * into e;
  exception when foreign_key_violation or insufficient_privilege then
    -- Removed since it was looked for.
    perform app.fail('webhook_subscription_not_found');
  end;
  return case when e.id is null then '{"busy": true}'
    else jsonb_build_object('claimed', app.found(integration.claimed(e), 'webhook_subscription_not_found')) end;
end $$;

-- Writes the attempt down. {result, key?} -> {event_id, status, retry_count}. See integration.result_save().
create or replace function integration.attempt_finish(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_saved jsonb;
  v_answer jsonb;
begin
  perform integration.key_hold(input);
  v_saved := integration.result_save(input -> 'result' || '{"is_manual": true}');
  if v_saved is null then
    perform app.fail('webhook_event_not_found');
  end if;
  v_answer := jsonb_build_object('event_id', v_saved ->> 'id', 'status', v_saved ->> 'status',
    'retry_count', (v_saved ->> 'retry_count')::integer);
  if input ? 'key' then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  end if;
  return v_answer;
end $$;

-- Gives back a claim that could not be used: nothing was sent. {id, claim_token, error_message, key?}
create or replace function integration.attempt_abandon(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform integration.key_hold(input);
  update integration.webhook_events e set status = 'failed', claim_token = null, claimed_at = null,
    error_message = input ->> 'error_message'
  where e.id = (input ->> 'id')::uuid and e.claim_token = (input ->> 'claim_token')::uuid;
  if input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return '{}';
end $$;

-- A delivery with all of the data that was sent. {event_id} -> {event}. Fails: webhook_event_not_found.
create or replace function integration.webhook_event_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('event', app.found((
    select to_jsonb(e)
    from integration.webhook_events_whole e where e.id = (input ->> 'event_id')::uuid), 'webhook_event_not_found'));
end $$;

-- The deliveries of the events about a thing of the caller's tenant, for the filter `entity_id` of the log. SECURITY DEFINER: who sees the tenant reads
-- the log, and not the events.
create or replace function integration.webhook_events_about(entity text) returns table (id uuid)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
begin
  return query select w.id from integration.system_events e
  join integration.webhook_events w on w.system_event_id = e.id
  where e.entity_id = webhook_events_about.entity::uuid and e.tenant_id = app.tenant_id();
end $$;
grant execute on function integration.webhook_events_about(text) to barid_caller;

-- The attempts of a delivery, the newest first; the last hundred. {event_id} -> {attempts}
-- Fails: webhook_event_not_found.
create or replace function integration.attempts_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  if not exists (select from integration.webhook_events e where e.id = (input ->> 'event_id')::uuid) then
    perform app.fail('webhook_event_not_found');
  end if;
  return jsonb_build_object('attempts', (
    select coalesce(jsonb_agg(jsonb_build_object('is_manual', a.is_manual, 'http_status_code', a.http_status_code,
      'latency_ms', a.latency_ms, 'response_body', a.response_body, 'error_message', a.error_message, 'created_at', a.created_at)
      order by a.id desc), '[]')
    from (select * from integration.webhook_attempts w where w.event_id = (input ->> 'event_id')::uuid
      order by w.id desc limit 100) a));
end $$;
