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

-- Notifies the shop's administrators of an order that they can work on: one that is placed, or that is paid where a gateway has to be first.
create or replace function storefront.order_notify_shop(o storefront.storefront_orders) returns void
language plpgsql set search_path = '' as $$
begin
  perform tenancy.notify_roles(o.tenant_id, '{tenant_admin}', 'order_placed', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'market_id', o.market_id, 'total_price', o.total_price, 'currency', o.currency, 'payment_method', o.payment_method));
end $$;

-- Records the first status of each new order in its history and emits its event.
create or replace function storefront.orders_after_insert() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into storefront.storefront_order_history (tenant_id, order_id, status, note, updated_by)
  select n.tenant_id, n.id, n.status, n.status_note, app.user_id() from new_rows n order by n.created_at, n.id;
  perform storefront.order_event_emit(n, 'created') from new_rows n;
  perform storefront.order_notify_shop(n) from new_rows n where n.payment_method <> 'gateway' or n.payment_status = 'paid';
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
  perform storefront.order_notify_shop(n)
  from new_rows n join old_rows o on o.id = n.id
  where n.payment_method = 'gateway' and n.payment_status = 'paid' and o.payment_status <> 'paid' and n.status in ('pending', 'awaiting_approval');
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

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_guard(), storefront.order_delivered(storefront.storefront_orders,boolean,text),
  storefront.order_is_whole(uuid), storefront.order_shipped(storefront.storefront_orders,text), storefront.orders_after_insert(),
  storefront.orders_after_update(), storefront.order_event_emit(storefront.storefront_orders,text,jsonb),
  storefront.order_notify_shop(storefront.storefront_orders) from barid_caller;
