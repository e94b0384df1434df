-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table storefront.storefront_orders in access exclusive mode;
      set local lock_timeout = '500ms';
      alter view storefront.orders_list reset (security_barrier);
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

DROP VIEW "storefront"."orders_list";

ALTER TABLE "storefront"."storefront_orders" ADD COLUMN "refund_due_amount" numeric(18,3) NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION storefront.order_after_gateway_refund()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
begin
  perform storefront.order_due_given(new);
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.order_id;
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', new.amount, 'payment_id', new.id,
    'refund_method', new.payment_method));
  perform tenancy.notify_tenant_admins('order_refunded_at_gateway', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'status', o.status, 'payment_id', new.id, 'gateway_code', new.gateway_code, 'amount', new.amount, 'currency', new.currency));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_customer_to_json(o storefront.storefront_orders)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', storefront.customer_status(o),
    'paymentStatus', o.payment_status, 'paymentMethod', o.payment_method, 'subtotal', o.subtotal, 'taxAmount', o.tax_amount,
    'deliveryFee', o.shipping_cost, 'discountAmount', o.discount_amount, 'totalPrice', o.total_price, 'currency', o.currency,
    'totalItems', o.total_items, 'fulfilment', o.fulfilment, 'customerNotes', o.customer_notes, 'shippingAddress', o.shipping_address,
    'deliveryAddresses', (
      select coalesce(jsonb_agg(a.address order by a.first), '[]') from (
        select storefront.delivery_address_to_json(d) as address, min(d.delivery_code) as first from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status <> 'cancelled' group by 1) a),
    'createdAt', o.created_at, 'updatedAt', o.updated_at, 'refund_due', storefront.order_has_unmatched_payment(o) or storefront.order_refund_due(o) > 0,
    'items', (
      select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'variantId', i.variant_id, 'productId', i.product_id,
        'productName', i.product_name, 'sku', i.sku, 'attributes', i.attributes, 'images', i.images, 'quantity', i.quantity,
        'unitPrice', i.unit_price, 'total', i.total, 'short', coalesce(s.units, 0)) order by i.position), '[]')
      from storefront.storefront_order_items i
      left join storefront.order_left_out(o) s on s.order_item_id = i.id
      where i.tenant_id = o.tenant_id and i.order_id = o.id),
    'market', jsonb_build_object('id', o.market_id, 'name', storefront.store_of_order(o.id),
      'settings', jsonb_build_object('currency', o.currency, 'deliveryFee', o.shipping_cost)),
    'payments', (
      select coalesce(jsonb_agg(storefront.payment_to_json(p) order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_due_given(refund money.payments)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update storefront.storefront_orders x set refund_due_amount = greatest(x.refund_due_amount - refund.amount, 0)
  where x.tenant_id = refund.tenant_id and x.id = refund.order_id and x.refund_due_amount > 0;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_due_given"(money.payments) FROM "barid_caller";

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
  perform storefront.order_due_given(p);
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id,
    'refund_method', p.payment_method));
  return storefront.refund_to_json(p);
end $function$;

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
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refund_due(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when o.refund_due_amount > 0 then least(o.refund_due_amount, storefront.order_refundable(o)) else 0 end;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_settle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  v_got record;
  v_owed numeric := 0;
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.id;
  if o.status = 'cancelled' and not exists (
      select from storefront.storefront_order_parts p
      where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is not null and p.delivery_id is not null) then
    return null;
  end if;
  perform storefront.order_picks_drop(o.id);
  -- Of a delivered order, what did not come to its customer.
  perform storefront.order_goods_expect(o.id);
  if o.status = 'cancelled' then
    perform storefront.order_payment_drop(o.id);
    if o.payment_status = 'paid' then
      v_owed := storefront.order_refundable(o);
    end if;
  elsif o.payment_status = 'paid' and o.fulfilment = 'partial' then
    -- They had got those that they sent back since: the shop says what is given back for these.
    select coalesce(sum(g.delivered + g.sent_back), 0) as units, coalesce(sum(i.unit_price * (g.delivered + g.sent_back)), 0) as value into v_got
    from storefront.order_goods g
    join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
    where g.tenant_id = o.tenant_id and g.order_id = o.id;
    -- Cash was collected for what each delivery was to bring, so it is too much only where a carrier collected for what was not found.
    v_owed := case
      when v_got.units = 0 then storefront.order_refundable(o)
      when o.payment_method = 'cash_on_delivery' then storefront.goods_price(o, storefront.order_charged_short(o))
      else storefront.order_refundable(o) - o.shipping_cost - storefront.goods_price(o, v_got.value) end;
  end if;
  -- Paid at the door is no more than its deliveries collected.
  if o.status = 'delivered' and o.payment_method = 'cash_on_delivery' and o.shipping_cost > 0 and o.total_price > 0
      and (select coalesce(max(d.delivery_fee), o.shipping_cost) = 0 from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered') then
    perform storefront.order_event_emit(o, 'fee_not_collected', jsonb_build_object('amount', least(o.shipping_cost, o.total_price)));
  end if;
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      update storefront.storefront_orders x set refund_due_amount = v_owed where x.tenant_id = o.tenant_id and x.id = o.id;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
      perform tenancy.notify_tenant_admins('order_refund_due', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
        'status', o.status, 'amount', v_owed, 'currency', o.currency));
    end;
  end if;
  perform warehousing.stock_release('order', o.id);
  return null;
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
    'refund_due_amount', storefront.order_refund_due(o),
    'status_history', (
      select coalesce(jsonb_agg(jsonb_build_object('status', h.status, 'timestamp', h.created_at, 'note', h.note,
        'updated_by', h.updated_by) order by h.id), '[]')
      from storefront.storefront_order_history h where h.tenant_id = o.tenant_id and h.order_id = o.id),
    'delivery_assignment', storefront.order_assignment(o), 'deliveries', storefront.order_deliveries_to_json(o), 'short', storefront.order_short(o));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_undelivered(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_payment uuid;
begin
  update money.payments p set status = 'pending', processed_at = null, amount = o.total_price
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS' and p.payment_method = 'cash'
    and o.status = 'delivered'
  returning p.id into v_payment;
  update storefront.storefront_orders x set status = 'shipped', delivered_at = null, status_note = 'outcome_undone', refund_due_amount = 0,
    payment_status = case when v_payment is null then x.payment_status else 'pending' end,
    fulfilment = case when exists (select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered')
      then 'partial' else 'none' end
  where x.tenant_id = o.tenant_id and x.id = o.id;
end $function$;

ALTER TABLE "storefront"."storefront_orders" ADD CONSTRAINT "storefront_orders_refund_due_amount_check" CHECK ((refund_due_amount >= (0)::numeric)) NOT VALID;

CREATE VIEW "storefront"."orders_list" WITH (security_invoker=true) AS  SELECT id,
    order_number,
    market_id,
    user_id,
    status,
    status_group,
    fulfilment,
    payment_method,
    payment_status,
    city,
    shipping_cost,
    discount_amount,
    total_price,
    total_items,
    currency,
    created_at,
    updated_at,
    (refund_due_amount > (0)::numeric) AS refund_due
   FROM storefront.storefront_orders o
  WHERE (tenant_id = ( SELECT app.tenant_id() AS tenant_id));

REVOKE ALL ON FUNCTION "storefront"."order_due_given"(money.payments) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_refund_due"(storefront.storefront_orders) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_refund_due"(storefront.storefront_orders) TO "barid_caller";

GRANT SELECT ON TABLE "storefront"."orders_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128131322';
end $$;

grant execute on function private.schema_version() to barid_api;
