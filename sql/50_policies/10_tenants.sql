-- The second wall on one screen. Every tenant table stands here; `own` names the people of a row, who
-- are all that drivers, institutions and customers get to see, and `writers` who may write it: staff
-- unless said. Exceptions follow below the list; tests/sql/walls.txt says what it all amounts to.

select app.tenant_table('tenancy.tenant_users', writes => 'insert, update', writers => $$app.has_permission('manage:tenant')$$);
select app.tenant_table('tenancy.tenant_user_roles', own => '{user_id}', writers => $$app.has_permission('manage:tenant')$$);
-- Operations name the default driver, which is a setting.
select app.tenant_table('tenancy.tenant_settings',
  writers => $$app.has_permission('manage:tenant') or app.has_permission('manage:operations:tenant')$$);
-- What a tenant has and pays for is the system's business; its people read it.
select app.tenant_table('tenancy.tenant_modules', writes => 'insert, update', writers => $$app.has_permission('manage:system')$$);
select app.tenant_table('tenancy.subscriptions', writes => 'insert, update', writers => $$app.has_permission('manage:system')$$);
select app.tenant_table('tenancy.notifications', own => '{user_id}', audit => false, writers => 'true');
select app.tenant_table('app.counters', writes => 'insert, update', audit => false, writers => 'true');

select app.tenant_table('delivery.zones', writes => 'insert, update');
select app.tenant_table('delivery.zone_tags', writes => 'insert, delete');
select app.tenant_table('delivery.zone_tag_map', writes => 'insert, delete');
select app.tenant_table('delivery.addresses', writes => 'insert, update', writers => 'true');
select app.tenant_table('delivery.transfer_processing_points', writes => 'insert, update');
select app.tenant_table('delivery.institution_branches', writes => 'insert, update');
select app.tenant_table('delivery.vehicles', writes => 'insert, update');
select app.tenant_table('delivery.drivers', own => '{user_id}');
select app.tenant_table('delivery.driver_zones', own => '{driver_id}');
select app.tenant_table('warehousing.warehouses', writes => 'insert, update');

select app.tenant_table('delivery.teams', writes => '');
select app.tenant_table('delivery.team_members', own => '{user_id}', writes => '');
select app.tenant_table('delivery.policy_profiles', writes => '');
select app.tenant_table('delivery.delivery_types', writes => 'insert');
select app.tenant_table('delivery.delivery_services', writes => 'insert, update');
select app.tenant_table('delivery.delivery_service_users', own => '{user_id}');
select app.tenant_table('delivery.delivery_service_zones');
select app.tenant_table('delivery.delivery_service_zone_tags');
select app.tenant_table('delivery.delivery_service_teams', writes => 'delete');
select app.tenant_table('delivery.delivery_service_vehicles', writes => 'delete');

-- Balances move with the ledger, which is their log.
select app.tenant_table('money.accounts', own => '{owner_user_id}', writes => '', audit => false);
select app.tenant_table('money.ledger_transactions', writes => '', audit => false);
select app.tenant_table('money.ledger_entries', writes => '', audit => false);
select app.tenant_table('money.payments', writes => 'insert, update');

select app.tenant_table('delivery.transfer_barcode_batches', own => '{institution_user_id}', writes => 'insert');
select app.tenant_table('delivery.transfer_barcodes', writes => 'insert, update', audit => false, writers => 'true');
select app.tenant_table('delivery.transfer_manifests', own => '{driver_id,institution_user_id}', writes => 'insert, update', writers => 'true');
select app.tenant_table('delivery.transfer_manifest_items', writers => 'true');
select app.tenant_table('delivery.transfer_manifest_proofs', writes => 'insert', writers => 'true');
select app.tenant_table('delivery.transfer_manifest_exceptions', writes => 'insert, update');
select app.tenant_table('delivery.transfer_manifest_events', writes => 'insert', audit => false, writers => 'true');
select app.tenant_table('delivery.delivery_code_reservations', own => '{}', writes => 'insert', audit => false);
select app.tenant_table('delivery.deliveries', own => '{customer_id,institution_user_id}', writes => 'insert, update', writers => 'true');
-- History is written by the guard of deliveries alone.
select app.tenant_table('delivery.delivery_status_history', writes => '', audit => false);
select app.tenant_table('delivery.delivery_items', writes => 'insert, update', writers => 'true');
select app.tenant_table('delivery.delivery_proofs', writes => 'insert', writers => 'true');
select app.tenant_table('delivery.delivery_exceptions', writes => 'insert, update', writers => 'true');
select app.tenant_table('delivery.bulk_assignments', own => '{driver_id}', writes => 'insert');
-- A driver answers and ends what is his.
select app.tenant_table('delivery.assignments', own => '{driver_id}', writes => 'insert, update', writers => 'true');
select app.tenant_table('public.delivery_realtime_assignments', own => '{driver_id}', writes => '', audit => false);
select app.tenant_table('delivery.package_handoffs', own => '{driver_id}', writes => 'insert, update', writers => 'true');
-- Figures of drivers are made by private.performance_refresh() alone.
select app.tenant_table('delivery.performance_changes', own => '{}', writes => '', audit => false);
select app.tenant_table('delivery.performance_deliveries', own => '{}', writes => '', audit => false);
select app.tenant_table('delivery.driver_performance', own => '{}', writes => '', audit => false);
select app.tenant_table('delivery.performance_state', own => '{}', writes => '', audit => false);

