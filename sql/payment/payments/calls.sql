-- Calls to a gateway, each in steps: what is due is claimed here, the functions ask the gateway, and what it said is
-- written down. A step that never comes back is taken over by the next one who asks.

-- The account that a payment was opened at: the tenant's at its gateway, or one of before. -> {settings, secrets}, null where there is
-- none. The request is in the payment's tenant.
create or replace function money.gateway_account_of(p money.payments) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(case when p.gateway_account <> money.gateway_account(g.settings) then
        g.previous_accounts -> p.gateway_account #- '{secrets,previous_webhook_secret}' end,
      jsonb_build_object('settings', g.settings, 'secrets', g.secrets))
    from money.payment_gateways g where g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code);
end $$;

-- Digits after the point that gateways count minor units of a currency by, unless an account says otherwise: those of ISO 4217, whatever the
-- tenant rounds to. Of IQD they count what is used, the tenant's decimals.
create or replace function money.gateway_exponent(currency text) returns integer
language plpgsql stable set search_path = '' as $$
begin
  return case gateway_exponent.currency when 'IQD' then money.decimals_of(gateway_exponent.currency)
    else (select c.exponent from tenancy.currencies c where c.code = gateway_exponent.currency) end;
end $$;

-- Digits after the point that a payment's gateway counts minor units by. The request is in the payment's tenant.
create or replace function money.minor_digits(p money.payments) returns integer
language plpgsql stable set search_path = '' as $$
begin
  return coalesce((money.gateway_account_of(p) #>> '{settings,amount_exponent}')::integer, money.gateway_exponent(p.currency));
end $$;

-- The amount that a notice names, in the payment's currency, where the gateway may count cents. In numeric: as a double 19.99 is not
-- 1999 cents.
create or replace function money.amount_told(p money.payments, facts jsonb) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return trim_scale((facts ->> 'amount')::numeric / case facts ->> 'unit' when 'minor' then 10::numeric ^ money.minor_digits(p) else 1 end);
end $$;

-- The fields of a payment that a call to its gateway needs. The request is in the payment's tenant.
create or replace function money.payment_known(p money.payments) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('id', p.id, 'tenant_id', p.tenant_id, 'gateway_code', p.gateway_code, 'gateway_order_id', p.gateway_order_id,
      'gateway_reference', p.gateway_reference, 'amount', p.amount::text, 'currency', p.currency, 'numeric_code', c.numeric_code,
      'exponent', money.minor_digits(p), 'description', p.reference, 'back_ref', p.back_ref,
      'expires_at', p.expires_at, 'settings', coalesce(a.account -> 'settings', '{}'), 'secrets', coalesce(a.account -> 'secrets', '{}'))
    from tenancy.currencies c
    cross join (select money.gateway_account_of(p) as account) a
    where c.code = p.currency);
end $$;

-- Claims the opening of a payment at its gateway: {open: what the functions must know}, {redirect_url,
-- gateway_order_id, expires_at} when it is open already, {wait: true} while somebody else is opening it, null when
-- it waits for nothing, {switched_off: true} when its gateway is not in use any more. A second try gets a new number: the gateway may know
-- the first.
create or replace function money.payment_open(p_payment uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- Where the customer pays; null: the gateway could not be asked, and may be asked again at once.
-- False when the number was exchanged meanwhile.
create or replace function money.payment_opened(p_payment uuid, p_number text, p_redirect text, p_reference text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  update money.payments x set redirect_url = p_redirect, gateway_reference = p_reference,
    opened_at = case when p_redirect is null then x.opened_at - interval '1 minute' else x.opened_at end
  where x.id = p_payment and x.gateway_order_id = p_number and x.status = 'pending';
  return found;
end $$;

-- Claims asking the gateway how a payment stands, by its id or its number there: {ask: what the functions must know},
-- {wait: true} when it was asked within `pause`, null when no such payment was opened or it is made. One that is no longer
-- waited for is asked about as well: its page stays open, and money paid there is somebody's. `ended` beside `ask`: it can be paid no
-- more, so the answer is its last (money.payment_answered).
create or replace function money.payment_check(p_payment uuid, p_code text, p_number text, pause interval) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  p money.payments;
begin
  select * into p from money.payments x
  where x.gateway_order_id is not null and x.redirect_url is not null and x.status <> 'SUCCESS'
    and (x.id = p_payment or (x.gateway_code = p_code and x.gateway_order_id = p_number)) for no key update;
  if p.id is null then
    return null;
  elsif p.last_checked_at > clock_timestamp() - pause then
    return jsonb_build_object('wait', true);
  end if;
  update money.payments x set last_checked_at = clock_timestamp() where x.id = p.id;
  perform set_config('app.tenant_id', p.tenant_id::text, true);
  return jsonb_build_object('ask', money.payment_known(p), 'ended', p.expires_at <= clock_timestamp());
end $$;

-- Writes down that the gateway answered about a payment that has ended; what it said has been applied. Nobody has to ask again.
create or replace function money.payment_answered(p_payment uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update money.payments x set final_answer_at = clock_timestamp()
  where x.id = p_payment and x.expires_at <= clock_timestamp() and x.final_answer_at is null;
end $$;

-- True when the gateway may still say that a payment was made: while it waits, and after a failed try, since the page
-- it was opened on takes another one as long as what it pays for is open. Fails: forbidden (app.require_tenant).
create or replace function money.payment_may_come(p money.payments) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(p.tenant_id);
  return p.payment_method = 'gateway' and p.redirect_url is not null and (p.status = 'pending' or p.status = 'FAILED' and (
    p.order_id is null or exists (
      select from storefront.storefront_orders o
      where o.tenant_id = p.tenant_id and o.id = p.order_id and o.status in ('pending', 'awaiting_approval') and o.payment_status <> 'paid')));
end $$;
grant execute on function money.payment_may_come(money.payments) to barid_caller;

-- Ends top-ups that nobody paid in their time: those that never reached their gateway, those of which it has answered since, and after three days
-- all, as orders end. Money that it reports of one after that is credited all the same, as of any that failed before.
create or replace function money.top_ups_end() returns void
language plpgsql set search_path = '' as $$
begin
  update money.payments x set status = 'FAILED', processed_at = now()
  where x.id in (
    select p.id from money.payments p
    where p.type = 'WALLET_TOPUP' and p.status = 'pending' and p.expires_at <= now()
      and (p.redirect_url is null or p.final_answer_at is not null or p.created_at <= now() - interval '72 hours')
    order by p.expires_at limit 1000 for no key update skip locked);
end $$;

-- Queues a look at each payment that may still be made and is younger than a day; after its end until the gateway has answered once, for
-- three days at most and once an hour, since nobody may have asked in time. One that nobody waits for any more, since its order was cancelled or paid
-- otherwise, is asked about once soon and then once an hour until its end: its page stays open, and what was paid there is somebody's money.
-- Ends top-ups that are over. Answers how many looks. Run by cron.
create or replace function money.payments_reconcile() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key)
  select p.tenant_id, 'payment.reconcile', jsonb_build_object('payment_id', p.id), p.id::text
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
end $$;

grant execute on function money.payment_open(uuid), money.payment_opened(uuid, text, text, text),
  money.payment_check(uuid, text, text, interval), money.payment_answered(uuid) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.gateway_account_of(money.payments), money.gateway_exponent(text), money.minor_digits(money.payments),
  money.amount_told(money.payments,jsonb), money.payment_check(uuid,text,text,interval), money.payment_answered(uuid),
  money.payment_known(money.payments), money.payment_open(uuid), money.payment_opened(uuid,text,text,text),
  money.payments_reconcile(), money.top_ups_end() from barid_caller;
