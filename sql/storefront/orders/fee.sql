-- Which delivery of an order that is paid at the door collects its fee, when the one that was to collect it ends without having come.
-- All deliveries of the order are locked (delivery.lock_deliveries), and so is the order.

-- The delivery is cancelled or has come back: the next that has not left collects the fee. Nobody does where all others have left, since what
-- those collect is not changed. Nor does one that a carrier is booked for without the fee: then a delivery is not cancelled, but what came back
-- has come back.
-- Fails: shipment_cash_changes (only of a cancelled one).
create or replace function storefront.order_fee_passes(o storefront.storefront_orders, p_delivery uuid) returns void
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = o.tenant_id and x.id = p_delivery;
  if d.delivery_fee = 0 or o.payment_method <> 'cash_on_delivery' or o.status not in ('approved', 'confirmed', 'shipped') then
    return;
  end if;
  perform storefront.order_cash_divide(o);
exception when sqlstate 'RULE0' then
  if d.status = 'cancelled' or sqlerrm <> 'shipment_cash_changes' then
    raise;
  end if;
end $$;

-- The delivery had come back and is on its way again, since its outcome was undone. Its customer pays the fee once: here, or to another that
-- has left with it meanwhile, or that a carrier is booked for with it.
create or replace function storefront.order_fee_comes_back(o storefront.storefront_orders, p_delivery uuid) returns void
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries;
begin
  if o.payment_method <> 'cash_on_delivery' then
    return;
  end if;
  select y.* into d from delivery.deliveries y
  where y.tenant_id = o.tenant_id and y.id = p_delivery and y.delivery_fee > 0 and exists (
    select from storefront.storefront_order_parts p
    join delivery.deliveries x on x.tenant_id = p.tenant_id and x.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and x.id <> y.id and x.delivery_fee > 0 and x.status not in ('cancelled', 'returned')
      and (p.left_at is not null or exists (select from integration.carrier_shipments s
        where s.tenant_id = x.tenant_id and s.delivery_id = x.id and s.status <> 'cancelled' and s.cash_due > 0)));
  if found then
    perform storefront.order_cash_set(d, greatest(d.cod_amount - d.delivery_fee, 0), 0);
  end if;
  perform storefront.order_cash_divide(o);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_fee_passes(storefront.storefront_orders, uuid),
  storefront.order_fee_comes_back(storefront.storefront_orders, uuid) from barid_caller;