-- A warehouse's stock is moved by warehousing.stock_post() alone.
select app.tenant_table('warehousing.bins', own => '{}', writes => 'insert, update');
select app.tenant_table('warehousing.inventory_items', own => '{}', writes => 'insert, update');
select app.tenant_table('warehousing.stock', own => '{}', writes => '', audit => false);
select app.tenant_table('warehousing.inventory_transactions', own => '{}', writes => '', audit => false);
select app.tenant_table('warehousing.warehouse_users', own => '{user_id}', writes => 'insert, delete');
select app.tenant_table('warehousing.carrier_warehouses', own => '{}');
select app.tenant_table('warehousing.inventory_transfers', own => '{}', writes => 'insert');
select app.tenant_table('warehousing.inventory_transfer_items', own => '{}', writes => 'insert');
select app.tenant_table('warehousing.inventory_counts', own => '{}', writes => 'insert', audit => false);
select app.tenant_table('warehousing.inventory_count_lines', own => '{}', writes => 'insert', audit => false);
select app.tenant_table('warehousing.warehouse_staff', own => '{user_id}', writes => 'insert, update');
select app.tenant_table('warehousing.picking_orders', own => '{}', writes => 'insert, update');
select app.tenant_table('warehousing.picking_order_items', own => '{}');
select app.tenant_table('warehousing.receiving_orders', own => '{}', writes => 'insert, update');
select app.tenant_table('warehousing.receiving_order_items', own => '{}', writes => 'insert, update');
select app.tenant_table('warehousing.waybills', own => '{driver_id}', writes => 'insert, update');
select app.tenant_table('warehousing.waybill_deliveries', own => '{}');
select app.tenant_table('warehousing.waybill_discrepancies', own => '{}', writes => 'insert, update');
select app.tenant_table('warehousing.waybill_items', own => '{}', writes => 'insert, delete', audit => false);
select app.tenant_table('warehousing.package_transfers', own => '{}', writes => 'insert');
select app.tenant_table('warehousing.package_transfer_deliveries', own => '{}', writes => 'insert', audit => false);
select app.tenant_table('warehousing.sorting_sessions', own => '{}', writes => 'insert, update');
select app.tenant_table('warehousing.sorting_assignments', own => '{}');
select app.tenant_table('warehousing.sorting_scans', own => '{}', writes => 'insert', audit => false);

-- Cash is written by definers in money: with the move that takes it, and with its settlement.
select app.tenant_table('money.cod_collections', own => '{driver_id}', writes => '', audit => false);
select app.tenant_table('money.cod_settlements', own => '{driver_id}', writes => '', audit => false);
select app.tenant_table('money.cod_settlement_items', own => '{}', writes => '', audit => false);
select app.tenant_table('money.settlement_receipts', own => '{}', writes => '', audit => false);
select app.tenant_table('money.cash_handovers', own => '{driver_id}', writes => '');
select app.tenant_table('money.carrier_collections', own => '{}', writes => '', audit => false);
select app.tenant_table('money.carrier_remittances', own => '{}', writes => '', audit => false);
select app.tenant_table('money.carrier_remittance_items', own => '{}', writes => '', audit => false);
select app.tenant_table('money.cash_transfers', own => '{}', writes => '');

-- Logs.
select app.append_only('app.audit_log');
select app.append_only('money.ledger_transactions');
select app.append_only('money.ledger_entries');
select app.append_only('delivery.transfer_manifest_events');
select app.append_only('delivery.delivery_status_history');
select app.append_only('delivery.delivery_proofs');
select app.append_only('warehousing.inventory_transactions');
select app.append_only('warehousing.inventory_counts');
select app.append_only('warehousing.inventory_count_lines');
select app.append_only('money.cod_settlements', '{reversed_at,reversed_by,reversal_reason}');
select app.append_only('money.cod_settlement_items', '{reversed_at}');
select app.append_only('money.carrier_remittances', '{reversed_at,reversed_by,reversal_reason}');
select app.append_only('money.carrier_remittance_items');

