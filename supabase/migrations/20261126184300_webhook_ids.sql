-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION integration.deliveries_add(event_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  insert into integration.webhook_events (id, tenant_id, subscription_id, system_event_id, event_type, entity_key, body, trace_context)
  select n.id, n.tenant_id, n.subscription_id, n.event_id, n.event_type, n.entity_key,
    integration.webhook_body(n.id, n.event_type, n.created_at, n.tenant_id, n.event_data), n.trace_context
  from (
    select overlay(overlay(md5(s.id || '/' || e.id) placing '8' from 13) placing '8' from 17)::uuid as id, e.tenant_id, s.id as subscription_id,
      e.id as event_id, e.event_type, e.entity_type || '/' || e.entity_id as entity_key, e.event_data, e.created_at, e.position, e.trace_context
    from integration.system_events e
    join integration.webhook_subscriptions s on s.tenant_id = e.tenant_id and s.is_active
    join tenancy.modules m on m.id = s.module_id
    where e.id = any (event_ids) and m.key = integration.module_of(e.event_type, e.source_module)
      and integration.wants(s.event_types, e.event_type)
    order by e.position offset 0
  ) n
  on conflict (subscription_id, system_event_id) do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126184300';
end $$;

grant execute on function private.schema_version() to barid_api;
