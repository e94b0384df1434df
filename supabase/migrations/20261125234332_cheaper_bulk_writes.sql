-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: ffb8c58123ea3eaa73e4f9e097ab66b71a578f8eaf77faa8f224e40c74299527
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments, delivery.deliveries, delivery.transfer_manifest_items in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP TRIGGER "audit_update" ON "delivery"."assignments";

DROP TRIGGER "audit_update" ON "delivery"."deliveries";

DROP TRIGGER "audit_update" ON "delivery"."transfer_manifest_items";

CREATE OR REPLACE FUNCTION app.audited_by_column(target regclass, hidden text DEFAULT ''::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_function text := (
    select 'audit_' || n.nspname || '_' || c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = target);
  -- A value of JSON that is null and no value at all are the same in a document.
  v_changed text[] := array(
    select format(case when a.atttypid = 'jsonb'::regtype
      then 'case when coalesce(n.%1$I, ''null'') <> coalesce(o.%1$I, ''null'') then jsonb_build_object(%1$L, {}.%1$I) else ''{}'' end'
      else 'case when n.%1$I is distinct from o.%1$I then jsonb_build_object(%1$L, {}.%1$I) else ''{}'' end' end, a.attname)
    from pg_catalog.pg_attribute a
    where a.attrelid = target and a.attnum > 0 and not a.attisdropped
      and a.attname <> all (array['updated_at', 'changed'] || string_to_array(hidden, ','))
    order by a.attnum);
begin
  execute format($f$
    create or replace function private.%1$I() returns trigger
    language plpgsql security definer set search_path = '' as $b$
    declare
      v_tenant uuid := app.tenant_id();
      v_actor uuid := app.user_id();
      v_key uuid := app.request_setting('api_key_id')::uuid;
      v_client text := app.request_setting('client_request_id');
      v_request text := app.request_setting('request_id');
      v_operation text := app.request_setting('operation');
    begin
      insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
      select v_tenant, v_actor, v_key, v_request, v_client, v_operation, %2$L, c.id, 'update', c.before, c.after
      from (
        -- Both list the rows in the order of the update. A full join is never a nested loop: see private.audit.
        select o.line, o.id::text as id,
          %3$s as before,
          %4$s as after
        from (select row_number() over () as line, t.* from old_rows t) o
        full join (select row_number() over () as line, t.* from new_rows t) n on n.line = o.line
        offset 0
      ) c
      where c.after <> '{}'
      order by c.line;
      return null;
    end $b$
    $f$, v_function, target::text,
    replace(array_to_string(v_changed, E'\n          || '), '{}.', 'o.'), replace(array_to_string(v_changed, E'\n          || '), '{}.', 'n.'));
  execute format('revoke execute on function private.%I() from public, barid_caller', v_function);
  execute format('drop trigger if exists audit_update on %s', target);
  execute format('create trigger audit_update after update on %s referencing old table as old_rows new table as new_rows
    for each statement execute function private.%I()', target, v_function);
end $function$;

REVOKE ALL ON FUNCTION "app"."audited_by_column"(regclass, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.assignments_begin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  select case when d.delivery_flow <> 'pnd_inbound' then d.current_warehouse_id end,
    case when d.transfer_kind is not null and delivery.is_transferred(d) then d.dropoff_warehouse_id end
  into new.from_warehouse_id, new.to_warehouse_id
  from delivery.deliveries d where d.tenant_id = new.tenant_id and d.id = new.delivery_id;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    perform delivery.rows_broadcast('assignment.changed', 'assignments', (
      select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
        'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number)) order by n.sequence_number, n.id) from new_rows n));
    return null;
  end if;
  perform delivery.rows_broadcast('assignment.changed', 'assignments', (
    select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_id', n.delivery_id,
      'driver_id', n.driver_id, 'status', n.status, 'sequence_number', n.sequence_number)) order by n.sequence_number, n.id)
    from new_rows n join old_rows o on o.id = n.id
    where n.status <> o.status or n.sequence_number <> o.sequence_number));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_fetched constant text[] := '{pending,assigned,accepted}';
begin
  if tg_op = 'INSERT' then
    perform delivery.rows_broadcast('delivery.status', 'deliveries', (
      select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
          'parent_id', n.parent_id, 'status', n.status, 'from_status', null, 'driver_id', null,
          'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
            'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')))
        order by n.delivery_code, n.sequence_plan nulls first)
      from new_rows n
      cross join lateral (
        select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p));
    return null;
  end if;
  perform delivery.rows_broadcast('delivery.status', 'deliveries', (
    select jsonb_agg(jsonb_build_object('tenant', n.tenant_id, 'row', jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
        'parent_id', n.parent_id, 'status', n.status, 'from_status', o.status, 'driver_id', a.driver_id,
        'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
          'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')))
      order by n.delivery_code, n.sequence_plan nulls first)
    from new_rows n
    join old_rows o on o.id = n.id
    cross join lateral (
      select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p
    left join delivery.assignments a on a.tenant_id = n.tenant_id and a.delivery_id = n.id and a.status in ('pending', 'assigned', 'accepted')
    where n.status <> o.status));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_item_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if new.status <> old.status and not (old.status || '>' || new.status) = any (array[
    'picked_up>in_transit', 'picked_up>received', 'in_transit>received',
    'received>scanned', 'received>processing', 'scanned>processing',
    'scanned>received', 'processing>received',
    'received>order_created', 'scanned>order_created', 'processing>order_created', 'order_created>received',
    'picked_up>void', 'in_transit>void', 'received>void', 'scanned>void', 'processing>void']) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  -- Only a cancelled order gives its item back, and then it has none.
  -- Asked apart: an expression with a query in it costs as much where it is not reached.
  if old.delivery_id is not null and (new.delivery_id is distinct from old.delivery_id or new.status <> old.status) then
    if not (new.delivery_id is null and new.status = 'received' and exists (
        select from delivery.deliveries d
        where d.tenant_id = old.tenant_id and d.id = old.delivery_id and d.status = 'cancelled')) then
      perform app.fail('item_already_has_order');
    end if;
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION delivery.package_units(package jsonb, unit_settings jsonb, OUT units numeric, OUT wrong boolean)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  if jsonb_typeof(package -> 'items') is distinct from 'array' then
    wrong := false;
    return;
  end if;
  with item as (
    select q.measure as quantity, w.measure as weight, l.measure as length, d.measure as width, h.measure as height,
      q.wrong or w.wrong or l.wrong or d.wrong or h.wrong
        or (q.measure is not null and (q.measure < 1 or q.measure <> trunc(q.measure))) as wrong
    from jsonb_array_elements(package -> 'items') i,
      delivery.read_measure(i -> 'quantity') q, delivery.read_measure(i -> 'weight') w,
      delivery.read_measure(i -> 'length') l, delivery.read_measure(i -> 'width') d, delivery.read_measure(i -> 'height') h
  ), total as (
    select count(*) as items, coalesce(bool_or(wrong), false) as wrong,
      bool_and(coalesce(weight > 0 and length > 0 and width > 0 and height > 0, false)) as complete,
      sum(weight * coalesce(quantity, 1)) as weight, max(length) as length, max(width) as width, max(height) as height
    from item
  ), setting as (
    select nullif((unit_settings ->> 'unit_weight')::numeric, 0) as weight, nullif((unit_settings ->> 'unit_length')::numeric, 0) as length,
      case when (unit_settings ->> 'use_volumetric_weight')::boolean
        then nullif((unit_settings ->> 'volumetric_divisor')::numeric, 0) end as divisor
  )
  select case when t.items > 0 and t.complete and not t.wrong and coalesce(s.weight, s.length) is not null then
      greatest(1, ceil(greatest(
        greatest(t.weight, coalesce(t.length * t.width * t.height / s.divisor, 0)) / s.weight,
        greatest(t.length, t.width, t.height) / s.length)))
    end, t.wrong
  into units, wrong
  from total t, setting s;