select app.touched(t) from unnest(array[
  'tenancy.profiles', 'tenancy.tenants', 'tenancy.tenant_users', 'tenancy.tenant_settings', 'tenancy.tenant_modules', 'tenancy.subscriptions', 'delivery.zones', 'delivery.addresses',
  'delivery.transfer_processing_points', 'delivery.institution_branches', 'delivery.vehicles', 'delivery.drivers',
  'warehousing.warehouses', 'delivery.delivery_services', 'money.accounts', 'money.payments',
  'delivery.transfer_manifests', 'delivery.transfer_manifest_items',
  'delivery.delivery_exceptions', 'public.delivery_realtime_assignments', 'delivery.package_handoffs',
  'warehousing.bins', 'warehousing.inventory_items', 'warehousing.stock', 'warehousing.warehouse_staff',
  'warehousing.receiving_orders', 'warehousing.waybills', 'warehousing.sorting_sessions', 'money.settlement_receipts', 'money.cash_handovers']::regclass[]) t;
select app.followed(t) from unnest(array['delivery.deliveries', 'delivery.assignments', 'money.cod_collections', 'warehousing.picking_orders']::regclass[]) t;

-- Of a subscription a tenant's administrators know, and the system's.
drop policy tenant on tenancy.subscriptions;
create policy tenant on tenancy.subscriptions for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.has_permission('manage:tenant')) or (select app.has_permission('manage:system'))));

-- What belongs to a manifest is seen, and written, by whoever sees the manifest.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['transfer_manifest_items', 'transfer_manifest_proofs', 'transfer_manifest_exceptions',
    'transfer_manifest_events'] loop
    execute format('drop policy tenant on delivery.%I', v_table);
    execute format($policy$
      create policy tenant on delivery.%1$I for all to barid_caller
      using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
        select from delivery.transfer_manifests m where m.tenant_id = %1$I.tenant_id and m.id = %1$I.manifest_id)))$policy$, v_table);
  end loop;
end $$;

-- Everybody in the tenant finds zones, tags and processing points; staff write them. Nobody deletes
-- one, so the row checks say it all. Of the tags of a zone, only staff take any away.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['zones', 'zone_tags', 'transfer_processing_points'] loop
    execute format('drop policy tenant on delivery.%I', v_table);
    execute format($policy$
      create policy tenant on delivery.%I for all to barid_caller
      using (tenant_id = (select app.tenant_id()))
      with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()))$policy$, v_table);
  end loop;
end $$;
-- One policy for each kind of statement: where two admit the same one, every row is judged twice.
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

-- Branches: an institution has its own, a driver may come to any, a customer knows none.
drop policy tenant on delivery.institution_branches;
create policy tenant on delivery.institution_branches for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or institution_user_id = (select app.user_id()) or (select app.has_role('driver'))))
  with check (tenant_id = (select app.tenant_id()) and (select app.sees_tenant()));

-- An address of a person is theirs and the staff's, and the driver's when it is a branch. One without an owner is a place of the
-- company, which whoever sees that place sees, or it is an order's, a recipient's home for instance: seen by whose order it is and by
-- the driver who carries it. All of it follows the policies of those tables. Only staff change addresses that are not their own. Nobody
-- hands an address over: its owner is not among the columns that can be updated.
drop policy tenant on delivery.addresses;
create policy tenant on delivery.addresses for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or owner_user_id = (select app.user_id())
    or exists (select from delivery.institution_branches b where b.tenant_id = addresses.tenant_id and b.address_id = addresses.id
      and (addresses.owner_user_id is null or (select app.has_role('driver'))))
    or owner_user_id is null and (
      exists (select from delivery.transfer_processing_points p where p.tenant_id = addresses.tenant_id and p.address_id = addresses.id)
      or exists (select from warehousing.warehouses w where w.tenant_id = addresses.tenant_id and w.address_id = addresses.id)
      or exists (select from delivery.deliveries d where d.tenant_id = addresses.tenant_id and d.pickup_address_id = addresses.id)
      or exists (select from delivery.deliveries d where d.tenant_id = addresses.tenant_id and d.dropoff_address_id = addresses.id))))
  with check (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or owner_user_id = (select app.user_id())));
revoke update on delivery.addresses from barid_caller;
grant update (title, full_address, city, country, latitude, longitude, contact_info, zone_id, zone_chosen)
  on delivery.addresses to barid_caller;

-- Entries and journals: staff, or whoever sees the account.
drop policy tenant on money.ledger_entries;
create policy tenant on money.ledger_entries for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.accounts a where a.tenant_id = ledger_entries.tenant_id and a.id = ledger_entries.account_id)))
  with check (tenant_id = (select app.tenant_id()));
drop policy tenant on money.ledger_transactions;
create policy tenant on money.ledger_transactions for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.ledger_entries e where e.tenant_id = ledger_transactions.tenant_id and e.transaction_id = ledger_transactions.id)))
  with check (tenant_id = (select app.tenant_id()));

