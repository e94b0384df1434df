-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION warehousing.picking_order_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_reference text := input ->> 'reference_number';
  v_cancelled boolean := input ->> 'status' = 'cancelled';
  v_order warehousing.picking_orders;
begin
  perform warehousing.require_warehouse((input ->> 'warehouse_id')::uuid);
  perform warehousing.require_assignee((input ->> 'assigned_to')::uuid);
  perform warehousing.require_picking_state((input ->> 'warehouse_id')::uuid, input -> 'item_details');
  -- Somebody may have written the next number by hand.
  while v_reference is null or (input ->> 'reference_number' is null and exists (
      select from warehousing.picking_orders o where o.tenant_id = v_tenant and o.reference_number = v_reference and o.order_id is null)) loop
    v_reference := 'PKO-' || app.padded(app.take_numbers('picking_order'), 6);
  end loop;
  insert into warehousing.picking_orders (tenant_id, reference_number, external_reference, warehouse_id, order_type, priority, status,
    picking_progress, notes, due_date, assigned_to, created_by)
  values (v_tenant, v_reference, input ->> 'external_reference', (input ->> 'warehouse_id')::uuid, input ->> 'order_type',
    coalesce((input ->> 'priority')::integer, 0), 'pending', warehousing.picking_progress(input -> 'picking_progress'), input ->> 'notes',
    app.promised_until(input ->> 'due_date'), case when not v_cancelled then (input ->> 'assigned_to')::uuid end, app.user_id())
  returning * into v_order;
  perform warehousing.picking_set_lines(v_order, input -> 'item_details');
  if input ->> 'status' in ('pending', 'in_progress') then
    perform warehousing.picking_assigned(v_order);
  end if;
  if input ->> 'status' <> 'pending' then
    perform warehousing.picking_move(v_order, input ->> 'status');
  end if;
  -- Set afterwards: the person never heard of the order, so that nothing of it is withdrawn.
  if v_cancelled and input ->> 'assigned_to' is not null then
    update warehousing.picking_orders o set assigned_to = (input ->> 'assigned_to')::uuid where o.tenant_id = v_tenant and o.id = v_order.id;
  end if;
  return warehousing.picking_order_get(jsonb_build_object('id', v_order.id));
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201000508';
end $$;

grant execute on function private.schema_version() to barid_api;
