-- A company and its merchants' subscriptions: it sees them, stops and removes them. Their secrets and addresses are the merchants'.

-- Stops a merchant's subscription, which the merchant is notified of and does not start again; or lifts that and starts it. {id, is_active}
-- -> {subscription}. Nothing changes where it is stopped already, or was not. Fails: webhook_subscription_not_found.
create or replace function integration.merchant_subscription_set(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_start boolean := (input ->> 'is_active')::boolean;
  s integration.webhook_subscriptions;
begin
  if v_start and exists (select from integration.webhook_subscriptions x where x.id = v_id and x.disabled_reason = 'stopped') then
    -- Deliveries before their subscription, as results lock them.
    perform integration.waiting_due(v_id);
  end if;
  select * into s from integration.webhook_subscriptions x where x.id = v_id and x.owner_user_id is not null for update;
  if not found then
    perform app.fail('webhook_subscription_not_found');
  end if;
  if v_start = (s.disabled_reason is not distinct from 'stopped') then
    update integration.webhook_subscriptions x set is_active = v_start, disabled_at = now(), disabled_reason = 'stopped'
    where x.id = v_id returning x.* into s;
    if not v_start then
      perform integration.subscription_stopped_notify(v_id);
    end if;
  end if;
  return jsonb_build_object('subscription', (
    select to_jsonb(l) - 'owner_user_id' from integration.merchant_subscriptions_list l where l.id = v_id));
end $$;

-- Notifies the merchant whose subscription the company has stopped. SECURITY DEFINER: notifications of others are written by few; it reveals no more
-- than what is so. Fails: forbidden (app.require_tenant).
create or replace function integration.subscription_stopped_notify(subscription uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x
  where x.id = subscription_stopped_notify.subscription and x.owner_user_id is not null and x.disabled_reason = 'stopped';
  perform app.require_tenant(s.tenant_id);
  perform integration.subscription_owner_notify(s, 'stopped');
end $$;

-- Removes a merchant's subscription with its log; the merchant may make another. {id} -> {id}. Fails: webhook_subscription_not_found.
create or replace function integration.merchant_subscription_delete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  if not exists (select from integration.webhook_subscriptions s where s.id = v_id and s.owner_user_id is not null) then
    perform app.fail('webhook_subscription_not_found');
  end if;
  perform integration.subscription_remove(v_id, true);
  return jsonb_build_object('id', v_id);
end $$;

grant execute on function integration.subscription_stopped_notify(uuid) to barid_caller;
