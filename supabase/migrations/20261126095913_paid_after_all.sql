-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table money.payments in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "money"."payments" DROP CONSTRAINT "texts_within_bounds";

DROP FUNCTION "delivery"."wallet_payment_add"(text, uuid, numeric, text, jsonb);

DROP FUNCTION "storefront"."order_give_back"(storefront.storefront_orders, numeric, text);

DROP FUNCTION "storefront"."order_refund_book"(uuid, numeric, text);

ALTER TABLE "money"."payments" ADD COLUMN "final_answer_at" timestamp with time zone;

ALTER TABLE "money"."payments" ADD COLUMN "idempotency_key" text;

ALTER TABLE "money"."payments" ADD COLUMN "input_hash" bytea;

CREATE OR REPLACE FUNCTION delivery.delivery_people(input jsonb, OUT customer_id uuid, OUT institution_user_id uuid)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_person record;
begin
  if input ->> 'order_id' is not null then
    customer_id := (input ->> 'customer_id')::uuid;
    return;
  end if;
  if not app.sees_tenant() then
    for v_person in select v.id from (values ((input ->> 'customer_id')::uuid), ((input ->> 'institution_user_id')::uuid)) v (id) loop
      if v_person.id <> app.user_id() then
        perform app.fail('forbidden');
      end if;
    end loop;
    if app.has_role('institution') then
      institution_user_id := app.user_id();
    else
      customer_id := app.user_id();
    end if;
    return;
  end if;
  if input ->> 'original_delivery_id' is not null then
    select d.customer_id, d.institution_user_id into customer_id, institution_user_id from delivery.deliveries d
    where d.id = (input ->> 'original_delivery_id')::uuid and d.customer_id is not distinct from (input ->> 'customer_id')::uuid
      and d.institution_user_id is not distinct from (input ->> 'institution_user_id')::uuid;
    if found then
      return;
    end if;
  end if;
  for v_person in
    select v.id, v.field, u.tenant_user_type as type
    from (values ((input ->> 'customer_id')::uuid, 'customer_id'), ((input ->> 'institution_user_id')::uuid, 'institution_user_id')) v (id, field)
    left join tenancy.tenant_users u on u.tenant_id = v_tenant and u.user_id = v.id and u.is_active
    where v.id is not null
  loop
    -- An institution may be named as the customer it is.
    if v_person.type = 'institution' then
      institution_user_id := v_person.id;
    elsif v_person.type = 'customer' and v_person.field = 'customer_id' then
      customer_id := v_person.id;
    else
      perform app.fail('customer_not_found', jsonb_build_object('field', v_person.field));
    end if;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_sent jsonb := jsonb_strip_nulls(input);
  v_old jsonb;
  v_end text;
