-- An order that ends before it leaves, and money that goes back.

-- Holds an order with its picks and all its deliveries, which are locked first, as drivers do. Fails: order_not_found, version_conflict.
create or replace function storefront.lock_order_and_deliveries(order_id uuid) returns storefront.storefront_orders
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_deliveries uuid[] := array(select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.order_id = lock_order_and_deliveries.order_id);
  o storefront.storefront_orders;
begin
  perform delivery.lock_deliveries(v_deliveries);
  o := storefront.lock_order(lock_order_and_deliveries.order_id);
  if exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.order_id = o.id and d.id <> all (v_deliveries)) then
    -- Approved between the two looks: begin again, in the right order.
    raise exception 'order % got its deliveries meanwhile', o.id using errcode = 'serialization_failure';
  end if;
  perform from warehousing.picking_orders k where k.tenant_id = v_tenant and k.order_id = o.id order by k.id for no key update;
  -- Nobody picks any more: what was read of the picks is what holds.
  perform private.version_unchanged();
  return o;
end $$;

-- Cancels an order that has not left: cancels each of its deliveries, refunds the rest of its payment to the customer's
-- wallet unless refund_required is false, and releases the reserved goods.
-- {order_id, reason, admin_notes?, refund_required?}
-- -> {order {id, order_number, status, cancelled_at, cancel_reason, admin_notes}, inventory_released, refund or null,
--     delivery_cancelled}
-- Fails: order_not_found, order_not_cancellable, what delivery.parcel_cancel and order_refund fail with.
create or replace function storefront.order_cancel(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return storefront.order_end_cancelled(input, came_back => false);
end $$;

-- Ends an order that the shop delivers itself and its customer did not get; one that deliveries brought ends with them
-- (storefront.order_after_delivery_ended). Cash for it was never taken; what was paid goes back as in order_cancel, which has the same input and answer.
-- The goods that left are
-- expected in the warehouse they came from, unless their delivery named another; received there, they are available again.
-- Fails: order_not_found, invalid_status_transition, order_has_delivery, what order_refund fails with.
create or replace function storefront.order_return(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return storefront.order_end_cancelled(input, came_back => true);
end $$;

-- Ends an order as cancelled. came_back: the shop says that the goods came back. See order_cancel and order_return.
create or replace function storefront.order_end_cancelled(input jsonb, came_back boolean) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_open uuid := storefront.order_open_delivery(o);
  v_refund jsonb;
  v_released jsonb;
begin
  if came_back and o.status <> 'shipped' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'returned'));
  elsif came_back and v_open is not null then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', v_open));
  elsif not came_back and o.status not in ('pending', 'awaiting_approval', 'approved', 'confirmed') then
    perform app.fail('order_not_cancellable', jsonb_build_object('status', o.status));
  end if;
  update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason',
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = coalesce(input ->> 'admin_notes', input ->> 'reason'),
    fulfilment = case when came_back then 'returned' else x.fulfilment end
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  -- The order has ended, so that its fee passes to no other and nobody is asked to deliver it anew.
  perform delivery.parcel_cancel(jsonb_build_object('id', d.id, 'reason', input ->> 'reason'))
  from (select x.id from delivery.deliveries x where x.tenant_id = o.tenant_id and x.order_id = o.id
    and x.status in ('draft', 'pending', 'assigned', 'accepted') order by x.id) d;
  perform storefront.order_picks_drop(o.id);
  if came_back then
    perform storefront.order_goods_expect(o.id);
  end if;
  perform storefront.order_payment_drop(o.id);
  if o.payment_status = 'paid' and app.boolean_or(input -> 'refund_required', true) and storefront.order_refundable(o) > 0 then
    v_refund := storefront.order_refund_book(o.id, null, input ->> 'reason');
  end if;
  v_released := warehousing.stock_release('order', o.id);
  return jsonb_build_object('order', jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', o.status,
      'cancelled_at', o.cancelled_at, 'cancel_reason', o.cancel_reason, 'admin_notes', o.admin_notes),
    'inventory_released', v_released <> '[]', 'refund', v_refund, 'delivery_cancelled', v_open is not null);
end $$;

-- Gives money of a paid order back to its customer's wallet, by hand (storefront.order_refund_by_hand).
-- {order_id, amount?, note?} -> {order, refund}, also to a repetition of its key,
-- for good: with the order as it is by then.
-- Fails: order_not_found, idempotency_conflict, order_not_paid, nothing_to_refund, refund_too_high, too_many_decimals, insufficient_wallet_balance.
create or replace function storefront.order_refund(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
  v_refund := storefront.order_refund_by_hand(o.id, v_amount, input ->> 'note', v_hash);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $$;