end $function$;

CREATE OR REPLACE FUNCTION delivery.rows_broadcast(event text, name text, changed jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if changed is null then
    return;
  end if;
  perform delivery.broadcast(g.topic, rows_broadcast.event, jsonb_build_object(rows_broadcast.name, g.rows))
  from (
    select t.topic, jsonb_agg(c.line -> 'row' order by c.place) as rows
    from jsonb_array_elements(changed) with ordinality c (line, place)
    cross join lateral (values (format('tenant:%s:board', c.line ->> 'tenant')), ('driver:' || (c.line #>> '{row,driver_id}'))) t (topic)
    where t.topic is not null
    group by t.topic, (c.place - 1) / 100
    order by t.topic, min(c.place)) g;
end $function$;

CREATE OR REPLACE FUNCTION delivery.zones_of(delivery_ids uuid[])
 RETURNS TABLE(delivery_id uuid, pickup_zone_id uuid, dropoff_zone_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query select z.delivery_id, z.pickup_zone_id, z.dropoff_zone_id
    from delivery.delivery_zone_context z
    where z.delivery_id = any (array(select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (delivery_ids)));
exception when others then
  raise warning 'the zones of deliveries cannot be read: % %', sqlstate, sqlerrm;
  perform app.fail('internal_server_error');
end $function$;

CREATE OR REPLACE FUNCTION private.audit_delivery_assignments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    declare
      v_tenant uuid := app.tenant_id();
      v_actor uuid := app.user_id();
      v_key uuid := app.request_setting('api_key_id')::uuid;
      v_client text := app.request_setting('client_request_id');
      v_request text := app.request_setting('request_id');
      v_operation text := app.request_setting('operation');
    begin
      insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
      select v_tenant, v_actor, v_key, v_request, v_client, v_operation, 'delivery.assignments', c.id, 'update', c.before, c.after
      from (
        -- Both list the rows in the order of the update. A full join is never a nested loop: see private.audit.
        select o.line, o.id::text as id,
          case when n.id is distinct from o.id then jsonb_build_object('id', o.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', o.tenant_id) else '{}' end
          || case when n.delivery_id is distinct from o.delivery_id then jsonb_build_object('delivery_id', o.delivery_id) else '{}' end
          || case when n.driver_id is distinct from o.driver_id then jsonb_build_object('driver_id', o.driver_id) else '{}' end
          || case when n.vehicle_id is distinct from o.vehicle_id then jsonb_build_object('vehicle_id', o.vehicle_id) else '{}' end
          || case when n.bulk_assignment_id is distinct from o.bulk_assignment_id then jsonb_build_object('bulk_assignment_id', o.bulk_assignment_id) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', o.status) else '{}' end
          || case when n.sequence_number is distinct from o.sequence_number then jsonb_build_object('sequence_number', o.sequence_number) else '{}' end
          || case when n.units is distinct from o.units then jsonb_build_object('units', o.units) else '{}' end
          || case when n.assignment_time is distinct from o.assignment_time then jsonb_build_object('assignment_time', o.assignment_time) else '{}' end
          || case when n.estimated_pickup_time is distinct from o.estimated_pickup_time then jsonb_build_object('estimated_pickup_time', o.estimated_pickup_time) else '{}' end
          || case when n.estimated_delivery_time is distinct from o.estimated_delivery_time then jsonb_build_object('estimated_delivery_time', o.estimated_delivery_time) else '{}' end
          || case when n.notes is distinct from o.notes then jsonb_build_object('notes', o.notes) else '{}' end
          || case when n.assigned_by is distinct from o.assigned_by then jsonb_build_object('assigned_by', o.assigned_by) else '{}' end
          || case when n.responded_at is distinct from o.responded_at then jsonb_build_object('responded_at', o.responded_at) else '{}' end
          || case when n.response_reason is distinct from o.response_reason then jsonb_build_object('response_reason', o.response_reason) else '{}' end
          || case when n.ended_at is distinct from o.ended_at then jsonb_build_object('ended_at', o.ended_at) else '{}' end
          || case when n.from_warehouse_id is distinct from o.from_warehouse_id then jsonb_build_object('from_warehouse_id', o.from_warehouse_id) else '{}' end
          || case when n.to_warehouse_id is distinct from o.to_warehouse_id then jsonb_build_object('to_warehouse_id', o.to_warehouse_id) else '{}' end
          || case when n.handed_over_from is distinct from o.handed_over_from then jsonb_build_object('handed_over_from', o.handed_over_from) else '{}' end
          || case when coalesce(n.route_details, 'null') <> coalesce(o.route_details, 'null') then jsonb_build_object('route_details', o.route_details) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', o.created_at) else '{}' end as before,
          case when n.id is distinct from o.id then jsonb_build_object('id', n.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', n.tenant_id) else '{}' end
          || case when n.delivery_id is distinct from o.delivery_id then jsonb_build_object('delivery_id', n.delivery_id) else '{}' end
          || case when n.driver_id is distinct from o.driver_id then jsonb_build_object('driver_id', n.driver_id) else '{}' end
          || case when n.vehicle_id is distinct from o.vehicle_id then jsonb_build_object('vehicle_id', n.vehicle_id) else '{}' end
          || case when n.bulk_assignment_id is distinct from o.bulk_assignment_id then jsonb_build_object('bulk_assignment_id', n.bulk_assignment_id) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', n.status) else '{}' end
          || case when n.sequence_number is distinct from o.sequence_number then jsonb_build_object('sequence_number', n.sequence_number) else '{}' end
          || case when n.units is distinct from o.units then jsonb_build_object('units', n.units) else '{}' end
          || case when n.assignment_time is distinct from o.assignment_time then jsonb_build_object('assignment_time', n.assignment_time) else '{}' end
          || case when n.estimated_pickup_time is distinct from o.estimated_pickup_time then jsonb_build_object('estimated_pickup_time', n.estimated_pickup_time) else '{}' end
          || case when n.estimated_delivery_time is distinct from o.estimated_delivery_time then jsonb_build_object('estimated_delivery_time', n.estimated_delivery_time) else '{}' end
          || case when n.notes is distinct from o.notes then jsonb_build_object('notes', n.notes) else '{}' end
          || case when n.assigned_by is distinct from o.assigned_by then jsonb_build_object('assigned_by', n.assigned_by) else '{}' end
          || case when n.responded_at is distinct from o.responded_at then jsonb_build_object('responded_at', n.responded_at) else '{}' end
          || case when n.response_reason is distinct from o.response_reason then jsonb_build_object('response_reason', n.response_reason) else '{}' end
          || case when n.ended_at is distinct from o.ended_at then jsonb_build_object('ended_at', n.ended_at) else '{}' end
          || case when n.from_warehouse_id is distinct from o.from_warehouse_id then jsonb_build_object('from_warehouse_id', n.from_warehouse_id) else '{}' end
          || case when n.to_warehouse_id is distinct from o.to_warehouse_id then jsonb_build_object('to_warehouse_id', n.to_warehouse_id) else '{}' end
          || case when n.handed_over_from is distinct from o.handed_over_from then jsonb_build_object('handed_over_from', n.handed_over_from) else '{}' end
          || case when coalesce(n.route_details, 'null') <> coalesce(o.route_details, 'null') then jsonb_build_object('route_details', n.route_details) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', n.created_at) else '{}' end as after
        from (select row_number() over () as line, t.* from old_rows t) o
        full join (select row_number() over () as line, t.* from new_rows t) n on n.line = o.line
        offset 0
      ) c
      where c.after <> '{}'
      order by c.line;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.audit_delivery_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    declare
      v_tenant uuid := app.tenant_id();
      v_actor uuid := app.user_id();
      v_key uuid := app.request_setting('api_key_id')::uuid;
      v_client text := app.request_setting('client_request_id');
      v_request text := app.request_setting('request_id');
      v_operation text := app.request_setting('operation');
    begin
      insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
      select v_tenant, v_actor, v_key, v_request, v_client, v_operation, 'delivery.deliveries', c.id, 'update', c.before, c.after
      from (
        -- Both list the rows in the order of the update. A full join is never a nested loop: see private.audit.
        select o.line, o.id::text as id,
          case when n.id is distinct from o.id then jsonb_build_object('id', o.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', o.tenant_id) else '{}' end
          || case when n.delivery_code is distinct from o.delivery_code then jsonb_build_object('delivery_code', o.delivery_code) else '{}' end
          || case when n.barcode is distinct from o.barcode then jsonb_build_object('barcode', o.barcode) else '{}' end
          || case when n.external_reference_id is distinct from o.external_reference_id then jsonb_build_object('external_reference_id', o.external_reference_id) else '{}' end
          || case when n.parent_id is distinct from o.parent_id then jsonb_build_object('parent_id', o.parent_id) else '{}' end
          || case when n.original_delivery_id is distinct from o.original_delivery_id then jsonb_build_object('original_delivery_id', o.original_delivery_id) else '{}' end
          || case when n.leg is distinct from o.leg then jsonb_build_object('leg', o.leg) else '{}' end
          || case when n.sequence_plan is distinct from o.sequence_plan then jsonb_build_object('sequence_plan', o.sequence_plan) else '{}' end
          || case when n.delivery_flow is distinct from o.delivery_flow then jsonb_build_object('delivery_flow', o.delivery_flow) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', o.status) else '{}' end
          || case when n.customer_id is distinct from o.customer_id then jsonb_build_object('customer_id', o.customer_id) else '{}' end
          || case when n.institution_user_id is distinct from o.institution_user_id then jsonb_build_object('institution_user_id', o.institution_user_id) else '{}' end
          || case when n.delivery_service_id is distinct from o.delivery_service_id then jsonb_build_object('delivery_service_id', o.delivery_service_id) else '{}' end
          || case when n.carrier_type is distinct from o.carrier_type then jsonb_build_object('carrier_type', o.carrier_type) else '{}' end
          || case when n.carrier_code is distinct from o.carrier_code then jsonb_build_object('carrier_code', o.carrier_code) else '{}' end
          || case when n.payer_type is distinct from o.payer_type then jsonb_build_object('payer_type', o.payer_type) else '{}' end
          || case when n.payment_method is distinct from o.payment_method then jsonb_build_object('payment_method', o.payment_method) else '{}' end
          || case when n.cod_amount is distinct from o.cod_amount then jsonb_build_object('cod_amount', o.cod_amount) else '{}' end
          || case when n.delivery_fee is distinct from o.delivery_fee then jsonb_build_object('delivery_fee', o.delivery_fee) else '{}' end
          || case when n.currency is distinct from o.currency then jsonb_build_object('currency', o.currency) else '{}' end
          || case when n.unit_size is distinct from o.unit_size then jsonb_build_object('unit_size', o.unit_size) else '{}' end
          || case when n.unit_size_source is distinct from o.unit_size_source then jsonb_build_object('unit_size_source', o.unit_size_source) else '{}' end
          || case when coalesce(n.package_details, 'null') <> coalesce(o.package_details, 'null') then jsonb_build_object('package_details', o.package_details) else '{}' end
          || case when n.distance_km is distinct from o.distance_km then jsonb_build_object('distance_km', o.distance_km) else '{}' end
          || case when n.pickup_address_id is distinct from o.pickup_address_id then jsonb_build_object('pickup_address_id', o.pickup_address_id) else '{}' end
          || case when n.dropoff_address_id is distinct from o.dropoff_address_id then jsonb_build_object('dropoff_address_id', o.dropoff_address_id) else '{}' end
          || case when coalesce(n.pickup_snapshot, 'null') <> coalesce(o.pickup_snapshot, 'null') then jsonb_build_object('pickup_snapshot', o.pickup_snapshot) else '{}' end
          || case when coalesce(n.dropoff_snapshot, 'null') <> coalesce(o.dropoff_snapshot, 'null') then jsonb_build_object('dropoff_snapshot', o.dropoff_snapshot) else '{}' end
          || case when n.pickup_zone_id is distinct from o.pickup_zone_id then jsonb_build_object('pickup_zone_id', o.pickup_zone_id) else '{}' end
          || case when n.dropoff_zone_id is distinct from o.dropoff_zone_id then jsonb_build_object('dropoff_zone_id', o.dropoff_zone_id) else '{}' end
          || case when n.pickup_warehouse_id is distinct from o.pickup_warehouse_id then jsonb_build_object('pickup_warehouse_id', o.pickup_warehouse_id) else '{}' end
          || case when n.dropoff_warehouse_id is distinct from o.dropoff_warehouse_id then jsonb_build_object('dropoff_warehouse_id', o.dropoff_warehouse_id) else '{}' end
          || case when n.transfer_kind is distinct from o.transfer_kind then jsonb_build_object('transfer_kind', o.transfer_kind) else '{}' end
          || case when n.ordered_to_warehouse_id is distinct from o.ordered_to_warehouse_id then jsonb_build_object('ordered_to_warehouse_id', o.ordered_to_warehouse_id) else '{}' end
          || case when n.ordered_from_address_id is distinct from o.ordered_from_address_id then jsonb_build_object('ordered_from_address_id', o.ordered_from_address_id) else '{}' end
          || case when coalesce(n.ordered_from_snapshot, 'null') <> coalesce(o.ordered_from_snapshot, 'null') then jsonb_build_object('ordered_from_snapshot', o.ordered_from_snapshot) else '{}' end
          || case when n.ordered_from_warehouse_id is distinct from o.ordered_from_warehouse_id then jsonb_build_object('ordered_from_warehouse_id', o.ordered_from_warehouse_id) else '{}' end
          || case when n.current_warehouse_id is distinct from o.current_warehouse_id then jsonb_build_object('current_warehouse_id', o.current_warehouse_id) else '{}' end
          || case when n.staging_warehouse_id is distinct from o.staging_warehouse_id then jsonb_build_object('staging_warehouse_id', o.staging_warehouse_id) else '{}' end
          || case when coalesce(n.recipient, 'null') <> coalesce(o.recipient, 'null') then jsonb_build_object('recipient', o.recipient) else '{}' end
          || case when n.notes is distinct from o.notes then jsonb_build_object('notes', o.notes) else '{}' end
          || case when coalesce(n.service_snapshot, 'null') <> coalesce(o.service_snapshot, 'null') then jsonb_build_object('service_snapshot', o.service_snapshot) else '{}' end
          || case when n.order_id is distinct from o.order_id then jsonb_build_object('order_id', o.order_id) else '{}' end
          || case when n.manifest_id is distinct from o.manifest_id then jsonb_build_object('manifest_id', o.manifest_id) else '{}' end
          || case when n.manifest_item_id is distinct from o.manifest_item_id then jsonb_build_object('manifest_item_id', o.manifest_item_id) else '{}' end
          || case when coalesce(n.source_snapshot, 'null') <> coalesce(o.source_snapshot, 'null') then jsonb_build_object('source_snapshot', o.source_snapshot) else '{}' end
          || case when n.snapshot_version is distinct from o.snapshot_version then jsonb_build_object('snapshot_version', o.snapshot_version) else '{}' end
          || case when n.label_edition is distinct from o.label_edition then jsonb_build_object('label_edition', o.label_edition) else '{}' end
          || case when n.label_outdated is distinct from o.label_outdated then jsonb_build_object('label_outdated', o.label_outdated) else '{}' end
          || case when n.label_assignment is distinct from o.label_assignment then jsonb_build_object('label_assignment', o.label_assignment) else '{}' end
          || case when n.status_reason is distinct from o.status_reason then jsonb_build_object('status_reason', o.status_reason) else '{}' end
          || case when n.status_notes is distinct from o.status_notes then jsonb_build_object('status_notes', o.status_notes) else '{}' end
          || case when n.attempts_used is distinct from o.attempts_used then jsonb_build_object('attempts_used', o.attempts_used) else '{}' end
          || case when n.promised_at is distinct from o.promised_at then jsonb_build_object('promised_at', o.promised_at) else '{}' end
          || case when n.picked_up_at is distinct from o.picked_up_at then jsonb_build_object('picked_up_at', o.picked_up_at) else '{}' end
          || case when n.delivered_at is distinct from o.delivered_at then jsonb_build_object('delivered_at', o.delivered_at) else '{}' end
          || case when n.created_by is distinct from o.created_by then jsonb_build_object('created_by', o.created_by) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', o.created_at) else '{}' end
          || case when n.deliver_after is distinct from o.deliver_after then jsonb_build_object('deliver_after', o.deliver_after) else '{}' end
          || case when n.deliver_before is distinct from o.deliver_before then jsonb_build_object('deliver_before', o.deliver_before) else '{}' end
          || case when n.ordered_cod_amount is distinct from o.ordered_cod_amount then jsonb_build_object('ordered_cod_amount', o.ordered_cod_amount) else '{}' end
          || case when n.attempts_exhausted is distinct from o.attempts_exhausted then jsonb_build_object('attempts_exhausted', o.attempts_exhausted) else '{}' end
          || case when n.returns_part is distinct from o.returns_part then jsonb_build_object('returns_part', o.returns_part) else '{}' end
          || case when n.postponed_to is distinct from o.postponed_to then jsonb_build_object('postponed_to', o.postponed_to) else '{}' end
          || case when n.overnight_notice_at is distinct from o.overnight_notice_at then jsonb_build_object('overnight_notice_at', o.overnight_notice_at) else '{}' end
          || case when n.made_at_door is distinct from o.made_at_door then jsonb_build_object('made_at_door', o.made_at_door) else '{}' end
          || case when n.delivered_in_part is distinct from o.delivered_in_part then jsonb_build_object('delivered_in_part', o.delivered_in_part) else '{}' end as before,
          case when n.id is distinct from o.id then jsonb_build_object('id', n.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', n.tenant_id) else '{}' end
          || case when n.delivery_code is distinct from o.delivery_code then jsonb_build_object('delivery_code', n.delivery_code) else '{}' end
          || case when n.barcode is distinct from o.barcode then jsonb_build_object('barcode', n.barcode) else '{}' end
          || case when n.external_reference_id is distinct from o.external_reference_id then jsonb_build_object('external_reference_id', n.external_reference_id) else '{}' end
          || case when n.parent_id is distinct from o.parent_id then jsonb_build_object('parent_id', n.parent_id) else '{}' end
          || case when n.original_delivery_id is distinct from o.original_delivery_id then jsonb_build_object('original_delivery_id', n.original_delivery_id) else '{}' end
          || case when n.leg is distinct from o.leg then jsonb_build_object('leg', n.leg) else '{}' end
          || case when n.sequence_plan is distinct from o.sequence_plan then jsonb_build_object('sequence_plan', n.sequence_plan) else '{}' end
          || case when n.delivery_flow is distinct from o.delivery_flow then jsonb_build_object('delivery_flow', n.delivery_flow) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', n.status) else '{}' end
          || case when n.customer_id is distinct from o.customer_id then jsonb_build_object('customer_id', n.customer_id) else '{}' end
          || case when n.institution_user_id is distinct from o.institution_user_id then jsonb_build_object('institution_user_id', n.institution_user_id) else '{}' end
          || case when n.delivery_service_id is distinct from o.delivery_service_id then jsonb_build_object('delivery_service_id', n.delivery_service_id) else '{}' end
          || case when n.carrier_type is distinct from o.carrier_type then jsonb_build_object('carrier_type', n.carrier_type) else '{}' end
          || case when n.carrier_code is distinct from o.carrier_code then jsonb_build_object('carrier_code', n.carrier_code) else '{}' end
          || case when n.payer_type is distinct from o.payer_type then jsonb_build_object('payer_type', n.payer_type) else '{}' end
          || case when n.payment_method is distinct from o.payment_method then jsonb_build_object('payment_method', n.payment_method) else '{}' end
          || case when n.cod_amount is distinct from o.cod_amount then jsonb_build_object('cod_amount', n.cod_amount) else '{}' end
          || case when n.delivery_fee is distinct from o.delivery_fee then jsonb_build_object('delivery_fee', n.delivery_fee) else '{}' end
          || case when n.currency is distinct from o.currency then jsonb_build_object('currency', n.currency) else '{}' end
          || case when n.unit_size is distinct from o.unit_size then jsonb_build_object('unit_size', n.unit_size) else '{}' end
          || case when n.unit_size_source is distinct from o.unit_size_source then jsonb_build_object('unit_size_source', n.unit_size_source) else '{}' end
          || case when coalesce(n.package_details, 'null') <> coalesce(o.package_details, 'null') then jsonb_build_object('package_details', n.package_details) else '{}' end
          || case when n.distance_km is distinct from o.distance_km then jsonb_build_object('distance_km', n.distance_km) else '{}' end
          || case when n.pickup_address_id is distinct from o.pickup_address_id then jsonb_build_object('pickup_address_id', n.pickup_address_id) else '{}' end
          || case when n.dropoff_address_id is distinct from o.dropoff_address_id then jsonb_build_object('dropoff_address_id', n.dropoff_address_id) else '{}' end
          || case when coalesce(n.pickup_snapshot, 'null') <> coalesce(o.pickup_snapshot, 'null') then jsonb_build_object('pickup_snapshot', n.pickup_snapshot) else '{}' end
          || case when coalesce(n.dropoff_snapshot, 'null') <> coalesce(o.dropoff_snapshot, 'null') then jsonb_build_object('dropoff_snapshot', n.dropoff_snapshot) else '{}' end
          || case when n.pickup_zone_id is distinct from o.pickup_zone_id then jsonb_build_object('pickup_zone_id', n.pickup_zone_id) else '{}' end
          || case when n.dropoff_zone_id is distinct from o.dropoff_zone_id then jsonb_build_object('dropoff_zone_id', n.dropoff_zone_id) else '{}' end
          || case when n.pickup_warehouse_id is distinct from o.pickup_warehouse_id then jsonb_build_object('pickup_warehouse_id', n.pickup_warehouse_id) else '{}' end
          || case when n.dropoff_warehouse_id is distinct from o.dropoff_warehouse_id then jsonb_build_object('dropoff_warehouse_id', n.dropoff_warehouse_id) else '{}' end
          || case when n.transfer_kind is distinct from o.transfer_kind then jsonb_build_object('transfer_kind', n.transfer_kind) else '{}' end
          || case when n.ordered_to_warehouse_id is distinct from o.ordered_to_warehouse_id then jsonb_build_object('ordered_to_warehouse_id', n.ordered_to_warehouse_id) else '{}' end
          || case when n.ordered_from_address_id is distinct from o.ordered_from_address_id then jsonb_build_object('ordered_from_address_id', n.ordered_from_address_id) else '{}' end
          || case when coalesce(n.ordered_from_snapshot, 'null') <> coalesce(o.ordered_from_snapshot, 'null') then jsonb_build_object('ordered_from_snapshot', n.ordered_from_snapshot) else '{}' end
          || case when n.ordered_from_warehouse_id is distinct from o.ordered_from_warehouse_id then jsonb_build_object('ordered_from_warehouse_id', n.ordered_from_warehouse_id) else '{}' end
          || case when n.current_warehouse_id is distinct from o.current_warehouse_id then jsonb_build_object('current_warehouse_id', n.current_warehouse_id) else '{}' end
          || case when n.staging_warehouse_id is distinct from o.staging_warehouse_id then jsonb_build_object('staging_warehouse_id', n.staging_warehouse_id) else '{}' end
          || case when coalesce(n.recipient, 'null') <> coalesce(o.recipient, 'null') then jsonb_build_object('recipient', n.recipient) else '{}' end
          || case when n.notes is distinct from o.notes then jsonb_build_object('notes', n.notes) else '{}' end
          || case when coalesce(n.service_snapshot, 'null') <> coalesce(o.service_snapshot, 'null') then jsonb_build_object('service_snapshot', n.service_snapshot) else '{}' end
          || case when n.order_id is distinct from o.order_id then jsonb_build_object('order_id', n.order_id) else '{}' end
          || case when n.manifest_id is distinct from o.manifest_id then jsonb_build_object('manifest_id', n.manifest_id) else '{}' end
          || case when n.manifest_item_id is distinct from o.manifest_item_id then jsonb_build_object('manifest_item_id', n.manifest_item_id) else '{}' end
          || case when coalesce(n.source_snapshot, 'null') <> coalesce(o.source_snapshot, 'null') then jsonb_build_object('source_snapshot', n.source_snapshot) else '{}' end
          || case when n.snapshot_version is distinct from o.snapshot_version then jsonb_build_object('snapshot_version', n.snapshot_version) else '{}' end
          || case when n.label_edition is distinct from o.label_edition then jsonb_build_object('label_edition', n.label_edition) else '{}' end
          || case when n.label_outdated is distinct from o.label_outdated then jsonb_build_object('label_outdated', n.label_outdated) else '{}' end
          || case when n.label_assignment is distinct from o.label_assignment then jsonb_build_object('label_assignment', n.label_assignment) else '{}' end
          || case when n.status_reason is distinct from o.status_reason then jsonb_build_object('status_reason', n.status_reason) else '{}' end
          || case when n.status_notes is distinct from o.status_notes then jsonb_build_object('status_notes', n.status_notes) else '{}' end
          || case when n.attempts_used is distinct from o.attempts_used then jsonb_build_object('attempts_used', n.attempts_used) else '{}' end
          || case when n.promised_at is distinct from o.promised_at then jsonb_build_object('promised_at', n.promised_at) else '{}' end
          || case when n.picked_up_at is distinct from o.picked_up_at then jsonb_build_object('picked_up_at', n.picked_up_at) else '{}' end
          || case when n.delivered_at is distinct from o.delivered_at then jsonb_build_object('delivered_at', n.delivered_at) else '{}' end
          || case when n.created_by is distinct from o.created_by then jsonb_build_object('created_by', n.created_by) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', n.created_at) else '{}' end
          || case when n.deliver_after is distinct from o.deliver_after then jsonb_build_object('deliver_after', n.deliver_after) else '{}' end
          || case when n.deliver_before is distinct from o.deliver_before then jsonb_build_object('deliver_before', n.deliver_before) else '{}' end
          || case when n.ordered_cod_amount is distinct from o.ordered_cod_amount then jsonb_build_object('ordered_cod_amount', n.ordered_cod_amount) else '{}' end
          || case when n.attempts_exhausted is distinct from o.attempts_exhausted then jsonb_build_object('attempts_exhausted', n.attempts_exhausted) else '{}' end
          || case when n.returns_part is distinct from o.returns_part then jsonb_build_object('returns_part', n.returns_part) else '{}' end
          || case when n.postponed_to is distinct from o.postponed_to then jsonb_build_object('postponed_to', n.postponed_to) else '{}' end
          || case when n.overnight_notice_at is distinct from o.overnight_notice_at then jsonb_build_object('overnight_notice_at', n.overnight_notice_at) else '{}' end
          || case when n.made_at_door is distinct from o.made_at_door then jsonb_build_object('made_at_door', n.made_at_door) else '{}' end
          || case when n.delivered_in_part is distinct from o.delivered_in_part then jsonb_build_object('delivered_in_part', n.delivered_in_part) else '{}' end as after
        from (select row_number() over () as line, t.* from old_rows t) o
        full join (select row_number() over () as line, t.* from new_rows t) n on n.line = o.line
        offset 0
      ) c
      where c.after <> '{}'
      order by c.line;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION private.audit_delivery_transfer_manifest_items()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    declare
      v_tenant uuid := app.tenant_id();
      v_actor uuid := app.user_id();
      v_key uuid := app.request_setting('api_key_id')::uuid;
      v_client text := app.request_setting('client_request_id');
      v_request text := app.request_setting('request_id');
      v_operation text := app.request_setting('operation');
    begin
      insert into app.audit_log (tenant_id, actor_id, actor_key_id, request_id, client_request_id, operation, entity, entity_id, action, before, after)
      select v_tenant, v_actor, v_key, v_request, v_client, v_operation, 'delivery.transfer_manifest_items', c.id, 'update', c.before, c.after
      from (
        -- Both list the rows in the order of the update. A full join is never a nested loop: see private.audit.
        select o.line, o.id::text as id,
          case when n.id is distinct from o.id then jsonb_build_object('id', o.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', o.tenant_id) else '{}' end
          || case when n.manifest_id is distinct from o.manifest_id then jsonb_build_object('manifest_id', o.manifest_id) else '{}' end
          || case when n.barcode_value is distinct from o.barcode_value then jsonb_build_object('barcode_value', o.barcode_value) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', o.status) else '{}' end
          || case when n."position" is distinct from o."position" then jsonb_build_object('position', o."position") else '{}' end
          || case when n.destination_branch_id is distinct from o.destination_branch_id then jsonb_build_object('destination_branch_id', o.destination_branch_id) else '{}' end
          || case when n.destination_address_id is distinct from o.destination_address_id then jsonb_build_object('destination_address_id', o.destination_address_id) else '{}' end
          || case when n.delivery_id is distinct from o.delivery_id then jsonb_build_object('delivery_id', o.delivery_id) else '{}' end
          || case when n.received_at is distinct from o.received_at then jsonb_build_object('received_at', o.received_at) else '{}' end
          || case when n.received_by is distinct from o.received_by then jsonb_build_object('received_by', o.received_by) else '{}' end
          || case when coalesce(n.package_details, 'null') <> coalesce(o.package_details, 'null') then jsonb_build_object('package_details', o.package_details) else '{}' end
          || case when coalesce(n.metadata, 'null') <> coalesce(o.metadata, 'null') then jsonb_build_object('metadata', o.metadata) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', o.created_at) else '{}' end as before,
          case when n.id is distinct from o.id then jsonb_build_object('id', n.id) else '{}' end
          || case when n.tenant_id is distinct from o.tenant_id then jsonb_build_object('tenant_id', n.tenant_id) else '{}' end
          || case when n.manifest_id is distinct from o.manifest_id then jsonb_build_object('manifest_id', n.manifest_id) else '{}' end
          || case when n.barcode_value is distinct from o.barcode_value then jsonb_build_object('barcode_value', n.barcode_value) else '{}' end
          || case when n.status is distinct from o.status then jsonb_build_object('status', n.status) else '{}' end
          || case when n."position" is distinct from o."position" then jsonb_build_object('position', n."position") else '{}' end
          || case when n.destination_branch_id is distinct from o.destination_branch_id then jsonb_build_object('destination_branch_id', n.destination_branch_id) else '{}' end
          || case when n.destination_address_id is distinct from o.destination_address_id then jsonb_build_object('destination_address_id', n.destination_address_id) else '{}' end
          || case when n.delivery_id is distinct from o.delivery_id then jsonb_build_object('delivery_id', n.delivery_id) else '{}' end
          || case when n.received_at is distinct from o.received_at then jsonb_build_object('received_at', n.received_at) else '{}' end
          || case when n.received_by is distinct from o.received_by then jsonb_build_object('received_by', n.received_by) else '{}' end
          || case when coalesce(n.package_details, 'null') <> coalesce(o.package_details, 'null') then jsonb_build_object('package_details', n.package_details) else '{}' end
          || case when coalesce(n.metadata, 'null') <> coalesce(o.metadata, 'null') then jsonb_build_object('metadata', n.metadata) else '{}' end
          || case when n.created_at is distinct from o.created_at then jsonb_build_object('created_at', n.created_at) else '{}' end as after
        from (select row_number() over () as line, t.* from old_rows t) o
        full join (select row_number() over () as line, t.* from new_rows t) n on n.line = o.line
        offset 0
      ) c
      where c.after <> '{}'
      order by c.line;
      return null;
    end $function$;

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.assignments REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit_delivery_assignments();

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit_delivery_deliveries();

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.transfer_manifest_items REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit_delivery_transfer_manifest_items();

REVOKE ALL ON FUNCTION "app"."audited_by_column"(regclass, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_delivery_assignments"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_delivery_deliveries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_delivery_transfer_manifest_items"() FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125234332';
end $$;

grant execute on function private.schema_version() to barid_api;
