-- The life of an order, guarded below every core: only these moves are possible, each leaves a line of history and
-- an event. Cores write the status and, where there is something to say, status_note.

-- True when an order may go from one status to another. A shipped order is not cancelled any more.
create or replace function storefront.order_move_is_legal(from_status text, to_status text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return to_status = any (case from_status
    when 'pending' then '{awaiting_approval,approved,confirmed,cancelled}'::text[]
    when 'awaiting_approval' then '{approved,confirmed,cancelled}'
    when 'approved' then '{confirmed,shipped,cancelled}'
    when 'confirmed' then '{shipped,cancelled}'
    when 'shipped' then '{delivered}'
    when 'delivered' then '{completed}'
    else '{}' end);
end $$;

-- Emits what happened to an order. Numbers, ids and states; no name, phone or address.
create or replace function storefront.order_event_emit(o storefront.storefront_orders, happened text, more jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  values (o.tenant_id, 'order.' || happened, 'storefront', 'order', o.id, jsonb_build_object('order_id', o.id,
    'order_number', o.order_number, 'market_id', o.market_id, 'user_id', o.user_id, 'status', o.status,
    'payment_status', o.payment_status, 'payment_method', o.payment_method, 'total_price', o.total_price, 'currency', o.currency,
    'delivery_id', o.delivery_id, 'reason', o.cancel_reason, 'actor_id', app.user_id()) || more);
end $$;

-- Allows legal moves of an order only, and keeps what was bought, by whom and for how much as agreed. A paid order
-- remains paid, unless it was paid by an outcome at the door that is undone.
create or replace function storefront.order_guard() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- A shipped order that nobody brings any more may have come back, and a delivered one is on its way again by an undo.
  if new.status <> old.status and not storefront.order_move_is_legal(old.status, new.status)
      and not (old.status = 'delivered' and new.status = 'shipped' and storefront.order_is_undelivered(old.tenant_id, old.id))
      and not (new.status = 'cancelled' and old.status = 'shipped' and not exists (
        select from delivery.deliveries d where d.tenant_id = old.tenant_id and d.order_id = old.id
          and d.status not in ('returned', 'cancelled'))) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  if old.payment_status = 'paid' and new.payment_status <> 'paid'
      and not (new.status = 'shipped' and new.payment_status = 'pending' and storefront.order_is_undelivered(old.tenant_id, old.id)) then
    raise exception 'order % was paid and stays so', old.id using errcode = 'integrity_constraint_violation';
  end if;
  -- Goods, customer and price are agreed. The shop may send less than it promised, for as much less (storefront.order_without).
  if new.subtotal < old.subtotal and new.total_price <= old.total_price and new.tax_amount <= old.tax_amount
      and new.discount_amount <= old.discount_amount and old.status in ('approved', 'confirmed', 'shipped') then
    old.subtotal := new.subtotal;
    old.tax_amount := new.tax_amount;
    old.discount_amount := new.discount_amount;
    old.total_price := new.total_price;
  end if;
  -- Less than asked may be accepted before approval; the difference is a discount.
  if new.discount_amount > old.discount_amount and new.discount_amount - old.discount_amount = old.total_price - new.total_price
      and old.status in ('pending', 'awaiting_approval') and old.payment_status <> 'paid' then
    old.discount_amount := new.discount_amount;
    old.total_price := new.total_price;
  end if;
  if (new.tenant_id, new.order_number, new.market_id, new.user_id, new.cart_id, new.payment_method, new.payment_method_type_id, new.currency,
      new.subtotal, new.tax_amount, new.shipping_cost, new.discount_amount, new.total_price, new.total_items, new.created_at)
    is distinct from (old.tenant_id, old.order_number, old.market_id, old.user_id, old.cart_id, old.payment_method, old.payment_method_type_id,
      old.currency, old.subtotal, old.tax_amount, old.shipping_cost, old.discount_amount, old.total_price, old.total_items, old.created_at) then
    raise exception 'order % is agreed and stays as it is', old.id using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

-- Records the first status of each new order in its history and emits its event.
create or replace function storefront.orders_after_insert() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into storefront.storefront_order_history (tenant_id, order_id, status, note, updated_by)
  select n.tenant_id, n.id, n.status, n.status_note, app.user_id() from new_rows n order by n.created_at, n.id;
  perform storefront.order_event_emit(n, 'created') from new_rows n;
  return null;
end $$;

-- Records each change of status in the history and emits the events of status and payment.
create or replace function storefront.orders_after_update() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into storefront.storefront_order_history (tenant_id, order_id, status, note, updated_by)
  select n.tenant_id, n.id, n.status, n.status_note, app.user_id()
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status order by n.created_at, n.id;
  perform storefront.order_event_emit(n, n.status, jsonb_build_object('from_status', o.status))
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status;
  perform storefront.order_event_emit(n, case n.payment_status when 'paid' then 'paid' else 'payment_failed' end)
  from new_rows n join old_rows o on o.id = n.id where n.payment_status <> o.payment_status and n.payment_status <> 'pending';
  return null;
end $$;

drop trigger if exists guard on storefront.storefront_orders;
create trigger guard before update on storefront.storefront_orders for each row execute function storefront.order_guard();
drop trigger if exists orders_made on storefront.storefront_orders;
create trigger orders_made after insert on storefront.storefront_orders referencing new table as new_rows
  for each statement execute function storefront.orders_after_insert();
drop trigger if exists orders_moved on storefront.storefront_orders;
create trigger orders_moved after update on storefront.storefront_orders referencing old table as old_rows new table as new_rows
  for each statement execute function storefront.orders_after_update();

-- An order is on its way. The order is locked.
create or replace function storefront.order_shipped(o storefront.storefront_orders, p_note text default null) returns void
language plpgsql set search_path = '' as $$
begin
  update storefront.storefront_orders x set status = 'shipped', shipped_at = now(), status_note = p_note
  where x.tenant_id = o.tenant_id and x.id = o.id;
end $$;

-- An order is with its customer, everything of it that they get: cash for it was taken at the door. The order is locked and shipped.
-- p_booked: drivers' collections put the cash into the books, of what they delivered.
create or replace function storefront.order_delivered(o storefront.storefront_orders, p_booked boolean, p_note text default null) returns void
language plpgsql set search_path = '' as $$
declare
  p money.payments;
begin
  update storefront.storefront_orders x set status = 'delivered', delivered_at = now(), status_note = p_note,
    fulfilment = case when storefront.order_is_whole(o.id) then 'full' else 'partial' end
  where x.tenant_id = o.tenant_id and x.id = o.id;
  select * into p from money.payments x
  where x.tenant_id = o.tenant_id and x.order_id = o.id and x.type = 'ORDER' and x.status = 'pending' and x.payment_method = 'cash' for no key update;
  if p.id is null then
    return;
  elsif p_booked then
    update money.payments x set amount = (
      select coalesce(sum(d.cod_amount), 0) from delivery.deliveries d
      where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered')
    where x.tenant_id = p.tenant_id and x.id = p.id
    returning * into p;
  end if;
  perform money.payment_made(p, p_booked => p_booked);
end $$;

-- True when nothing of an order was short, stayed here or came back.
create or replace function storefront.order_is_whole(p_order uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not exists (
    select from storefront.storefront_order_parts p
    join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id
    left join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = app.tenant_id() and p.order_id = p_order
      and (g.short > 0 or p.left_at is null or coalesce(d.status, 'delivered') <> 'delivered'));
end $$;

-- Orders follow the deliveries that bring them, whoever moves those: what is picked up leaves its warehouse, what one of them
-- brought is the customer's, and when none is open any more, the order is delivered if one of them was, else it came back.
create or replace function storefront.orders_after_deliveries_moved() returns trigger
language plpgsql security definer set search_path = '' as $$
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
    if v_moved.was = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
  end loop;
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
  -- So are goods that a customer sent back after they had got them.
  perform warehousing.receipt_open(d, delivery.ends_in(d), 'inbound')
  from new_rows n join old_rows w on w.id = n.id
  join delivery.deliveries d on d.tenant_id = n.tenant_id and d.id = n.id
  where n.delivery_flow = 'customer_return' and n.status = 'delivered' and w.status <> 'delivered' and delivery.ends_in(d) is not null
    and exists (select from warehousing.goods_sent_back(d));
  return null;
end $$;

-- Updates a shipped order when one of its deliveries has ended. The order is locked.
create or replace function storefront.order_after_delivery_ended(o storefront.storefront_orders) returns void
language plpgsql set search_path = '' as $$
declare
  v_ends record;
begin
  select count(*) filter (where d.status = 'delivered') > 0 as delivered,
    bool_and(d.status in ('delivered', 'returned', 'cancelled')) as over into v_ends
  from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id;
  if v_ends.delivered and v_ends.over then
    perform storefront.order_delivered(o, p_booked => true);
  elsif v_ends.over then
    update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = 'other', fulfilment = 'returned'
    where x.tenant_id = o.tenant_id and x.id = o.id;
  elsif v_ends.delivered then
    update storefront.storefront_orders x set fulfilment = 'partial'
    where x.tenant_id = o.tenant_id and x.id = o.id and x.fulfilment = 'none';
  end if;
end $$;

drop trigger if exists orders_follow on delivery.deliveries;
create trigger orders_follow after update on delivery.deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function storefront.orders_after_deliveries_moved();

-- Finishes an order whose deliveries have ended, at the end of a core (storefront.orders_settle) or of the transaction, when
-- nothing is locked after it any more: what is still set aside for it is free, what left and came back is expected in a warehouse, and
-- what was paid for goods that the customer did not get is refunded to their wallet; the fee only where nothing was delivered. Of an order
-- that costs less than its fee nothing was paid for goods: it is refunded where nothing was delivered, and else kept. Where
-- the shop's wallet is short, the order ends all the same, with an event. One that the shop sent itself and ends by hand
-- (storefront.order_return) has been settled there.
create or replace function storefront.order_settle() returns trigger
language plpgsql security definer set search_path = '' as $$
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
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
    end;
  end if;
  perform warehousing.stock_release('order', o.id);
  return null;
end $$;

drop trigger if exists settle on storefront.storefront_orders;
create constraint trigger settle after update on storefront.storefront_orders
  deferrable initially deferred for each row
  when (new.status = 'delivered' and old.status <> 'delivered' or new.fulfilment = 'returned' and old.fulfilment <> 'returned')
  execute function storefront.order_settle();

-- Settles now the orders that a core has ended: its last line, since money is booked by cores alone.
create or replace function storefront.orders_settle() returns void
language plpgsql set search_path = '' as $$
begin
  set constraints storefront.settle immediate;
  set constraints storefront.settle deferred;
end $$;
grant execute on function storefront.orders_settle() to barid_caller;

-- Ends gateway orders nobody paid for a day: they are cancelled, and no payment is waited for. One that money came for
-- which somebody has to look at stays open until that is settled, and one whose gateway has not answered since the payment's end until it
-- has, three days at most: it may have been paid while nothing here could be notified. A few hundred at a time; one that somebody is
-- at work on is left to them. Answers how many. Run by cron.
create or replace function storefront.orders_expire() returns bigint
language plpgsql set search_path = '' as $$
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
end $$;

-- Completes what was delivered two weeks ago. Answers how many. Run by cron.
create or replace function storefront.orders_complete() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_count bigint;
begin
  update storefront.storefront_orders o set status = 'completed', status_note = null
  where o.id in (
    select x.id from storefront.storefront_orders x where x.status = 'delivered' and x.delivered_at < now() - interval '14 days'
    order by x.delivered_at limit 5000 for no key update skip locked);
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_guard(), storefront.order_delivered(storefront.storefront_orders,boolean,text),
  storefront.order_after_delivery_ended(storefront.storefront_orders), storefront.order_is_whole(uuid), storefront.order_settle(),
  storefront.order_shipped(storefront.storefront_orders,text), storefront.orders_complete(), storefront.orders_expire(),
  storefront.orders_after_deliveries_moved(), storefront.orders_after_insert(), storefront.orders_after_update(),
  storefront.order_event_emit(storefront.storefront_orders,text,jsonb) from barid_caller;
