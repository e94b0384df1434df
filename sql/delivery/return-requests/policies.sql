-- Written by SECURITY DEFINER functions alone: an owner writes no decisions.
select app.tenant_table('delivery.return_requests', own => '{}', operations => '');

-- A request is seen by everybody who sees its delivery.
drop policy tenant on delivery.return_requests;
create policy tenant on delivery.return_requests for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from delivery.deliveries d where d.tenant_id = return_requests.tenant_id and d.id = return_requests.delivery_id)));
