select app.tenant_table('integration.tenant_carriers', own => '{}', operations => 'insert, update', hidden => 'credentials,webhook_secret',
  write_condition => $$app.has_permission('manage:tenant')$$);
select app.touched('integration.tenant_carriers');

alter table integration.carriers enable row level security;
alter table integration.carriers force row level security;

drop policy if exists readable on integration.carriers;
create policy readable on integration.carriers for select to barid_caller using (true);

grant select on integration.carriers to barid_caller;
