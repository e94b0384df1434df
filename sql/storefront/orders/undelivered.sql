-- A store's order whose delivery is on its way again, since its outcome was undone (delivery.outcome_undo).

-- True when this transaction undoes the outcome of a delivery of the order.
create or replace function storefront.order_is_undelivered(p_tenant uuid, p_order uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from delivery.deliveries d
    join delivery.outcomes o on o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.undone_in = pg_current_xact_id()
    where d.tenant_id = p_tenant and d.order_id = p_order);
end $$;

-- The order is shipped again. What was taken for it at the door is waited for, as much as the order costs; what was paid before stays paid.
-- Its stock stays as it is. The order is locked.
create or replace function storefront.order_undelivered(o storefront.storefront_orders) returns void
language plpgsql set search_path = '' as $$
declare
  v_payment uuid;
begin
  update money.payments p set status = 'pending', processed_at = null, amount = o.total_price
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS' and p.payment_method = 'cash'
    and o.status = 'delivered'
  returning p.id into v_payment;
  update storefront.storefront_orders x set status = 'shipped', delivered_at = null, status_note = 'outcome_undone', refund_due_amount = 0,
    payment_status = case when v_payment is null then x.payment_status else 'pending' end,
    fulfilment = case when exists (select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered')
      then 'partial' else 'none' end
  where x.tenant_id = o.tenant_id and x.id = o.id;
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function storefront.order_is_undelivered(uuid, uuid), storefront.order_undelivered(storefront.storefront_orders) from barid_caller;
