-- A gateway's notice about a payment, applied once and forwards only. No later notice takes a paid order back, and
-- money that fits no payment is kept for somebody to look at instead of being booked.

-- Why what was told cannot pay this payment, or null when it can. Everything must be equal: amount, currency, the
-- terminal it was taken at, that of its opening or, where that was wrong, that of now, and the order where one is named.
create or replace function money.payment_evaluate(p money.payments, o storefront.storefront_orders, facts jsonb) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (
    select case
      when facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' or money.amount_told(p, facts) <> p.amount
        then 'amount_differs'
      when upper(facts ->> 'currency') not in (c.code, c.numeric_code) then 'currency_differs'
      when a.terminal is not null and coalesce(facts ->> 'terminal' not in (a.terminal, g.settings ->> 'terminal'), true) then 'terminal_differs'
      when facts ->> 'order' is not null and lower(facts ->> 'order') not in (p.gateway_order_id, coalesce(p.order_id::text, ''))
        or facts ->> 'reference' ~ '^[0-9]{12,18}$' and facts ->> 'reference' <> p.gateway_order_id then 'order_differs'
      when p.status = 'CANCELLED' or o.status = 'cancelled' then 'order_cancelled'
      when coalesce(facts ->> 'transaction_id', '') = '' then 'transaction_missing'
      when p.status = 'SUCCESS' or o.payment_status = 'paid' then 'already_paid'
    end
    from tenancy.currencies c
    cross join (select money.gateway_account_of(p) #>> '{settings,terminal}' as terminal) a
    left join money.payment_gateways g on g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code
    where c.code = p.currency);
end $$;

-- True when the currency that a notice names, by its letters or its number, is the payment's.
create or replace function money.currency_is(p money.payments, named text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from tenancy.currencies c where c.code = p.currency and upper(named) in (c.code, c.numeric_code));
end $$;

-- The outcome of a notice. p and o are locked. -> outcome and, where it is not processed, the reason.
create or replace function money.payment_follow(p money.payments, o storefront.storefront_orders, facts jsonb, out outcome text, out reason text)
language plpgsql set search_path = '' as $$
begin
  outcome := 'ignored';
  if facts ->> 'kind' = 'refunded' then
    reason := money.payment_refunded(p, facts);
    outcome := case when reason is null then 'processed' when reason = 'already_refunded' then 'ignored' else 'unmatched' end;
  elsif facts ->> 'kind' = 'failed' then
    if p.status <> 'pending' then
      reason := 'payment_is_' || lower(p.status);
      return;
    end if;
    update money.payments x set status = 'FAILED', processed_at = now() where x.tenant_id = p.tenant_id and x.id = p.id;
    update storefront.storefront_orders x set payment_status = 'failed'
    where x.tenant_id = p.tenant_id and x.id = p.order_id and x.payment_status = 'pending';
    outcome := 'processed';
  elsif facts ->> 'kind' = 'paid' then
    if p.status = 'SUCCESS' and p.gateway_transaction_id = facts ->> 'transaction_id' then
      reason := 'already_processed';
      return;
    elsif exists (select from money.payment_webhook_events e
        where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.action is not null
          and e.facts ->> 'transaction_id' = payment_follow.facts ->> 'transaction_id') then
      reason := 'already_resolved';
      return;
    end if;
    reason := money.payment_evaluate(p, o, facts);
    if reason is null then
      begin
        -- A second try waits beside a failed one that is paid after all.
        update money.payments x set status = 'CANCELLED', processed_at = now()
        where x.tenant_id = p.tenant_id and x.order_id = p.order_id and x.type = 'ORDER' and x.status = 'pending' and x.id <> p.id;
        perform money.payment_made(p, facts ->> 'transaction_id', facts ->> 'terminal');
      exception when unique_violation then
        reason := 'transaction_already_used';
      end;
    end if;
    outcome := case when reason is null then 'processed' else 'unmatched' end;
  else
    reason := 'nothing_to_do';
  end if;
end $$;

-- The rest of a payment after all that went back of it and of its order; below 0 where the gateway took more than that.
create or replace function money.payment_left(p money.payments) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(sum(case x.type when 'REFUND' then -x.amount else x.amount end), 0) from money.payments x
    where x.tenant_id = p.tenant_id and x.status = 'SUCCESS'
      and (x.id = p.id or (x.type = 'REFUND' and (x.order_id = p.order_id or x.reference = p.id::text))));
