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
      set local lock_timeout = '500ms';
      lock table storefront.storefront_orders in share row exclusive mode;
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

CREATE OR REPLACE FUNCTION storefront.order_again_notify(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform storefront.order_customer_notify(o, 'order_shipped_again', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
    'undone', d.status_reason is not distinct from 'outcome_undone'))
  from storefront.storefront_orders o
  where o.tenant_id = d.tenant_id and o.id = d.order_id and o.status = 'shipped' and 'failed' = (
    -- Before the move that it has just made.
    select h.to_status from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status in ('picked_up', 'in_transit', 'failed')
    order by h.id desc offset 1 limit 1);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_again_notify"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_customer_notify(o storefront.storefront_orders, type text, more jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select u.tenant_id, u.user_id, order_customer_notify.type, jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'market_id', o.market_id, 'status', storefront.customer_status(o)) || more
  from tenancy.tenant_users u
  where u.tenant_id = o.tenant_id and u.user_id = o.user_id and u.is_active and u.user_id is distinct from app.user_id();
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_customer_notify"(storefront.storefront_orders, text, jsonb) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_failed_notify(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform storefront.order_customer_notify(o, 'order_not_delivered', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
    'reason_label', (
      select r.reason -> 'label' from jsonb_array_elements(tenancy.attempt_settings() -> 'reasons') r (reason)
      where r.reason ->> 'value' = d.status_reason),
    'postponed_to', d.postponed_to,
    'next', case when d.postponed_to is not null then 'postponed'
      when d.attempts_exhausted or d.attempts_used >= coalesce(s.allowed_delivery_attempts, 1) then 'decision' else 'attempt' end))
  from storefront.storefront_orders o
  left join delivery.delivery_services s on s.tenant_id = d.tenant_id and s.id = d.delivery_service_id
  where o.tenant_id = d.tenant_id and o.id = d.order_id and o.status = 'shipped';
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_failed_notify"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_goods_short(p_tenant uuid, p_order uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('name', i.product_name, 'sku', i.sku, 'quantity', s.quantity) order by i.position, i.id), '[]')
    from (
      select g.order_item_id, sum(g.short) as quantity from storefront.storefront_order_parts p
      join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id and g.short > 0
      where p.tenant_id = p_tenant and p.order_id = p_order group by 1) s
    join storefront.storefront_order_items i on i.tenant_id = p_tenant and i.id = s.order_item_id);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_goods_short"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_refund_notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform storefront.order_customer_notify(o, 'order_refunded', storefront.refund_notice(new))
  from storefront.storefront_orders o
  where o.tenant_id = new.tenant_id and o.id = new.order_id and not exists (
    select from tenancy.notifications n
    where n.user_id = o.user_id and n.created_at = now() and n.payload ->> 'payment_id' = new.id::text);
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_refund_notify"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_step_notify()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders;
  p money.payments;
  v_more jsonb := '{}';
begin
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.id;
  if o.status <> new.status then
    return null;
  end if;
  select * into p from money.payments x
  where x.tenant_id = o.tenant_id and x.order_id = o.id and x.type = 'REFUND' and x.status = 'SUCCESS' and x.processed_at = now();
  if p.id is not null then
    v_more := storefront.refund_notice(p);
  elsif o.refund_due_amount > 0 then
    v_more := jsonb_build_object('refund_due_amount', o.refund_due_amount, 'currency', o.currency);
  end if;
  if new.status = old.status then
    perform storefront.order_customer_notify(o, 'order_shortened', v_more
      || jsonb_build_object('missing', storefront.order_goods_short(o.tenant_id, o.id), 'total_price', o.total_price, 'currency', o.currency));
  elsif new.status = 'confirmed' then
    perform storefront.order_customer_notify(o, 'order_confirmed',
      jsonb_build_object('estimated_delivery_date', (o.estimated_delivery at time zone app.timezone())::date));
  elsif new.status = 'shipped' and old.status = 'delivered' then
    perform storefront.order_customer_notify(o, 'order_shipped_again', '{"undone": true}');
  elsif new.status = 'cancelled' then
    perform storefront.order_customer_notify(o, 'order_cancelled', v_more || jsonb_build_object('fulfilment', o.fulfilment,
      'cancel_reason', case when o.cancel_reason in ('customer_request', 'out_of_stock', 'payment_failed') then o.cancel_reason end));
  else
    perform storefront.order_customer_notify(o, 'order_' || new.status, v_more || jsonb_build_object('fulfilment', o.fulfilment));
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_step_notify"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.orders_after_deliveries_moved()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_moved record;
  o storefront.storefront_orders;
