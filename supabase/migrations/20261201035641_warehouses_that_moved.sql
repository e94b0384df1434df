-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.end_where_it_stands(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries x set dropoff_address_id = a.id, dropoff_snapshot = to_jsonb(a), dropoff_zone_id = a.zone_id,
    label_outdated = x.label_outdated or x.label_edition > 0
  from warehousing.warehouses w
  join delivery.addresses_list a on a.id = w.address_id
  where x.tenant_id = app.tenant_id() and x.id = p_delivery and w.tenant_id = x.tenant_id and w.id = delivery.ends_in(x) and w.deleted_at is null
    and w.address_id <> x.dropoff_address_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_withdraw(o delivery.outcomes, d delivery.deliveries, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_returns uuid[] := array(select r.id from delivery.deliveries r
    where r.tenant_id = o.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.created_at = o.created_at and r.status = 'picked_up');
  -- An attempt that did not deliver changed no place: one that is another by now was redirected since, and stays.
  v_places jsonb := case when o.result in ('delivered', 'partial', 'exchanged') then o.before else to_jsonb(d) end;
begin
  perform app.require_tenant(o.tenant_id);
  v_places := v_places || delivery.first_leg_restore(o, d);
  -- First, since by it the guard of deliveries knows that these moves are an undo.
  update delivery.outcomes x set undone_at = now(), undone_by = app.user_id(), undo_reason = reason, undone_in = pg_current_xact_id()
  where x.tenant_id = o.tenant_id and x.id = o.id;
  update delivery.deliveries r set status = 'cancelled', status_reason = 'outcome_undone', status_notes = reason
  where r.tenant_id = o.tenant_id and r.id = any (v_returns);
  -- returned: taken back from the driver.
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = o.tenant_id and a.delivery_id = any (v_returns) and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.arrival_withdraw(d.id);
  if o.result = 'returned' then
    perform delivery.return_withdraw(d);
  end if;
  update delivery.deliveries x set delivered_in_part = false
  where x.tenant_id = o.tenant_id and x.id in (d.id, delivery.parcel_of(d)) and x.delivered_in_part;
  update delivery.deliveries x set status = o.from_status, status_reason = 'outcome_undone', status_notes = reason, delivered_at = null,
    attempts_used = (o.before ->> 'attempts_used')::integer, attempts_exhausted = (o.before ->> 'attempts_exhausted')::boolean,
    recipient = x.recipient - 'received_by' || jsonb_strip_nulls(jsonb_build_object('received_by', o.before -> 'received_by')),
    transfer_kind = v_places ->> 'transfer_kind', dropoff_warehouse_id = (v_places ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (v_places ->> 'ordered_to_warehouse_id')::uuid, postponed_to = (o.before ->> 'postponed_to')::date,
    overnight_notice_at = null
  where x.tenant_id = o.tenant_id and x.id = d.id;
  perform delivery.end_where_it_stands(d.id);
  if o.result = 'partial' or o.before ->> 'amount_change_id' is not null then
    perform delivery.kept_amount_undo(delivery.parcel_of(d), o, reason);
  end if;
  perform delivery.outcome_reassign(o, d);
  perform delivery.redirect_again(delivery.parcel_of(d), (o.before ->> 'redirect_id')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouse_follow(tenant uuid, warehouse uuid, from_address uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_to uuid;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  select w.address_id into v_to from warehousing.warehouses w where w.tenant_id = tenant and w.id = warehouse and w.deleted_at is null;
  if v_to <> from_address then
    perform delivery.warehouse_moved(warehouse, from_address, v_to);
  end if;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."warehouse_follow"(uuid, uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.warehouse_moved(warehouse uuid, from_address uuid, to_address uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_to delivery.addresses;
  v_snapshot jsonb;
  v_parcels uuid[];
  v_moved uuid[];
begin
  select a.* into strict v_to from delivery.addresses a where a.tenant_id = v_tenant and a.id = to_address;
  select to_jsonb(a) into v_snapshot from delivery.addresses_list a where a.id = to_address;
  v_parcels := array(
    select distinct delivery.parcel_of(d) from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status not in ('delivered', 'returned', 'cancelled')
      and (d.pickup_warehouse_id = warehouse and d.pickup_address_id = from_address
        or d.ordered_from_warehouse_id = warehouse and d.ordered_from_address_id = from_address
        or d.dropoff_address_id = from_address and coalesce(delivery.ends_in(d), delivery.goods_go_back_to(d)) = warehouse));
  if v_parcels = '{}' then
    return;
  end if;
  perform delivery.lock_deliveries(v_parcels);
  with moved as (
    update delivery.deliveries d set
      pickup_address_id = case when m.begins then to_address else d.pickup_address_id end,
      pickup_snapshot = case when m.begins then v_snapshot else d.pickup_snapshot end,
      pickup_zone_id = case when m.begins then v_to.zone_id else d.pickup_zone_id end,
      ordered_from_address_id = case when m.began then to_address else d.ordered_from_address_id end,
      ordered_from_snapshot = case when m.began then v_snapshot else d.ordered_from_snapshot end,
      dropoff_address_id = case when m.ends then to_address else d.dropoff_address_id end,
      dropoff_snapshot = case when m.ends then v_snapshot else d.dropoff_snapshot end,
      dropoff_zone_id = case when m.ends then v_to.zone_id else d.dropoff_zone_id end,
      label_outdated = d.label_outdated or m.ends and d.label_edition > 0
    from (
      select x.id, x.pickup_warehouse_id is not distinct from warehouse and x.pickup_address_id = from_address as begins,
        x.ordered_from_warehouse_id is not distinct from warehouse and x.ordered_from_address_id is not distinct from from_address as began,
        x.dropoff_address_id = from_address and coalesce(delivery.ends_in(x), delivery.goods_go_back_to(x)) is not distinct from warehouse as ends
      from delivery.deliveries x
      where x.tenant_id = v_tenant and (x.id = any (v_parcels) or x.parent_id = any (v_parcels))
        and x.status not in ('delivered', 'returned', 'cancelled')
    ) m
    where d.tenant_id = v_tenant and d.id = m.id and (m.begins or m.began or m.ends)
    returning d.id
  )
  select array_agg(m.id) into v_moved from moved m;
  perform delivery.change_announce(v_parcels, '{place}');
  perform integration.shipments_place_changed(v_moved);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."warehouse_moved"(uuid, uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.warehouse_moves(warehouse uuid, from_address uuid, to_address uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  perform delivery.warehouse_moved(warehouse, from_address, to_address);
  perform app.job_add('delivery.warehouse_follow', jsonb_build_object('warehouse_id', warehouse, 'from_address_id', from_address),
    run_at => now() + interval '2 minutes');
end $function$;

CREATE OR REPLACE FUNCTION integration.shipments_place_changed(deliveries uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform integration.shipment_notify('shipment_place_changed', s)
  from integration.carrier_shipments s
  where s.tenant_id = app.tenant_id() and s.delivery_id = any (deliveries) and s.status <> 'cancelled' and delivery.booking_binds(s);
end $function$;

REVOKE ALL ON FUNCTION "integration"."shipments_place_changed"(uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.parcel_received(d delivery.deliveries, r warehousing.receiving_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- Goods of a store are unpacked: no parcel lies there.
  v_goods boolean := warehousing.receipt_is_of_goods(r);
  v_continues boolean := d.status in ('picked_up', 'in_transit', 'failed') and not v_goods
    and (d.delivery_flow = 'standard' and d.order_id is not null or delivery.stops_at(d, r.warehouse_id));
begin
  if r.source = 'inbound' then
    perform delivery.parcel_at(delivery.parcel_of(d), case when not v_goods then r.warehouse_id end);
    -- It brought a parcel back here.
    if d.delivery_flow = 'operational_return' and d.status = 'delivered' then
      perform delivery.originals_come_back(array[d.original_delivery_id]);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
    update delivery.deliveries n set status = 'pending', pickup_warehouse_id = coalesce(n.pickup_warehouse_id, r.warehouse_id)
    where n.tenant_id = d.tenant_id and n.parent_id = d.parent_id and n.sequence_plan = d.sequence_plan + 1 and n.status = 'draft';
    return;
  end if;
  if v_continues then
    -- It stops here, and continues from here.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    perform warehousing.parcels_advance(array[d.id], r.warehouse_id);
    -- A return that has come to its end.
    perform delivery.returned_fees_refund(array[d.id]);
  elsif d.status in ('picked_up', 'in_transit', 'failed') and v_goods then
    -- Goods that were sent back to the store are its own again, in whichever warehouse.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp() where x.tenant_id = d.tenant_id and x.id = d.id;
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    update delivery.deliveries x set status = 'returned' where x.tenant_id = d.tenant_id and x.id = d.id;
    if not delivery.leaves_warehouse(d) then
      -- Back for good, now that it is here.
      perform delivery.delivery_returned_for_good(d.id);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
  end if;
  if d.order_id is null and not v_goods and not v_continues then
    perform delivery.parcel_at(delivery.parcel_of(d), r.warehouse_id);
  end if;
  if delivery.leaves_warehouse(d) then
    -- It sets out from where it is now.
    update delivery.deliveries x set status = 'pending', pickup_warehouse_id = w.id, pickup_address_id = a.id,
      -- The warehouse may stand elsewhere by now.
      pickup_snapshot = case when x.pickup_address_id = a.id then x.pickup_snapshot else to_jsonb(a) end,
      pickup_zone_id = case when x.pickup_address_id = a.id then x.pickup_zone_id else a.zone_id end
    from warehousing.warehouses w
    join delivery.addresses_list a on a.id = w.address_id
    where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'returned' and w.tenant_id = d.tenant_id and w.id = r.warehouse_id;
  end if;
  update delivery.assignments a set ended_at = clock_timestamp(), status = case
    when exists (select from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'delivered') then 'completed'
    else 'returned' end
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted');
end $function$;

REVOKE ALL ON FUNCTION "delivery"."end_where_it_stands"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."end_where_it_stands"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."warehouse_follow"(uuid, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."warehouse_follow"(uuid, uuid, uuid) TO "barid_api";

REVOKE ALL ON FUNCTION "delivery"."warehouse_moved"(uuid, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."shipments_place_changed"(uuid[]) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201035641';
end $$;

grant execute on function private.schema_version() to barid_api;
