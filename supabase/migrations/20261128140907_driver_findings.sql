-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
      set local lock_timeout = '500ms';
      alter view delivery.ended_deliveries reset (security_barrier);
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "delivery"."ended_deliveries";

CREATE OR REPLACE FUNCTION delivery.assigners_notify(p_type text, assignment_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_office constant text[] := '{tenant_admin,operations_manager,dispatcher}';
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, n.user_id, p_type, jsonb_build_object('driver_id', p.id, 'driver_name', p.full_name, 'assignment_count', count(*))
  from delivery.assignments a
  join tenancy.profiles p on p.id = a.driver_id
  left join tenancy.tenant_users b on b.tenant_id = a.tenant_id and b.user_id = a.assigned_by and b.is_active and exists (
    select from tenancy.tenant_user_roles r where r.tenant_id = b.tenant_id and r.user_id = b.user_id and r.role_key = any (v_office))
  cross join lateral (
    select b.user_id where b.user_id is not null
    union
    select u.user_id from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = any (v_office)
    where b.user_id is null and u.tenant_id = v_tenant and u.is_active) n
  where a.tenant_id = v_tenant and a.id = any (assignment_ids) and n.user_id is distinct from app.user_id()
  group by n.user_id, p.id, p.full_name;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assigners_notify"(text, uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.assignments_answer(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_me uuid := app.user_id();
  v_one uuid := (input ->> 'assignment_id')::uuid;
  v_bulk uuid := (input ->> 'bulk_assignment_id')::uuid;
  v_answer text := input ->> 'status';
  v_driver uuid := delivery.assignment_driver(v_one, v_bulk);
  v_rows delivery.assignments[];
  v_deliveries uuid[];
begin
  if v_driver is null then
    perform app.fail(case when v_bulk is null then 'assignment_not_found' else 'bulk_assignment_not_found' end);
  end if;
  if v_driver is distinct from v_me then
    perform app.fail('forbidden');
  end if;
  select array_agg(a.delivery_id) into v_deliveries from delivery.assignments a
  where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned';
  perform delivery.lock_deliveries(coalesce(v_deliveries, '{}'));
  perform delivery.lock_answering_drivers(v_one, v_bulk);
  perform from delivery.assignments a where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk)
  order by a.id for no key update;
  -- As they are now: while this waited, some of them may have been withdrawn.
  v_rows := array(select a from delivery.assignments a
    where a.tenant_id = v_tenant and (a.id = v_one or a.bulk_assignment_id = v_bulk) and a.status <> 'returned' order by a.id);
  v_deliveries := array(select r.delivery_id from unnest(v_rows) r);

  if cardinality(v_rows) > 0 and not exists (select from unnest(v_rows) r where r.status = 'pending') and not exists (
      select from unnest(v_rows) r where r.responded_at is null
        or r.status <> all (case v_answer when 'accepted' then '{accepted,completed}'::text[] else '{rejected}' end)) then
    return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
  end if;
  if cardinality(v_rows) = 0 or exists (select from unnest(v_rows) r where r.status <> 'pending') then
    perform app.fail('assignment_not_pending', case when cardinality(v_rows) = 0 then '{"status": "returned", "text_key": "assignment_withdrawn"}'
      else jsonb_build_object('status', (select r.status from unnest(v_rows) r where r.status <> 'pending' limit 1)) end);
  end if;

  -- Somebody who was given a rest fetches nothing new; a parcel on the road they do confirm.
  if v_answer = 'accepted' and exists (select from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (v_deliveries) and d.status = 'assigned')
    and exists (select from delivery.drivers r where r.tenant_id = v_tenant and r.user_id = v_me and r.status <> 'active') then
    perform app.fail('driver_inactive');
  end if;

  -- The delivery first: drivers may change only what they still carry. A parcel on the road keeps its status and is written all the same,
  -- so that the list of what changed since shows the driver who has it now.
  update delivery.deliveries d set status = case when d.status <> 'assigned' then d.status when v_answer = 'accepted' then 'accepted' else 'pending' end
  where d.tenant_id = v_tenant and d.id = any (v_deliveries);
  update delivery.assignments a set status = v_answer, responded_at = clock_timestamp(), response_reason = input ->> 'reason',
    ended_at = case v_answer when 'rejected' then clock_timestamp() end
  where a.tenant_id = v_tenant and a.id in (select r.id from unnest(v_rows) r);
  if v_answer = 'rejected' then
    perform delivery.assignments_restore(array(select r.id from unnest(v_rows) r where r.handed_over_from is not null));
    perform delivery.rejections_notify(array(select r.id from unnest(v_rows) r));
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery',
    'event_type', case when v_bulk is null then 'assignment.' else 'bulk_assignment.' end || v_answer,
    'entity_type', case when v_bulk is null then 'assignment' else 'bulk_assignment' end, 'entity_id', coalesce(v_bulk, v_one),
    'event_data', jsonb_build_object('assignment_ids', (select jsonb_agg(r.id) from unnest(v_rows) r), 'driver_id', v_driver,
      'delivery_ids', to_jsonb(v_deliveries), 'status', v_answer, 'actor_id', v_me)
      || case when v_bulk is null then '{}' else jsonb_build_object('bulk_assignment_id', v_bulk) end)));
  return jsonb_build_object('status', v_answer, 'updated_count', cardinality(v_rows));
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenants uuid[];
  v_parcels uuid[];
  v_moved uuid[];
  v_done uuid[];
  v_shown uuid[];
