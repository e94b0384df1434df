drop view if exists storefront.orders_list cascade;
drop view if exists storefront.my_orders_list cascade;

-- The word customers read: approved once nothing is asked of them any more.
create or replace function storefront.customer_status(o storefront.storefront_orders) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return case
    when o.status in ('pending', 'awaiting_approval') then case when o.payment_status = 'paid' then 'approved' else 'pending' end
    when o.status in ('confirmed', 'approved') then 'approved'
    when o.status = 'completed' then 'delivered'
    else o.status end;
end $$;

-- What administrators see of an order in a list.
create view storefront.orders_list with (security_invoker = true) as
select o.id, o.order_number, o.market_id, o.user_id, o.status, o.status_group, o.fulfilment, o.payment_method, o.payment_status, o.city,
  o.shipping_cost, o.discount_amount, o.total_price, o.total_items, o.currency, o.created_at, o.updated_at
from storefront.storefront_orders o
where o.tenant_id = (select app.tenant_id());

-- The store an order was placed in, by its name: the customer keeps it when the market is not live any more and hidden
-- from him. A definer for that; it answers for orders the caller sees, and nothing but the name.
create or replace function private.store_of_order(p_order uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select m.store_name from storefront.storefront_orders o
    join storefront.markets m on m.tenant_id = o.tenant_id and m.id = o.market_id
    where o.tenant_id = app.tenant_id() and o.id = p_order and (app.sees_tenant() or o.user_id = app.user_id()));
end $$;
grant execute on function private.store_of_order(uuid) to barid_caller;

-- The caller's own orders.
create view storefront.my_orders_list with (security_invoker = true) as
select o.id, o.order_number, o.status_group, storefront.customer_status(o) as status, o.payment_method, o.payment_status, o.shipping_cost,
  o.discount_amount, o.total_price, o.total_items, o.currency, o.created_at, o.updated_at, o.market_id, private.store_of_order(o.id) as store_name
from storefront.storefront_orders o
where o.tenant_id = (select app.tenant_id()) and o.user_id = (select app.user_id());

grant select on storefront.orders_list, storefront.my_orders_list to barid_caller;
