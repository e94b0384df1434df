-- Notifications of an order's customer, of each step that they did not take themselves. All that one transaction does to an order is one
-- notification, written at its end, when what it refunds is known.

-- Notifies the customer of an order, unless the step is their own or they have left the company.
create or replace function storefront.order_customer_notify(o storefront.storefront_orders, type text, more jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select u.tenant_id, u.user_id, order_customer_notify.type, jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'market_id', o.market_id, 'status', storefront.customer_status(o)) || more
  from tenancy.tenant_users u
  where u.tenant_id = o.tenant_id and u.user_id = o.user_id and u.is_active and u.user_id is distinct from app.user_id();
end $$;

-- A refund as notifications say it. -> {payment_id, refunded_amount, refund_method, currency}
create or replace function storefront.refund_notice(p money.payments) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('payment_id', p.id, 'refunded_amount', p.amount, 'refund_method', p.payment_method, 'currency', p.currency);
end $$;

-- The goods that an order comes without: [{name, sku, quantity}].
create or replace function storefront.order_goods_short(p_tenant uuid, p_order uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('name', i.product_name, 'sku', i.sku, 'quantity', s.quantity) order by i.position, i.id), '[]')
    from (
      select g.order_item_id, sum(g.short) as quantity from storefront.storefront_order_parts p
      join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id and g.short > 0
      where p.tenant_id = p_tenant and p.order_id = p_order group by 1) s
    join storefront.storefront_order_items i on i.tenant_id = p_tenant and i.id = s.order_item_id);
end $$;

-- Notifies the customer of a new status of their order, or that it comes without some of its goods, with what is refunded or owed to them for it.
-- A status that is another one by the end of the transaction is passed over.
create or replace function storefront.order_step_notify() returns trigger
language plpgsql security definer set search_path = '' as $$
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
end $$;

-- After `settle`, which refunds: triggers of one event fire by name.
drop trigger if exists step_notify on storefront.storefront_orders;
create constraint trigger step_notify after update on storefront.storefront_orders
  deferrable initially deferred for each row
  when (new.status <> old.status and new.status in ('confirmed', 'shipped', 'delivered', 'cancelled')
    or new.status = old.status and new.subtotal < old.subtotal)
  execute function storefront.order_step_notify();

-- Notifies the customer of a refund of their order, unless a notification of this transaction has named it.
create or replace function storefront.order_refund_notify() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform storefront.order_customer_notify(o, 'order_refunded', storefront.refund_notice(new))
  from storefront.storefront_orders o
  where o.tenant_id = new.tenant_id and o.id = new.order_id and not exists (
    select from tenancy.notifications n
    where n.user_id = o.user_id and n.created_at = now() and n.payload ->> 'payment_id' = new.id::text);
  return null;
end $$;

drop trigger if exists refund_notify on money.payments;
create constraint trigger refund_notify after insert on money.payments
  deferrable initially deferred for each row
  when (new.type = 'REFUND' and new.status = 'SUCCESS' and new.order_id is not null)
  execute function storefront.order_refund_notify();

-- Notifies the customer of an order of which a delivery could not be handed over, with its reason and what follows: another attempt on a day
-- (postponed), another one (attempt), or what the shop decides (decision). d: the delivery, which has failed.
create or replace function storefront.order_failed_notify(d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
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
end $$;

-- Notifies the customer of an order that a delivery which had failed is on its way again, or never failed: its report was undone.
-- d: the delivery, which is on its way.
create or replace function storefront.order_again_notify(d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
begin
  perform storefront.order_customer_notify(o, 'order_shipped_again', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
    'undone', d.status_reason is not distinct from 'outcome_undone'))
  from storefront.storefront_orders o
  where o.tenant_id = d.tenant_id and o.id = d.order_id and o.status = 'shipped' and 'failed' = (
    -- Before the move that it has just made.
    select h.to_status from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status in ('picked_up', 'in_transit', 'failed')
    order by h.id desc offset 1 limit 1);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_customer_notify(storefront.storefront_orders, text, jsonb), storefront.refund_notice(money.payments),
  storefront.order_goods_short(uuid, uuid), storefront.order_step_notify(), storefront.order_refund_notify(),
  storefront.order_failed_notify(delivery.deliveries), storefront.order_again_notify(delivery.deliveries) from barid_caller;
