-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION integration.events_requeue(event_ids uuid[], dry_run boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION money.lock_unmatched_event(p_event uuid)
 RETURNS money.payment_webhook_events
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  e money.payment_webhook_events;
begin
  select * into e from money.payment_webhook_events x
  where x.tenant_id = app.tenant_id() and x.id = p_event and app.has_permission('manage:tenant');
  perform money.lock_gateway_transaction(e.gateway_code, e.facts ->> 'transaction_id');
  select * into e from money.payment_webhook_events x
  where x.tenant_id = app.tenant_id() and x.id = p_event and app.has_permission('manage:tenant') for update;
  if e.id is null then
    perform app.fail('payment_event_not_found');
  elsif e.outcome <> 'unmatched' or e.resolution is not null then
    perform app.fail('payment_event_not_open');
  end if;
  return e;
end $function$;

CREATE OR REPLACE FUNCTION money.payment_apply(p_code text, p_tenants uuid[], p_key text, p_proof text, facts jsonb, p_raw text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  p money.payments;
  o storefront.storefront_orders;
  v_payment uuid;
  v_event uuid;
  v_is_new boolean;
  v_end record;
begin
  perform money.lock_gateway_transaction(p_code, facts ->> 'transaction_id');
  v_payment := money.payment_named(p_code, p_tenants, facts);
  select * into p from money.payments x where x.id = v_payment;
  perform set_config('app.tenant_id', coalesce(p.tenant_id, p_tenants[1])::text, true);
  -- Before the event is written: it names the payment, which two events would share and then both want alone.
  select * into o from storefront.storefront_orders x where x.tenant_id = p.tenant_id and x.id = p.order_id for no key update;
  select * into p from money.payments x where x.tenant_id = p.tenant_id and x.id = p.id for no key update;
  insert into money.payment_webhook_events (tenant_id, gateway_code, event_key, event_type, proof, raw_body, facts, payment_id)
  values (coalesce(p.tenant_id, p_tenants[1]), p_code, p_key, facts ->> 'event', p_proof, p_raw, facts, p.id)
  on conflict on constraint webhook_event_taken do nothing returning id into v_event;
  v_is_new := v_event is not null;
  if not v_is_new then
    update money.payment_webhook_events e set tenant_id = coalesce(p.tenant_id, e.tenant_id), payment_id = coalesce(p.id, e.payment_id)
    where e.gateway_code = p_code and e.event_key = p_key and e.tenant_id = any (p_tenants) and e.outcome = 'unmatched' and e.resolution is null
    returning e.id into v_event;
  end if;
  if v_event is null then
    return jsonb_build_object('outcome', 'duplicate');
  end if;
  if p.id is null then
    -- A company may sell elsewhere by the same account: a payment that names no number of the form of ours is none of ours.
    update money.payment_webhook_events e set reason = 'payment_unknown',
      outcome = case when facts ->> 'kind' = 'refunded' or facts ->> 'kind' = 'paid' and (facts ->> 'order' is not null
        or facts ->> 'gateway_order_id' ~ '^[0-9]{12,18}$') then 'unmatched' else 'ignored' end
    where e.id = v_event returning e.outcome, e.reason into v_end;
    if v_is_new then
      perform money.unmatched_announce(v_event);
    end if;
    return jsonb_build_object('outcome', v_end.outcome, 'reason', v_end.reason);
  end if;
  v_end := money.payment_follow(p, o, facts);
  update money.payment_webhook_events e set outcome = v_end.outcome, reason = v_end.reason where e.id = v_event;
  if facts ->> 'kind' = 'paid' and v_end.outcome = 'processed' then
    perform money.reports_booked(p, facts ->> 'transaction_id', p_tenants);
    perform money.refunds_told_before(p_code, facts ->> 'transaction_id', p_tenants);
  end if;
  if v_is_new then
    perform money.unmatched_announce(v_event);
  end if;
  return jsonb_build_object('outcome', v_end.outcome, 'reason', v_end.reason);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_named(p_code text, p_tenants uuid[], facts jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_named uuid[];
begin
  v_named := case when facts ->> 'kind' = 'refunded' then array(
      select x.id from money.payments x
      where x.gateway_code = p_code and x.gateway_transaction_id = facts ->> 'transaction_id' and x.type <> 'REFUND')
    else array(
      select x.id from unnest(array[facts ->> 'gateway_order_id', facts ->> 'reference']) n (number)
      join money.payments x on x.gateway_code = p_code and x.gateway_order_id = n.number
      union all
      select x.id from money.payments x where x.gateway_code = p_code and x.gateway_reference = facts ->> 'reference'
      union all
      select x.id from money.payments x
      where x.tenant_id = any (p_tenants) and x.order_id = app.as_uuid(facts ->> 'order') and x.type = 'ORDER') end;
  return (
    select x.id from money.payments x
    where x.id = any (v_named) and x.gateway_code = p_code and x.tenant_id = any (p_tenants)
      and (coalesce(x.gateway_account = facts ->> 'account', true) or exists (
        select from money.payment_gateways g
        where g.tenant_id = x.tenant_id and g.gateway_code = p_code and (money.gateway_account(g.settings) = facts ->> 'account'
          or x.opened_at < (g.previous_accounts #>> array[facts ->> 'account', 'replaced_at'])::timestamptz)))
    order by x.gateway_order_id is not distinct from facts ->> 'gateway_order_id' desc,
      coalesce(facts ->> 'reference' in (x.gateway_order_id, x.gateway_reference), false) desc,
      x.gateway_transaction_id is not distinct from facts ->> 'transaction_id' desc, x.status = 'pending' desc, x.created_at desc limit 1);
end $function$;

REVOKE ALL ON FUNCTION "money"."payment_named"(text, uuid[], jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.payment_open(p_payment uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  select * into p from money.payments x where x.id = p_payment and x.gateway_order_id is not null for no key update;
  if p.id is null or p.status <> 'pending' then
    return null;
  elsif p.redirect_url is not null then
    return jsonb_build_object('redirect_url', p.redirect_url, 'gateway_order_id', p.gateway_order_id, 'expires_at', p.expires_at);
  elsif p.opened_at > clock_timestamp() - interval '15 seconds' then
    return jsonb_build_object('wait', true);
  end if;
  perform set_config('app.tenant_id', p.tenant_id::text, true);
  if not money.gateway_in_use(p.gateway_code) then
    return jsonb_build_object('switched_off', true);
  end if;
  update money.payments x set opened_at = clock_timestamp(),
    gateway_order_id = case when x.opened_at is null then x.gateway_order_id else nextval('money.gateway_order_ids')::text end,
    -- Razorpay takes no link that ends within 15 minutes. The payment ends with its page, so that it is asked about until then.
    expires_at = greatest(x.expires_at, clock_timestamp() + interval '17 minutes'),
    gateway_account = (select money.gateway_account(g.settings) from money.payment_gateways g
      where g.tenant_id = x.tenant_id and g.gateway_code = x.gateway_code)
  where x.id = p.id returning * into p;
  return jsonb_build_object('open', money.payment_known(p));
end $function$;

CREATE OR REPLACE FUNCTION money.payments_reconcile()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count bigint;
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key, attempts_max)
  select p.tenant_id, 'payment.reconcile', jsonb_build_object('payment_id', p.id), p.id::text, 1
  from money.payments p
  cross join lateral (select money.payment_may_come(p) as is_waited_for) w
  where p.payment_method = 'gateway' and p.status <> 'SUCCESS' and p.redirect_url is not null
    and (w.is_waited_for or p.final_answer_at is null and not exists (
      select from money.payment_webhook_events e where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched'))
    and p.created_at > now() - interval '72 hours' and p.created_at < now() - interval '1 minute'
    and (p.created_at > now() - interval '24 hours 15 minutes' or p.expires_at <= now() and p.final_answer_at is null)
    and (p.last_checked_at is null or not w.is_waited_for and p.last_checked_at < p.processed_at
      or p.last_checked_at < now() - case when p.created_at > now() - interval '24 hours 15 minutes' and w.is_waited_for
        then interval '4 minutes' else interval '1 hour' end)
    and not exists (select from app.jobs j where j.entity_key = p.id::text and j.status in ('queued', 'running'))
  order by p.last_checked_at nulls first limit 1000;
  get diagnostics v_count = row_count;
  perform money.top_ups_end();
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION money.reports_booked(p money.payments, p_transaction text, p_tenants uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update money.payment_webhook_events e set tenant_id = p.tenant_id, payment_id = p.id, outcome = 'ignored', reason = 'already_processed'
  where e.tenant_id = any (p_tenants) and e.gateway_code = p.gateway_code and e.outcome = 'unmatched' and e.resolution is null
    and e.facts ->> 'kind' = 'paid' and e.facts ->> 'transaction_id' = p_transaction and coalesce(e.payment_id = p.id, true);
end $function$;

REVOKE ALL ON FUNCTION "money"."reports_booked"(money.payments, text, uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.top_ups_end()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update money.payments x set status = 'FAILED', processed_at = now()
  where x.id in (
    select p.id from money.payments p
    where p.type = 'WALLET_TOPUP' and p.status = 'pending' and p.expires_at <= now()
      and (p.redirect_url is null or p.final_answer_at is not null or p.created_at <= now() - interval '72 hours')
    order by p.expires_at limit 1000 for no key update skip locked);
end $function$;

REVOKE ALL ON FUNCTION "money"."top_ups_end"() FROM "barid_caller";

REVOKE ALL ON FUNCTION "money"."payment_named"(text, uuid[], jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."reports_booked"(money.payments, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."top_ups_end"() FROM PUBLIC;

-- Reports of before about payments that were opened under another name of their account: each names its payment.
update money.payment_webhook_events e set payment_id = n.payment_id
from (
  select x.id, money.payment_named(x.gateway_code, array[x.tenant_id], x.facts) as payment_id
  from money.payment_webhook_events x where x.outcome = 'unmatched' and x.resolution is null and x.payment_id is null) n
where e.id = n.id and n.payment_id is not null;

-- Those whose transaction is booked are open no more.
update money.payment_webhook_events e set outcome = 'ignored', reason = 'already_processed'
from money.payments p
where e.outcome = 'unmatched' and e.resolution is null and e.facts ->> 'kind' = 'paid' and p.tenant_id = e.tenant_id and p.id = e.payment_id
  and p.type <> 'REFUND' and p.gateway_code = e.gateway_code and p.gateway_transaction_id = e.facts ->> 'transaction_id';

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201083655';
end $$;

grant execute on function private.schema_version() to barid_api;
