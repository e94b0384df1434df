-- Refunds of an order that its gateway made by itself: on its own pages, or for a dispute that the shop lost.

-- Emits the event of a refund of an order at its gateway and notifies the shop's administrators: the order continues as it is, and its goods
-- leave unless somebody cancels it.
create or replace function storefront.order_after_gateway_refund() returns trigger
language plpgsql set search_path = '' as $$
declare
  o storefront.storefront_orders;
begin
  perform storefront.order_due_given(new);
  select * into o from storefront.storefront_orders x where x.tenant_id = new.tenant_id and x.id = new.order_id;
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', new.amount, 'payment_id', new.id,
    'refund_method', new.payment_method));
  perform tenancy.notify_tenant_admins('order_refunded_at_gateway', jsonb_build_object('order_id', o.id, 'order_number', o.order_number,
    'status', o.status, 'payment_id', new.id, 'gateway_code', new.gateway_code, 'amount', new.amount, 'currency', new.currency));
  return null;
end $$;

drop trigger if exists refunded_at_gateway on money.payments;
create trigger refunded_at_gateway after insert on money.payments for each row
  when (new.type = 'REFUND' and new.payment_method = 'gateway' and new.order_id is not null)
  execute function storefront.order_after_gateway_refund();

-- Nobody calls it but its trigger.
revoke execute on function storefront.order_after_gateway_refund() from barid_caller;
