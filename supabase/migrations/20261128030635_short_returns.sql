-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table warehousing.waybill_items in access exclusive mode;
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

ALTER TABLE "warehousing"."waybill_items" DROP CONSTRAINT "texts_within_bounds";

ALTER TABLE "warehousing"."waybill_items" ADD COLUMN "status" text NOT NULL DEFAULT 'available'::text;

CREATE OR REPLACE FUNCTION delivery.delivery_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_refund jsonb;
  v_waiting delivery.deliveries;
  v_return record;
  v_missing boolean;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id)
    and (x.delivery_flow in ('standard', 'pnd_outbound') or x.delivery_flow = 'customer_return' and not warehousing.return_is_lost(x))
    and x.status in ('pending', 'assigned', 'accepted') and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  if found then
    v_missing := warehousing.parcel_is_missing(d, v_waiting.current_warehouse_id);
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, not v_missing, input);
    v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    if v_missing then
      perform warehousing.stock_release('picking_order', p.id) from unnest(v_return.picks) p (id);
      perform warehousing.waybill_remove_delivery(d.id);
      perform delivery.parcel_at(d.id, null);
    else
      perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    end if;
    perform storefront.orders_settle();
    return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', delivery.delivery_to_json(v_return.id));
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  if d.delivery_flow = 'customer_return' and d.status = 'draft' then
    perform delivery.return_request_cancel(d.id);
  end if;
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_cancel_waiting(d delivery.deliveries, waiting delivery.deliveries, goes_back boolean, input jsonb, OUT id uuid, OUT picks uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_made record;
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled'));
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = waiting.id;
  if not goes_back then
    if delivery.return_under_way(d.id) is not null then
      perform app.fail('return_already_exists');
    end if;
    picks := delivery.delivery_release(d.id);
    return;
  end if;
  v_made := delivery.operational_return_make(waiting, input);
  id := v_made.id;
  picks := v_made.picks;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_execute(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_asked uuid := (input ->> 'warehouse_id')::uuid;
  v_pick uuid;
  v_lines jsonb;
  v_found jsonb;
  v_reference text;
  v_order warehousing.picking_orders;
begin
  if not delivery.leaves_warehouse(d) then
    perform app.fail('delivery_not_executable');
  end if;
  select p.id into v_pick from warehousing.picking_orders p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.status = 'completed';
  if not found then
    perform delivery.require_move(d, '{pending}', 'executed');
    perform delivery.require_no_return(d);
    if coalesce(v_asked, d.pickup_warehouse_id) <> d.pickup_warehouse_id then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    v_pick := gen_random_uuid();
    -- Somebody may have written the next number by hand.
    while v_reference is null or exists (select from warehousing.picking_orders p
        where p.tenant_id = d.tenant_id and p.reference_number = v_reference and p.order_id is null) loop
      v_reference := 'PKO-' || app.padded(app.take_numbers('picking_order'), 6);
    end loop;
    -- The items of a parcel, where each lies; whatever is missing is one and the same refusal.
    if d.delivery_flow = 'operational_return' then
      v_lines := warehousing.return_to_pick(d.id, d.pickup_warehouse_id);
    else
      select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'quantity', i.quantity, 'warehouse_id', d.pickup_warehouse_id) order by i.position)
      into v_lines
      from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d) and i.item_id is not null;
    end if;
    begin
      v_found := warehousing.stock_reserve('picking_order', v_pick, v_lines);
    exception when sqlstate 'RULE0' then
      if sqlerrm <> 'insufficient_stock' then
        raise;
      end if;
      v_found := null;
    end;
    if v_found is null or v_found = '[]' and not delivery.leaves_as_it_is(d) then
      perform app.fail('warehouse_preparation_inconsistent');
    end if;
    insert into warehousing.picking_orders (id, tenant_id, reference_number, warehouse_id, order_type, status, delivery_id, completed_date,
      created_by, picking_progress)
    values (v_pick, d.tenant_id, v_reference, d.pickup_warehouse_id, 'individual',
      'completed', d.id, clock_timestamp(), app.user_id(), jsonb_build_object('start_time', now(), 'end_time', now()))
    returning * into v_order;
    perform warehousing.picking_event_emit(v_order, 'pending', v_order.status);
  elsif d.delivery_flow = 'operational_return' then
    v_lines := warehousing.return_to_pick(d.id, d.pickup_warehouse_id, v_pick);
    if v_lines is not null then
      v_found := warehousing.stock_reserve('picking_order', v_pick, v_lines);
    end if;
  end if;
  insert into warehousing.picking_order_items (tenant_id, picking_order_id, position, warehouse_id, item_id, bin_id, quantity, picked_quantity, status)
  select d.tenant_id, v_pick, f.position + coalesce((select max(i.position) from warehousing.picking_order_items i
    where i.tenant_id = d.tenant_id and i.picking_order_id = v_pick), 0), f.warehouse_id, f.item_id, f.bin_id, f.quantity, f.quantity, 'picked'
  from rows from (jsonb_to_recordset(v_found) as (warehouse_id uuid, item_id uuid, bin_id uuid, quantity bigint))
    with ordinality f (warehouse_id, item_id, bin_id, quantity, position);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'picking_order', (
    select jsonb_build_object('id', p.id, 'reference_number', p.reference_number, 'status', p.status, 'warehouse_id', p.warehouse_id,
      'delivery_id', p.delivery_id, 'completed_date', p.completed_date, 'item_details', (
        select coalesce(jsonb_agg(jsonb_build_object('item_id', i.item_id, 'bin_id', i.bin_id, 'quantity', i.quantity,
          'picked_quantity', i.picked_quantity, 'status', i.status) order by i.position), '[]')
        from warehousing.picking_order_items i where i.tenant_id = p.tenant_id and i.picking_order_id = p.id))
    from warehousing.picking_orders p where p.id = v_pick));
