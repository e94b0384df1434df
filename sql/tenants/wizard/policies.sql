-- A wizard's run belongs to whoever started it.
alter table tenancy.wizard_runs enable row level security;
alter table tenancy.wizard_runs force row level security;

drop policy if exists starter on tenancy.wizard_runs;
create policy starter on tenancy.wizard_runs for all to barid_caller
  using ((select app.has_permission('manage:system')) and caller = (select tenancy.wizard_caller()));

grant select, insert, update on tenancy.wizard_runs to barid_caller;

select app.touched('tenancy.wizard_runs');
