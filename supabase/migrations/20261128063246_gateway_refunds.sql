-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table money.payments in share row exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE OR REPLACE FUNCTION money.book_payment(p money.payments, kind text, from_account uuid, to_account uuid, description text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform money.post(money.payment_postings(p, kind, from_account, to_account, description));
end $function$;

CREATE OR REPLACE FUNCTION money.currency_is(p money.payments, named text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from tenancy.currencies c where c.code = p.currency and upper(named) in (c.code, c.numeric_code));
end $function$;

REVOKE ALL ON FUNCTION "money"."currency_is"(money.payments, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.gateway_refund_from(p money.payments)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return case p.type when 'ORDER' then money.account_of('wallet', 'tenant', null, p.currency) else p.account_id end;
end $function$;

REVOKE ALL ON FUNCTION "money"."gateway_refund_from"(money.payments) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.gateway_refund_write(p money.payments, p_amount numeric, p_transaction text)
 RETURNS money.payments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  r money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, gateway_code,
    gateway_transaction_id, reference, processed_at)
  values (p.tenant_id, p.category, 'REFUND', 'SUCCESS', 'gateway', p_amount, p.currency, p.account_id, p.order_id, p.gateway_code,
    p_transaction, case when p.order_id is null then p.id::text else p.reference end, now())
  returning * into r;
  return r;
end $function$;

REVOKE ALL ON FUNCTION "money"."gateway_refund_write"(money.payments, numeric, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.payment_left(p money.payments)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(sum(case x.type when 'REFUND' then -x.amount else x.amount end), 0) from money.payments x
    where x.tenant_id = p.tenant_id and x.status = 'SUCCESS'
      and (x.id = p.id or (x.type = 'REFUND' and (x.order_id = p.order_id or x.reference = p.id::text))));
end $function$;

REVOKE ALL ON FUNCTION "money"."payment_left"(money.payments) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.payment_postings(p money.payments, kind text, from_account uuid, to_account uuid, description text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_line jsonb := jsonb_build_object('journal', p.id, 'kind', kind, 'reference_type', 'payment', 'reference_id', p.id,
    'description', description);
begin
  return case when p.amount > 0 then jsonb_build_array(
    v_line || jsonb_build_object('account_id', from_account, 'amount', -p.amount),
    v_line || jsonb_build_object('account_id', to_account, 'amount', p.amount)) else '[]' end;
end $function$;

REVOKE ALL ON FUNCTION "money"."payment_postings"(money.payments, text, uuid, uuid, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.payment_refunded(p money.payments, facts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION money.refunds_open(p money.payments)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(sum(r.amount), 0) from (
      select max(case when money.currency_is(p, e.facts ->> 'currency') and e.facts ->> 'amount' ~ '^[0-9]{1,15}(\.[0-9]{1,3})?$'
        then money.amount_told(p, e.facts) else p.amount end) as amount
      from money.payment_webhook_events e
      where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.outcome = 'unmatched' and e.resolution is null
        and e.facts ->> 'kind' = 'refunded' and not exists (
          select from money.payments x where x.gateway_code = e.gateway_code and x.gateway_transaction_id = e.facts ->> 'refund_id')
      group by coalesce(e.facts ->> 'refund_id', e.id::text)) r);
end $function$;

REVOKE ALL ON FUNCTION "money"."refunds_open"(money.payments) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.unmatched_amount(e money.payment_webhook_events, p money.payments, OUT amount numeric, OUT refusal text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_number text := coalesce(e.facts ->> case e.facts ->> 'kind' when 'refunded' then 'refund_id' else 'transaction_id' end, '');
begin
  refusal := case
    when e.facts ->> 'kind' not in ('paid', 'refunded') then 'not_a_payment'
    when p.id is null then 'payment_unknown'
    when not money.currency_is(p, e.facts ->> 'currency') then 'currency_differs'
    when coalesce(e.facts ->> 'amount', '') !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then 'amount_differs'
    when v_number = '' then 'transaction_missing'
    when exists (select from money.payments x
      where x.gateway_code = e.gateway_code and x.gateway_transaction_id = v_number) then 'transaction_already_used'
  end;
  if refusal is null then
    amount := money.amount_told(p, e.facts);
    if amount <= 0 or amount <> round(amount, money.decimals_of(p.currency)) then
      refusal := 'amount_differs';
    end if;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_announce(p_event uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  e money.payment_webhook_events;
  v_data jsonb;
begin
  select * into e from money.payment_webhook_events x where x.tenant_id = v_tenant and x.id = p_event;
  if e.outcome <> 'unmatched' or exists (
      select from money.payment_webhook_events x
      where x.tenant_id = v_tenant and x.payment_id = e.payment_id and x.id <> e.id and x.outcome = 'unmatched' and x.resolution is null
        and x.facts ->> 'kind' = e.facts ->> 'kind' and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id'
        and x.facts ->> 'refund_id' is not distinct from e.facts ->> 'refund_id') then
    return;
  end if;
  v_data := jsonb_build_object('payment_event_id', e.id, 'gateway_code', e.gateway_code, 'reason', e.reason, 'payment_id', e.payment_id,
    'order_id', (select p.order_id from money.payments p where p.tenant_id = v_tenant and p.id = e.payment_id),
    'gateway_order_id', e.facts -> 'gateway_order_id', 'gateway_transaction_id', e.facts -> 'transaction_id',
    'amount', e.facts -> 'amount', 'amount_unit', e.facts -> 'unit', 'currency', e.facts -> 'currency');
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'payment.unmatched', 'source_module', 'payment',
    'entity_type', 'payment_webhook_event', 'entity_id', e.id, 'event_data', v_data)));
  perform tenancy.notify_tenant_admins('payment_unmatched', v_data);
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_refund(e money.payment_webhook_events, p money.payments, p_amount numeric)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_number text := e.facts ->> 'refund_id';
  v_external uuid;
  v_company uuid;
  v_refund numeric;
  v_postings jsonb := '[]';
  r money.payments;
begin
  if p.status <> 'SUCCESS' then
    return 'refund_of_nothing';
  end if;
  v_external := money.account_of('external', 'tenant', null, p.currency);
  v_company := money.account_of('wallet', 'tenant', null, p.currency);
  v_refund := greatest(least(p_amount, money.payment_left(p)), 0);
  if p.type <> 'ORDER' then
    v_refund := (
      select greatest(least(v_refund, a.balance - a.floor - money.unavailable_of(a)), 0) from money.accounts a
      where a.tenant_id = p.tenant_id and a.id = p.account_id);
  end if;
  if v_refund > 0 then
    r := money.gateway_refund_write(p, v_refund, v_number);
    v_postings := money.payment_postings(r, 'gateway_refund', money.gateway_refund_from(p), v_external, p.reference);
  end if;
  if p_amount > v_refund then
    insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, gateway_code,
      gateway_transaction_id, reference, snapshot, actor_id, processed_at)
    values (p.tenant_id, p.category, 'REFUND', 'SUCCESS', 'gateway', p_amount - v_refund, p.currency, v_company, p.gateway_code,
      case when v_refund = 0 then v_number end, p.id::text,
      jsonb_build_object('payment_event_id', e.id, 'payment_id', p.id, 'order_id', p.order_id), app.user_id(), now())
    returning * into r;
    v_postings := v_postings || money.payment_postings(r, 'gateway_loss', v_company, v_external, p.reference);
  end if;
  perform money.post(v_postings);
  return null;
end $function$;

REVOKE ALL ON FUNCTION "money"."unmatched_refund"(money.payment_webhook_events, money.payments, numeric) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.unmatched_settle(p_event uuid, p_action text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  e money.payment_webhook_events;
  p money.payments;
  o storefront.storefront_orders;
  v_amount numeric;
  v_refusal text;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select * into e from money.payment_webhook_events w where w.tenant_id = v_tenant and w.id = p_event;
  perform money.lock_gateway_transaction(e.gateway_code, e.facts ->> 'transaction_id');
  select x.* into p from money.payment_webhook_events w
  join money.payments x on x.tenant_id = w.tenant_id and x.id = w.payment_id where w.tenant_id = v_tenant and w.id = p_event;
  select * into o from storefront.storefront_orders x where x.tenant_id = v_tenant and x.id = p.order_id for no key update;
  select * into p from money.payments x where x.tenant_id = v_tenant and x.id = p.id for no key update;
  e := money.lock_unmatched_event(p_event);
  select u.amount, u.refusal into v_amount, v_refusal from money.unmatched_amount(e, p) u;
  if v_refusal is null and e.facts ->> 'kind' = 'refunded' then
    v_refusal := case when p_action = 'refund' then money.unmatched_refund(e, p, v_amount) else 'not_a_payment' end;
  elsif v_refusal is null and p_action = 'accept' then
    v_refusal := money.unmatched_accept(e, p, o, v_amount);
  elsif v_refusal is null and p_action = 'credit_wallet' then
    perform money.unmatched_book(e, p, case when o.id is null then p.account_id
      else money.account_of('wallet', 'customer', o.user_id, o.currency) end, v_amount);
  elsif v_refusal is null then
    v_refusal := money.payment_refunded(
      money.unmatched_book(e, p, money.account_of('wallet', 'tenant', null, p.currency), v_amount),
      jsonb_build_object('refund_id', 'resolved-' || e.id, 'amount', v_amount::text, 'unit', 'major'));
  end if;
  if v_refusal is not null then
    perform app.fail('payment_action_not_possible', jsonb_build_object('field', 'action', 'reason', v_refusal));
  end if;
  if e.facts ->> 'kind' = 'paid' then
    perform money.refunds_told_before(e.gateway_code, e.facts ->> 'transaction_id', array[v_tenant]);
  end if;
exception when unique_violation then
  -- Another payment took the transaction meanwhile.
  perform app.fail('payment_action_not_possible', '{"field": "action", "reason": "transaction_already_used"}');
end $function$;

CREATE OR REPLACE FUNCTION money.webhook_event_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'event_id')::uuid;
  e money.payment_webhook_events;
begin
  if input ->> 'action' is not null then
    perform money.unmatched_settle(v_id, input ->> 'action');
  end if;
  e := money.lock_unmatched_event(v_id);
  update money.payment_webhook_events x set resolution = input ->> 'resolution', resolution_note = input ->> 'note',
    action = input ->> 'action', resolved_by = app.user_id(), resolved_at = now()
  where x.tenant_id = v_tenant and (x.id = e.id or (input ->> 'action' is not null and x.payment_id = e.payment_id
    and x.outcome = 'unmatched' and x.resolution is null and x.facts ->> 'kind' = e.facts ->> 'kind'
    and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id' and x.facts ->> 'refund_id' is not distinct from e.facts ->> 'refund_id'));
  return (select to_jsonb(l) from money.webhook_events_list l where l.id = e.id);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_after_gateway_refund()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.order_id;
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', new.amount, 'payment_id', new.id,
    'refund_method', new.payment_method));
  perform tenancy.notify_tenant_admins('order_refunded_at_gateway', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'status', o.status, 'payment_id', new.id, 'gateway_code', new.gateway_code, 'amount', new.amount, 'currency', new.currency));
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_after_gateway_refund"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_give_back(o storefront.storefront_orders, p_amount numeric, p_note text, p_hash bytea DEFAULT NULL::bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, reference,
    snapshot, actor_id, processed_at, idempotency_key, input_hash)
  values (o.tenant_id, 'ORDER', 'REFUND', 'SUCCESS', 'wallet', p_amount, o.currency,
    money.account_of('wallet', 'customer', o.user_id, o.currency), o.id, o.order_number,
    case when p_note is not null then jsonb_build_object('note', p_note) end, app.user_id(), now(),
    case when p_hash is not null then app.request_setting('idempotency_key') end, p_hash)
  returning * into p;
  perform money.book_payment(p, 'order_refund', money.account_of('wallet', 'tenant', null, o.currency), p.account_id, o.order_number);
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id,
    'refund_method', p.payment_method));
  return storefront.refund_to_json(p);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refundable(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  return (
    select greatest(coalesce(sum(case p.type when 'ORDER' then p.amount - money.refunds_open(p) when 'REFUND' then -p.amount end), 0), 0)
    from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id and p.status = 'SUCCESS');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_state_to_json(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return to_jsonb(o) - '{tenant_id,status_group,status_note,back_ref,cart_id,payment_method_type_id,city,delivery_id,changed}'::text[]
    || jsonb_build_object(
    'payments', (
      select coalesce(jsonb_agg(storefront.payment_to_json(p) || jsonb_build_object('gateway_code', p.gateway_code)
        order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id),
    'refunded_amount', (
      select coalesce(sum(p.amount), 0) from money.payments p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'REFUND' and p.status = 'SUCCESS'),
    'status_history', (
      select coalesce(jsonb_agg(jsonb_build_object('status', h.status, 'timestamp', h.created_at, 'note', h.note,
        'updated_by', h.updated_by) order by h.id), '[]')
      from storefront.storefront_order_history h where h.tenant_id = o.tenant_id and h.order_id = o.id),
    'delivery_assignment', storefront.order_assignment(o), 'deliveries', storefront.order_deliveries_to_json(o), 'short', storefront.order_short(o));
end $function$;

CREATE TRIGGER refunded_at_gateway AFTER INSERT ON money.payments FOR EACH ROW WHEN (((new.type = 'REFUND'::text) AND (new.payment_method = 'gateway'::text) AND (new.order_id IS NOT NULL))) EXECUTE FUNCTION storefront.order_after_gateway_refund();

REVOKE ALL ON FUNCTION "money"."currency_is"(money.payments, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."gateway_refund_from"(money.payments) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."gateway_refund_write"(money.payments, numeric, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."payment_left"(money.payments) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."payment_postings"(money.payments, text, uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."refunds_open"(money.payments) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."unmatched_refund"(money.payment_webhook_events, money.payments, numeric) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_after_gateway_refund"() FROM PUBLIC;

insert into integration.event_types (event_type, source_module, entity_type, event_data)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery.outcome}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason_code": "string?", "actor_id": "uuid?"}'),
  ('{delivery.postponed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "postponed_to": "string", "reason_code": "string", "actor_id": "uuid?"}'),
  ('{delivery.outcome_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "shortage": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string", "from_user_id": "uuid?", "to_user_id": "uuid?",
      "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.reversed}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.opened}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "actor_id": "uuid?"}'),
  ('{merchant_statement.paid}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reference": "string?", "actor_id": "uuid"}'),
  ('{merchant_statement.reversed}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.voided}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "reason": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill_return.refund_due}', 'warehousing', 'delivery',
    '{"delivery_id": "uuid", "waybill_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_return.refund_due}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due,order.fee_not_collected}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "refund_method": "string", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.deleted}', 'tenants', 'tenant', '{"tenant_id": "uuid", "files": "integer", "people": "integer", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128063246';
end $$;

grant execute on function private.schema_version() to barid_api;