begin
  -- A leg that waits as a draft is part of an order.
  if d.status <> 'draft' or d.parent_id is not null then
    return delivery.delivery_correct(d, input);
  end if;
  perform delivery.require_owner(d);
  v_old := jsonb_strip_nulls(jsonb_build_object('customer_id', d.customer_id, 'institution_user_id', d.institution_user_id,
    'delivery_service_id', d.delivery_service_id, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'cod_amount', d.cod_amount,
    'unit_size', case d.unit_size_source when 'unit_size' then d.unit_size end, 'package', d.package_details, 'recipient', d.recipient,
    'external_reference_id', d.external_reference_id, 'notes', d.notes, 'promised_at', d.promised_at,
    'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'carrier_type', d.carrier_type, 'carrier_code', d.carrier_code,
    'original_delivery_id', d.original_delivery_id, 'pickup_address_id', d.pickup_address_id, 'dropoff_address_id', d.dropoff_address_id,
    'pickup_warehouse_id', d.pickup_warehouse_id, 'dropoff_warehouse_id', delivery.ends_in(d)));
  v_old := v_old - array(select k.word from jsonb_object_keys(input) k (word) where not v_sent ? k.word);
  -- A place is said in one way: a new one takes the others away.
  foreach v_end in array '{pickup,dropoff}'::text[] loop
    if v_sent ?| array[v_end, v_end || '_address_id', v_end || '_warehouse_id'] then
      v_old := v_old - array[v_end || '_address_id', v_end || '_warehouse_id'];
    end if;
  end loop;
  if v_sent ?| '{customer_id,institution_user_id}' then
    v_old := v_old - '{customer_id,institution_user_id}'::text[];
  end if;
  v_sent := v_old || v_sent || jsonb_build_object('delivery_flow', case d.delivery_flow when 'pnd_parent' then 'standard' else d.delivery_flow end);
  perform delivery.delivery_rewrite(d, delivery.delivery_terms(v_sent), v_sent);
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.wallet_adjust(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_wallet uuid := (input ->> 'id')::uuid;
  v_amount numeric := (input ->> 'amount')::numeric;
  v_signed numeric := case input ->> 'direction' when 'credit' then v_amount else -v_amount end;
  v_currency text := delivery.wallet_get(input) ->> 'currency';
  v_decimals integer := money.decimals_of(v_currency);
  v_hash bytea := money.request_hash(input);
  v_payment uuid := (money.payment_of_key('WALLET_ADJUSTMENT', v_hash)).id;
  v_row jsonb;
begin
  if v_payment is not null then
    return delivery.wallet_moved(v_wallet, v_payment, 'WALLET_ADJUSTMENT', v_payment);
  end if;
  if v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', v_currency, 'decimals', v_decimals));
  end if;
  v_payment := delivery.wallet_payment_add('WALLET_ADJUSTMENT', v_wallet, v_amount, v_currency,
    jsonb_build_object('direction', input ->> 'direction', 'reason', input ->> 'reason'), v_hash);
  v_row := jsonb_build_object('journal', v_payment, 'kind', 'WALLET_ADJUSTMENT', 'reference_type', 'payment',
    'reference_id', v_payment, 'description', input ->> 'reason');
  perform money.post(jsonb_build_array(
    v_row || jsonb_build_object('account_id', v_wallet, 'amount', v_signed),
    v_row || jsonb_build_object('account_id', money.account_of('external', 'tenant', null, v_currency), 'amount', -v_signed)));
  return delivery.wallet_moved(v_wallet, v_payment, 'WALLET_ADJUSTMENT', v_payment);
end $function$;

CREATE OR REPLACE FUNCTION delivery.wallet_payment_add(type text, wallet uuid, amount numeric, currency text, snapshot jsonb, hash bytea DEFAULT NULL::bytea)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_payment uuid;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, snapshot,
    actor_id, processed_at, idempotency_key, input_hash)
  values (app.tenant_id(), 'WALLET', type, 'SUCCESS', 'manual', amount, currency, wallet, snapshot, app.user_id(), now(),
    case when hash is not null then app.request_setting('idempotency_key') end, hash)
  returning id into v_payment;
  return v_payment;
end $function$;

CREATE OR REPLACE FUNCTION money.payment_answered(p_payment uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update money.payments x set final_answer_at = clock_timestamp()
  where x.id = p_payment and x.expires_at <= clock_timestamp() and x.final_answer_at is null;
end $function$;

REVOKE ALL ON FUNCTION "money"."payment_answered"(uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.payment_check(p_payment uuid, p_code text, p_number text, pause interval)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION money.payment_of_key(p_type text, hash bytea)
 RETURNS money.payments
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  select x.* into p from money.payments x
  where x.tenant_id = app.tenant_id() and x.actor_id = app.user_id() and x.type = p_type
    and x.idempotency_key = app.request_setting('idempotency_key');
  if p.input_hash <> hash then
    perform app.fail('idempotency_conflict');
  end if;
  return p;
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
  where p.payment_method = 'gateway' and p.status in ('pending', 'FAILED') and money.payment_may_come(p)
    and p.created_at > now() - interval '72 hours' and p.created_at < now() - interval '1 minute'
    and (p.created_at > now() - interval '24 hours 15 minutes' or p.expires_at <= now() and p.final_answer_at is null)
    and (p.last_checked_at is null or p.last_checked_at < now() - case when p.created_at > now() - interval '24 hours 15 minutes'
      then interval '4 minutes' else interval '1 hour' end)
    and not exists (select from app.jobs j where j.entity_key = p.id::text and j.status in ('queued', 'running'))
  order by p.last_checked_at nulls first limit 1000;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION money.request_hash(input jsonb)
 RETURNS bytea
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when app.request_setting('idempotency_key') is not null then sha256(convert_to(jsonb_strip_nulls(input)::text, 'UTF8')) end;
end $function$;

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
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id));
  return storefront.refund_to_json(p);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_give_back"(storefront.storefront_orders, numeric, text, bytea) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_refund(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_decimals integer := money.decimals_of(o.currency);
  v_hash bytea := money.request_hash(input);
  v_known money.payments := money.payment_of_key('REFUND', v_hash);
  v_refund jsonb;