-- What a settlement took, and its receipt: whoever sees the settlement.
drop policy tenant on money.cod_settlement_items;
create policy tenant on money.cod_settlement_items for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.cod_settlements s where s.tenant_id = cod_settlement_items.tenant_id and s.payment_id = cod_settlement_items.payment_id)));
drop policy tenant on money.settlement_receipts;
create policy tenant on money.settlement_receipts for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
    select from money.cod_settlements s where s.tenant_id = settlement_receipts.tenant_id and s.payment_id = settlement_receipts.payment_id)));

-- A payment is seen by staff, by whose account it is, and by whoever sees the delivery it is for.
drop policy tenant on money.payments;
create policy tenant on money.payments for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or exists (select from money.accounts a where a.tenant_id = payments.tenant_id and a.id = payments.account_id)
    or exists (select from delivery.deliveries d where d.tenant_id = payments.tenant_id and d.id = payments.delivery_id)));

-- A delivery is seen by its people and by every driver who carries or carried it, not by one who said no. `exists`, which
-- PostgreSQL asks of each row or of all at once, whichever is cheaper; `in` it asks of all, and then, for a few deliveries
-- by their ids, reads the table to the end rather than prepare that for each.
drop policy tenant on delivery.deliveries;
create policy tenant on delivery.deliveries for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant())
    or customer_id = (select app.user_id()) or institution_user_id = (select app.user_id())
    or exists (select from delivery.assignments a where a.tenant_id = deliveries.tenant_id and a.delivery_id = deliveries.id
      and a.driver_id = (select app.user_id()) and a.status <> 'rejected')));
-- A driver changes what he carries now, not what he carried once.
drop policy writers_change on delivery.deliveries;
create policy writers_change on delivery.deliveries as restrictive for update to barid_caller using (true)
  with check ((select app.sees_tenant()) or customer_id = (select app.user_id()) or institution_user_id = (select app.user_id())
    or exists (select from delivery.assignments a where a.tenant_id = deliveries.tenant_id and a.delivery_id = deliveries.id
      and a.driver_id = (select app.user_id()) and a.status in ('pending', 'assigned', 'accepted')));

-- What belongs to a delivery is seen, and written, by whoever sees the delivery. What is in a parcel
-- stands with the parent; its driver sees a leg.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['delivery_status_history', 'delivery_proofs', 'delivery_exceptions', 'delivery_items'] loop
    execute format('drop policy tenant on delivery.%I', v_table);
    execute format($policy$
      create policy tenant on delivery.%1$I for all to barid_caller
      using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
        select from delivery.deliveries d where d.tenant_id = %1$I.tenant_id and d.id = %1$I.delivery_id)
        or exists (
        select from delivery.deliveries d where d.tenant_id = %1$I.tenant_id and d.parent_id = %1$I.delivery_id)))$policy$, v_table);
  end loop;
end $$;

-- Barcodes are printed by staff and used up by whoever scans one into a manifest.
drop policy tenant on delivery.transfer_barcodes;
create policy tenant on delivery.transfer_barcodes for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or (select app.has_role('driver')) or (select app.has_role('institution'))));
drop policy writers_add on delivery.transfer_barcodes;
create policy writers_add on delivery.transfer_barcodes as restrictive for insert to barid_caller
  with check ((select app.sees_tenant()));

-- A service that is for some people only does not exist for the others; drivers carry it for anybody.
drop policy tenant on delivery.delivery_services;
create policy tenant on delivery.delivery_services for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or access_mode = 'all_users' or (select app.has_role('driver'))
      or (access_mode = 'select_users') = exists (
        select from delivery.delivery_service_users u
        where u.tenant_id = delivery_services.tenant_id and u.service_id = delivery_services.id and u.user_id = (select app.user_id()))));

-- A notice of the platform is its reader's alone, who notes that he read it; private.notify_system_admins() writes it.
drop policy tenant on tenancy.notifications;
create policy tenant on tenancy.notifications for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id()))
    or (tenant_id is null and user_id = (select app.user_id())))
  with check (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or user_id = (select app.user_id()))
    or (tenant_id is null and user_id = (select app.user_id())));

-- Vehicles are the business of those who drive and those who send them.
drop policy tenant on delivery.vehicles;
create policy tenant on delivery.vehicles for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or (select app.has_role('driver'))));

-- A warehouse that is for some people only does not exist for the others; drivers come to any.
drop policy tenant on warehousing.warehouses;
create policy tenant on warehousing.warehouses for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or access_mode = 'all_users' or (select app.has_role('driver'))
      or (access_mode = 'select_users') = exists (
        select from warehousing.warehouse_users u
        where u.tenant_id = warehouses.tenant_id and u.warehouse_id = warehouses.id and u.user_id = (select app.user_id()))));