end $$;

-- Writes that a gateway gave back this much of a payment, of its order where it paid one; books nothing. p_transaction: the refund's id there.
create or replace function money.gateway_refund_write(p money.payments, p_amount numeric, p_transaction text) returns money.payments
language plpgsql set search_path = '' as $$
declare
  r money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, gateway_code,
    gateway_transaction_id, reference, processed_at)
  values (p.tenant_id, p.category, 'REFUND', 'SUCCESS', 'gateway', p_amount, p.currency, p.account_id, p.order_id, p.gateway_code,
    p_transaction, case when p.order_id is null then p.id::text else p.reference end, now())
  returning * into r;
  return r;
end $$;

-- The wallet that a gateway's refund of a payment is taken from: the shop's, or the one that a top-up went to.
create or replace function money.gateway_refund_from(p money.payments) returns uuid
language plpgsql set search_path = '' as $$
begin
  return case p.type when 'ORDER' then money.account_of('wallet', 'tenant', null, p.currency) else p.account_id end;
end $$;

-- Writes down what the gateway itself gave back. What an administrator booked as given back there only gets the gateway's number.
-- -> why it cannot be, or null
create or replace function money.payment_refunded(p money.payments, facts jsonb) returns text
language plpgsql set search_path = '' as $$
declare
  r money.payments;
  v_amount numeric;
begin
  if exists (select from money.payments x where x.gateway_code = p.gateway_code and x.gateway_transaction_id = facts ->> 'refund_id') then
    return 'already_refunded';
  elsif p.status <> 'SUCCESS' or coalesce(facts ->> 'refund_id', '') = '' or facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then
    return 'refund_of_nothing';
  elsif not money.currency_is(p, coalesce(facts ->> 'currency', p.currency)) then
    return 'currency_differs';
  end if;
  v_amount := money.amount_told(p, facts);
  update money.payments x set gateway_transaction_id = facts ->> 'refund_id'
  where x.tenant_id = p.tenant_id and x.account_id = p.account_id and x.type = 'REFUND' and x.reference = p.id::text and x.amount = v_amount
    and x.gateway_transaction_id like 'resolved-%';
  if found then
    return 'already_refunded';
  end if;
  if v_amount > money.payment_left(p) or v_amount <= 0 or v_amount <> round(v_amount, 3) then
    return 'amount_differs';
  end if;
  r := money.gateway_refund_write(p, v_amount, facts ->> 'refund_id');
  perform money.book_payment(r, 'gateway_refund', money.gateway_refund_from(p), money.account_of('external', 'tenant', null, p.currency), p.reference);
  return null;
exception
  when sqlstate 'RULE0' then
    if sqlerrm <> 'insufficient_wallet_balance' then
      raise;
    end if;
    return 'insufficient_wallet_balance';
end $$;

-- Holds a gateway's transaction before everything else: the reports of its payment and of its refund take turns, so that the later one knows
-- the other.
create or replace function money.lock_gateway_transaction(p_code text, p_transaction text) returns void
language plpgsql set search_path = '' as $$
begin
  if p_transaction <> '' then
    perform pg_advisory_xact_lock(hashtextextended('gateway transaction ' || p_code || ' ' || p_transaction, 0));
  end if;
end $$;

