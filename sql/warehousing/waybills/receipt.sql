-- A waybill at its destination: what came, what did not, and what became of that.

-- Parcels of a waybill arrive: their stock comes into a bin, and they continue from here, or end here when here is where
-- they were sent and nothing is to be collected. bin: null takes the default receiving bin.
-- Fails: bin_not_found, bin_inactive, bin_id_required_for_received_items, serial_number_taken (a piece was booked in meanwhile in another
-- warehouse: see warehousing.stock_receive).
create or replace function warehousing.waybill_arrive(w warehousing.waybills, parcels uuid[], bin uuid) returns void
language plpgsql set search_path = '' as $$
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
  perform delivery.returned_fees_refund_as(parcels, jsonb_build_object('event_type', 'waybill_return.refund_due',
    'source_module', 'warehousing', 'event_data', jsonb_build_object('waybill_id', w.id)));
  perform storefront.orders_settle();
  perform warehousing.stock_receive(v_lines, 'transfer_in', 'waybill', w.id);
end $$;

-- in_transit -> received. What is said to be missing, and nothing else, opens a discrepancy that keeps it from being
-- assigned; said nothing, all of it came. {id, received_delivery_ids?, missing_delivery_ids?, bin_id?} -> {waybill}
-- Fails: waybill_not_found, forbidden, waybill_action_not_allowed, delivery_not_in_waybill, waybill_receipt_incomplete
-- (some are in neither list, or in both), what waybill_arrive fails with.
create or replace function warehousing.waybill_receive(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_missing uuid[] := app.uuids(coalesce(input -> 'missing_delivery_ids', '[]'));
  v_received uuid[] := app.uuids(coalesce(input -> 'received_delivery_ids', '[]'));
  v_parcels uuid[];
  v_wrong record;
begin
  perform warehousing.require_works_in(w.destination_warehouse_id);
  perform warehousing.require_waybill(w, 'in_transit', true);
  v_parcels := warehousing.lock_waybill_parcels(w);
  select n.field into v_wrong from (
    select 'received_delivery_ids' as field, r.id from unnest(v_received) r (id)
    union all
    select 'missing_delivery_ids', m.id from unnest(v_missing) m (id)) n
  where n.id <> all (v_parcels) limit 1;
  if found then
    perform app.fail('delivery_not_in_waybill', jsonb_build_object('field', v_wrong.field));
  end if;
  if not input ? 'received_delivery_ids' then
    v_received := array(select p.id from unnest(v_parcels) p (id) where p.id <> all (v_missing));
  end if;
  select jsonb_agg(p.id) as ids into v_wrong from unnest(v_parcels) p (id) where (p.id = any (v_received)) = (p.id = any (v_missing));
  if v_wrong.ids is not null then
    perform app.fail('waybill_receipt_incomplete', jsonb_build_object('field', 'received_delivery_ids', 'delivery_ids', v_wrong.ids));
  end if;
  update warehousing.waybills x set status = 'received', received_at = clock_timestamp() where x.tenant_id = w.tenant_id and x.id = w.id;
  update warehousing.waybill_deliveries p set is_open = false, received_state = case when p.delivery_id = any (v_missing) then 'missing' else 'received' end
  where p.tenant_id = w.tenant_id and p.waybill_id = w.id;
  insert into warehousing.waybill_discrepancies (tenant_id, waybill_id, delivery_id)
  select distinct w.tenant_id, w.id, m.id from unnest(v_missing) m (id)
  on conflict on constraint discrepancy_exists do update set status = 'open', resolution = null, resolved_by = null, resolved_at = null;
  perform warehousing.waybill_event_emit(w, 'received', jsonb_build_object('received_count', cardinality(v_parcels) - cardinality(v_missing),
    'missing_count', cardinality(v_missing), 'missing_delivery_ids', to_jsonb(v_missing)));
  perform warehousing.waybill_arrive(w, v_received, (input ->> 'bin_id')::uuid);
  return warehousing.waybill_get(input);
end $$;

-- The outcome of a missing parcel. found: it arrives now, like the others did. lost: its way failed, and turned up after that it is returned.
-- {id, discrepancy_id, resolution: found|lost, notes?, bin_id?} -> {waybill}
-- Fails: waybill_not_found, forbidden, discrepancy_not_found, waybill_action_not_allowed (resolved otherwise before), what waybill_arrive
-- fails with. Resolved before: the same answer.
create or replace function warehousing.waybill_discrepancy_resolve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_resolution text := coalesce(input ->> 'resolution', 'found');
  x warehousing.waybill_discrepancies;
begin
  perform warehousing.require_works_in(w.destination_warehouse_id);
  select * into x from warehousing.waybill_discrepancies y
  where y.tenant_id = w.tenant_id and y.waybill_id = w.id and y.id = (input ->> 'discrepancy_id')::uuid;
  if not found then
    perform app.fail('discrepancy_not_found');
  end if;
  if x.status = 'resolved' and x.resolution = v_resolution then
    return warehousing.waybill_get(input);
  elsif x.status = 'resolved' and x.resolution = 'lost' then
    perform app.fail('waybill_action_not_allowed', jsonb_build_object('status', w.status, 'sealed_at', w.sealed_at, 'text_key', 'reason_given_up'));
  elsif x.status = 'resolved' then
    perform warehousing.require_waybill_open(w);
  end if;
  perform delivery.lock_deliveries(array[x.delivery_id]);
  update warehousing.waybill_discrepancies y set status = 'resolved', resolution = v_resolution, notes = input ->> 'notes',
    resolved_by = app.user_id(), resolved_at = clock_timestamp()
  where y.tenant_id = x.tenant_id and y.id = x.id;
  if v_resolution = 'found' then
    update warehousing.waybill_deliveries p set received_state = 'received'
    where p.tenant_id = w.tenant_id and p.waybill_id = w.id and p.delivery_id = x.delivery_id;
    perform warehousing.waybill_arrive(w, array[x.delivery_id], (input ->> 'bin_id')::uuid);
  else
    update delivery.deliveries d set status = 'failed', status_reason = 'lost', status_notes = w.waybill_number
    where d.tenant_id = w.tenant_id and d.status = 'in_transit' and d.delivery_flow <> 'pnd_parent' and x.delivery_id in (d.id, d.parent_id);
  end if;
  return warehousing.waybill_get(input);
end $$;

-- received -> closed. {id} -> {waybill}
-- Fails: waybill_not_found, forbidden, waybill_action_not_allowed, waybill_has_open_discrepancies.
create or replace function warehousing.waybill_close(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  w warehousing.waybills := warehousing.lock_waybill((input ->> 'id')::uuid);
  v_open bigint;
begin
  perform warehousing.require_works_in(w.destination_warehouse_id);
  perform warehousing.require_waybill(w, 'received', true);
  select count(*) into v_open from warehousing.waybill_discrepancies x
  where x.tenant_id = w.tenant_id and x.waybill_id = w.id and x.status = 'open';
  if v_open > 0 then
    perform app.fail('waybill_has_open_discrepancies', jsonb_build_object('count', v_open));
  end if;
  update warehousing.waybills x set status = 'closed', closed_at = clock_timestamp() where x.tenant_id = w.tenant_id and x.id = w.id;
  perform warehousing.waybill_event_emit(w, 'closed');
  return warehousing.waybill_get(input);
end $$;
