-- The token opens what it is for: the log names the link without it.
select app.tenant_table('delivery.tracking_links', own => '{}', operations => 'insert, delete', hidden => 'token', write_condition => 'true');

-- A link is made, seen and ended by everybody who sees its delivery; which of them may, the endpoints say.
drop policy tenant on delivery.tracking_links;
create policy tenant on delivery.tracking_links for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and exists (
    select from delivery.deliveries d where d.tenant_id = tracking_links.tenant_id and d.id = tracking_links.delivery_id));
