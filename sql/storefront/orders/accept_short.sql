-- An order of which the warehouse found less than was ordered: the shop sends what there is.

-- Accepts what was picked of an order for what was ordered: what is missing is free again, the order costs as much less as that costs in it
-- (storefront.order_without), cash at the door too, and what was paid for it goes back to the customer's wallet, whatever the shop gave them
-- before as goodwill. A delivery that has nothing left is cancelled.
-- {order_id} -> {order, refund or null}
-- Fails: order_not_found, order_not_short, order_nothing_picked (cancel it), shipment_cash_changes (a carrier is booked to collect what the
-- order cost before: carriers take no other amount for a booked shipment, so it is cancelled first and booked again), what
-- delivery.parcel_cancel and order_refund fail with.
create or replace function storefront.order_accept_short(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders := storefront.lock_order_and_deliveries((input ->> 'order_id')::uuid);
  v_missing jsonb := storefront.order_missing(o.id);
  v_left jsonb;
  v_refund jsonb;
begin
  if o.status not in ('approved', 'confirmed', 'shipped') or v_missing = '[]' then
    perform app.fail('order_not_short', jsonb_build_object('status', o.status));
  end if;
  v_left := storefront.order_accept(o.id, v_missing);
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  -- A parcel with nothing in it does not travel. The last one that was open ends the order, which is settled with it.
  perform delivery.parcel_cancel(jsonb_build_object('id', e.delivery_id, 'reason', 'out_of_stock'))
  from (select p.delivery_id from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status in ('pending', 'assigned', 'accepted')
    where p.tenant_id = o.tenant_id and p.order_id = o.id and not storefront.order_part_has_goods(p)
    order by p.delivery_id) e;
  select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  if o.status in ('delivered', 'cancelled') then
    v_refund := storefront.order_refunded_now(o.id);
  else
    if o.payment_status = 'paid' and o.payment_method <> 'cash_on_delivery' and storefront.order_paid_beyond(o, o.total_price) > 0 then
      v_refund := storefront.order_refund_book(o.id, storefront.order_paid_beyond(o, o.total_price), 'short');
    end if;
    perform warehousing.stock_release('order', o.id, v_left);
    select * into o from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = o.id;
  end if;
  return jsonb_build_object('order', storefront.order_admin_to_json(o), 'refund', v_refund);
end $$;

-- The rows of order_accept_short(): the order and its parts without what is missing, and the cash that deliveries which have not left
-- collect, divided anew. The order is locked. -> see storefront.order_cut()
-- Fails: order_nothing_picked, what order_cash_divide fails with.
create or replace function storefront.order_accept(p_order uuid, missing jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
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
end $$;
grant execute on function storefront.order_accept(uuid, jsonb) to barid_caller;

-- Lets a delivery of an order collect this amount from now on, with this fee in it. It is an approved change that nobody requested, by which a
-- report from before it counts with what the delivery collected then (delivery.amount_at_door). A label printed before is outdated. The
-- order is locked with its deliveries.
create or replace function storefront.order_cash_set(d delivery.deliveries, amount numeric, fee numeric) returns void
language plpgsql set search_path = '' as $$
declare
  -- One that is being made owed nothing before.
  v_made boolean := d.created_at = now();
begin
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, status, decided_at, by_report,
    old_delivery_fee, new_delivery_fee)
  select d.tenant_id, d.id, d.cod_amount, amount, d.currency, 'order_divided', 'approved', clock_timestamp(), true, d.delivery_fee, fee
  where not v_made;
  update delivery.deliveries x set cod_amount = amount, delivery_fee = fee,
    ordered_cod_amount = case when v_made then x.ordered_cod_amount else coalesce(x.ordered_cod_amount, x.cod_amount) end,
    label_outdated = x.label_outdated or x.label_edition > 0
  where x.tenant_id = d.tenant_id and x.id = d.id;
  update delivery.deliveries l set label_outdated = true where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.label_edition > 0;
end $$;

-- Lets a delivery p of an order have the order's fee again: as it was taken at its door, and then the others that are to collect it do not any more, or
-- as an undo has it, and then only where no other has it by now. -> whether p has it. Locks the order; its deliveries are locked.
create or replace function storefront.order_fee_back(p delivery.deliveries, taken boolean) returns boolean
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  perform from storefront.storefront_orders o where o.tenant_id = p.tenant_id and o.id = p.order_id for no key update;
  for d in
    select x.* from delivery.deliveries x
    where x.tenant_id = p.tenant_id and x.order_id = p.order_id and x.id <> p.id and x.delivery_fee > 0 and x.status not in ('cancelled', 'returned')
    order by x.id
  loop
    if not taken then
      return false;
    -- A carrier collects what it was booked for.
    elsif d.status <> 'delivered' and not delivery.shipment_lives(d.id) then
      perform storefront.order_cash_set(d, greatest(d.cod_amount - d.delivery_fee, 0), 0);
      perform delivery.change_announce(array[d.id], '{amount}');
    end if;
  end loop;
  return true;
end $$;

-- Divides anew the cash that the deliveries of an order paid at the door collect, of those that have not left; the fee is on the first that
-- has something to bring, unless it has left with another that did not come back. Of those whose amounts change printed labels are outdated
-- and drivers are notified. The order is locked with its deliveries.
-- Fails: shipment_cash_changes {delivery_id, carrier_code, amount, currency}.
create or replace function storefront.order_cash_divide(o storefront.storefront_orders) returns void
language plpgsql set search_path = '' as $$
declare
  v_changed uuid[];
  v_due record;
  v_booked record;
begin
  for v_due in with part as (
    select p.position, p.delivery_id, p.left_at is null as here, d.status = 'cancelled' as cancelled,
      -- The fee stays with what has left with it and may still come; else it is on the first that is here.
      row_number() over (partition by d.status in ('cancelled', 'returned')
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
  )
  select d, u.goods + least(u.fee, o.total_price) as amount, u.fee from due u
  join delivery.deliveries d on d.tenant_id = o.tenant_id and d.id = u.delivery_id
  where (d.cod_amount, d.delivery_fee) is distinct from (u.goods + least(u.fee, o.total_price), u.fee) order by d.id
  loop
    perform storefront.order_cash_set(v_due.d, v_due.amount, v_due.fee);
    v_changed := v_changed || (v_due.d).id;
  end loop;
  perform delivery.change_announce(v_changed, '{amount}') where v_changed is not null;
  select d.id, s.carrier_code, s.cash_due, d.currency into v_booked
  from storefront.storefront_order_parts p
  join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status <> 'cancelled'
  join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled'
  cross join lateral money.cash_due(d, 'dropoff') n
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due
    or s.cash_due > 0 and not storefront.order_part_has_goods(p))
  order by p.position limit 1;
  if found then
    perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
      'amount', v_booked.cash_due, 'currency', v_booked.currency));
  end if;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_cash_set(delivery.deliveries, numeric, numeric),
  storefront.order_fee_back(delivery.deliveries, boolean),
  storefront.order_cash_divide(storefront.storefront_orders) from barid_caller;
