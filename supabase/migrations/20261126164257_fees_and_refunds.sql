-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_refund jsonb;
  v_waiting delivery.deliveries;
  v_return record;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  -- All of a store's order, in their order: another one may have to collect its fee.
  perform delivery.lock_deliveries(array(
    select f.id from delivery.deliveries x join delivery.deliveries f on f.tenant_id = x.tenant_id and f.order_id = x.order_id
    where x.id = (input ->> 'id')::uuid));
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id) and x.delivery_flow in ('standard', 'pnd_outbound')
    and x.status in ('pending', 'assigned', 'accepted') and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  if found then
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, input);
    perform storefront.order_fee_passes(d.id);
    v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    perform storefront.orders_settle();
    return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', delivery.delivery_to_json(v_return.id));
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  perform storefront.order_fee_passes(d.id);
  if d.delivery_flow = 'customer_return' and d.status = 'draft' then
    perform delivery.return_request_cancel(d.id);
  end if;
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', null);
end $function$;

CREATE OR REPLACE FUNCTION integration.carrier_arrives(d delivery.deliveries, warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform warehousing.parcel_arrives(d.id, warehouse);
exception when sqlstate 'RULE0' then
  if sqlerrm <> 'insufficient_wallet_balance' then
    raise;
  end if;
  perform warehousing.receipt_open(d, warehouse, 'inbound');
end $function$;

REVOKE ALL ON FUNCTION "integration"."carrier_arrives"(delivery.deliveries, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.carrier_report(carrier_code text, tenant_id uuid, report jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_status text := report ->> 'status';
  v_at timestamptz;
  v_moved_at timestamptz;
  v_outcome text;
  v_duplicate boolean;
  v_moves text[];
  v_move text;
  v_delivery uuid;
  v_home uuid;
  s integration.carrier_shipments;
  d delivery.deliveries;
begin
  perform set_config('app.tenant_id', tenant_id::text, true);
  -- The delivery first, then its shipment, as everywhere; reports on one delivery take turns.
  select t.delivery_id into v_delivery from integration.carrier_shipments t
  where t.tenant_id = tenant_id and t.carrier_code = carrier_code and t.tracking_number = report ->> 'tracking_number'
  order by t.created_at desc limit 1;
  if v_delivery is not null then
    perform delivery.lock_deliveries(array[v_delivery]);
    select t.* into d from delivery.deliveries t where t.tenant_id = tenant_id and t.id = v_delivery;
    select t.* into s from integration.carrier_shipments t
    where t.tenant_id = tenant_id and t.delivery_id = v_delivery and t.carrier_code = carrier_code
      and t.tracking_number = report ->> 'tracking_number'
    order by t.created_at desc limit 1 for update;
  end if;
  select e.outcome into v_outcome from integration.carrier_events e
  where e.tenant_id = tenant_id and e.carrier_code = carrier_code and e.carrier_event_id = report ->> 'event_id';
  if found then
    return jsonb_build_object('outcome', v_outcome, 'duplicate', true);
  end if;
  -- Now that it is this report's turn: one that says no time, and waited, is not older than the one it waited for.
  v_at := least((report ->> 'occurred_at')::timestamptz, clock_timestamp());
  v_moves := integration.moves_to(d.delivery_flow, d.status, v_status);
  -- Back in the warehouse it was ordered from it is when that has received it.
  if v_status = 'returned' and d.delivery_flow = 'standard' and d.order_id is null and v_moves is not null then
    v_home := (delivery.ordered_from(d)).warehouse_id;
    if v_home is not null then
      v_moves := case when d.status = 'in_transit' then '{}'::text[] else integration.moves_to(d.delivery_flow, d.status, 'in_transit') end;
    end if;
  end if;
  -- It lies with us and goes back to its sender: whatever the carrier has in hand, it is not this parcel.
  if v_status <> 'cancelled' and delivery.return_under_way(delivery.parcel_of(d)) is not null then
    v_moves := null;
  end if;
  v_outcome := case
    when s.id is null or s.status = 'cancelled' or d.carrier_type <> 'external' then 'unknown_shipment'
    when v_status is null then 'unknown_status'
    when v_at < s.reported_at or exists (
      select from warehousing.receiving_orders r
      where r.tenant_id = tenant_id and r.delivery_id = d.id and r.status = 'received' and r.received_at > v_at) then 'too_late'
    when d.status = v_status then 'unchanged'
    when v_moves is null then 'impossible'
    else 'applied' end;
  if v_outcome in ('applied', 'unchanged') then
    update integration.carrier_shipments t set reported_at = v_at where t.id = s.id;
    if v_status = 'cancelled' then
      perform integration.shipment_given_back(s, d, report ->> 'carrier_status');
    end if;
  end if;
  if v_outcome = 'applied' then
    -- The order comes before the numbers of receipts, also of what its end expects back, and these before wallets.
    perform from storefront.storefront_orders o where o.tenant_id = tenant_id and o.id = d.order_id for no key update;
    if v_status in ('delivered', 'returned') and (d.order_id is not null or delivery.ends_in(d) is not null) then
      perform app.lock_numbers('receiving_order', true);
    end if;
    -- Before the stock of a store, which the first report moves, since what gives money back locks wallets first. An order that ends may be
    -- refunded as well.
    if v_status = 'delivered' and s.cash_due > 0 or v_status in ('delivered', 'returned') and d.order_id is not null then
      perform money.lock_wallets(array[d.customer_id, d.institution_user_id]);
    end if;
    -- A carrier's clock that is behind, or wrong, delivers nothing before it was ordered or picked up.
    v_moved_at := greatest(v_at, d.created_at, d.picked_up_at);
    foreach v_move in array v_moves loop
      update delivery.deliveries t set status = v_move,
        status_reason = case when v_move in ('failed', 'returned') then 'carrier_' || coalesce(report ->> 'carrier_status', v_move) end,
        attempts_used = t.attempts_used + case when v_move = 'failed' and delivery.attempt_counts(t) then 1 else 0 end,
        picked_up_at = case when v_move in ('picked_up', 'in_transit') then coalesce(t.picked_up_at, v_moved_at) else t.picked_up_at end,
        delivered_at = case when v_move = 'delivered' then v_moved_at else t.delivered_at end
      where t.tenant_id = tenant_id and t.id = d.id;
    end loop;
    -- On its way again, or delivered after all: the warehouse that expected it back does not any more.
    if d.status = 'returned' or d.status = 'failed' and v_status = 'in_transit' or v_status = 'delivered' then
      perform warehousing.receipts_withdraw(d.id);
    end if;
    if v_status = 'returned' and (v_home is not null or delivery.returns_to_warehouse(d)) then
      perform warehousing.receipt_expect(d.id, v_home, true);
    end if;
    if v_status = 'delivered' and s.cash_due > 0 then
      perform money.carrier_cash_collected(delivery.parcel_of(d), s.id);
    end if;
    if v_status in ('delivered', 'returned') then
      perform integration.carrier_return_refund(d, carrier_code);
    end if;
    -- The first news that it has the parcel, whatever came of it since.
    if d.status in ('pending', 'assigned', 'accepted') and v_status <> 'cancelled' then
      perform delivery.carrier_takes(d);
    end if;
    if v_status = 'delivered' and delivery.ends_in(d) is not null then
      perform integration.carrier_arrives(d, delivery.ends_in(d));
    end if;
  end if;
  insert into integration.carrier_events (tenant_id, carrier_code, carrier_event_id, tracking_number, carrier_status, delivery_id, outcome)
  values (tenant_id, carrier_code, report ->> 'event_id', report ->> 'tracking_number', report ->> 'carrier_status', d.id, v_outcome)
  on conflict on constraint carrier_event_once do nothing;
  v_duplicate := not found;
  if not v_duplicate and v_status = 'delivered' and s.cash_due > 0 and d.status <> 'delivered' and v_outcome <> 'applied' then
    insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
    values (tenant_id, 'carrier_cash.unbooked', 'carriers', 'delivery', d.id, jsonb_build_object('delivery_id', d.id,
      'shipment_id', s.id, 'carrier_code', carrier_code, 'amount', s.cash_due, 'currency', d.currency, 'status', d.status,
      'outcome', v_outcome));
  end if;
  return jsonb_build_object('outcome', v_outcome, 'duplicate', v_duplicate);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_receiver(asked uuid, field text DEFAULT 'remitted_to_user_id'::text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if asked is null then
    if (not money.settles_for_office() and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver')
        or not exists (
          select from tenancy.tenant_users u
          where u.tenant_id = app.tenant_id() and u.user_id = app.user_id()
            and (u.is_active and u.tenant_user_type = 'staff' or not money.settles_for_office())) then
      perform app.fail('receiver_required', jsonb_build_object('field', field));
    end if;
    return app.user_id();
  end if;
  if not exists (
      select from tenancy.tenant_users u
      where u.tenant_id = app.tenant_id() and u.user_id = asked and u.is_active and u.tenant_user_type = 'staff'
        and exists (
          select from tenancy.tenant_user_roles r where r.tenant_id = u.tenant_id and r.user_id = u.user_id
            and (r.role_key in ('dispatcher', 'tenant_admin') or r.role_key = 'operations_manager' and money.settles_for_office()))) then
    perform app.fail('invalid_receiver', jsonb_build_object('field', field));
  end if;
  return asked;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_gateway_transaction(p_code text, p_transaction text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if p_transaction is not null then
    perform pg_advisory_xact_lock(hashtextextended('gateway transaction ' || p_code || ' ' || p_transaction, 0));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "money"."lock_gateway_transaction"(text, text) FROM "barid_caller";

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
  v_named uuid[];
  v_event uuid;
  v_is_new boolean;
  v_end record;
begin
  perform money.lock_gateway_transaction(p_code, facts ->> 'transaction_id');
  -- A refund names the payment it gives back, everything else our number or the gateway's, or our order by its id: of
  -- an order's payments the one that was made so, or the one that waits. Each name is looked up by its own index.
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
  select * into p from money.payments x
  where x.id = any (v_named) and x.gateway_code = p_code and x.tenant_id = any (p_tenants)
  order by x.gateway_order_id is not distinct from facts ->> 'gateway_order_id' desc,
    coalesce(facts ->> 'reference' in (x.gateway_order_id, x.gateway_reference), false) desc,
    x.gateway_transaction_id is not distinct from facts ->> 'transaction_id' desc, x.status = 'pending' desc, x.created_at desc limit 1;
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
    update money.payment_webhook_events e set reason = 'payment_unknown',
      outcome = case when facts ->> 'kind' in ('paid', 'refunded') then 'unmatched' else 'ignored' end
    where e.id = v_event returning e.outcome, e.reason into v_end;
    if v_is_new then
      perform money.unmatched_announce(v_event);
    end if;
    return jsonb_build_object('outcome', v_end.outcome, 'reason', v_end.reason);
  end if;
  v_end := money.payment_follow(p, o, facts);
  update money.payment_webhook_events e set outcome = v_end.outcome, reason = v_end.reason where e.id = v_event;
  if facts ->> 'kind' = 'paid' and v_end.outcome = 'processed' then
    perform money.refunds_told_before(p_code, facts ->> 'transaction_id', p_tenants);
  end if;
  if v_is_new then
    perform money.unmatched_announce(v_event);
  end if;
  return jsonb_build_object('outcome', v_end.outcome, 'reason', v_end.reason);
end $function$;

CREATE OR REPLACE FUNCTION money.refunds_told_before(p_code text, p_transaction text, p_tenants uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

REVOKE ALL ON FUNCTION "money"."refunds_told_before"(text, text, uuid[]) FROM "barid_caller";

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
  if v_refusal is null and p_action = 'accept' then
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
  perform money.refunds_told_before(e.gateway_code, e.facts ->> 'transaction_id', array[v_tenant]);
exception when unique_violation then
  -- Another payment took the transaction meanwhile.
  perform app.fail('payment_action_not_possible', '{"field": "action", "reason": "transaction_already_used"}');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_accept(p_order uuid, missing jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_before storefront.storefront_orders;
  o storefront.storefront_orders;
  v_left jsonb;
begin
  select * into strict v_before from storefront.storefront_orders x
  where x.tenant_id = v_tenant and x.id = p_order and app.has_permission('manage:tenant');
  o := storefront.order_without(v_before, missing);
  v_left := storefront.order_cut(missing);
  if not exists (select from storefront.storefront_order_parts p
      where p.tenant_id = v_tenant and p.order_id = p_order and storefront.order_part_has_goods(p)) then
    perform app.fail('order_nothing_picked');
  end if;
  update storefront.storefront_orders x set subtotal = o.subtotal, tax_amount = o.tax_amount, discount_amount = o.discount_amount,
    total_price = o.total_price
  where x.tenant_id = v_tenant and x.id = o.id
  returning * into strict o;
  if o.payment_method = 'cash_on_delivery' then
    update money.payments p set amount = o.total_price
    where p.tenant_id = v_tenant and p.order_id = o.id and p.type = 'ORDER' and p.status = 'pending';
    perform storefront.order_cash_divide(o);
  end if;
  perform storefront.order_event_emit(o, 'shortened', jsonb_build_object('amount', v_before.total_price - o.total_price));
  return v_left;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_cash_divide(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_changed uuid[];
  v_booked record;
begin
  with part as (
    select p.position, p.delivery_id, p.left_at is null as here, d.status = 'cancelled' as cancelled,
      -- The fee stays with what has left with it; else it is on the first that is here.
      row_number() over (partition by d.status = 'cancelled'
        order by (p.left_at is not null and d.delivery_fee > 0) desc, (p.left_at is null) desc, p.position) as turn,
      row_number() over (partition by p.left_at is null order by p.position) as place, (
        select coalesce(sum(i.unit_price * (g.quantity - g.short)), 0) from storefront.storefront_order_part_items g
        join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
        where g.tenant_id = p.tenant_id and g.part_id = p.id) as value
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and (p.charged_short > 0 or storefront.order_part_has_goods(p))
  ), due as (
    -- Goods whose delivery is cancelled have their share, which nobody collects.
    select t.delivery_id, coalesce(s.goods[t.place], 0) as goods, case when t.turn = 1 then o.shipping_cost else 0 end as fee
    from part t, (
      select storefront.shares(storefront.goods_total(o) - storefront.goods_under_way(o), array_agg(w.value order by w.position),
        money.decimals_of(o.currency)) as goods
      from part w where w.here) s
    where t.here and not t.cancelled
  ), changed as (
    update delivery.deliveries d set cod_amount = u.goods + least(u.fee, o.total_price), delivery_fee = u.fee,
      label_outdated = d.label_outdated or d.label_edition > 0
    from due u where d.tenant_id = o.tenant_id and d.id = u.delivery_id
      and (d.cod_amount, d.delivery_fee) is distinct from (u.goods + least(u.fee, o.total_price), u.fee)
    returning d.id
  ), outdated as (
    update delivery.deliveries l set label_outdated = true
    from changed c where l.tenant_id = o.tenant_id and l.parent_id = c.id and l.label_edition > 0
  )
  select array_agg(c.id order by c.id) into v_changed from changed c;
  perform delivery.drivers_notify(v_changed) where v_changed is not null;
  select d.id, s.carrier_code, s.cash_due, d.currency into v_booked
  from storefront.storefront_order_parts p
  join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status <> 'cancelled'
  join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled' and s.cash_due > 0
  cross join lateral money.cash_due(d, 'dropoff') n
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due
    or not storefront.order_part_has_goods(p))
  order by p.position limit 1;
  if found then
    perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
      'amount', v_booked.cash_due, 'currency', v_booked.currency));
  end if;
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_cash_divide"(storefront.storefront_orders) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_end_cancelled(input jsonb, came_back boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  -- The one that would collect the fee last, so that no other has to for a moment.
  perform delivery.delivery_cancel(jsonb_build_object('id', d.id, 'reason', input ->> 'reason'))
  from (select x.id from delivery.deliveries x where x.tenant_id = o.tenant_id and x.order_id = o.id
    and x.status in ('draft', 'pending', 'assigned', 'accepted') order by x.delivery_fee > 0, x.id) d;
  update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason',
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = coalesce(input ->> 'admin_notes', input ->> 'reason'),
    fulfilment = case when came_back then 'returned' else x.fulfilment end
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
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
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_fee_passes(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform storefront.order_cash_divide(o)
  from delivery.deliveries d
  join storefront.storefront_orders o on o.tenant_id = d.tenant_id and o.id = d.order_id
  where d.tenant_id = app.tenant_id() and d.id = p_delivery and d.status = 'cancelled' and d.delivery_fee > 0
    and o.payment_method = 'cash_on_delivery' and o.status in ('approved', 'confirmed', 'shipped') and app.has_permission('manage:operations:tenant');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_take(p_order uuid, details jsonb, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r warehousing.receiving_orders;
  d delivery.deliveries;
begin
  select * into strict r from warehousing.receiving_orders o where o.tenant_id = app.tenant_id() and o.id = p_order for no key update;
  perform delivery.lock_driver(a.driver_id) from delivery.assignments a
  where a.tenant_id = r.tenant_id and a.delivery_id = r.delivery_id and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.receipt_fill(r, details);
  update warehousing.receiving_orders o set status = 'received', custody = 'in_warehouse', received_at = clock_timestamp(),
    received_by = app.user_id(), notes = coalesce(receipt_take.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if found then
    perform warehousing.parcel_received(d, r);
    -- Its fee, and what was paid for the order that it ends: wallets before stock, as everywhere.
    perform storefront.orders_settle();
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'warehouse_id', r.warehouse_id, 'bin_id', p.bin_id, 'quantity', p.quantity,
      'status', p.status, 'lot_number', p.lot_number, 'serial_number', p.serial_number))
    from warehousing.receipt_pieces(r) p),
    'receive', 'receiving_order', r.id);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'receiving_order.received', 'source_module', 'warehousing',
    'entity_type', 'receiving_order', 'entity_id', r.id, 'event_data', jsonb_build_object('receiving_order_id', r.id,
      'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id, 'source', r.source,
      'actor_id', app.user_id()))));
end $function$;

REVOKE ALL ON FUNCTION "integration"."carrier_arrives"(delivery.deliveries, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."lock_gateway_transaction"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "money"."refunds_told_before"(text, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_cash_divide"(storefront.storefront_orders) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_fee_passes"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "storefront"."order_fee_passes"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126164257';
end $$;

grant execute on function private.schema_version() to barid_api;
