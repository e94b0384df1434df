select app.tenant_table('integration.carrier_events', own => '{}', operations => '', audit => false);
select app.append_only('integration.carrier_events');

-- Rows that integration.carrier_events_purge removes may go; nothing younger.
create or replace trigger append_only_delete before delete on integration.carrier_events for each row
  when (old.created_at > now() - interval '400 days') execute function private.refuse_change();
