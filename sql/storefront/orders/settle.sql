-- The end of an order.

-- Finishes an order whose deliveries have ended, at the end of a core (storefront.orders_settle) or of the transaction, when
-- nothing is locked after it any more: what is still set aside for it is free, what left and came back is expected in a warehouse, and
-- what was paid for goods that the customer did not get is refunded to their wallet, beside what the shop gave as goodwill; the fee only where
-- nothing was delivered. Of an order that costs less than its fee nothing was paid for goods: it is refunded where nothing was delivered, and else kept. Where
-- the shop's wallet is short, the order ends all the same and says what is due, with an event and a notification of the administrators; where no
-- delivery that came collected its fee it ends with an event. One that the shop sent itself and ends by hand (storefront.order_return) has
-- been settled there.
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
      else storefront.order_paid_beyond(o, o.shipping_cost + storefront.goods_price(o, v_got.value)) end;
  end if;
  -- Paid at the door is no more than its deliveries collected.
  if o.status = 'delivered' and o.payment_method = 'cash_on_delivery' and o.shipping_cost > 0 and o.total_price > 0
      and (select coalesce(max(d.delivery_fee), o.shipping_cost) = 0 from delivery.deliveries d
        where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered') then
    perform storefront.order_event_emit(o, 'fee_not_collected', jsonb_build_object('amount', least(o.shipping_cost, o.total_price)));
  end if;
  if v_owed > 0 then
    begin
      perform storefront.order_give_back(o, v_owed, null);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_wallet_balance' then
        raise;
      end if;
      update storefront.storefront_orders x set refund_due_amount = v_owed where x.tenant_id = o.tenant_id and x.id = o.id;
      perform storefront.order_event_emit(o, 'refund_due', jsonb_build_object('amount', v_owed));
      perform tenancy.notify_tenant_admins('order_refund_due', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
        'status', o.status, 'amount', v_owed, 'currency', o.currency));
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

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_settle() from barid_caller;
