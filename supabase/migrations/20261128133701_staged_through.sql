-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_completed jsonb;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if d.delivery_flow = 'customer_return' and not delivery.is_transferred(d) and v_warehouse = delivery.ends_in(d)
      or d.delivery_flow = 'pnd_inbound' and v_warehouse is not null
        and v_warehouse is distinct from (delivery.ordered_from(delivery.parcel_terms(d))).warehouse_id then
    if d.delivery_flow = 'pnd_inbound' and v_warehouse is distinct from delivery.ends_in(d) then
      perform delivery.staged_through(d.id, v_warehouse);
    end if;
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'failed';
    v_completed := delivery.delivery_complete(input);
    return jsonb_build_object('delivery', v_completed -> 'delivery', 'receiving_order_id', warehousing.receipt_of(d.id),
      'refunded', false, 'refund_due', null);
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  -- Expected by another warehouse, such as the one it left with an open exception, it does not come there.
  perform warehousing.receipts_withdraw(d.id, coalesce(v_warehouse, case when delivery.leaves_warehouse(d) then d.pickup_warehouse_id end));
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_awaited and d.status = 'in_transit' then
    perform delivery.stop_recorded(d.id);
  end if;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.returned_fee_refund(d, delivery.refund_due_event()) end;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.staged_through(p_leg uuid, warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_place jsonb := delivery.warehouse_place(v_tenant, warehouse, null);
  v_address uuid := v_place ->> 'id';
  v_zone uuid := v_place ->> 'zone_id';
begin
  update delivery.deliveries x set
    staging_warehouse_id = case when x.parent_id is null then warehouse end,
    dropoff_warehouse_id = case when x.leg = 'A' then warehouse else x.dropoff_warehouse_id end,
    dropoff_address_id = case when x.leg = 'A' then v_address else x.dropoff_address_id end,
    dropoff_snapshot = case when x.leg = 'A' then v_place else x.dropoff_snapshot end,
    dropoff_zone_id = case when x.leg = 'A' then v_zone else x.dropoff_zone_id end,
    pickup_warehouse_id = case when x.leg = 'B' then warehouse else x.pickup_warehouse_id end,
    pickup_address_id = case when x.leg = 'B' then v_address else x.pickup_address_id end,
    pickup_snapshot = case when x.leg = 'B' then v_place else x.pickup_snapshot end,
    pickup_zone_id = case when x.leg = 'B' then v_zone else x.pickup_zone_id end,
    label_outdated = x.label_outdated or x.label_edition > 0
  from delivery.deliveries a
  where a.tenant_id = v_tenant and a.id = p_leg and a.delivery_flow = 'pnd_inbound' and x.tenant_id = v_tenant
    and (x.id in (a.id, a.parent_id) or x.parent_id = a.parent_id and x.leg = 'B' and x.status = 'draft');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."staged_through"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."staged_through"(uuid, uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128133701';
end $$;

grant execute on function private.schema_version() to barid_api;
