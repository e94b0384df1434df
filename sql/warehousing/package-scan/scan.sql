-- The package scan: a barcode in, the screen to open out.

-- Which warehouse a scan is about, and what it is to the parcel: the one that expects it, holds it, or is its end; of
-- several, one the caller works in. -> {warehouse_id, relation: source|destination|none, can_act}
create or replace function warehousing.scan_context(d delivery.deliveries, receipt_at uuid, handoff_at uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce((
      select jsonb_build_object('warehouse_id', w.id, 'relation', w.relation, 'can_act', w.can_act)
      from (
        select c.id, c.relation, c.place, warehousing.works_in(c.id) as can_act
        from (values (1, receipt_at, 'destination'), (2, handoff_at, 'source'), (3, d.current_warehouse_id, 'source'),
          (4, d.pickup_warehouse_id, 'source'), (5, d.dropoff_warehouse_id, 'destination'), (6, d.staging_warehouse_id, 'destination')) c (place, id, relation)
        where c.id is not null) w
      order by w.can_act desc, w.place limit 1),
      '{"warehouse_id": null, "relation": "none", "can_act": false}'));
end $$;

-- A warehouse's answer to a scanned barcode: by barcode first, then by delivery code.
-- {barcode} -> {action, entity_id, reason, scanned_barcode, delivery, delivery_target, return_delivery, return_target,
-- warehouse_context, receiving_order, items, inbound_deliveries, outbound_deliveries, handoff}, and of a return also
-- {original_delivery, original_target}
-- Every step finds its rows by a key, so a plan is made once a connection and not for each of the first scans.
-- Fails: delivery_not_found.
create or replace function warehousing.package_scan(input jsonb) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  v_barcode text := input ->> 'barcode';
  v_tenant uuid := app.tenant_id();
  d delivery.deliveries;
  x delivery.deliveries;
  v_family uuid[];
  v_legs jsonb := '[]';
  v_receipt warehousing.receiving_orders;
  v_pending warehousing.receiving_orders;
  v_handoff delivery.package_handoffs;
  v_target jsonb;
  v_answer jsonb;
begin
  select * into d from delivery.deliveries n where n.tenant_id = v_tenant and n.id = warehousing.parcel_named(v_barcode);
  if not found then
    perform app.fail('delivery_not_found', '{"field": "delivery_barcode"}');
  end if;
  v_family := warehousing.scan_family(d);
  v_receipt := warehousing.scan_receipt(v_family);
  v_handoff := warehousing.scan_handoff(v_family);
  v_target := warehousing.scan_target(d, v_receipt, v_handoff);
  if cardinality(v_family) > 1 then
    v_legs := warehousing.scan_legs(d);
  end if;
  -- Shown also to those who may not take it.
  select r.* into v_pending from warehousing.receiving_orders r
  where r.tenant_id = v_tenant and r.delivery_id = any (v_family) and r.status = 'pending' order by r.id = v_receipt.id desc, r.created_at desc limit 1;

  v_answer := v_target || jsonb_build_object('scanned_barcode', v_barcode, 'delivery', warehousing.scan_summary(d, warehousing.scan_next_of(v_legs)),
    'delivery_target', v_target,
    'return_delivery', null, 'return_target', null,
    'warehouse_context', warehousing.scan_context(d, v_pending.warehouse_id, v_handoff.warehouse_id),
    'receiving_order', case when v_pending.id is not null then jsonb_build_object('id', v_pending.id, 'reference_number', v_pending.reference_number,
      'warehouse_id', v_pending.warehouse_id, 'source', v_pending.source, 'status', v_pending.status, 'custody', v_pending.custody,
      'delivery_id', v_pending.delivery_id, 'exception_id', v_pending.exception_id) end,
    'items', warehousing.scan_items(d, v_family),
    'inbound_deliveries', jsonb_path_query_array(v_legs, '$[*] ? (@.delivery_flow == "pnd_inbound")'),
    'outbound_deliveries', jsonb_path_query_array(v_legs, '$[*] ? (@.delivery_flow == "pnd_outbound")'),
    'handoff', case when v_handoff.id is not null then jsonb_build_object('id', v_handoff.id, 'delivery_id', v_handoff.delivery_id,
      'picking_order_id', v_handoff.picking_order_id, 'assignment_id', v_handoff.assignment_id, 'driver_id', v_handoff.driver_id,
      'status', v_handoff.status, 'custody', v_handoff.custody, 'warehouse_id', v_handoff.warehouse_id) end);

  if d.delivery_flow in ('operational_return', 'customer_return') and d.original_delivery_id is not null then
    select * into x from delivery.deliveries n where n.tenant_id = v_tenant and n.id = d.original_delivery_id;
    v_family := warehousing.scan_family(x);
    return v_answer || jsonb_build_object('original_delivery', warehousing.scan_summary(x),
      'original_target', warehousing.scan_target(x, warehousing.scan_receipt(v_family), warehousing.scan_handoff(v_family)));
  end if;
  x := warehousing.parcel_under_way(d);
  if x.id <> d.id then
    v_answer := v_answer || jsonb_build_object('return_delivery', warehousing.scan_summary(x),
      'return_target', warehousing.scan_target(x, warehousing.scan_receipt(array[x.id]), warehousing.scan_handoff(array[x.id])));
  end if;
  return v_answer;
end $$;

-- Answers each of many barcodes as package_scan does; an unknown one is reported and the others are answered.
-- {barcodes} -> {results: [{scanned_barcode, found, error_code?, ...}]}
create or replace function warehousing.package_scans(input jsonb) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  v_barcode text;
  v_results jsonb[] := '{}';
begin
  for v_barcode in select b.value from jsonb_array_elements_text(input -> 'barcodes') with ordinality b (value, place) order by b.place loop
    if warehousing.parcel_named(v_barcode) is null then
      v_results := v_results || jsonb_build_object('scanned_barcode', v_barcode, 'found', false, 'error_code', 'delivery_not_found');
    else
      v_results := v_results || (warehousing.package_scan(jsonb_build_object('barcode', v_barcode)) || '{"found": true}');
    end if;
  end loop;
  return jsonb_build_object('results', to_jsonb(v_results));
end $$;
