-- Invitations are made and seen by a tenant's administrators; the password never enters the log.
select app.tenant_table('tenancy.invitations', own => '{}', operations => 'insert, update', hidden => 'sealed_password,account_id',
  write_condition => $$app.has_permission('manage:tenant')$$);

drop policy if exists administrators on tenancy.invitations;
create policy administrators on tenancy.invitations as restrictive for all to barid_caller
  using ((select app.has_permission('manage:tenant')));

select app.touched('tenancy.invitations');
