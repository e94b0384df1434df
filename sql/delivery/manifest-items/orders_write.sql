-- Writes the orders that manifest_orders_create priced and charged: parents with what is in them, legs,
-- payments, and the items' own end, which is where the orders went. The barcode on the parcel stays its barcode.
create or replace function delivery.manifest_orders_write(orders private.item_order[], destination jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_currency text := (app.currency()).code;
  v_staging uuid := delivery.staging_warehouse();
  v_service jsonb := delivery.service_snapshot((destination ->> 'service_id')::uuid);
  v_deliveries uuid[] := array(select o.delivery_id from unnest(orders) o order by o.position);
  v_items uuid[] := array(select o.item_id from unnest(orders) o);
  v_to jsonb;
begin
  if cardinality(orders) = 0 then
    return;
  end if;
  select to_jsonb(a) into v_to from delivery.addresses_list a where a.id = (destination ->> 'address_id')::uuid;

  insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, delivery_flow, status, institution_user_id,
    delivery_service_id, payer_type, payment_method, delivery_fee, currency, unit_size, unit_size_source, package_details,
    distance_km, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot, pickup_zone_id, dropoff_zone_id,
    staging_warehouse_id, recipient, service_snapshot, manifest_id, manifest_item_id, source_snapshot, snapshot_version, label_assignment,
    label_outdated, created_by)
  -- Where the items of a manifest come from is written down once.
  with origin as materialized (
    select m.id, m.institution_user_id, a.id as address_id, a.zone_id, to_jsonb(a) as address,
      jsonb_build_object('snapshot_version', 'manifest_origin_v1', 'manifest', jsonb_build_object('id', m.id, 'number', m.manifest_number),
        'source', m.source_snapshot, 'processing_point', jsonb_build_object('id', p.id, 'name', p.name, 'code', p.code)) as snapshot
    from delivery.transfer_manifests m
    join delivery.transfer_processing_points p on p.tenant_id = m.tenant_id and p.id = m.processing_point_id
    join delivery.addresses_list a on a.id = p.address_id
    where m.tenant_id = v_tenant and m.id in (
      select i.manifest_id from delivery.transfer_manifest_items i where i.tenant_id = v_tenant and i.id = any (v_items))
  )
  select o.delivery_id, v_tenant, o.delivery_code, i.barcode_value,
    case when v_staging is null then 'standard' else 'pnd_parent' end, 'pending', g.institution_user_id,
    (destination ->> 'service_id')::uuid, 'sender', 'wallet', o.price, v_currency,
    o.unit_size, o.unit_size_source, i.package_details,
    o.distance_km, g.address_id, (destination ->> 'address_id')::uuid, g.address, v_to, g.zone_id, (v_to ->> 'zone_id')::uuid,
    v_staging, destination -> 'recipient', v_service, g.id, i.id,
    g.snapshot || jsonb_build_object('item', jsonb_build_object('id', i.id, 'barcode_value', i.barcode_value)),
    'manifest_origin_v1', 'manifest_shipment_label',
    -- The parcel may wear the label of an order that was cancelled.
    exists (
      select from delivery.deliveries e where e.tenant_id = i.tenant_id and e.manifest_item_id = i.id and e.label_edition > 0), v_actor
  from unnest(orders) o
  join delivery.transfer_manifest_items i on i.tenant_id = v_tenant and i.id = o.item_id and i.id = any (v_items)
  join origin g on g.id = i.manifest_id
  order by o.position;
  perform delivery.delivery_items_write((
    select array_agg(d) from delivery.deliveries d
    where d.tenant_id = v_tenant and d.id = any (v_deliveries)));

  if v_staging is not null then
    perform delivery.delivery_legs_create(v_deliveries, v_staging);
    perform delivery.staged_legs_assign(v_deliveries);
  end if;

  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  select o.payment_id, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet', o.price, v_currency, o.wallet_id, o.delivery_id, v_actor, now()
  from unnest(orders) o;

  update delivery.transfer_manifest_items i set status = 'order_created', delivery_id = o.delivery_id,
    destination_branch_id = (destination ->> 'branch_id')::uuid,
    destination_address_id = case when destination ->> 'branch_id' is null then (destination ->> 'address_id')::uuid end
  from unnest(orders) o where i.id = o.item_id;

  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', i.manifest_id, 'manifest_item_id', i.id, 'event_type', 'order_created',
      'payload', jsonb_build_object('delivery_id', i.delivery_id, 'delivery_code', o.delivery_code)) order by o.position)
    from unnest(orders) o
    join delivery.transfer_manifest_items i on i.id = o.item_id));
