select app.tenant_table('delivery.institution_branches', operations => 'insert, update');
select app.touched('delivery.institution_branches');

-- Branches: an institution has its own, a driver may come to any, a customer knows none.
drop policy tenant on delivery.institution_branches;
create policy tenant on delivery.institution_branches for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or institution_user_id = (select app.user_id()) or (select app.has_role('driver'))))
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));
