-- An order that ends before it leaves, and money that goes back.

-- Cancels an order that has not left: its delivery is called off, what is left of what was paid goes to the customer's
-- wallet unless that is not wanted, and what was set aside is given back. The delivery is locked before its order, as
-- drivers do.
-- {order_id, reason, admin_notes?, refund_required?}
-- -> {order {id, order_number, status, cancelled_at, cancel_reason, admin_notes}, inventory_released, refund or null,
--     delivery_cancelled}
-- Fails: order_not_found, order_not_cancellable, what delivery_cancel and order_refund fail with.
create or replace function storefront.order_cancel(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return storefront.order_call_off(input, came_back => false);
end $$;

-- Ends a shipped order that its customer did not get: one sent by the shop's own means, or whose delivery is over. Cash for
-- it was never taken; what was paid goes back as in order_cancel, which has the same input and answer. The goods come into
-- stock when a warehouse receives them.
-- Fails: order_not_found, invalid_status_transition, order_has_delivery, what order_refund fails with.
create or replace function storefront.order_return(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  return storefront.order_call_off(input, came_back => true);
end $$;

-- Ends an order as cancelled. came_back: the administrator says so himself. See order_cancel and order_return.
create or replace function storefront.order_call_off(input jsonb, came_back boolean) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'order_id')::uuid;
  v_delivery uuid;
  v_status text;
  o storefront.storefront_orders;
  v_refund jsonb;
  v_released jsonb;
begin
  select x.delivery_id into v_delivery from storefront.storefront_orders x where x.tenant_id = v_tenant and x.id = v_id;
  if v_delivery is not null then
    v_status := (delivery.delivery_lock(v_delivery)).status;
  end if;
  o := storefront.order_hold(v_id);
  if o.delivery_id is distinct from v_delivery then
    -- Approved between the two looks: begin again, in the right order.
    raise exception 'order % got its delivery meanwhile', v_id using errcode = 'serialization_failure';
  elsif came_back and o.status <> 'shipped' then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', o.status, 'to', 'returned'));
  elsif came_back and v_status not in ('returned', 'cancelled') then
    perform app.fail('order_has_delivery', jsonb_build_object('delivery_id', v_delivery));
  elsif not came_back and o.status not in ('pending', 'awaiting_approval', 'approved', 'confirmed') then
    perform app.fail('order_not_cancellable', jsonb_build_object('status', o.status));
  end if;
  if v_status in ('draft', 'pending', 'assigned', 'accepted') then
    perform delivery.delivery_cancel(jsonb_build_object('id', v_delivery, 'reason', input ->> 'reason'));
  end if;
  update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason',
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = coalesce(input ->> 'admin_notes', input ->> 'reason')
  where x.tenant_id = v_tenant and x.id = v_id
  returning * into o;
  perform private.order_payment_drop(v_id);
  if o.payment_status = 'paid' and app.boolean_or(input -> 'refund_required', true) and private.order_refundable(o) > 0 then
    v_refund := private.order_refund(v_id, null, input ->> 'reason');
  end if;
  v_released := warehousing.stock_release('order', v_id);
  return jsonb_build_object('order', jsonb_build_object('id', o.id, 'order_number', o.order_number, 'status', o.status,
      'cancelled_at', o.cancelled_at, 'cancel_reason', o.cancel_reason, 'admin_notes', o.admin_notes),
    'inventory_released', v_released <> '[]', 'refund', v_refund,
    'delivery_cancelled', coalesce(v_status in ('draft', 'pending', 'assigned', 'accepted'), false));
end $$;

-- Gives money of a paid order back to its customer's wallet. {order_id, amount?, note?} -> {order, refund}
-- Fails: order_not_found, order_not_paid, nothing_to_refund, refund_too_high, too_many_decimals, insufficient_wallet_balance.
create or replace function storefront.order_refund(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.order_hold((input ->> 'order_id')::uuid);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_decimals integer := money.decimals_of(o.currency);
  v_refund jsonb;
begin
  if o.payment_status <> 'paid' then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  elsif v_amount <> round(v_amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'amount', 'currency', o.currency, 'decimals', v_decimals));
  end if;
  v_refund := private.order_refund(o.id, v_amount, input ->> 'note');
  return jsonb_build_object('order', storefront.order_for_admin(o), 'refund', v_refund);
end $$;
