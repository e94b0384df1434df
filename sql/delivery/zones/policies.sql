select app.tenant_table('delivery.zones', operations => 'insert, update');
select app.tenant_table('delivery.zone_tags', operations => 'insert, delete');
select app.tenant_table('delivery.zone_tag_map', operations => 'insert, delete');
select app.touched('delivery.zones');

-- Everybody in the tenant finds zones, tags and processing points; staff write them. Nobody deletes
-- one, so the row checks say it all. Of the tags of a zone, only staff take any away.
drop policy tenant on delivery.zones;
create policy tenant on delivery.zones for all to barid_caller
  using (tenant_id = (select app.tenant_id()))
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));
drop policy tenant on delivery.zone_tags;
create policy tenant on delivery.zone_tags for all to barid_caller
  using (tenant_id = (select app.tenant_id()))
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));

-- One policy for each kind of statement: where two admit the same one, every row is checked twice.
drop policy tenant on delivery.zone_tag_map;
drop policy if exists readable on delivery.zone_tag_map;
create policy readable on delivery.zone_tag_map for select to barid_caller
  using (tenant_id = (select app.tenant_id()));

drop policy if exists added on delivery.zone_tag_map;
create policy added on delivery.zone_tag_map for insert to barid_caller
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));

drop policy if exists removed on delivery.zone_tag_map;
create policy removed on delivery.zone_tag_map for delete to barid_caller
  using (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));
