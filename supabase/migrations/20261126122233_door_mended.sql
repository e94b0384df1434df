-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.carrier_takes(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_pick uuid := delivery.pick_of(d);
begin
  if d.current_warehouse_id is null then
    return;
  end if;
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  perform delivery.moving_exception_expect(d);
  if v_pick is not null then
    perform delivery.picking_hand_off(v_pick, d.id);
    perform warehousing.stock_exit('picking_order', v_pick, 'pick');
  end if;
  -- A return has the stock of what it brings back.
  perform warehousing.parcel_leaves(p.id, d.current_warehouse_id)
  from unnest(array_remove(array[delivery.parcel_of(d), case when d.delivery_flow = 'operational_return' then d.original_delivery_id end], null))
    p (id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  if a.id is null then
    perform delivery.require_off_waybill(d, 'returned');
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  if not delivery.leaves_warehouse(d) then
    perform warehousing.receipts_withdraw(d.id, v_warehouse);
  end if;
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
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.delivery_refund_on(d, 'refund_delivery_fee_on_return') end;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_taken(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_due jsonb := money.cash_to_take(d, 'pickup');
begin
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  if a.status is distinct from 'assigned' and a.status is distinct from 'accepted' then
    perform app.fail('assignment_not_accepted', jsonb_build_object('status', a.status));
  end if;
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  update delivery.deliveries x set status = 'picked_up', picked_up_at = clock_timestamp(), status_reason = null, status_notes = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.moving_exception_expect(d);
  perform delivery.delivery_proofs_keep(d, 'pickup', input -> 'proof');
  perform delivery.require_cash(d, 'pickup', input -> 'cash_collected');
  perform money.cash_collected(delivery.parcel_of(d), 'pickup', a.driver_id);
  return delivery.cash_summary(v_due);
end $function$;

CREATE OR REPLACE FUNCTION delivery.moving_exception_expect(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if delivery.leaves_warehouse(d) and exists (select from delivery.delivery_exceptions e
      where e.tenant_id = d.tenant_id and e.delivery_id in (d.id, d.parent_id) and e.status = 'open')
    and exists (select from delivery.deliveries x
      where x.tenant_id = d.tenant_id and x.id = d.id and x.status in ('picked_up', 'in_transit', 'failed')) then
    perform warehousing.receipt_expect(d.id, null, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.stop_recorded(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery and x.status = 'in_transit';
  perform delivery.require_carrier(d);
  insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status, actor_id, note,
    latitude, longitude, distance_m, occurred_at, reported_as)
  select d.tenant_id, d.id, d.status, d.status, app.user_id(), nullif(concat_ws(': ', d.status_reason, d.status_notes), ''),
    r.latitude, r.longitude, r.distance_m, r.occurred_at, r.reported_as
  from (select nullif(current_setting('app.reported', true), '')::jsonb as said) g
  left join jsonb_to_record(g.said) r (parcel uuid, latitude double precision, longitude double precision, distance_m double precision,
    occurred_at timestamptz, reported_as text) on r.parcel = delivery.parcel_of(d);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."moving_exception_expect"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."moving_exception_expect"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."stop_recorded"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."stop_recorded"(uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261126122233';
end $$;

grant execute on function private.schema_version() to barid_api;
