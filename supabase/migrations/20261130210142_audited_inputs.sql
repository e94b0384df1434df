-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.promised_until(value text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE STRICT
 SET search_path TO ''
AS $function$
begin
  return least(app.day_end(value) - interval '1 microsecond', '9999-12-31 23:59:59.999999+00');
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_write(plan jsonb, options jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_driver uuid := (plan ->> 'driver_id')::uuid;
  v_vehicle uuid := (plan ->> 'vehicle_id')::uuid;
  v_count integer := jsonb_array_length(plan -> 'lines');
  v_bulk uuid := case when (options ->> 'bulk')::boolean then gen_random_uuid() end;
  v_accepted boolean := coalesce((options ->> 'accepted')::boolean, false);
  v_status text := case when v_accepted then 'accepted' when (options ->> 'confirm')::boolean
    or app.boolean_or(app.settings('general', 'driver') -> 'require_accept_or_reject_for_assignments', true)
    then 'pending' else 'assigned' end;
  v_last integer := coalesce((select max(a.sequence_number) from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted')), 0);
  v_lines jsonb;
  v_ids jsonb;
begin
  select jsonb_agg(l.line || jsonb_build_object('id', l.id, 'sequence_number',
    coalesce((l.line ->> 'sequence_number')::integer, v_last + l.place)) order by l.place), jsonb_agg(l.id order by l.place) into v_lines, v_ids
  from (select p.line, p.place, gen_random_uuid() as id from jsonb_array_elements(plan -> 'lines') with ordinality p (line, place)) l;

  if v_bulk is not null then
    insert into delivery.bulk_assignments (id, tenant_id, driver_id, assignment_count, total_units, assigned_by)
    values (v_bulk, v_tenant, v_driver, v_count, (plan ->> 'total')::numeric, v_actor);
  end if;
  -- Before the assignments: the guard of deliveries does not ask who carries one. A parcel on the road keeps its status and is written
  -- all the same, so that the list of what changed since shows its new driver.
  update delivery.deliveries d set
    status = case when d.status <> 'pending' then d.status when v_accepted then 'accepted' else 'assigned' end,
    status_reason = case when d.status <> 'pending' then d.status_reason end
  from jsonb_to_recordset(v_lines) l (delivery_id uuid) where d.tenant_id = v_tenant and d.id = l.delivery_id;
  insert into delivery.assignments (id, tenant_id, delivery_id, driver_id, vehicle_id, bulk_assignment_id, status, sequence_number,
    units, estimated_pickup_time, estimated_delivery_time, notes, assigned_by, handed_over_from, responded_at)
  select l.id, v_tenant, l.delivery_id, v_driver, v_vehicle, v_bulk, v_status, l.sequence_number, l.units,
    app.promised_until(l.estimated_pickup_time), app.promised_until(l.estimated_delivery_time), l.notes, v_actor, l.handed_over_from,
    case when v_accepted then clock_timestamp() end
  from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, units numeric, sequence_number integer,
    estimated_pickup_time text, estimated_delivery_time text, notes text, handed_over_from uuid);

  if plan -> 'lines' @> '[{"takes_handoff": true}]' then
    -- One left by a driver before is taken over; otherwise there is a new one.
    update delivery.package_handoffs h set assignment_id = l.id, driver_id = v_driver
    from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, takes_handoff boolean)
    where l.takes_handoff and h.tenant_id = v_tenant and h.delivery_id = l.delivery_id and h.status = 'pending';
    insert into delivery.package_handoffs (tenant_id, delivery_id, picking_order_id, warehouse_id, assignment_id, driver_id)
    select v_tenant, l.delivery_id, o.id, o.warehouse_id, l.id, v_driver
    from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, takes_handoff boolean)
    join warehousing.picking_orders o on o.tenant_id = v_tenant and o.delivery_id = l.delivery_id and o.status = 'completed'
    where l.takes_handoff and not exists (select from delivery.package_handoffs h
      where h.tenant_id = v_tenant and h.delivery_id = l.delivery_id and h.status = 'pending');
  end if;

  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_driver, coalesce(options ->> 'notify', case when v_bulk is null then 'assignment_created' else 'bulk_assignment_created' end),
    jsonb_strip_nulls(jsonb_build_object('assignment_id', case when v_bulk is null then v_ids -> 0 end, 'bulk_assignment_id', v_bulk,
      'assignment_count', v_count, 'total_units', plan -> 'total', 'requires_driver_response', v_status = 'pending'))
    || delivery.codes_noted(v_tenant, array(select l.delivery_id from jsonb_to_recordset(v_lines) l (delivery_id uuid))));
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery',
    'event_type', case when v_bulk is null then 'assignment.created' else 'bulk_assignment.created' end,
    'entity_type', case when v_bulk is null then 'assignment' else 'bulk_assignment' end,
    'entity_id', coalesce(to_jsonb(v_bulk), v_ids -> 0),
    'event_data', jsonb_build_object('assignment_ids', v_ids, 'driver_id', v_driver, 'status', v_status,
      'delivery_ids', jsonb_path_query_array(v_lines, '$[*].delivery_id'), 'total_units', plan -> 'total', 'actor_id', v_actor)
      || case when v_bulk is null then '{}' else jsonb_build_object('bulk_assignment_id', v_bulk) end)));
  perform app.job_add('delivery.measure_routes', jsonb_build_object('assignment_ids', v_ids));
  return jsonb_build_object('ids', v_ids, 'bulk_assignment_id', v_bulk);
