-- Which packages of a selection may move from one warehouse to another, and where to.

-- Resolves a selection: one row a value, in its order: barcodes (or delivery codes), deliveries, inventory items.
-- An item of a parcel, or one that a draft stands for at the source, is that delivery; any other item is raw. A draft that is to go elsewhere
-- stands for nothing that is asked for.
create or replace function warehousing.transfer_selection(input jsonb)
returns table (place bigint, kind text, value text, parcel_id uuid, item_id uuid)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select p.place, 'package' as kind, p.value, null::uuid as id
    from jsonb_array_elements_text(coalesce(input -> 'package_barcodes', '[]')) with ordinality p (value, place)
    union all
    select 1000000 + p.place, 'delivery', p.value, p.value::uuid
    from jsonb_array_elements_text(coalesce(input -> 'delivery_ids', '[]')) with ordinality p (value, place)
    union all
    select 2000000 + p.place, 'inventory_item', p.value, p.value::uuid
    from jsonb_array_elements_text(coalesce(input -> 'inventory_item_ids', '[]')) with ordinality p (value, place)
  ), mine as materialized (
    select (select app.tenant_id()) as tenant_id, (input ->> 'source_warehouse_id')::uuid as source,
      (input ->> 'destination_warehouse_id')::uuid as destination
  )
  select a.place, a.kind, a.value,
    case a.kind when 'package' then warehousing.parcel_named(a.value)
      when 'delivery' then (select coalesce(d.parent_id, d.id) from delivery.deliveries d where d.tenant_id = m.tenant_id and d.id = a.id)
      else coalesce(i.parcel_delivery_id, (
        select d.id from delivery.delivery_items x
        join delivery.deliveries d on d.tenant_id = x.tenant_id and d.id = x.delivery_id
        where x.tenant_id = m.tenant_id and x.item_id = a.id and d.status in ('draft', 'pending') and d.current_warehouse_id = m.source
          and (m.destination is null or coalesce(nullif(d.dropoff_warehouse_id, m.source), m.destination) = m.destination)
          and delivery.is_for_waybill(d)
          and not exists (select from warehousing.waybill_deliveries w where w.tenant_id = d.tenant_id and w.delivery_id = d.id and w.is_open)
        order by d.delivery_code limit 1)) end,
    i.id
  from asked a
  cross join mine m
  left join warehousing.inventory_items i on a.kind = 'inventory_item' and i.tenant_id = m.tenant_id and i.id = a.id;
end $$;

-- True when a parcel may leave a warehouse now. leg: of a staged parcel, the first that has not ended.
--   a draft or an order nobody carries; of a staged parcel, one that lies in a warehouse and waits to leave it;
--   on paper alone (system_only) also a staged one that is still to be brought
create or replace function warehousing.parcel_is_movable(p delivery.deliveries, leg delivery.deliveries, use text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select p.carrier_type = 'internal' and case
      when p.delivery_flow <> 'pnd_parent' then p.status in ('draft', 'pending')
      when use = 'single_delivery' then false
      when use = 'system_only' and p.status in ('draft', 'pending') then true
      else p.current_warehouse_id is not null and leg.delivery_flow is not distinct from 'pnd_outbound' and leg.status = 'pending' end);
end $$;

-- Units of an item that lie open in a warehouse.
create or replace function warehousing.units_available(item uuid, warehouse uuid) returns bigint
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(sum(s.quantity), 0)::bigint from warehousing.stock s
    where s.tenant_id = (select app.tenant_id()) and s.item_id = item and s.warehouse_id = warehouse and s.status = 'available'
      and s.quantity > 0 and s.written_off_at is null);
end $$;

-- Checks a selection for a use: system_only, single_delivery or waybill.
-- {source_warehouse_id, destination_warehouse_id?, package_barcodes?, delivery_ids?, inventory_item_ids?}
-- -> {lines: [{kind, value, id, barcode, delivery_code, status, current_warehouse_id, raw, reason}], destination_warehouse_id, inferred}
-- reason is null for what may move; destinations come from the request, else from the first fitting parcel that has one.
create or replace function warehousing.transfer_evaluate(input jsonb, use text) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_source uuid := (input ->> 'source_warehouse_id')::uuid;
  v_destination uuid := (input ->> 'destination_warehouse_id')::uuid;
  v_lines jsonb;
  v_inferred boolean := false;
