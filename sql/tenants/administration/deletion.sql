-- The end of the deletion of a tenant, for the owner of the project: npm run tenant -- delete calls it in the transaction that removes
-- the tenant's own row. Writes the end down, and publishes it as an event of the platform, which the system's administrators read.
create or replace function tenancy.deletion_end(tenant_id uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_record tenancy.deleted_tenants;
begin
  update tenancy.deleted_tenants d set ended_at = clock_timestamp(), leaving = '{}'
  where d.id = deletion_end.tenant_id and d.ended_at is null
  returning d.* into v_record;
  if v_record.id is null then
    return;
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'tenant.deleted', 'source_module', 'tenants',
    'entity_type', 'tenant', 'entity_id', v_record.id, 'event_data', jsonb_build_object('tenant_id', v_record.id,
      'files', v_record.file_count, 'people', v_record.person_count, 'actor_id', app.user_id()))));
end $$;

-- Nobody calls this but the owner.
revoke execute on function tenancy.deletion_end(uuid) from barid_caller;
