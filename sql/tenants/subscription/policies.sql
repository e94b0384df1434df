-- The note of those who manage the system stands in no log that the company reads.
select app.tenant_table('tenancy.subscriptions', operations => 'insert, update', write_condition => $$app.has_permission('manage:system')$$,
  hidden => 'note_internal');
select app.touched('tenancy.subscriptions');

-- Of a subscription a tenant's administrators know, and the system's.
drop policy tenant on tenancy.subscriptions;
create policy tenant on tenancy.subscriptions for all to barid_caller
  using (tenant_id = (select app.tenant_id())
    and ((select app.has_permission('manage:tenant')) or (select app.has_permission('manage:system'))));