begin
  if v_known.id is not null then
    return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', storefront.refund_to_json(v_known));
  end if;
  if o.payment_status <> 'paid' then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  elsif v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', o.currency, 'decimals', v_decimals));
  end if;
  v_refund := storefront.order_refund_book(o.id, v_amount, input ->> 'note', v_hash);
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund_book(p_order uuid, p_amount numeric DEFAULT NULL::numeric, p_note text DEFAULT NULL::text, p_hash bytea DEFAULT NULL::bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_left numeric;
begin
  select * into o from storefront.storefront_orders x
  where x.tenant_id = app.tenant_id() and x.id = p_order and app.has_permission('manage:tenant');
  if o.id is null then
    perform app.fail('order_not_found');
  end if;
  v_left := storefront.order_refundable(o);
  if v_left <= 0 then
    perform app.fail('nothing_to_refund');
  elsif p_amount > v_left then
    perform app.fail('refund_too_high', jsonb_build_object('field', 'amount', 'amount', v_left, 'currency', o.currency));
  end if;
  return storefront.order_give_back(o, coalesce(p_amount, v_left), p_note, p_hash);
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_expire()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_orders uuid[];
  v_count bigint := 0;
begin
  for v_tenant in
    select distinct o.tenant_id from storefront.storefront_orders o
    where o.payment_method = 'gateway' and o.payment_status <> 'paid' and o.status in ('pending', 'awaiting_approval')
      and o.created_at < now() - interval '24 hours'
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    with due as (
      select o.id from storefront.storefront_orders o
      where o.tenant_id = v_tenant and o.payment_method = 'gateway' and o.payment_status <> 'paid'
        and o.status in ('pending', 'awaiting_approval') and o.created_at < now() - interval '24 hours'
        and not storefront.order_has_unmatched_payment(o)
        and not (o.created_at > now() - interval '72 hours' and exists (
          select from money.payments p
          where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.expires_at <= now() and p.final_answer_at is null
            and money.payment_may_come(p)))
      order by o.created_at limit 500 for no key update skip locked
    ), ended as (
      update storefront.storefront_orders o set status = 'cancelled', cancelled_at = now(), cancel_reason = 'payment_failed',
        status_note = 'payment_failed'
      from due where o.tenant_id = v_tenant and o.id = due.id returning o.id
    )
    select coalesce(array_agg(e.id), '{}') into v_orders from ended e;
    perform storefront.order_payment_drop(e.id) from unnest(v_orders) e (id);
    v_count := v_count + cardinality(v_orders);
  end loop;
  return v_count;
end $function$;

ALTER TABLE "money"."payments" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(category) <= 1000) AND (octet_length(type) <= 1000) AND (octet_length(status) <= 1000) AND (octet_length(payment_method) <= 1000) AND (octet_length(gateway_code) <= 1000) AND (octet_length(gateway_order_id) <= 1000) AND (octet_length(gateway_reference) <= 1000) AND (octet_length(gateway_transaction_id) <= 1000) AND (octet_length(terminal) <= 1000) AND (octet_length(redirect_url) <= 4000) AND (octet_length(back_ref) <= 4000) AND (octet_length(reference) <= 1000) AND (octet_length(idempotency_key) <= 1000))) NOT VALID;

REVOKE ALL ON FUNCTION "delivery"."wallet_payment_add"(text, uuid, numeric, text, jsonb, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."wallet_payment_add"(text, uuid, numeric, text, jsonb, bytea) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."payment_answered"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."payment_answered"(uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "money"."payment_of_key"(text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."payment_of_key"(text, bytea) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."request_hash"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."request_hash"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."order_give_back"(storefront.storefront_orders, numeric, text, bytea) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_refund_book"(uuid, numeric, text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_refund_book"(uuid, numeric, text, bytea) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126095913';
end $$;

grant execute on function private.schema_version() to barid_api;
