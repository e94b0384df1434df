-- How an order follows its deliveries.

-- Orders follow the deliveries that bring them, whoever moves those: what is picked up leaves its warehouse, what one of them
-- brought is the customer's, and when none is open any more, the order is delivered if one of them was, else it came back. An order of which
-- nothing has left waits for the shop, which is notified: it delivers anew (storefront.order_redeliver), sends the goods itself or cancels.
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
    if v_moved.was = 'returned' then
      perform storefront.order_goods_unexpect(o, v_moved.id);
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
end $$;

-- The delivery had come back and is on its way again: no warehouse expects its goods (storefront.order_goods_expect). The order is locked.
create or replace function storefront.order_goods_unexpect(o storefront.storefront_orders, p_delivery uuid) returns void
language plpgsql set search_path = '' as $$
begin
  update warehousing.receiving_orders r set status = 'cancelled'
  from storefront.storefront_order_parts p
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.delivery_id = p_delivery
    and r.tenant_id = p.tenant_id and r.id = p.receiving_order_id and r.status = 'pending';
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

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.orders_after_deliveries_moved(),
  storefront.order_goods_unexpect(storefront.storefront_orders, uuid),
  storefront.order_after_delivery_ended(storefront.storefront_orders) from barid_caller;
