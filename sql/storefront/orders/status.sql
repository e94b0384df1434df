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

-- The store an order was placed in, by its name: the customer keeps it when the market is not live any more and hidden
-- from them. SECURITY DEFINER for that; it answers for orders the caller sees, and nothing but the name.
create or replace function storefront.store_of_order(p_order uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select m.store_name from storefront.storefront_orders o
    join storefront.markets m on m.tenant_id = o.tenant_id and m.id = o.market_id
    where o.tenant_id = app.tenant_id() and o.id = p_order and (app.sees_tenant() or o.user_id = app.user_id()));
end $$;

grant execute on function storefront.store_of_order(uuid) to barid_caller;
