-- Row-level security of the storefront, behind the rules of its endpoints. Two callers differ from elsewhere: customers, who find what is on sale
-- and what is theirs, and the public, who has no tenant at all: once storefront.open_shop() let a request into a
-- live market, app.shop_tenant_id() shows it that market, active categories, products and variants, and
-- approved reviews, and no row of any other table.

select app.tenant_table('storefront.markets', operations => 'insert, update',
  write_condition => $$app.has_permission('manage:tenant') or app.has_permission('manage:system')$$);

select app.touched('storefront.markets');

-- Markets: staff their own, everybody in it once it is open; those who manage the system review them all.
drop policy tenant on storefront.markets;
create policy tenant on storefront.markets for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or is_live)
    or tenant_id = (select app.shop_tenant_id()) and is_live
    or (select app.has_permission('manage:system')))
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));

-- Reference data: everybody reads, nobody writes through a request.
alter table storefront.payment_method_types enable row level security;
alter table storefront.payment_method_types force row level security;

drop policy if exists readable on storefront.payment_method_types;
create policy readable on storefront.payment_method_types for select to barid_caller using (true);

grant select on storefront.payment_method_types to barid_caller;
