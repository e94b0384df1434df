select app.tenant_table('delivery.delivery_code_reservations', own => '{}', operations => 'insert', audit => false);
select app.tenant_table('delivery.deliveries', own => '{customer_id,institution_user_id}', operations => 'insert, update', write_condition => 'true');
select app.audited_by_column('delivery.deliveries');

-- History is written by the guard of deliveries alone.
select app.tenant_table('delivery.delivery_status_history', operations => '', audit => false);

select app.tenant_table('delivery.delivery_items', operations => 'insert, update', write_condition => 'true');
select app.tenant_table('delivery.delivery_proofs', operations => 'insert', write_condition => 'true');
select app.append_only('delivery.delivery_status_history');
select app.append_only('delivery.delivery_proofs');
select app.followed('delivery.deliveries');

-- A delivery is seen by its people and by every driver who carries or carried it, while they are a driver; not by one who said no, or who
-- never had it when it was withdrawn. `exists`, which
-- PostgreSQL asks of each row or of all at once, whichever is cheaper; `in` it asks of all, and then, for a few deliveries
-- by their ids, reads the table to the end rather than prepare that for each.
drop policy tenant on delivery.deliveries;
create policy tenant on delivery.deliveries for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or customer_id = (select app.user_id()) or institution_user_id = (select app.user_id())
    or (select app.has_role('driver')) and exists (
      select from delivery.assignments a where a.tenant_id = deliveries.tenant_id and a.delivery_id = deliveries.id
        and a.driver_id = (select app.user_id()) and a.status <> 'rejected' and not a.withdrawn)));

-- Drivers change what they carry now, not what they carried once.
drop policy write_update on delivery.deliveries;
create policy write_update on delivery.deliveries as restrictive for update to barid_caller using (true)
  with check ((select app.sees_tenant()) or customer_id = (select app.user_id()) or institution_user_id = (select app.user_id())
    or (select app.has_role('driver')) and exists (
      select from delivery.assignments a where a.tenant_id = deliveries.tenant_id and a.delivery_id = deliveries.id
        and a.driver_id = (select app.user_id()) and a.status in ('pending', 'assigned', 'accepted')));

-- Parts of a delivery are seen, and written, by everybody who sees the delivery. What is in a parcel
-- stands with the parent; its driver sees a leg.
drop policy tenant on delivery.delivery_status_history;
create policy tenant on delivery.delivery_status_history for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_status_history.tenant_id and d.id = delivery_status_history.delivery_id)
  or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_status_history.tenant_id and d.parent_id = delivery_status_history.delivery_id)));
drop policy tenant on delivery.delivery_proofs;
create policy tenant on delivery.delivery_proofs for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_proofs.tenant_id and d.id = delivery_proofs.delivery_id)
  or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_proofs.tenant_id and d.parent_id = delivery_proofs.delivery_id)));
drop policy tenant on delivery.delivery_items;
create policy tenant on delivery.delivery_items for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_items.tenant_id and d.id = delivery_items.delivery_id)
  or exists (
  select from delivery.deliveries d where d.tenant_id = delivery_items.tenant_id and d.parent_id = delivery_items.delivery_id)));
select app.counted('deliveries', 'delivery.deliveries', '{status}');
