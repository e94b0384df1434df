-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.delivery_import(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_returned uuid[] := array(
    select (l -> 'input' ->> 'original_delivery_id')::uuid from jsonb_array_elements(input -> 'lines') l
    where l -> 'input' ->> 'delivery_flow' = 'customer_return');
begin
  if v_returned <> '{}' then
    perform delivery.lock_deliveries(v_returned);
  end if;
  return app.import_lines('delivery.delivery_create', '{id}', input);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_driver_of(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from delivery.drivers r
  where r.tenant_id = v_tenant and r.user_id = (
    select x.driver_id from delivery.assignments x
    where x.tenant_id = v_tenant and x.delivery_id = p_delivery and x.status in ('pending', 'assigned', 'accepted'))
  for no key update;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_receive_and_order(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_key text := input ->> 'idempotency_key';
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb;
  v_answer jsonb;
  v_manifests uuid[];
  v_offender record;
  v_usable uuid[];
  v_pending uuid[];
  v_failures jsonb := '[]';
begin
  if v_key is not null then
    -- Nothing here is emptied by a null: it says as much as a field left out.
    v_answer := private.idempotency_claim(app.request_setting('operation'), v_key,
      jsonb_strip_nulls(input - 'idempotency_key'), 'idempotency_conflict');
    if v_answer is not null then
      return jsonb_build_object('replayed', true, 'answer', v_answer);
    end if;
  end if;
  v_destination := delivery.manifest_destination(input);

  select array_agg(distinct i.manifest_id) into v_manifests
  from delivery.transfer_manifest_items i where i.id = any (v_ids);
  perform from delivery.lock_manifests(coalesce(v_manifests, '{}'));
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;

  -- Also by items that have their order: what is completed is ended for a repeat too, as checking the batch says.
  select j.id, (j.manifest).manifest_number, (j.manifest).status, j.obstacle into v_offender
  from (
    select i.manifest_id, min(asked.position) as position
    from unnest(v_ids) with ordinality asked (id, position)
    join delivery.transfer_manifest_items i on i.id = asked.id
    group by i.manifest_id
  ) first
  join delivery.manifests_evaluate(v_manifests) j on j.id = first.manifest_id and j.obstacle is not null
  order by first.position limit 1;
  if found then
    perform app.fail(v_offender.obstacle, jsonb_build_object('manifest_id', v_offender.id,
      'manifest_number', v_offender.manifest_number, 'manifest_status', v_offender.status));
  end if;

  select coalesce(array_agg(j.id order by asked.position), '{}'), array_agg(distinct j.manifest_id)
  into v_usable, v_manifests
  from unnest(v_ids) with ordinality asked (id, position)
  join delivery.items_evaluate(v_ids) j on j.id = asked.id and j.obstacle is null;

  if v_manifests is not null then
    perform delivery.manifests_start_receiving(v_manifests, 'bulk_set_destination');
    perform delivery.items_receive(v_usable, 'bulk_set_destination');
    perform delivery.manifests_complete_receiving(v_manifests, 'bulk_set_destination');
  end if;

  select coalesce(array_agg(i.id order by asked.position), '{}') into v_pending
  from unnest(v_usable) with ordinality asked (id, position)
  join delivery.transfer_manifest_items i on i.id = asked.id and i.status = 'received'
  join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    and m.status in ('received', 'received_with_exceptions', 'processing');
  -- Before the numbers, which drivers' own calls wait for with the driver locked.
  perform delivery.lock_staging_driver();
  perform delivery.delivery_codes_reserve(v_pending);

  if cardinality(v_pending) > (input ->> 'orders_max')::integer then
    return jsonb_build_object('pending', v_pending, 'destination', v_destination,
      'asker', jsonb_build_object('userId', app.user_id(), 'tenantId', app.tenant_id()));
  end if;
  if cardinality(v_pending) > 0 then
    v_failures := delivery.manifest_orders_create(jsonb_build_object('item_ids', v_pending, 'destination', v_destination)) -> 'failures';
  end if;
  return delivery.manifest_orders_outcome(input || jsonb_build_object('failures', v_failures, 'destination', v_destination));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_carrier(d delivery.deliveries)
 RETURNS delivery.assignments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  perform delivery.lock_driver_of(d.id);
  select * into a from delivery.assignments x
  where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.status in ('pending', 'assigned', 'accepted');
  if not app.has_permission('manage:operations:tenant') and a.driver_id is distinct from app.user_id() then
    perform app.fail(case when d.status in ('delivered', 'returned', 'cancelled') and exists (
      select from delivery.assignments x
      where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.driver_id = app.user_id() and x.status in ('completed', 'returned'))
      then 'assignment_ended' else 'forbidden' end);
  end if;
  -- Handed over on the road: whoever gets the parcel says first that it is there.
  if a.status = 'pending' and d.status in ('picked_up', 'in_transit', 'failed', 'returned') then
    perform app.fail('assignment_not_accepted', jsonb_build_object('status', a.status));
  end if;
  return a;
end $function$;

CREATE OR REPLACE FUNCTION integration.attempt_abandon(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform integration.key_hold(input);
  update integration.webhook_events e set status = 'failed', claim_token = null, claimed_at = null,
    error_message = input ->> 'error_message'
  where e.id = (input ->> 'id')::uuid and e.claim_token = (input ->> 'claim_token')::uuid;
  if input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION integration.attempt_finish(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_saved jsonb;
  v_answer jsonb;
begin
  perform integration.key_hold(input);
  v_saved := integration.result_save(input -> 'result' || '{"is_manual": true}');
  if v_saved is null then
    perform app.fail('webhook_event_not_found');
  end if;
  v_answer := jsonb_build_object('event_id', v_saved ->> 'id', 'status', v_saved ->> 'status',
    'retry_count', (v_saved ->> 'retry_count')::integer);
  if input ? 'key' then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  end if;
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION integration.cancel_finish(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_answer jsonb;
  s integration.carrier_shipments;
  v_cancelled boolean := (input ->> 'cancelled')::boolean;
begin
  perform integration.key_hold(input);
  update integration.carrier_shipments t set status = case when v_cancelled then 'cancelled' else 'booked' end,
    cancelled_at = case when v_cancelled then now() end, claim_token = null, claimed_at = null
  where t.id = (input ->> 'shipment_id')::uuid and t.claim_token = (input ->> 'claim_token')::uuid
  returning t.* into s;
  if not found then
    perform app.fail('shipment_in_progress');
  end if;
  if v_cancelled then
    perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'shipment.cancelled', 'source_module', 'carriers',
      'entity_type', 'delivery', 'entity_id', s.delivery_id, 'event_data', jsonb_build_object('shipment_id', s.id,
        'delivery_id', s.delivery_id, 'carrier_code', s.carrier_code, 'actor_id', app.user_id()))));
  end if;
  v_answer := integration.shipment_to_json(s);
  if input ? 'key' and v_cancelled then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  elsif input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION integration.key_hold(input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if input ? 'key' then
    perform private.idempotency_hold(app.request_setting('operation'), input ->> 'key');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_abandon(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform integration.key_hold(input);
  if (input ->> 'keep')::boolean then
    update integration.carrier_shipments s set claimed_at = now() - interval '1 hour'
    where s.id = (input ->> 'shipment_id')::uuid and s.claim_token = (input ->> 'claim_token')::uuid;
  else
    delete from integration.carrier_shipments s
    where s.id = (input ->> 'shipment_id')::uuid and s.claim_token = (input ->> 'claim_token')::uuid and s.status = 'booking';
  end if;
  if input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION integration.shipment_booked(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_answer jsonb;
  s integration.carrier_shipments;
begin
  perform integration.key_hold(input);
  perform from delivery.deliveries d
  where d.id = (select t.delivery_id from integration.carrier_shipments t where t.id = (input ->> 'shipment_id')::uuid) for no key update;
  update integration.carrier_shipments t set status = 'booked', tracking_number = input ->> 'tracking_number',
    carrier_reference = input ->> 'carrier_reference', label_url = input ->> 'label_url', booked_at = now(), claim_token = null,
    claimed_at = null
  where t.id = (input ->> 'shipment_id')::uuid and t.claim_token = (input ->> 'claim_token')::uuid
  returning t.* into s;
  if not found then
    perform app.fail('shipment_in_progress');
  end if;
  update delivery.deliveries d set carrier_code = s.carrier_code where d.id = s.delivery_id and d.carrier_code is distinct from s.carrier_code;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'shipment.booked', 'source_module', 'carriers',
    'entity_type', 'delivery', 'entity_id', s.delivery_id, 'event_data', jsonb_build_object('shipment_id', s.id,
      'delivery_id', s.delivery_id, 'carrier_code', s.carrier_code, 'tracking_number', s.tracking_number, 'actor_id', app.user_id()))));
  v_answer := integration.shipment_to_json(s);
  if input ? 'key' then
    v_answer := private.idempotency_store(app.request_setting('operation'), input ->> 'key', v_answer);
  end if;
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION private.idempotency_hold(operation text, key text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  perform from app.idempotency_keys k
  where k.scope = private.idempotency_scope() and k.operation = idempotency_hold.operation and k.key = idempotency_hold.key
  for update;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.user_abandon(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- The key first, as every step of adding a person takes it.
  if input ? 'key' then
    perform private.idempotency_forget(app.request_setting('operation'), input ->> 'key');
  end if;
  if input ? 'job_id' then
    perform app.job_withdraw((input ->> 'job_id')::bigint);
  end if;
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.lock_stock_of_items(item_ids uuid[], warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from warehousing.stock s
  where s.tenant_id = v_tenant and s.item_id = any (item_ids) and s.warehouse_id = warehouse and s.status = 'available' and s.quantity > 0
    and s.written_off_at is null
  order by s.id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_take(p_order uuid, details jsonb, notes text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r warehousing.receiving_orders;
  d delivery.deliveries;
begin
  select * into strict r from warehousing.receiving_orders o where o.tenant_id = app.tenant_id() and o.id = p_order for no key update;
  perform delivery.lock_driver_of(r.delivery_id);
  perform warehousing.receipt_fill(r, details);
  update warehousing.receiving_orders o set status = 'received', custody = 'in_warehouse', received_at = clock_timestamp(),
    received_by = app.user_id(), notes = coalesce(receipt_take.notes, o.notes)
  where o.tenant_id = r.tenant_id and o.id = r.id;
  select * into d from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = r.delivery_id;
  if found then
    perform warehousing.parcel_received(d, r);
  end if;
  perform warehousing.stock_receive((
    select jsonb_agg(jsonb_build_object('item_id', p.item_id, 'warehouse_id', r.warehouse_id, 'bin_id', p.bin_id, 'quantity', p.quantity,
      'status', p.status, 'lot_number', p.lot_number, 'serial_number', p.serial_number))
    from warehousing.receipt_pieces(r) p),
    'receive', 'receiving_order', r.id);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'receiving_order.received', 'source_module', 'warehousing',
    'entity_type', 'receiving_order', 'entity_id', r.id, 'event_data', jsonb_build_object('receiving_order_id', r.id,
      'reference_number', r.reference_number, 'warehouse_id', r.warehouse_id, 'delivery_id', r.delivery_id, 'source', r.source,
      'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_judged jsonb;
  v_reused uuid[];
  v_made uuid[] := '{}';
  v_raw uuid;
  w warehousing.waybills;
begin
  perform warehousing.require_route(v_source, (input ->> 'destination_warehouse_id')::uuid);
  v_judged := warehousing.transfer_evaluate_locked(input, 'waybill');
  w.destination_warehouse_id := (v_judged ->> 'destination_warehouse_id')::uuid;
  if w.destination_warehouse_id is null then
    perform app.fail('destination_warehouse_required', '{"field": "destination_warehouse_id"}');
  end if;
  perform warehousing.require_route(v_source, w.destination_warehouse_id);
  v_reused := warehousing.transfer_parcels(v_judged);
  perform warehousing.lock_stock_of_items(array(
    select (l.line ->> 'id')::uuid from jsonb_array_elements(v_judged -> 'lines') l (line)
    where l.line ->> 'reason' is null and (l.line ->> 'raw')::boolean), v_source);
  for v_raw in
    select (n.line ->> 'id')::uuid from jsonb_array_elements(v_judged -> 'lines') with ordinality n (line, place)
    where n.line ->> 'reason' is null and (n.line ->> 'raw')::boolean order by n.place
  loop
    if coalesce(jsonb_typeof(input -> 'new_delivery_defaults'), 'null') = 'null' then
      perform app.fail('new_delivery_defaults_required', '{"field": "new_delivery_defaults"}');
    end if;
    v_made := v_made || warehousing.raw_delivery_create(v_raw, v_source, w.destination_warehouse_id, input -> 'new_delivery_defaults');
  end loop;
  while w.waybill_number is null or exists (
      select from warehousing.waybills x where x.tenant_id = app.tenant_id() and x.waybill_number = w.waybill_number) loop
    w.waybill_number := 'WB-' || app.padded(app.take_numbers('waybill'), 6);
  end loop;
  insert into warehousing.waybills (tenant_id, waybill_number, source_warehouse_id, destination_warehouse_id, notes, created_by)
  values (app.tenant_id(), w.waybill_number, v_source, w.destination_warehouse_id, input ->> 'notes', app.user_id())
  returning * into w;
  -- Both ends are held now, by the references; who removed one a moment ago has been waited for.
  perform warehousing.require_route(v_source, w.destination_warehouse_id);
  insert into warehousing.waybill_deliveries (tenant_id, waybill_id, delivery_id, position)
  select w.tenant_id, w.id, p.id, p.place from unnest(v_reused || v_made) with ordinality p (id, place);
  -- The person who put it on the list has it at hand.
  perform delivery.parcel_at(p.id, v_source) from unnest(v_reused || v_made) p (id);
  perform warehousing.waybill_reserve(w, v_reused || v_made);
  return jsonb_build_object(
    'transfer_id', (select t.id from warehousing.package_transfers t where t.tenant_id = w.tenant_id and t.waybill_id = w.id),
    'mode', 'delivery_operation', 'operation_type', 'waybill', 'delivery_ids', to_jsonb(v_reused || v_made), 'waybill_id', w.id,
    'waybill_number', w.waybill_number, 'status', w.status, 'rejected', warehousing.transfer_rejected(v_judged),
    'waybill', warehousing.waybill_to_json(w.id),
    'operation_result', jsonb_build_object('accepted', warehousing.transfer_accepted(v_judged),
      'rejected', warehousing.transfer_rejected(v_judged), 'reused_delivery_ids', to_jsonb(v_reused), 'created_delivery_ids', to_jsonb(v_made),
      'destination_lock', jsonb_build_object('warehouse_id', w.destination_warehouse_id,
        'source', case when (v_judged ->> 'inferred')::boolean then 'inferred' else 'request' end)));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."lock_driver_of"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_driver_of"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."key_hold"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."key_hold"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "private"."idempotency_hold"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."idempotency_hold"(text, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."lock_stock_of_items"(uuid[], uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."lock_stock_of_items"(uuid[], uuid) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125233359';
end $$;

grant execute on function private.schema_version() to barid_api;
