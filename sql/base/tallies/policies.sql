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
