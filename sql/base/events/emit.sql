-- Publishes events of the caller's tenant, in the caller's transaction and in the order given:
--   [{event_type, source_module, target_module?, entity_type, entity_id, event_data?}, ...]
-- SECURITY DEFINER, since every caller who may act may emit the event of it, and nobody may write events otherwise.
create or replace function app.events_add(events jsonb) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  insert into integration.system_events (tenant_id, event_type, source_module, target_module, entity_type, entity_id, event_data)
  select v_tenant, e.event_type, e.source_module, e.target_module, e.entity_type, e.entity_id, coalesce(e.event_data, '{}')
  from rows from (jsonb_to_recordset(events) as (event_type text, source_module text, target_module text, entity_type text,
    entity_id uuid, event_data jsonb)) with ordinality
    e (event_type, source_module, target_module, entity_type, entity_id, event_data, position)
  order by e.position;
end $$;

grant execute on function app.events_add(jsonb) to barid_caller;