begin
  select array_agg(distinct n.tenant_id), array_agg(distinct coalesce(n.parent_id, n.id)) filter (where c.terms),
    array_agg(n.id) filter (where n.status <> o.status or n.picked_up_at is distinct from o.picked_up_at),
    array_agg(n.id) filter (where n.status = 'delivered' and o.status <> 'delivered')
  into v_tenants, v_parcels, v_moved, v_done
  from new_rows n
  join old_rows o on o.id = n.id
  cross join lateral (select (n.cod_amount, n.delivery_fee, n.currency, n.payer_type, n.payment_method, n.order_id, n.recipient, n.source_snapshot,
      n.pickup_snapshot, n.dropoff_snapshot, n.pickup_warehouse_id, n.transfer_kind, n.carrier_type, n.customer_id, n.institution_user_id, n.barcode,
      n.external_reference_id, n.unit_size, n.notes, n.promised_at, n.deliver_after, n.deliver_before, n.postponed_to)
    is distinct from (o.cod_amount, o.delivery_fee, o.currency, o.payer_type, o.payment_method, o.order_id, o.recipient, o.source_snapshot,
      o.pickup_snapshot, o.dropoff_snapshot, o.pickup_warehouse_id, o.transfer_kind, o.carrier_type, o.customer_id, o.institution_user_id, o.barcode,
      o.external_reference_id, o.unit_size, o.notes, o.promised_at, o.deliver_after, o.deliver_before, o.postponed_to) as terms) c;
  if v_parcels is null and v_moved is null then
    return null;
  end if;
  v_moved := coalesce(v_moved, '{}') || coalesce(v_parcels, '{}') || array(
    select l.id from delivery.deliveries l where l.tenant_id = any (v_tenants) and l.parent_id = any (v_parcels));
  select array_agg(x.id) into v_shown from (
    select a.id from delivery.assignments a
    where a.tenant_id = any (v_tenants) and a.delivery_id = any (v_moved) and a.changed <> pg_current_xact_id()::text::bigint
      and (a.status not in ('pending', 'assigned', 'accepted') or a.delivery_id <> all (coalesce(v_done, '{}')))
    order by a.id for no key update) x;
  if v_shown is not null then
    -- Its trigger says when.
    update delivery.assignments a set updated_at = a.updated_at where a.tenant_id = any (v_tenants) and a.id = any (v_shown);
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."assignments_follow_deliveries"() FROM "barid_caller";

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
  insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items, notes, created_by)
  values (d.tenant_id, d.id, input ->> 'type', v_items, input ->> 'notes', app.user_id())
  returning id into v_id;
  -- Noted of a staged parcel, it concerns the leg that is on the road.
  select l.id into v_moving from delivery.deliveries l
  where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id) and delivery.leaves_warehouse(l)
    and l.status in ('picked_up', 'in_transit', 'failed', 'returned') and l.current_warehouse_id is null;
  if found then
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