begin
  for v_moved in
    select n.id, n.order_id, n.status, w.status as was, n.tenant_id, n.carrier_type from new_rows n join old_rows w on w.id = n.id
    where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit', 'delivered', 'returned', 'cancelled')
    order by n.order_id, n.id
  loop
    select * into o from storefront.storefront_orders x where x.tenant_id = v_moved.tenant_id and x.id = v_moved.order_id for no key update;
    if v_moved.status in ('picked_up', 'in_transit', 'delivered') then
      perform storefront.order_part_leaves(p, v_moved.carrier_type = 'external')
      from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = v_moved.id;
      if o.status in ('approved', 'confirmed') then
        perform storefront.order_shipped(o);
        o.status := 'shipped';
      end if;
    end if;
    if v_moved.was = 'returned' then
      perform storefront.order_fee_comes_back(o, v_moved.id);
    elsif v_moved.status in ('returned', 'cancelled') then
      perform storefront.order_fee_passes(o, v_moved.id);
    end if;
    -- Undone.
    if v_moved.was = 'delivered' or v_moved.was = 'returned' and o.status = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
    if v_moved.status = 'cancelled' then
      perform storefront.order_stranded_notify(o.id, v_moved.id);
    end if;
  end loop;
  perform storefront.order_failed_notify(n)
  from new_rows n join old_rows w on w.id = n.id where n.order_id is not null and n.status = 'failed' and w.status <> 'failed';
  perform storefront.order_again_notify(n)
  from new_rows n join old_rows w on w.id = n.id
  where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit') and w.status <> 'delivered';
  -- Goods that were sent back are received when their parcel is back, whatever becomes of the rest of the order.
  for v_moved in
    select p.order_id from new_rows n join old_rows w on w.id = n.id
    join delivery.deliveries p on p.tenant_id = n.tenant_id and p.id = n.original_delivery_id
    where n.delivery_flow = 'operational_return' and n.status = 'delivered' and w.status <> 'delivered' and p.order_id is not null
    order by p.order_id
  loop
    perform from storefront.storefront_orders x where x.tenant_id = app.tenant_id() and x.id = v_moved.order_id for no key update;
    perform storefront.order_goods_expect(v_moved.order_id);
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION storefront.refund_notice(p money.payments)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('payment_id', p.id, 'refunded_amount', p.amount, 'refund_method', p.payment_method, 'currency', p.currency);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."refund_notice"(money.payments) FROM "barid_caller";

CREATE CONSTRAINT TRIGGER refund_notify AFTER INSERT ON money.payments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.type = 'REFUND'::text) AND (new.status = 'SUCCESS'::text) AND (new.order_id IS NOT NULL))) EXECUTE FUNCTION storefront.order_refund_notify();

CREATE CONSTRAINT TRIGGER step_notify AFTER UPDATE ON storefront.storefront_orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((new.status <> old.status) AND (new.status = ANY (ARRAY['confirmed'::text, 'shipped'::text, 'delivered'::text, 'cancelled'::text]))) OR ((new.status = old.status) AND (new.subtotal < old.subtotal)))) EXECUTE FUNCTION storefront.order_step_notify();

REVOKE ALL ON FUNCTION "storefront"."order_again_notify"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_customer_notify"(storefront.storefront_orders, text, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_failed_notify"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_goods_short"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_refund_notify"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_step_notify"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."refund_notice"(money.payments) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129214239';
end $$;

grant execute on function private.schema_version() to barid_api;