end $function$;

CREATE OR REPLACE FUNCTION delivery.quote(service delivery.delivery_services, package jsonb, asked_units numeric, distance_km double precision, unit_settings jsonb, decimals integer, OUT price numeric, OUT unit_size numeric, OUT unit_size_source text, OUT error_code text, OUT error_params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  v_measured record;
  v_asked numeric;
begin
  v_measured := delivery.package_units(package, unit_settings);
  if v_measured.wrong then
    error_code := 'invalid_package';
    error_params := delivery.package_fault(package);
    return;
  end if;
  if v_measured.units is not null then
    unit_size := v_measured.units;
    unit_size_source := 'package_details';
  elsif asked_units is not null then
    unit_size := round(asked_units, 3);
    v_asked := round(asked_units, 6);
    unit_size_source := 'unit_size';
  elsif delivery.fallback_units(service, unit_settings) is not null then
    unit_size := delivery.fallback_units(service, unit_settings);
    unit_size_source := unit_settings ->> 'missing_unit_size_fallback';
  else
    error_code := 'unit_size_or_dimensions_required';
    return;
  end if;
  v_asked := coalesce(v_asked, unit_size);
  if v_asked < service.unit_min or v_asked > service.unit_max then
    error_code := 'can_not_use_this_delivery_for_this_unit_size';
    error_params := jsonb_build_object('calculated_unit_size', trim_scale(v_asked), 'allowed_unit_min', service.unit_min,
      'allowed_unit_max', service.unit_max,
      'violation', case when v_asked < service.unit_min then 'below_minimum' else 'above_maximum' end);
    return;
  end if;
  price := round(service.default_price * unit_size
    + service.price_per_km * greatest(0, coalesce(distance_km, 0)::numeric - service.free_km), decimals);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_pay(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return money.cod_settle('wallet', input ->> 'scope', app.uuids(coalesce(input -> 'cod_collection_ids', '[]')), input ->> 'driver_id',
    (input ->> 'remitted_to_user_id')::uuid, input ->> 'notes', input ->> 'reference', sha256(convert_to('wallet' || input::text, 'UTF8')));
end $function$;

CREATE OR REPLACE FUNCTION money.cod_settle(method text, scope text, collection_ids uuid[], driver_id text, receiver_id uuid, notes text, reference text, fingerprint bytea)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_key text := app.request_setting('idempotency_key');
  v_rows money.cod_collections[];
  v_driver uuid;
  v_receiver uuid;
  v_currency text;
  v_wallet uuid;
  v_total numeric;
  v_fees numeric;
  v_mixed boolean;
  v_ids uuid[];
  v_payment uuid := gen_random_uuid();
  v_settlement money.cod_settlements;
  v_items money.cod_settlement_items[];
  v_receipt text;
  v_open money.cash_handovers[];
  v_handover money.cash_handovers;
  v_short numeric := 0;
  v_borne text;
begin
  if v_key is not null then
    select s.* into v_settlement from money.cod_settlements s
    where s.tenant_id = v_tenant and s.actor_id = v_actor and s.idempotency_key = v_key;
    if found then
      if v_settlement.input_hash <> fingerprint then
        perform app.fail('settlement_idempotency_conflict');
      end if;
      return money.cod_settlement_to_json(v_settlement, money.cod_items_of(v_settlement), (
        select r.status from money.settlement_receipts r where r.tenant_id = v_tenant and r.payment_id = v_settlement.payment_id));
    end if;
  end if;

  v_rows := money.lock_cod_collections(scope, collection_ids, driver_id);
  v_driver := v_rows[1].driver_id;
  v_currency := v_rows[1].currency;
  select sum(r.amount), sum(r.delivery_fee_amount), min(r.currency) <> max(r.currency), array_agg(r.id)
  into v_total, v_fees, v_mixed, v_ids from unnest(v_rows) r;
  if method = 'remit' then
    v_receiver := money.cod_receiver(receiver_id);
    -- Also people of the office who took it as a driver name somebody else.
    if v_receiver = v_driver and app.settings('delivery', 'cod') ->> 'driver_self_remit' = 'require_receiver' then
      perform app.fail('receiver_required', '{"field": "remitted_to_user_id"}');
    end if;
  elsif receiver_id is not null then
    perform money.cod_receiver(receiver_id);
  end if;
  if v_mixed or (method = 'remit' and v_currency <> (app.currency()).code) then
    perform app.fail('settlement_amount_mismatch', jsonb_build_object('currency', v_currency));
  end if;
  v_open := money.lock_open_handovers(v_driver, v_currency);
  if method = 'wallet' then
    v_wallet := money.cod_wallet(v_driver, v_currency);
  else
    v_handover := money.handover_of(v_driver, v_open, v_total, v_currency);
    if v_handover.status = 'resolved' and v_handover.resolution in ('driver_owes', 'written_off') and not money.shortage_is_booked(v_handover) then
      v_borne := v_handover.resolution;
    end if;
    v_short := case when v_handover.status = 'discrepancy' or v_borne is not null then v_handover.declared_amount - v_handover.counted_amount else 0 end;
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, reference,
    actor_id, processed_at, snapshot)
  values (v_payment, v_tenant, 'DELIVERY', 'COD_SETTLEMENT', 'SUCCESS', case method when 'remit' then 'cash' else 'wallet' end, v_total,
    v_currency, v_wallet, cod_settle.reference, v_actor, now(),
    money.cod_snapshot(v_rows, method, scope, reference, notes, v_receiver)
    || case when v_short > 0 then jsonb_build_object('counted', v_total - v_short, 'shortage', v_short) else '{}' end);
  insert into money.cod_settlements (payment_id, tenant_id, method, scope, driver_id, actor_id, receiver_id, currency, total, cod_total,
    fee_total, collections, shortage, shortage_handover_id, notes, reference, idempotency_key, input_hash)
  values (v_payment, v_tenant, method, scope, v_driver, v_actor, v_receiver, v_currency,
    v_total, v_total - v_fees, v_fees, cardinality(v_rows), v_short, case when v_short > 0 then v_handover.id end, notes, reference, v_key, fingerprint)
  returning * into v_settlement;
  v_items := money.cod_items_record(v_payment, v_rows);
  update money.cod_collections c set
    status = case method when 'remit' then 'remitted' else 'settled_by_wallet' end,
    remitted_at = case method when 'remit' then now() end,
    settled_at = case method when 'wallet' then now() end,
    remitted_to_user_id = v_receiver,
    settlement_payment_id = v_payment, notes = coalesce(cod_settle.notes, c.notes),
    reference = coalesce(cod_settle.reference, c.reference)
  where c.tenant_id = v_tenant and c.id = any (v_ids);
  perform money.handovers_settle(v_settlement, v_handover, v_open);
  v_receipt := money.receipt_request(v_settlement, v_items);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.created', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', v_payment, 'event_data', jsonb_build_object('settlement_payment_id', v_payment,
      'method', method, 'driver_id', v_driver, 'receiver_id', v_receiver, 'currency', v_currency, 'total', v_total,
      'shortage', v_short, 'collections', cardinality(v_rows), 'actor_id', v_actor))));
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  perform money.cod_book(v_settlement, v_wallet, v_borne);
  return money.cod_settlement_to_json(v_settlement, v_items, v_receipt);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_approve(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  o storefront.storefront_orders := storefront.lock_order((input ->> 'order_id')::uuid);
  v_lines jsonb;
  v_supply jsonb;
  v_found jsonb;
  v_reserved jsonb := '[]';
  v_sends boolean;
  v_dropoff uuid;
  v_deliveries delivery.deliveries[] := '{}';
  v_ids uuid[] := '{}';
  v_agreed jsonb;
  v_answer jsonb;
begin
  if o.status not in ('pending', 'awaiting_approval') then
    perform app.fail('order_not_pending', jsonb_build_object('status', o.status));
  elsif o.payment_method <> 'cash_on_delivery' and (o.payment_status <> 'paid' or storefront.order_paid(o) < o.total_price) then
    perform app.fail('order_not_paid', jsonb_build_object('payment_status', o.payment_status));
  end if;
  v_lines := storefront.order_lines(o);
  v_supply := storefront.order_supplied(v_lines, o.shipping_address);
  if input ->> 'estimated_delivery_date' is not null then
    o.estimated_delivery := app.promised_until(input ->> 'estimated_delivery_date');
    if o.estimated_delivery < now() then
      perform app.fail('validation_failed', '{"field": "estimated_delivery_date", "reason_key": "reason_past"}');
    end if;
  end if;
  v_sends := (select app.boolean_or(m.settings -> 'auto_create_delivery', false) from storefront.markets m
    where m.tenant_id = o.tenant_id and m.id = o.market_id);
  if v_sends then
    v_dropoff := storefront.order_dropoff(o);
    v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
  end if;
  v_agreed := storefront.order_snapshot_to_json(o);

  perform storefront.lock_stock_of_order(v_lines);
  v_found := storefront.order_supplied(v_lines, o.shipping_address);
  if v_found <> v_supply then
    -- Somebody else took some of it meanwhile.
    v_supply := v_found;
    if v_sends then
      v_deliveries := storefront.order_deliveries(o, v_lines, v_supply -> 'sources', v_dropoff);
    end if;
  end if;
  v_found := (
    select jsonb_agg(jsonb_build_object('item_id', l.line -> 'inventory_item_id', 'warehouse_id', s.source -> 'warehouse_id',
      'quantity', q.quantity, 'field', 'order_id') order by s.place, q.line)
    from jsonb_array_elements(v_supply -> 'sources') with ordinality s (source, place)
    cross join lateral jsonb_to_recordset(s.source -> 'lines') as q (line integer, quantity bigint)
    cross join lateral (select v_lines -> (q.line - 1) as line) l
    where l.line ->> 'inventory_item_id' is not null);
  if v_found is not null then
    v_reserved := warehousing.stock_reserve('order', o.id, v_found);
  end if;
  for place in 1..cardinality(v_deliveries) loop
    v_ids := v_ids || delivery.delivery_write(v_deliveries[place], storefront.order_contents(v_lines, v_supply -> 'sources' -> (place - 1)));
  end loop;
  perform storefront.order_parts_make(o.id, v_lines, v_supply -> 'sources', v_reserved, v_ids);
  update storefront.storefront_orders x set status = 'confirmed', approved_at = now(), approved_by = app.user_id(),
    admin_notes = coalesce(input ->> 'admin_notes', x.admin_notes), status_note = input ->> 'admin_notes',
    estimated_delivery = o.estimated_delivery, delivery_id = v_ids[1]
  where x.tenant_id = o.tenant_id and x.id = o.id
  returning * into o;
  v_answer := storefront.order_state_to_json(o) || v_agreed;
  return jsonb_build_object('order', v_answer, 'inventory_reserved', v_reserved <> '[]', 'deliveries', v_answer -> 'deliveries',
    'delivery_assigned', jsonb_build_object('delivery_id', o.delivery_id,
      'driver_assigned', coalesce((v_answer #>> '{delivery_assignment,driver_assigned}')::boolean, false),
      'tracking_number', v_answer #>> '{delivery_assignment,tracking_number}'));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.require_default_service(before jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_now jsonb := tenancy.manifest_settings();
  v_default text := v_now ->> 'default_delivery_service_id';
  v_available jsonb := v_now -> 'available_delivery_service_ids';
  v_new boolean := v_default is distinct from before ->> 'default_delivery_service_id';
begin
  if (v_new and exists (select from delivery.delivery_services s where s.id = v_default::uuid and not s.active))
    or ((v_new or v_available <> before -> 'available_delivery_service_ids')
      and v_available <> '[]' and not v_available ? v_default) then
    -- A list without the default that is kept already: it is the default that is in the way.
    perform app.fail('delivery_service_not_available', case when v_new
      then '{"field": "delivery.transfer_manifest.settings.default_delivery_service_id"}'
      else '{"field": "delivery.transfer_manifest.settings.available_delivery_service_ids", "text_key": "default_service_left_out"}' end::jsonb);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_order_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_reference text := input ->> 'reference_number';
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
    app.promised_until(input ->> 'due_date'), (input ->> 'assigned_to')::uuid, app.user_id())
  returning * into v_order;
  perform warehousing.picking_set_lines(v_order, input -> 'item_details');
  if input ->> 'status' in ('pending', 'in_progress') then
    perform warehousing.picking_assigned(v_order);
  end if;
  if input ->> 'status' <> 'pending' then
    perform warehousing.picking_move(v_order, input ->> 'status');
  end if;
  return warehousing.picking_order_get(jsonb_build_object('id', v_order.id));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.picking_order_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_order warehousing.picking_orders;
  v_wanted warehousing.picking_orders;
begin
  select * into v_order from warehousing.picking_orders o where o.id = (input ->> 'id')::uuid for no key update;
  if not found then
    perform app.fail('picking_order_not_found');
  end if;
  v_wanted := jsonb_populate_record(v_order, input - array['status', 'picking_progress', 'due_date']);
  if input ? 'due_date' then
    v_wanted.due_date := app.promised_until(input ->> 'due_date');
  end if;
  if v_wanted.assigned_to is distinct from v_order.assigned_to then
    perform warehousing.require_assignee(v_wanted.assigned_to);
    perform warehousing.picking_assigned(v_wanted);
  end if;
  perform warehousing.require_relabelling(v_order, v_wanted);
  update warehousing.picking_orders o set assigned_to = v_wanted.assigned_to, notes = v_wanted.notes, due_date = v_wanted.due_date,
    reference_number = v_wanted.reference_number, external_reference = v_wanted.external_reference, priority = v_wanted.priority,
    picking_progress = o.picking_progress || warehousing.picking_progress(input -> 'picking_progress')
  where o.id = v_order.id;
  perform warehousing.picking_report(v_order, input -> 'item_details', input ->> 'status');
  return warehousing.picking_order_get(jsonb_build_object('id', v_order.id));
end $function$;

REVOKE ALL ON FUNCTION "app"."promised_until"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."promised_until"(text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130210142';
end $$;

grant execute on function private.schema_version() to barid_api;