end $function$;

CREATE OR REPLACE FUNCTION delivery.handoff_pickup(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  h delivery.package_handoffs;
  d delivery.deliveries;
  v_cash jsonb;
begin
  select * into h from delivery.package_handoffs x where x.id = v_id;
  if not found then
    perform delivery.delivery_unseen(delivery.handed_off_in(v_id), 'handoff_not_found');
  end if;
  d := delivery.lock_delivery(h.delivery_id);
  select * into h from delivery.package_handoffs x where x.id = v_id for no key update;
  if not found then
    perform app.fail('handoff_not_found');
  end if;
  perform delivery.require_first_report(d, input);
  perform delivery.require_carrier(d);
  if h.status <> 'pending' then
    perform app.fail('handoff_not_pending', jsonb_build_object('status', h.status));
  end if;
  perform delivery.picking_hand_off(h.picking_order_id, d.id);
  v_cash := delivery.delivery_taken(d, input);
  update delivery.package_handoffs x set status = 'completed', custody = 'driver', completed_at = clock_timestamp()
  where x.tenant_id = h.tenant_id and x.id = h.id;
  perform delivery.parcel_at(delivery.parcel_of(d), null);
  perform warehousing.stock_exit('picking_order', h.picking_order_id, 'pick');
  if d.delivery_flow = 'operational_return' then
    perform warehousing.parcel_leaves(d.id, d.pickup_warehouse_id);
  end if;
  return jsonb_build_object('handoff', (select to_jsonb(r) from delivery.handoffs_list r where r.id = v_id),
    'delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_prepared(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_parcel uuid := delivery.parcel_of(d);
  v_picked uuid;
begin
  -- Most that are asked about are not picked yet: nothing else is looked up for them.
  for v_picked in select p.id from warehousing.picking_orders p
    where p.tenant_id = v_tenant and p.delivery_id = d.id and p.status = 'completed'
  loop
    if exists (select from delivery.delivery_items i where i.tenant_id = v_tenant and i.delivery_id = v_parcel)
      and not exists (
        select from delivery.delivery_items i
        where i.tenant_id = v_tenant and i.delivery_id = v_parcel
        group by i.item_id
        having sum(i.quantity) > coalesce((
            select sum(s.quantity) from warehousing.stock s
            where s.tenant_id = v_tenant and s.reserved_for_id = v_picked and s.item_id = i.item_id), 0)
          and (d.delivery_flow <> 'operational_return' or warehousing.units_available(i.item_id, d.pickup_warehouse_id) > 0))
      and (exists (select from warehousing.stock s where s.tenant_id = v_tenant and s.reserved_for_id = v_picked and s.quantity > 0)
        or delivery.leaves_as_it_is(d))
    then
      return not exists (select from warehousing.receiving_orders r
        where r.tenant_id = v_tenant and r.delivery_id = d.id and r.status = 'pending');
    end if;
  end loop;
  return false;
end $function$;

CREATE OR REPLACE FUNCTION delivery.leaves_as_it_is(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  return d.delivery_flow = 'operational_return' and d.pickup_warehouse_id is not null and warehousing.parcel_lies_in(d.id, d.pickup_warehouse_id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.pick_of(d delivery.deliveries)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select p.id from warehousing.picking_orders p
    where p.tenant_id = app.tenant_id() and p.delivery_id = d.id and p.order_id is null and p.status = 'completed'
      and (exists (select from warehousing.stock s where s.tenant_id = p.tenant_id and s.reserved_for_id = p.id and s.quantity > 0)
        or delivery.leaves_as_it_is(d)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.picking_hand_off(p_pick uuid, p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_order warehousing.picking_orders;
begin
  update warehousing.picking_orders p set status = 'handed_off'
  where p.tenant_id = app.tenant_id() and p.id = p_pick and p.delivery_id = p_delivery and p.status = 'completed'
    and (exists (select from warehousing.stock s where s.tenant_id = p.tenant_id and s.reserved_for_id = p.id and s.quantity > 0)
      or exists (select from delivery.deliveries d where d.tenant_id = p.tenant_id and d.id = p_delivery and delivery.leaves_as_it_is(d)))
  returning p.* into v_order;
  if not found then
    perform app.fail('warehouse_preparation_inconsistent');
  end if;
  perform warehousing.picking_event_emit(v_order, 'completed', v_order.status);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_is_missing(parcel delivery.deliveries, warehouse uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(parcel.tenant_id);
  return warehouse is not null and parcel.order_id is null
    and not exists (select from warehousing.parcel_stock(parcel.id, warehouse))
    and exists (
      select from delivery.deliveries d
      join warehousing.receiving_orders n on n.tenant_id = d.tenant_id and n.delivery_id = d.id
      where d.tenant_id = parcel.tenant_id and (d.id = parcel.id or d.parent_id = parcel.id) and n.warehouse_id = warehouse
        and n.status = 'received' and n.received_at > coalesce(d.picked_up_at, '-infinity'))
    and not exists (
      select from delivery.deliveries d
      join warehousing.receiving_orders n on n.tenant_id = d.tenant_id and n.delivery_id = d.id
      where d.tenant_id = parcel.tenant_id and (d.id = parcel.id or d.parent_id = parcel.id) and n.status = 'pending');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_leaves(parcel uuid, warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  delete from warehousing.waybill_items i using warehousing.waybills w
  where i.tenant_id = v_tenant and i.delivery_id = parcel and w.tenant_id = i.tenant_id and w.id = i.waybill_id and w.status = 'drafted'
    and (warehouse is null or w.source_warehouse_id = warehouse);
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'pick', 'item_id', s.item_id, 'warehouse_id', s.warehouse_id, 'quantity', s.quantity,
      'from', jsonb_strip_nulls(jsonb_build_object('bin_id', s.bin_id, 'status', s.status, 'lot_number', s.lot_number, 'serial_number', s.serial_number,
        'reserved_for_type', s.reserved_for_type, 'reserved_for_id', s.reserved_for_id)),
      'reference_type', 'delivery', 'reference_id', parcel) order by s.id)
    from (
      select x.* from warehousing.parcel_stock(parcel, warehouse) x
      union all
      select x.* from warehousing.inventory_items i
      join warehousing.stock x on x.tenant_id = i.tenant_id and x.item_id = i.id
      where warehouse is null and i.tenant_id = v_tenant and i.parcel_delivery_id = parcel and x.quantity > 0) s
    where s.reserved_for_id is null or s.reserved_for_type = 'waybill'));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_lies_in(parcel uuid, warehouse uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from warehousing.parcel_stock(parcel, warehouse) s where s.reserved_for_id is null);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_stock(parcel uuid, warehouse uuid)
 RETURNS SETOF warehousing.stock
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  select s.* from warehousing.inventory_items i
  join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.id and s.warehouse_id = warehouse and s.quantity > 0
  where i.tenant_id = v_tenant and i.parcel_delivery_id is not null and i.id in (
    select k.id from warehousing.inventory_items k where k.tenant_id = v_tenant and k.parcel_delivery_id = parcel
    union
    select x.item_id from delivery.delivery_items x where x.tenant_id = v_tenant and x.delivery_id = parcel);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_fill(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
  v_bin uuid := coalesce((v_details #>> '{0,bin_id}')::uuid, warehousing.default_receiving_bin(r.warehouse_id));
  v_wrong record;
begin
  select e.place, e.line is null as unknown, e.twice, e.item_id into v_wrong
  from (
    select n.*, row_number() over (partition by n.line order by n.place) > 1 and n.line is not null as twice,
      n.bin_id is not null and not exists (select from warehousing.bins b
        where b.tenant_id = r.tenant_id and b.warehouse_id = r.warehouse_id and b.id = n.bin_id) as nowhere
    from warehousing.receipt_entries(r, v_details) n) e
  where e.line is null or e.twice or e.nowhere
  order by e.place limit 1;
  if found then
    if v_wrong.unknown then
      perform app.fail('inventory_item_not_found', jsonb_build_object('field', format('item_details.%s.item_id', v_wrong.place)));
    elsif v_wrong.twice then
      perform app.fail('item_named_twice', jsonb_build_object('field',
        format('item_details.%s', v_wrong.place) || case when v_wrong.item_id is null then '' else '.item_id' end));
    end if;
    perform app.fail('bin_not_found', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
  end if;
  update warehousing.receiving_order_items i set
    received_quantity = coalesce(n.received_quantity, i.quantity),
    bin_id = coalesce(n.bin_id, v_bin),
    condition = coalesce(n.condition, case when n.damaged_quantity > 0 or n.line is null and l.damaged > 0 then 'damaged' end, 'good'),
    damaged_quantity = least(coalesce(n.received_quantity, i.quantity),
      coalesce(n.damaged_quantity, case n.condition when 'damaged' then coalesce(n.received_quantity, i.quantity) end,
        case when n.line is null then l.damaged end, 0))
  from warehousing.receiving_order_items o
  left join warehousing.receipt_entries(r, v_details) n on n.line = o.id
  left join (select g.* from delivery.deliveries d cross join lateral warehousing.return_left_with(d) g
    where d.tenant_id = r.tenant_id and d.id = r.delivery_id) l on l.item_id = o.item_id
  where o.tenant_id = r.tenant_id and o.receiving_order_id = r.id and i.id = o.id;
  select e.place into v_wrong
  from warehousing.receipt_entries(r, v_details) e
  join warehousing.receiving_order_items i on i.tenant_id = r.tenant_id and i.id = e.line
  where e.damaged_quantity > i.received_quantity order by e.place limit 1;
  if found then
    perform app.fail('damaged_too_much', jsonb_build_object('field', format('item_details.%s.damaged_quantity', v_wrong.place)));
  end if;
  -- A line that nobody wrote of is wrong because of the bin that serves for all.
  select i.*, coalesce(n.place, 0) as place, case when n.bin_id is null then 0 else n.place end as bin_place into v_wrong
  from warehousing.receiving_order_items i
  left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
  left join warehousing.bins b on b.tenant_id = i.tenant_id and b.id = i.bin_id
  where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id
    and (i.received_quantity > i.quantity or (i.received_quantity > 0 and b.is_active is not true))
  order by i.position limit 1;
  if found then
    if v_wrong.received_quantity > v_wrong.quantity then
      perform app.fail('received_too_much', jsonb_build_object('field', format('item_details.%s.received_quantity', v_wrong.place),
        'expected', v_wrong.quantity));
    elsif v_wrong.bin_id is null then
      perform app.fail('bin_id_required_for_received_items', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
    end if;
    perform app.fail('bin_inactive', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.bin_place)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_open(d delivery.deliveries, warehouse uuid, source text, exception uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_goods boolean := exists (select from warehousing.goods_sent_back(v_parcel));
  v_left boolean := exists (select from warehousing.return_left_with(v_parcel));
begin
  select r.id into v_id from warehousing.receiving_orders r
  where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending';
  if found then
    update warehousing.receiving_orders r set exception_id = exception, source = receipt_open.source
    where r.tenant_id = d.tenant_id and r.id = v_id and exception is not null and r.source <> 'inbound';
    return v_id;
  end if;
  if not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id) then
    perform delivery.delivery_items_write(array[v_parcel]);
  end if;
  if not v_goods then
    perform warehousing.parcel_items_known(v_parcel.id);
  end if;
  insert into warehousing.receiving_orders (tenant_id, reference_number, warehouse_id, source, delivery_id, exception_id, created_by)
  values (d.tenant_id, 'RCV-' || app.padded(app.take_numbers('receiving_order'), 6), warehouse, source, d.id, exception, app.user_id())
  returning id into v_id;
  insert into warehousing.receiving_order_items (tenant_id, receiving_order_id, position, warehouse_id, item_id, quantity)
  select d.tenant_id, v_id, i.position, warehouse, i.item_id, i.quantity
  from delivery.delivery_items i where not v_goods and not v_left and i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id
  union all
  select d.tenant_id, v_id, row_number() over (order by i.position), warehouse, i.item_id, l.quantity
  from warehousing.return_left_with(v_parcel) l
  join (select x.item_id, min(x.position) as position from delivery.delivery_items x
    where x.tenant_id = d.tenant_id and x.delivery_id = v_parcel.id group by x.item_id) i on i.item_id = l.item_id
  where v_left
  union all
  select d.tenant_id, v_id, g.position, warehouse, g.item_id, g.quantity from warehousing.goods_sent_back(v_parcel) g;
  update storefront.storefront_order_parts p set receiving_order_id = v_id
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and receipt_open.source <> 'inbound';
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.return_is_lost(r delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(r.tenant_id);
  return r.current_warehouse_id is not null
    and not exists (select from warehousing.receiving_orders n where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'pending')
    and not exists (
      select from delivery.delivery_items i
      join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.item_id and s.warehouse_id = r.current_warehouse_id and s.quantity > 0
      where i.tenant_id = r.tenant_id and i.delivery_id = r.id)
    and (exists (select from warehousing.receiving_orders n
        where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.warehouse_id = r.current_warehouse_id and n.status = 'received')
      or exists (
        select from delivery.delivery_items i
        join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.item_id and s.warehouse_id = r.current_warehouse_id
        where i.tenant_id = r.tenant_id and i.delivery_id = r.id)
      or exists (select from delivery.deliveries o
        where o.tenant_id = r.tenant_id and o.id = r.original_delivery_id and warehousing.parcel_is_missing(o, r.current_warehouse_id)));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.return_left_with(d delivery.deliveries)
 RETURNS TABLE(item_id uuid, quantity bigint, damaged bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  if d.delivery_flow <> 'operational_return' or not delivery.leaves_warehouse(d) then
    return;
  end if;
  return query
  with moved as (
    select t.id, t.item_id, t.quantity, t.transaction_type, t.from_status from delivery.delivery_items i
    join warehousing.inventory_items k on k.tenant_id = i.tenant_id and k.id = i.item_id and k.parcel_delivery_id is not null
    join warehousing.inventory_transactions t on t.tenant_id = k.tenant_id and t.item_id = k.id
    where i.tenant_id = d.tenant_id and i.delivery_id = d.id and t.transaction_type in ('receive', 'transfer_in', 'pick', 'transfer_out')
  )
  select m.item_id, sum(m.quantity)::bigint, coalesce(sum(m.quantity) filter (where m.from_status = 'damaged'), 0)::bigint from moved m
  where m.transaction_type in ('pick', 'transfer_out')
    and m.id > coalesce((select max(x.id) from moved x where x.transaction_type in ('receive', 'transfer_in')), 0)
  group by m.item_id;
end $function$;

REVOKE ALL ON FUNCTION "warehousing"."return_left_with"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION warehousing.return_to_pick(p_return uuid, warehouse uuid, pick uuid DEFAULT NULL::uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_agg(jsonb_build_object('item_id', n.item_id, 'quantity', n.quantity, 'warehouse_id', warehouse) order by n.place)
    from (
      select i.item_id, min(i.position) as place,
        least(warehousing.units_available(i.item_id, warehouse), sum(i.quantity) - coalesce((
          select sum(s.quantity) from warehousing.stock s
          where s.tenant_id = app.tenant_id() and s.reserved_for_id = pick and s.item_id = i.item_id), 0)) as quantity
      from delivery.delivery_items i
      where i.tenant_id = app.tenant_id() and i.delivery_id = p_return and i.item_id is not null
      group by i.item_id) n
    where n.quantity > 0);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.scan_next_action(d delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_leg delivery.deliveries;
  v_problem text;
  v_pick record := warehousing.scan_pick(d);
begin
  if d.delivery_flow = 'pnd_parent' then
    -- A leg that ended in a warehouse is not over until it was received there.
    select l.* into v_leg from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status <> 'cancelled' and (l.status <> 'delivered' or exists (
      select from warehousing.receiving_orders r where r.tenant_id = l.tenant_id and r.delivery_id = l.id and r.status = 'pending'))
    order by l.sequence_plan limit 1;
    return case when v_leg.id is null then 'none' else warehousing.scan_next_action(v_leg) end;
  end if;
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    return 'receive';
  end if;
  if d.status = 'failed' and d.status_reason = 'lost' then
    -- Turned up again: the office says where it is by `return`, which makes its receipt.
    return 'none';
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    return 'in_delivery';
  elsif v_pick.pick is not null and not v_pick.whole then
    -- Picked, but not all was there: the store says what becomes of its order.
    return case when v_pick.ended then 'none' else 'pick' end;
  elsif d.status in ('assigned', 'accepted') then
    if v_pick.pick is not null then
      return 'handoff';
    elsif delivery.leaves_warehouse(d) then
      return case when (warehousing.scan_handoff(array[d.id])).id is not null then 'handoff' else 'none' end;
    end if;
    return 'in_delivery';
  elsif d.status <> 'pending' or d.carrier_type <> 'internal' then
    return 'none';
  end if;
  select p.code into v_problem from delivery.preparation_problem(array[d.id]) p;
  if v_problem is null then
    return 'assign';
  end if;
  -- Not picked, and nothing else in its way: it lies here, whole (of a return any part of it), and travels nowhere.
  if v_problem = 'warehouse_preparation_inconsistent' and delivery.leaves_warehouse(d)
    and not exists (select from warehousing.picking_orders p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
      and p.status in ('pending', 'in_progress', 'completed'))
    and (case when d.delivery_flow = 'operational_return'
      then delivery.leaves_as_it_is(d) or warehousing.return_to_pick(d.id, d.pickup_warehouse_id) is not null
      else not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d)
        group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, d.pickup_warehouse_id)) end) then
    return 'execute';
  end if;
  return 'none';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.transfer_evaluate(input jsonb, use text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_arrive(w warehousing.waybills, parcels uuid[], bin uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_bin uuid := coalesce(bin, warehousing.default_receiving_bin(w.destination_warehouse_id));
  v_lines jsonb;
begin
  perform warehousing.parcels_advance(parcels, w.destination_warehouse_id);
  -- Goods that a store's parcel has brought back here are expected as goods.
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'warehouse_id', w.destination_warehouse_id, 'bin_id', v_bin, 'quantity', i.quantity,
    'status', i.status, 'lot_number', i.lot_number, 'serial_number', i.serial_number, 'field', 'bin_id') order by i.item_id, i.id)
  into v_lines from warehousing.waybill_items i
  join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
  where i.tenant_id = w.tenant_id and i.waybill_id = w.id and i.delivery_id = any (parcels)
    and not (d.status = 'delivered' and warehousing.brings_goods_back(d));
  if v_lines is not null and v_bin is null then
    perform app.fail('bin_id_required_for_received_items', '{"field": "bin_id"}');
  end if;
  -- The deliveries that end here: wallets before stock, as everywhere.
  perform warehousing.waybill_fees_refund(w, parcels);
  perform storefront.orders_settle();
  perform warehousing.stock_receive(v_lines, 'transfer_in', 'waybill', w.id);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_hand_over(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_parcels uuid[];
  v_stuck record;
begin
  perform warehousing.require_works_in(w.source_warehouse_id);
  perform warehousing.require_waybill(w, 'drafted', true);
  v_parcels := warehousing.lock_waybill_parcels(w);
  w.driver_id := (input ->> 'driver_id')::uuid;
  w.vehicle_id := warehousing.waybill_vehicle(w.driver_id, (input ->> 'vehicle_id')::uuid);
  v_parcels := warehousing.waybill_without_gone(w, v_parcels);
  select d.id, d.status into v_stuck from delivery.deliveries d
  where d.tenant_id = w.tenant_id and d.id = any (v_parcels)
    and not (d.status in ('draft', 'pending') or (d.delivery_flow = 'pnd_parent' and exists (
      select from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.delivery_flow = 'pnd_outbound' and l.status = 'pending')))
  limit 1;
  if found then
    perform app.fail('waybill_delivery_not_ready', jsonb_build_object('delivery_id', v_stuck.id, 'status', v_stuck.status));
  end if;
  perform app.fail('waybill_delivery_not_ready', jsonb_build_object('delivery_id', p.id, 'status', 'pending', 'text_key', 'reason_is_booked'))
  from unnest(v_parcels) p (id) where delivery.shipment_lives(p.id);
  update warehousing.waybills x set status = 'in_transit', driver_id = w.driver_id, vehicle_id = w.vehicle_id, handed_over_at = clock_timestamp()
  where x.tenant_id = w.tenant_id and x.id = w.id;
  update delivery.deliveries d set status = 'in_transit', status_reason = null, status_notes = w.waybill_number
  where d.tenant_id = w.tenant_id and d.status = 'pending'
    and ((d.id = any (v_parcels) and d.delivery_flow <> 'pnd_parent') or (d.parent_id = any (v_parcels) and d.delivery_flow = 'pnd_outbound'));
  perform delivery.parcel_at(p.id, null) from unnest(v_parcels) p (id);
  perform warehousing.waybill_event_emit(w, 'handed_over', jsonb_build_object('delivery_count', cardinality(v_parcels)));
  perform warehousing.stock_exit('waybill', w.id, 'transfer_out');
  perform warehousing.waybill_takes_along(w, v_parcels);
  return warehousing.waybill_get(input);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.waybill_takes_along(w warehousing.waybills, parcels uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- Read once: it is recorded as it is booked out.
  v_lines jsonb := (
    select jsonb_agg(to_jsonb(s) || jsonb_build_object('delivery_id', d.id) order by s.id)
    from delivery.deliveries d cross join lateral warehousing.parcel_stock(d.id, w.source_warehouse_id) s
    where d.tenant_id = w.tenant_id and d.id = any (parcels) and d.delivery_flow = 'operational_return' and s.reserved_for_id is null);
begin
  if v_lines is null then
    return;
  end if;
  insert into warehousing.waybill_items (tenant_id, waybill_id, delivery_id, item_id, quantity, lot_number, serial_number, status)
  select w.tenant_id, w.id, l.delivery_id, l.item_id, sum(l.quantity), l.lot_number, l.serial_number, l.status
  from jsonb_to_recordset(v_lines) as l (delivery_id uuid, item_id uuid, quantity bigint, lot_number text, serial_number text, status text)
  group by l.delivery_id, l.item_id, l.lot_number, l.serial_number, l.status;
  perform warehousing.stock_post((
    select jsonb_agg(jsonb_build_object('type', 'transfer_out', 'item_id', l.item_id, 'warehouse_id', w.source_warehouse_id, 'quantity', l.quantity,
      'from', jsonb_strip_nulls(jsonb_build_object('bin_id', l.bin_id, 'status', l.status, 'lot_number', l.lot_number,
        'serial_number', l.serial_number)), 'reference_type', 'waybill', 'reference_id', w.id))
    from jsonb_to_recordset(v_lines) as l (bin_id uuid, item_id uuid, quantity bigint, lot_number text, serial_number text, status text)));
end $function$;

ALTER TABLE "warehousing"."waybill_items" ADD CONSTRAINT "texts_within_bounds" CHECK (((octet_length(lot_number) <= 1000) AND (octet_length(serial_number) <= 1000) AND (octet_length(status) <= 1000))) NOT VALID;

ALTER TABLE "warehousing"."waybill_items" ADD CONSTRAINT "waybill_items_status_check" CHECK ((status <> ''::text)) NOT VALID;

REVOKE ALL ON FUNCTION "delivery"."delivery_cancel_waiting"(delivery.deliveries, delivery.deliveries, boolean, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivery_cancel_waiting"(delivery.deliveries, delivery.deliveries, boolean, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."leaves_as_it_is"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."leaves_as_it_is"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."parcel_is_missing"(delivery.deliveries, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."parcel_is_missing"(delivery.deliveries, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."parcel_lies_in"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."parcel_lies_in"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."parcel_stock"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."parcel_stock"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."return_left_with"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."return_to_pick"(uuid, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."return_to_pick"(uuid, uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "warehousing"."waybill_takes_along"(warehousing.waybills, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."waybill_takes_along"(warehousing.waybills, uuid[]) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128030635';
end $$;

grant execute on function private.schema_version() to barid_api;
