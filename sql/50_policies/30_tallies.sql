-- Kept totals: which lists have them, and who reads them. Staff read their tenant's, and those who manage the system
-- everybody's; others' lists are short enough to count.
alter table app.tallies enable row level security;
alter table app.tallies force row level security;
drop policy if exists tenant on app.tallies;
create policy tenant on app.tallies for select to barid_caller
  using (tenant_id = (select app.tenant_id()) and (select app.sees_tenant())
    or (select app.has_permission('manage:system')));
grant select on app.tallies to barid_caller;

alter table app.tally_kinds enable row level security;
alter table app.tally_kinds force row level security;
drop policy if exists readable on app.tally_kinds;
create policy readable on app.tally_kinds for select to barid_caller using (true);
grant select on app.tally_kinds to barid_caller;

select app.counted('deliveries', 'delivery.deliveries', '{status}');
select app.counted('assignments', 'delivery.assignments', '{status,driver_id}');
select app.counted('cod_collections', 'money.cod_collections', '{status,driver_id,currency}', 'amount');
select app.counted('carrier_collections', 'money.carrier_collections', '{carrier_code,status,currency}', 'amount');
select app.counted('picking_orders', 'warehousing.picking_orders', '{warehouse_id,status}');
select app.counted('waybills', 'warehousing.waybills', '{status,source_warehouse_id,destination_warehouse_id}');
select app.counted('package_transfers', 'warehousing.package_transfers', '{mode,operation_type,source_warehouse_id,destination_warehouse_id}');
select app.counted('stock', 'warehousing.stock', '{warehouse_id,status}', 'quantity');