end $$;

-- The warehouse through which deliveries are staged: general.warehouse {handoff_required,
-- default_warehouse_id}. Null when deliveries go straight.
create or replace function delivery.staging_warehouse() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  -- Asked apart: most have none, and the policies of warehouses cost as much where no row is asked for.
  return case when (app.settings('general', 'warehouse') ->> 'handoff_required')::boolean then delivery.default_warehouse() end;
end $$;

-- Gives staged parents their legs: A into the warehouse, ready to be assigned, and B out of it, a draft
-- until the parcel is there. Legs share the parent's barcode and snapshot and carry no fee of their own.
create or replace function delivery.delivery_legs_create(parent_ids uuid[], warehouse uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_first bigint := app.take_numbers('delivery_code', 2 * cardinality(parent_ids));
  -- A customer who submits a draft of the office may not see the warehouse.
  v_place jsonb := delivery.warehouse_place(app.tenant_id(), warehouse, null);
  v_address uuid := v_place ->> 'id';
  v_zone uuid := v_place ->> 'zone_id';
begin
  insert into delivery.deliveries (tenant_id, delivery_code, barcode, parent_id, leg, sequence_plan, delivery_flow, status,
    customer_id, institution_user_id, delivery_service_id, payer_type, payment_method, delivery_fee, currency, unit_size,
    unit_size_source, package_details, pickup_address_id, dropoff_address_id, pickup_snapshot, dropoff_snapshot,
    pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, recipient, service_snapshot, manifest_id,
    source_snapshot, snapshot_version, label_assignment, label_outdated, external_reference_id, notes, promised_at, created_by,
    deliver_after, deliver_before)
  select p.tenant_id, v_first + 2 * (asked.position - 1) + g.sequence_plan - 1, p.barcode, p.id, g.leg, g.sequence_plan, g.flow, g.status,
    p.customer_id, p.institution_user_id, p.delivery_service_id, p.payer_type, p.payment_method, 0, p.currency, p.unit_size,
    p.unit_size_source, p.package_details,
    case g.leg when 'A' then p.pickup_address_id else v_address end, case g.leg when 'A' then v_address else p.dropoff_address_id end,
    case g.leg when 'A' then p.pickup_snapshot else v_place end, case g.leg when 'A' then v_place else p.dropoff_snapshot end,
    case g.leg when 'A' then p.pickup_zone_id else v_zone end, case g.leg when 'A' then v_zone else p.dropoff_zone_id end,
    case g.leg when 'B' then warehouse end, case g.leg when 'A' then warehouse end,
    p.recipient, p.service_snapshot, p.manifest_id, p.source_snapshot, p.snapshot_version, p.label_assignment, p.label_outdated, p.external_reference_id,
    p.notes, p.promised_at, p.created_by, p.deliver_after, p.deliver_before
  from unnest(parent_ids) with ordinality asked (id, position)
  join delivery.deliveries p on p.tenant_id = app.tenant_id() and p.id = asked.id
  cross join (values ('A', 1, 'pnd_inbound', 'pending'), ('B', 2, 'pnd_outbound', 'draft')) g (leg, sequence_plan, flow, status)
  order by asked.position, g.sequence_plan;
end $$;
