-- Written by SECURITY DEFINER functions alone: a driver changes no amounts, and nobody rewrites the history.
select app.tenant_table('delivery.amount_changes', own => '{}', operations => '');

-- A change is seen by everybody who sees its delivery, or a leg of it.
drop policy tenant on delivery.amount_changes;
create policy tenant on delivery.amount_changes for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.deliveries d where d.tenant_id = amount_changes.tenant_id and d.id = amount_changes.delivery_id)
  or exists (
  select from delivery.deliveries d where d.tenant_id = amount_changes.tenant_id and d.parent_id = amount_changes.delivery_id)));
