-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.picking_order_progress(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_order warehousing.picking_orders;
begin
  select * into v_order from warehousing.picking_orders o where o.id = (input ->> 'id')::uuid for no key update;
  if not found then
    perform app.fail('picking_order_not_found');
  elsif v_order.assigned_to is null or v_order.assigned_to is distinct from app.user_id() then
    perform warehousing.require_works_in(v_order.warehouse_id);
  end if;
  if input ? 'picker_notes' then
    update warehousing.picking_orders o set picking_progress = o.picking_progress || jsonb_build_object('picker_notes', input -> 'picker_notes')
    where o.id = v_order.id;
  end if;
  perform warehousing.picking_report(v_order, case when jsonb_array_length(input -> 'items') > 0
    then warehousing.picking_lines_reported(v_order, input -> 'items', input ->> 'status') end, input ->> 'status');
  return warehousing.picking_order_get(jsonb_build_object('id', v_order.id));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130234500';
end $$;

grant execute on function private.schema_version() to barid_api;
