-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_exception_open(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_items jsonb := coalesce(nullif(input -> 'items', 'null'), '[]');
  v_id uuid;
  v_place bigint;
  v_receipt uuid;
  v_moving uuid;
  v_same uuid;
begin
  if not app.has_permission('manage:module:warehouse') then
    perform delivery.require_carrier(d);
  end if;
  if d.status in ('delivered', 'cancelled') then
    perform app.fail('delivery_ended', jsonb_build_object('status', d.status));
  end if;
  select n.position - 1 into v_place
  from rows from (jsonb_to_recordset(v_items) as (delivery_item_id uuid)) with ordinality n (delivery_item_id, position)
  where not exists (select from delivery.delivery_items i
    where i.tenant_id = d.tenant_id and i.id = n.delivery_item_id and i.delivery_id = delivery.parcel_of(d))
  order by n.position limit 1;
  if found then
    perform app.fail('delivery_item_not_found', jsonb_build_object('field', format('items.%s.delivery_item_id', v_place)));
  end if;
  -- Noted of a staged parcel, it concerns the leg that is on the road. Sent back from the door, the parcel is there as its return.
  select l.id into v_moving from delivery.deliveries l
  where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id) and delivery.leaves_warehouse(l)
    and (l.status in ('picked_up', 'in_transit', 'failed') or l.status = 'returned' and warehousing.receipt_awaits(l.id))
    and l.current_warehouse_id is null;
  select e.id into v_same from delivery.delivery_exceptions e
  where e.tenant_id = d.tenant_id and e.delivery_id = d.id and e.status = 'open' and e.created_by = app.user_id() and e.type = input ->> 'type'
    and e.notes is not distinct from input ->> 'notes' and e.items = v_items and e.created_at > now() - interval '15 minutes'
  order by e.created_at desc limit 1;
  if found then
    return jsonb_build_object('exception', (select to_jsonb(e) from delivery.delivery_exceptions_list e where e.id = v_same),
      'receiving_order_id', case when v_moving is not null then warehousing.receipt_of(v_moving) end);
  end if;
  insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items, notes, created_by)
  values (d.tenant_id, d.id, input ->> 'type', v_items, input ->> 'notes', app.user_id())
  returning id into v_id;
  if v_moving is not null then
    v_receipt := warehousing.receipt_expect(v_moving, null, true);
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'delivery_exception.opened', 'source_module', 'delivery',
    'entity_type', 'delivery_exception', 'entity_id', v_id, 'event_data', jsonb_build_object('exception_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'type', input ->> 'type', 'receiving_order_id', v_receipt, 'actor_id', app.user_id()))));
  if not (app.has_permission('manage:operations:tenant') or app.has_permission('manage:module:warehouse')) then
    perform delivery.office_notify('delivery_exception_opened', jsonb_build_object('exception_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'type', input ->> 'type'));
  end if;
  return jsonb_build_object('receiving_order_id', v_receipt,
    'exception', (select to_jsonb(e) from delivery.delivery_exceptions_list e where e.id = v_id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_awaits(p_delivery uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from warehousing.receiving_orders r
    where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status = 'pending');
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."receipt_awaits"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."receipt_awaits"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201030539';
end $$;

grant execute on function private.schema_version() to barid_api;