-- Applies the refunds of a transaction that were reported before its payment was known, by events that these tenants' secrets proved. The
-- transaction, the order and the payment are locked.
create or replace function money.refunds_told_before(p_code text, p_transaction text, p_tenants uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  p money.payments;
  e money.payment_webhook_events;
  v_end record;
begin
  select * into p from money.payments x
  where x.gateway_code = p_code and x.gateway_transaction_id = p_transaction and x.type <> 'REFUND' and x.tenant_id = any (p_tenants);
  if p.id is null then
    return;
  end if;
  for e in
    select x.* from money.payment_webhook_events x
    where x.tenant_id = any (p_tenants) and x.gateway_code = p_code and x.outcome = 'unmatched' and x.resolution is null
      and x.facts ->> 'kind' = 'refunded' and x.facts ->> 'transaction_id' = p_transaction
    order by x.created_at, x.id for no key update
  loop
    v_end := money.payment_follow(p, null, e.facts);
    update money.payment_webhook_events x set tenant_id = p.tenant_id, payment_id = p.id, outcome = v_end.outcome, reason = v_end.reason
    where x.id = e.id;
  end loop;
end $$;

-- The payment that a gateway speaks of, of these tenants, or null. A refund names the payment it gives back, everything else our number or the
-- gateway's, or our order by its id: of an order's payments the one that was made so, or the one that waits. Each name is looked up by its own index.
-- An account speaks of what was opened under its name, and of all that was opened before it was replaced: the name of then may have been
-- mistyped. A former one pays nothing that was opened since.
create or replace function money.payment_named(p_code text, p_tenants uuid[], facts jsonb) returns uuid
language plpgsql stable set search_path = '' as $$
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
end $$;

-- Reports of a transaction that fitted nothing when they came, and that is booked by now, are open no more. The transaction, the order and the
-- payment are locked.
create or replace function money.reports_booked(p money.payments, p_transaction text, p_tenants uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  update money.payment_webhook_events e set tenant_id = p.tenant_id, payment_id = p.id, outcome = 'ignored', reason = 'already_processed'
  where e.tenant_id = any (p_tenants) and e.gateway_code = p.gateway_code and e.outcome = 'unmatched' and e.resolution is null
    and e.facts ->> 'kind' = 'paid' and e.facts ->> 'transaction_id' = p_transaction and coalesce(e.payment_id = p.id, true);
end $$;

-- Applies what a gateway told and proved. One transaction: the gateway's transaction, the order and the payment are locked, in this order,
-- the event is written once (its key), and judged. A payment that is made is given back at once where its refund was reported before.
-- Money that fitted nothing and that nobody settled is judged again when it
-- is sent again: what was in its way, a wrong terminal, say, may have been set right.
-- p_tenants: whose secret verified it, or whose gateway answered. facts: {kind paid|failed|refunded|none, event,
-- gateway_order_id?, reference?, transaction_id?, refund_id?, amount (text), unit major|minor, currency, terminal?,
-- order?, account? (the one whose secret signed it)}. -> {outcome, reason}; outcome duplicate for an event that was there before and has its end.
create or replace function money.payment_apply(p_code text, p_tenants uuid[], p_key text, p_proof text, facts jsonb, p_raw text default null)
returns jsonb
language plpgsql security definer set search_path = '' as $$
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
end $$;
grant execute on function money.payment_apply(text, uuid[], text, text, jsonb, text) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.payment_apply(text,uuid[],text,text,jsonb,text),
  money.payment_follow(money.payments,storefront.storefront_orders,jsonb),
  money.payment_evaluate(money.payments,storefront.storefront_orders,jsonb), money.payment_refunded(money.payments,jsonb),
  money.currency_is(money.payments,text), money.payment_left(money.payments), money.gateway_refund_write(money.payments,numeric,text),
  money.gateway_refund_from(money.payments),
  money.lock_gateway_transaction(text,text), money.refunds_told_before(text,text,uuid[]), money.payment_named(text,uuid[],jsonb),
  money.reports_booked(money.payments,text,uuid[]) from barid_caller;