begin
  with found as materialized (
    select s.*, row_number() over (partition by coalesce(s.parcel_id, s.item_id) order by s.place) as time
    from warehousing.transfer_selection(input) s
  )
  select jsonb_agg(jsonb_build_object('kind', f.kind, 'value', f.value,
    'id', coalesce(p.id, f.item_id), 'raw', p.id is null and f.item_id is not null,
    'barcode', p.barcode, 'delivery_code', p.delivery_code, 'status', p.status, 'current_warehouse_id', p.current_warehouse_id,
    'destination', nullif(p.dropoff_warehouse_id, v_source),
    'reason', case
      when p.id is null and f.item_id is null then 'not_found'
      when f.time > 1 then 'duplicate'
      when p.id is null then case when warehousing.units_available(f.item_id, v_source) < 1 then 'not_available' end
      when exists (select from warehousing.waybill_deliveries w
        where w.tenant_id = v_tenant and w.delivery_id = p.id and w.is_open) then 'already_in_waybill'
      when coalesce(p.current_warehouse_id, case when p.status in ('draft', 'pending') and p.delivery_flow <> 'pnd_parent'
        then p.pickup_warehouse_id end) <> v_source then 'wrong_source_warehouse'
      when not warehousing.parcel_is_movable(p, l, use) or delivery.return_under_way(p.id) is not null
        -- No driver takes it along.
        or use = 'single_delivery' and delivery.is_for_waybill(p) then 'not_transferable_status'
      when delivery.has_unresolved_exception(p.id) or (l.id is not null and delivery.has_unresolved_exception(l.id)) then 'open_exception'
      -- No warehouse holds it and none is where it is ordered from. On paper a staged one may move before it is brought.
      when p.current_warehouse_id is null and p.pickup_warehouse_id is null and not (use = 'system_only' and p.delivery_flow = 'pnd_parent')
        then 'package_not_here'
      -- Out of a warehouse goes the whole parcel; a delivery from door to door may have nothing on a shelf, and what a store sold is set aside.
      -- A return takes along what of it lies there, unless that is picked for its driver.
      when use = 'waybill' and p.delivery_flow = 'operational_return' and delivery.leaves_warehouse(p) then
        case when delivery.pick_of(p) is not null or not warehousing.parcel_lies_in(p.id, v_source)
          and warehousing.return_to_pick(p.id, v_source) is null then 'not_available' end
      when use = 'waybill' and (l.id is not null or delivery.leaves_warehouse(p)) and exists (
        select from delivery.delivery_items i
        where i.tenant_id = v_tenant and i.delivery_id = p.id and p.order_id is null
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, v_source)) then 'not_available'
      -- The draft of a piece of inventory may be left over from a waybill that was cancelled, and its goods be gone since.
      when use = 'waybill' and delivery.is_for_waybill(p) and exists (
        select from delivery.delivery_items i
        join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is null
        where i.tenant_id = v_tenant and i.delivery_id = p.id
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, v_source)) then 'not_available'
    end) order by f.place)
  into v_lines
  from found f
  left join delivery.deliveries p on p.tenant_id = v_tenant and p.id = f.parcel_id
  left join lateral (
    select x.* from delivery.deliveries x
    where p.delivery_flow = 'pnd_parent' and x.tenant_id = v_tenant and x.parent_id = p.id and x.status not in ('delivered', 'cancelled')
    order by x.sequence_plan limit 1) l on true;
  if v_destination is null then
    select (n.line ->> 'destination')::uuid into v_destination from jsonb_array_elements(v_lines) with ordinality n (line, place)
    where n.line ->> 'reason' is null and (n.line ->> 'destination')::uuid <> v_source order by n.place limit 1;
    v_inferred := v_destination is not null;
  end if;
  if use = 'waybill' and v_destination is not null then
    select jsonb_agg(case when n.line ->> 'reason' is null and (n.line ->> 'destination')::uuid <> v_destination
      then n.line || '{"reason": "destination_mismatch"}' else n.line end order by n.place)
    into v_lines from jsonb_array_elements(v_lines) with ordinality n (line, place);
  end if;
  return jsonb_build_object('lines', coalesce(v_lines, '[]'), 'destination_warehouse_id', v_destination, 'inferred', v_inferred);
end $$;

-- The rows of an evaluated selection that were refused, as answers show them.
create or replace function warehousing.transfer_rejected(judged jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('kind', n.line -> 'kind', 'value', n.line -> 'value', 'reason', n.line -> 'reason') order by n.place), '[]')
    from jsonb_array_elements(judged -> 'lines') with ordinality n (line, place) where n.line ->> 'reason' is not null);
end $$;

-- And those that were not.
create or replace function warehousing.transfer_accepted(judged jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('kind', n.line -> 'kind', 'id', n.line -> 'id', 'barcode', n.line -> 'barcode',
      'delivery_code', n.line -> 'delivery_code') order by n.place), '[]')
    from jsonb_array_elements(judged -> 'lines') with ordinality n (line, place) where n.line ->> 'reason' is null);
end $$;

-- The deliveries among what was accepted.
create or replace function warehousing.transfer_parcels(judged jsonb) returns uuid[]
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select coalesce(array_agg((n.line ->> 'id')::uuid order by n.place), '{}')
    from jsonb_array_elements(judged -> 'lines') with ordinality n (line, place)
    where n.line ->> 'reason' is null and not (n.line ->> 'raw')::boolean);
end $$;

-- Checks with the parcels locked: what is accepted stays as it is until the transaction ends. Where the second look accepts a parcel that the first
-- did not, which is locked by nobody, all of it is done again (serialization_failure).
-- Fails: no_transferable_packages (rejected).
create or replace function warehousing.transfer_evaluate_locked(input jsonb, use text) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_locked uuid[] := warehousing.transfer_parcels(warehousing.transfer_evaluate(input, use));
  v_judged jsonb;
begin
  perform delivery.lock_deliveries(v_locked);
  v_judged := warehousing.transfer_evaluate(input, use);
  if not warehousing.transfer_parcels(v_judged) <@ v_locked then
    raise exception 'packages became transferable meanwhile' using errcode = 'serialization_failure';
  end if;
  if jsonb_array_length(warehousing.transfer_accepted(v_judged)) = 0 then
    perform app.fail('no_transferable_packages', jsonb_build_object('rejected', warehousing.transfer_rejected(v_judged)));
  end if;
  return v_judged;
end $$;

-- The two ends of a route exist and differ. Fails: warehouse_not_found, warehouses_must_differ.
create or replace function warehousing.require_route(source uuid, destination uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform warehousing.require_warehouse(source, 'source_warehouse_id');
  if destination is not null then
    perform warehousing.require_warehouse(destination, 'destination_warehouse_id');
    if source = destination then
      perform app.fail('warehouses_must_differ', '{"field": "destination_warehouse_id"}');
    end if;
  end if;
end $$;
