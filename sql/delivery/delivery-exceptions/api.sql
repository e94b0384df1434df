-- Exceptions of deliveries. As long as one is open, no driver is given the delivery.

-- Expects back in its warehouse a delivery that left there while an exception of it, or of its parcel, was open, as when the exception is
-- opened on the road. That it has left is not refused: who has it in hand may say so late. d: as it was before it left; its family is locked.
create or replace function delivery.moving_exception_expect(d delivery.deliveries) returns void
language plpgsql set search_path = '' as $$
begin
  if delivery.leaves_warehouse(d) and exists (select from delivery.delivery_exceptions e
      where e.tenant_id = d.tenant_id and e.delivery_id in (d.id, d.parent_id) and e.status = 'open')
    and exists (select from delivery.deliveries x
      where x.tenant_id = d.tenant_id and x.id = d.id and x.status in ('picked_up', 'in_transit', 'failed')) then
    perform warehousing.receipt_expect(d.id, null, true);
  end if;
end $$;

-- Opens one. {id, type, notes?, items?: [{delivery_item_id, quantity?, condition?}]} -> {exception, receiving_order_id}
-- Goods that left a warehouse and are on the road are expected back there, unless a waybill brings them to another one. One that a driver
-- opens is for the office to resolve, which is notified. The same of the same person within a quarter of an hour, while it is open, is one that
-- is sent again: it answers the first.
-- Fails: delivery_not_found, forbidden, delivery_item_not_found, delivery_ended.
create or replace function delivery.delivery_exception_open(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
end $$;

-- open -> resolved. {id, resolution, notes?} -> {exception}. Resolved on the road, nothing is expected back because of it; what a driver or a carrier
-- brings into a warehouse stays expected there. A search for its driver continues.
-- Fails: delivery_exception_not_found, delivery_exception_resolved.
create or replace function delivery.delivery_exception_resolve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
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
end $$;