CREATE OR REPLACE FUNCTION delivery.driver_provision(driver_id uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_zones uuid[] := app.uuids(input -> 'zone_ids');
  v_driver delivery.drivers;
  v_vehicle delivery.vehicles;
begin
  select * into v_driver from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = driver_id for no key update;
  if not found then
    perform app.fail('driver_not_found');
  end if;
  if (input ->> 'status' = 'active' or (input ->> 'default')::boolean) and not exists (select from tenancy.tenant_users u
      where u.tenant_id = v_tenant and u.user_id = driver_id and u.is_active and u.tenant_user_type = 'driver') then
    perform app.fail('driver_inactive', jsonb_build_object('field', case when input ->> 'status' = 'active' then 'status' else 'default' end));
  end if;
  if input ->> 'vehicle_id' is not null and (input ->> 'vehicle_id')::uuid is distinct from v_driver.vehicle_id then
    select * into v_vehicle from delivery.vehicles v where v.id = (input ->> 'vehicle_id')::uuid for share;
    if not found then
      perform app.fail('vehicle_not_found', '{"field": "vehicle_id"}');
    end if;
    if not v_vehicle.is_active then
      perform app.fail('vehicle_inactive', '{"field": "vehicle_id"}');
    end if;
    if v_vehicle.unit_capacity < v_driver.capacity_used then
      perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id"}');
    end if;
  end if;
  if input ? 'vehicle_id' and input ->> 'vehicle_id' is null and v_driver.capacity_used > 0 then
    perform app.fail('insufficient_vehicle_capacity', '{"field": "vehicle_id"}');
  end if;
  if exists (select from unnest(v_zones) g (id)
      where not exists (select from delivery.zones z where z.tenant_id = v_tenant and z.id = g.id)) then
    perform app.fail('zone_not_found', '{"field": "zone_ids"}');
  end if;
  update delivery.drivers d set
    vehicle_id = case when input ? 'vehicle_id' then (input ->> 'vehicle_id')::uuid else d.vehicle_id end,
    all_zones = coalesce((input ->> 'all_zones')::boolean, d.all_zones),
    status = coalesce(input ->> 'status', d.status)
  where d.tenant_id = v_tenant and d.user_id = driver_id
  returning * into v_driver;
  if input ? 'zone_ids' then
    delete from delivery.driver_zones z
    where z.tenant_id = v_tenant and z.driver_id = driver_provision.driver_id and z.zone_id <> all (v_zones);
    insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
    select distinct v_tenant, driver_provision.driver_id, g.id from unnest(v_zones) g (id)
    on conflict do nothing;
  end if;
  if (input ->> 'default')::boolean then
    if v_driver.status <> 'active' then
      perform app.fail('driver_inactive', '{"field": "default"}');
    end if;
    insert into tenancy.tenant_settings as s (tenant_id, module, group_key, settings, updated_by)
    values (v_tenant, 'delivery', 'assignment_change_settings', jsonb_build_object('default_driver_id', driver_id), app.user_id())
    on conflict (tenant_id, module, group_key) do update set settings = s.settings || excluded.settings, updated_by = excluded.updated_by;
  elsif input ? 'default' then
    update tenancy.tenant_settings s set settings = s.settings - 'default_driver_id', updated_by = app.user_id()
    where s.tenant_id = v_tenant and s.module = 'delivery' and s.group_key = 'assignment_change_settings'
      and s.settings ->> 'default_driver_id' = driver_id::text;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.handovers_withdraw(tenant uuid, driver uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_deliveries uuid[];
  v_ids uuid[];
begin
  perform set_config('app.tenant_id', tenant::text, true);
  v_deliveries := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending' and a.handed_over_from is not null);
  perform delivery.lock_deliveries(v_deliveries);
  perform from delivery.drivers d
  where d.tenant_id = tenant and (d.user_id = driver or d.user_id in (
    select f.driver_id from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending'))
  order by d.user_id for no key update;
  if not delivery.drives_no_more(tenant, driver) then
    return 0;
  end if;
  -- As they are now: while this waited, the office may have handed them over to somebody else.
  v_ids := array(select a.id from delivery.assignments a
    where a.tenant_id = tenant and a.driver_id = driver and a.status = 'pending' and a.handed_over_from is not null
      and a.delivery_id = any (v_deliveries) order by a.id);
  -- Written all the same, as by an answer, so that the list of what changed since shows the driver who has them now.
  update delivery.deliveries d set status = d.status
  from delivery.assignments a where a.tenant_id = tenant and a.id = any (v_ids) and d.tenant_id = tenant and d.id = a.delivery_id;
  perform delivery.assignments_return(v_ids, 'driver_inactive');
  perform delivery.handovers_undo(v_ids);
  perform delivery.assigners_notify('handover_withdrawn', v_ids);
  return cardinality(v_ids);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_barcodes text[];
begin
  perform delivery.require_manifest_move(m, '{draft,picked_up,in_transit,awaiting_receipt}', 'cancelled');
  if m.status <> 'draft' and not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  update delivery.transfer_manifests set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason'
  where tenant_id = m.tenant_id and id = m.id;
  update delivery.transfer_manifest_exceptions set status = 'resolved', outcome = 'void', resolution_notes = input ->> 'reason',
    resolved_by = app.user_id(), resolved_at = now()
  where tenant_id = m.tenant_id and manifest_id = m.id and status = 'open';
  with voided as (
    update delivery.transfer_manifest_items set status = 'void'
    where tenant_id = m.tenant_id and manifest_id = m.id and status <> 'void'
    returning barcode_value
  )
  select array_agg(v.barcode_value) into v_barcodes from voided v;
  perform delivery.barcodes_release(v_barcodes);
  perform delivery.manifest_event_add(m.id, 'manifest_cancelled', jsonb_build_object('reason', input -> 'reason'));
  perform delivery.manifest_notify(m, 'manifest_cancelled', array[m.driver_id, m.institution_user_id]);
  return delivery.manifest_to_json(m.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_institution uuid := (input ->> 'institution_user_id')::uuid;
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_branch delivery.institution_branches;
  v_point delivery.transfer_processing_points;
  v_address uuid;
  m delivery.transfer_manifests;
begin
  perform delivery.require_manifest_creator(input);
  if v_driver is null and not app.has_permission('manage:operations:tenant') and app.has_role('driver') then
    v_driver := app.user_id();
  end if;
  perform delivery.require_institution(v_institution);
  if v_driver is not null then
    perform delivery.require_driver(v_driver);
  end if;

  select b.* into v_branch from delivery.institution_branches b
  where b.tenant_id = app.tenant_id() and b.id = (input ->> 'source_branch_id')::uuid and b.institution_user_id = v_institution
  for key share;
  if v_branch.id is null then
    perform app.fail('branch_not_found');
  elsif not v_branch.is_active then
    perform app.fail('branch_inactive');
  elsif coalesce(input ->> 'processing_point_id', v_branch.default_processing_point_id::text) is null then
    perform app.fail('processing_point_required', '{"field": "processing_point_id"}');
  end if;
  select p.* into v_point from delivery.transfer_processing_points p
  where p.tenant_id = app.tenant_id() and p.id = coalesce((input ->> 'processing_point_id')::uuid, v_branch.default_processing_point_id)
  for key share;
  if v_point.id is null then
    perform app.fail('processing_point_not_found');
  elsif not v_point.is_active then
    perform app.fail('processing_point_inactive');
  end if;
  v_address := coalesce((input ->> 'source_address_id')::uuid, v_branch.address_id);
  -- Staff see every address; a parcel's origin is the tenant's or the institution's own.
  if not exists (select from delivery.addresses a where a.tenant_id = app.tenant_id() and a.id = v_address
      and (a.owner_user_id is null or a.owner_user_id = v_institution)
      and exists (select from delivery.usable_addresses u where u.id = a.id)) then
    perform app.fail('address_not_found');
  end if;
  perform delivery.require_destinations(
    array_remove(array[(input ->> 'destination_branch_id')::uuid], null),
    array_remove(array[(input ->> 'destination_address_id')::uuid], null));

  insert into delivery.transfer_manifests (tenant_id, manifest_number, institution_user_id, source_branch_id, source_address_id,
    source_snapshot, processing_point_id, driver_id, destination_branch_id, destination_address_id, creation_source, notes, created_by)
  select app.tenant_id(), delivery.manifest_number(app.take_numbers('manifest_number')), v_institution, v_branch.id, a.id,
    jsonb_build_object(
      'branch', jsonb_build_object('id', v_branch.id, 'name', v_branch.name, 'code', v_branch.code, 'contact_info', v_branch.contact_info),
      'address', to_jsonb(a),
      'institution', jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone)),
    v_point.id, v_driver, (input ->> 'destination_branch_id')::uuid, (input ->> 'destination_address_id')::uuid,
    input ->> 'creation_source', input ->> 'notes', app.user_id()
  from delivery.addresses_list a
  join tenancy.people p on p.id = v_institution
  where a.id = v_address
  returning * into m;
  perform delivery.manifest_event_add(m.id, 'manifest_created', jsonb_build_object('creation_source', input -> 'creation_source'));
  if jsonb_array_length(coalesce(input -> 'items', '[]')) > 0 then
    perform delivery.manifest_items_insert(m.id, input -> 'items');
  end if;
  perform delivery.manifest_notify(m, 'manifest_given', array[m.driver_id]);
  return delivery.manifest_get(jsonb_build_object('id', m.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_give(m delivery.transfer_manifests, driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if m.status in ('awaiting_receipt', 'receiving') then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_arrived"}');
  end if;
  perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit}');
  perform delivery.require_driver(driver);
  update delivery.transfer_manifests set driver_id = driver where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'driver_changed', jsonb_build_object('from', m.driver_id, 'to', driver));
  perform delivery.manifest_notify(m, 'manifest_given', array[driver]);
  perform delivery.manifest_notify(m, 'manifest_given_to_another', array[m.driver_id]);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_notify(m delivery.transfer_manifests, type text, people uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(m.tenant_id);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select m.tenant_id, n.user_id, manifest_notify.type, jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number)
  from (select distinct p.user_id from unnest(people) p (user_id)) n
  where n.user_id is not null and n.user_id is distinct from app.user_id();
end $function$;

CREATE OR REPLACE FUNCTION delivery.office_notify(type text, payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform tenancy.notify_roles(app.tenant_id(), '{tenant_admin,operations_manager,dispatcher}', office_notify.type, office_notify.payload);
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_failed(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.attempt_fails(input, reason ->> 'value', input ->> 'note', (reason ->> 'counts')::boolean, input ->> 'result' = 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  if input ->> 'result' = 'refused' and not app.has_permission('manage:operations:tenant') then
    perform delivery.office_notify('delivery_refused', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code));
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d), 'returns', '[]'::jsonb);
end $function$;

CREATE OR REPLACE FUNCTION delivery.rejections_notify(rejected uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_mine uuid[] := array(select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.id = any (rejected) and a.status = 'rejected' and a.driver_id = app.user_id());
begin
  perform delivery.assigners_notify('handover_rejected', array(
    select a.id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_mine) and a.handed_over_from is not null));
  perform delivery.assigners_notify('assignments_rejected', array(
    select a.id from delivery.assignments a
    where a.tenant_id = v_tenant and a.id = any (v_mine) and a.handed_over_from is null and not exists (
      select from delivery.driver_searches s
      where s.tenant_id = v_tenant and s.delivery_id = a.delivery_id and s.status in ('searching', 'offered'))));
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

CREATE OR REPLACE FUNCTION money.cash_due_on(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_cod numeric := d.cod_amount;
  v_fee numeric := d.delivery_fee;
  v_by_sender boolean := d.payer_type = 'sender';
  v_in_cash boolean := d.payment_method = 'cash' or (d.payment_method = 'gateway' and d.order_id is null);
  v_no_pickup boolean;
  v_no_door boolean;
  p delivery.deliveries;
begin
  -- Of a leg the terms are those of its parcel.
  if d.parent_id is not null then
    select x.* into p from delivery.deliveries x where x.tenant_id = v_tenant and x.id = d.parent_id;
    v_cod := p.cod_amount;
    v_fee := p.delivery_fee;
    v_by_sender := p.payer_type = 'sender';
    v_in_cash := p.payment_method = 'cash' or (p.payment_method = 'gateway' and p.order_id is null);
  end if;
  if not v_in_cash then
    v_fee := 0;
  elsif v_by_sender and coalesce(p.picked_up_at, d.picked_up_at) is not null then
    -- Since it was picked up a wallet may have borne a change of it.
    v_fee := v_fee - money.delivery_fee_borne(coalesce(d.parent_id, d.id));
  end if;
  -- Returned, a leg that waits to be received sets out again.
  v_no_door := d.status in ('delivered', 'cancelled') or d.delivery_flow = 'pnd_inbound' or delivery.is_transferred(d)
    or d.status = 'returned' and delivery.has_ended(case when d.parent_id is null then d else p end);
  v_no_pickup := d.status = 'cancelled' or v_fee = 0 or not v_by_sender;
  if not v_no_pickup then
    v_no_pickup := exists (select from money.cod_collections c
      where c.tenant_id = v_tenant and c.delivery_id = coalesce(d.parent_id, d.id) and c.collection_stage = 'pickup' and c.reversed_at is null)
    or d.delivery_flow = 'pnd_outbound' and exists (select from delivery.deliveries a
      where a.tenant_id = v_tenant and a.parent_id = d.parent_id and a.delivery_flow = 'pnd_inbound'
        and a.status in ('draft', 'pending', 'assigned', 'accepted'));
  end if;
  return jsonb_build_object(
    'pickup', jsonb_build_object('cod', 0, 'delivery_fee', case when v_no_pickup then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)),
    'delivery', jsonb_build_object('cod', case when v_no_door then 0 else v_cod end,
      'delivery_fee', case when v_by_sender or v_no_door then 0 else v_fee end, 'currency', coalesce(p.currency, d.currency)));
end $function$;

CREATE VIEW "delivery"."ended_deliveries" WITH (security_invoker=true) AS  SELECT d.tenant_id,
    d.id AS delivery_id,
    a.driver_id,
    d.created_at,
    (NOT ((d.delivery_flow = 'pnd_inbound'::text) AND (d.status = 'delivered'::text))) AS counted,
    ((d.parent_id IS NOT NULL) AND (d.picked_up_at IS NOT NULL)) AS handled_leg,
    (d.status = 'delivered'::text) AS successful,
        CASE
            WHEN (d.status = 'delivered'::text) THEN (t.delivered_at <= COALESCE(d.promised_at,
            CASE
                WHEN (d.dropoff_warehouse_id IS NULL) THEN p.promised_at
                ELSE NULL::timestamp with time zone
            END))
            ELSE NULL::boolean
        END AS on_time,
        CASE
            WHEN (d.status = 'delivered'::text) THEN round((EXTRACT(epoch FROM (t.delivered_at - t.picked_up_at)) / (60)::numeric), 2)
            ELSE NULL::numeric
        END AS minutes,
        CASE
            WHEN ((d.status <> 'cancelled'::text) OR (d.picked_up_at IS NOT NULL)) THEN COALESCE(round(((a.route_details ->> 'distance_km'::text))::numeric, 3), d.distance_km)
            ELSE NULL::numeric
        END AS distance_km,
        CASE
            WHEN ((d.status = 'delivered'::text) AND ((d.parent_id IS NULL) OR (d.dropoff_warehouse_id IS NULL))) THEN
            CASE
                WHEN ((d.order_id IS NOT NULL) AND (d.cod_amount > (0)::numeric)) THEN d.cod_amount
                ELSE COALESCE((p.cod_amount + p.delivery_fee), (d.cod_amount + d.delivery_fee))
            END
            ELSE (0)::numeric
        END AS value
   FROM ((((delivery.deliveries d
     LEFT JOIN delivery.deliveries p ON (((p.tenant_id = d.tenant_id) AND (p.id = d.parent_id))))
     CROSS JOIN LATERAL ( SELECT a_1.driver_id,
            a_1.route_details,
            a_1.status,
            a_1.assignment_time
           FROM delivery.assignments a_1
          WHERE ((a_1.tenant_id = d.tenant_id) AND (a_1.delivery_id = d.id) AND (a_1.status <> 'rejected'::text))
          ORDER BY a_1.assignment_time DESC, a_1.id DESC
         LIMIT 1) a)
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (d.picked_up_at IS NOT NULL) THEN LEAST(d.picked_up_at, ( SELECT h.occurred_at
                       FROM delivery.delivery_status_history h
                      WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'picked_up'::text) AND (h.from_status = ANY (ARRAY['assigned'::text, 'accepted'::text])))
                      ORDER BY h.id DESC
                     LIMIT 1))
                    ELSE NULL::timestamp with time zone
                END AS picked_up_at) f)
     CROSS JOIN LATERAL ( SELECT f.picked_up_at,
            GREATEST(f.picked_up_at, LEAST(d.delivered_at, ( SELECT h.occurred_at
                   FROM delivery.delivery_status_history h
                  WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'delivered'::text))
                  ORDER BY h.id DESC
                 LIMIT 1))) AS delivered_at) t)
  WHERE ((d.status = ANY (ARRAY['delivered'::text, 'failed'::text, 'returned'::text, 'cancelled'::text])) AND (d.carrier_type = 'internal'::text) AND ((a.status <> 'returned'::text) OR (d.status = 'cancelled'::text) OR ((d.status <> 'delivered'::text) AND ((d.picked_up_at >= a.assignment_time) OR ( SELECT (h.to_status = ANY (ARRAY['picked_up'::text, 'in_transit'::text, 'failed'::text, 'delivered'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.created_at <= a.assignment_time))
          ORDER BY h.id DESC
         LIMIT 1)))) AND (NOT (d.made_at_door AND (d.status = 'cancelled'::text) AND (NOT (d.status_reason IS DISTINCT FROM 'outcome_undone'::text)))) AND ((d.status <> 'cancelled'::text) OR ( SELECT (h.from_status <> ALL (ARRAY['draft'::text, 'pending'::text]))
           FROM delivery.delivery_status_history h
          WHERE ((h.tenant_id = d.tenant_id) AND (h.delivery_id = d.id) AND (h.to_status = 'cancelled'::text))
          ORDER BY h.id DESC
         LIMIT 1)));

CREATE TRIGGER assignments_follow_deliveries AFTER UPDATE ON delivery.deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.assignments_follow_deliveries();

REVOKE ALL ON FUNCTION "delivery"."assigners_notify"(text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."assignments_follow_deliveries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."manifest_notify"(delivery.transfer_manifests, text, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_notify"(delivery.transfer_manifests, text, uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."office_notify"(text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."office_notify"(text, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."rejections_notify"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."rejections_notify"(uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."staged_through"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."staged_through"(uuid, uuid) TO "barid_caller";

-- Figures of before are counted anew, by the times that were reported.
update delivery.performance_state set rebuild_asked_at = clock_timestamp();

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128140907';
end $$;

grant execute on function private.schema_version() to barid_api;
