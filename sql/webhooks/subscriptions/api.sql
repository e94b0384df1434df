-- Webhook subscriptions: one of a module for a tenant. Secrets come sealed from the function, in `made`, and go
-- back to it sealed; only there they are opened, to be shown once.

-- Every module with the tenant's subscription, or nulls. -> {subscriptions}
create or replace function integration.subscriptions_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('subscriptions', coalesce(jsonb_agg(jsonb_build_object('id', s.id,
      'module', jsonb_build_object('id', m.id, 'key', m.key, 'name', m.name), 'url', s.url,
      'event_types', coalesce(to_jsonb(s.event_types), '[]'), 'is_active', coalesce(s.is_active, false),
      'failing_since', s.failing_since, 'disabled_at', s.disabled_at, 'disabled_reason', s.disabled_reason,
      'created_at', s.created_at, 'updated_at', s.updated_at) order by m.position), '[]'))
    from tenancy.modules m
    left join integration.webhook_subscriptions s on s.module_id = m.id and s.tenant_id = (select app.tenant_id()));
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

-- Saves a subscription. {module_id, url, event_types, is_active?, made: {id, secret}}
-- -> {subscription, secret, unknown_event_types?}. Fails: invalid_reference, webhook_subscription_exists.
create or replace function integration.subscription_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input #>> '{made,id}')::uuid;
begin
  if not exists (select from tenancy.modules m where m.id = (input ->> 'module_id')::uuid) then
    perform app.fail('invalid_reference', '{"field": "module_id"}');
  end if;
  insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, is_active, secret, created_by)
  values (v_id, app.tenant_id(), (input ->> 'module_id')::uuid, input ->> 'url', integration.event_types_of(input),
    coalesce((input ->> 'is_active')::boolean, true), input #>> '{made,secret}', app.user_id());
  return jsonb_build_object('subscription', integration.subscription_of(v_id), 'secret', input #>> '{made,secret}')
    || integration.unknown_named(input);
end $$;

-- Changes what is sent. {id, url?, event_types?, is_active?} -> {subscription, unknown_event_types?}
-- Fails: webhook_subscription_not_found.
create or replace function integration.subscription_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  update integration.webhook_subscriptions s set
    url = coalesce(input ->> 'url', s.url),
    event_types = coalesce(integration.event_types_of(input), s.event_types),
    is_active = coalesce((input ->> 'is_active')::boolean, s.is_active)
  where s.id = (input ->> 'id')::uuid;
  return jsonb_build_object('subscription', integration.subscription_of((input ->> 'id')::uuid)) || integration.unknown_named(input);
end $$;

-- Removes a subscription with its log. {id} -> {id}. Fails: webhook_subscription_not_found.
create or replace function integration.subscription_delete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  -- Deliveries before their subscription, as whoever writes a result down locks them.
  perform from integration.webhook_events e where e.subscription_id = (input ->> 'id')::uuid order by e.id for update;
  delete from integration.webhook_subscriptions s where s.id = (input ->> 'id')::uuid;
  if not found then
    perform app.fail('webhook_subscription_not_found');
  end if;
  return jsonb_build_object('id', input ->> 'id');
end $$;

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
  where s.id = (input ->> 'id')::uuid;
  return jsonb_build_object('subscription', integration.subscription_of((input ->> 'id')::uuid),
    'secret', input #>> '{made,secret}', 'previous_secret_expires_at', v_until);
end $$;

-- Sends what failed in a time, both ends included, again, on a new schedule and under its old ids. {id, since, until?} -> {requeued}
-- Fails: webhook_subscription_not_found, webhook_subscription_inactive.
create or replace function integration.subscription_recover(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_count integer;
begin
  if not (integration.subscription_of((input ->> 'id')::uuid) ->> 'is_active')::boolean then
    perform app.fail('webhook_subscription_inactive');
  end if;
  update integration.webhook_events e set status = 'pending', attempts = 0, next_attempt_at = now()
  where e.subscription_id = (input ->> 'id')::uuid and e.status = 'failed' and e.claim_token is null
    and e.created_at >= (input ->> 'since')::timestamptz
    and (input ->> 'until' is null or e.created_at <= (input ->> 'until')::timestamptz);
  get diagnostics v_count = row_count;
  if v_count > 0 then
    perform set_config('app.events_queued', 'on', true);
  end if;
  return jsonb_build_object('requeued', v_count);
end $$;
