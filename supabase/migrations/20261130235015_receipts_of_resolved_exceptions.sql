-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_exception_resolve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  e delivery.delivery_exceptions;
begin
  select * into e from delivery.delivery_exceptions x where x.id = v_id;
  if not found then
    perform app.fail('delivery_exception_not_found');
  end if;
  perform delivery.lock_deliveries(array[e.delivery_id]);
  update delivery.delivery_exceptions x set status = 'resolved', resolution = input ->> 'resolution',
    resolution_notes = input ->> 'notes', resolved_by = app.user_id(), resolved_at = clock_timestamp()
  where x.id = v_id and x.status = 'open';
  if not found then
    perform app.fail('delivery_exception_resolved');
  end if;
  perform warehousing.receipts_withdraw(l.id) from delivery.deliveries l
  where l.tenant_id = e.tenant_id and (l.id = e.delivery_id or l.parent_id = e.delivery_id) and l.status in ('picked_up', 'in_transit')
    and delivery.leaves_warehouse(l) and not delivery.has_unresolved_exception(l.id)
    and (l.parent_id is null or not delivery.has_unresolved_exception(l.parent_id));
  perform delivery.search_resume(e.delivery_id);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'delivery_exception.resolved', 'source_module', 'delivery',
    'entity_type', 'delivery_exception', 'entity_id', v_id, 'event_data', jsonb_build_object('exception_id', v_id,
      'delivery_id', e.delivery_id, 'resolution', input ->> 'resolution', 'actor_id', app.user_id()))));
  return jsonb_build_object('exception', (select to_jsonb(l) from delivery.delivery_exceptions_list l where l.id = v_id));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130235015';
end $$;

grant execute on function private.schema_version() to barid_api;
