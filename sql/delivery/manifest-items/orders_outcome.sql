-- The outcome of a request from committed rows, in the order the items were scanned.
-- {item_ids, destination, failures: [{item_id, code, params?}], idempotency_key?} -> {created, failed, receipt, code}
--   created  every requested item that has its order to this destination, made now or before
--   failed   the others that should have one: [{item_id, barcode_value, manifest_*, current_status, code, params, delivery?}];
--            item_already_ordered names the order to another destination or with another service;
--            received items of a manifest that is still being received are neither
--   receipt  requested, received (received_at set, not void), ready (their manifest's receiving is complete)
--   code     manifest_receiving_incomplete when a manifest is still being received, else null
create or replace function delivery.manifest_orders_outcome(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_key text := input ->> 'idempotency_key';
  v_branch uuid := (input #>> '{destination,branch_id}')::uuid;
  v_address uuid := (input #>> '{destination,address_id}')::uuid;
  v_service uuid := (input #>> '{destination,service_id}')::uuid;
  v_answer jsonb;
begin
  with asked as materialized (
    select a.position, a.id, i as item, m as manifest, i.id is not null as known,
      m.status in ('received', 'received_with_exceptions', 'processing', 'completed') as complete
    from unnest(app.uuids(input -> 'item_ids')) with ordinality a (id, position)
    left join delivery.transfer_manifest_items i on i.id = a.id
    left join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
  ), judged as materialized (
    select a.*, d.id as delivery_id, d.delivery_code, d.status as delivery_status,
      case when d.id is not null and not delivery.order_has_destination(a.item, d, v_branch, v_address, v_service)
        then delivery.item_order_to_json(a.item, d) end as elsewhere,
      coalesce((a.item).received_at is not null and (a.item).status <> 'void', false) as received,
      case when d.id is not null then
          case when not delivery.order_has_destination(a.item, d, v_branch, v_address, v_service) then 'item_already_ordered' end
        when not a.known then 'item_not_found'
        else coalesce(
          (select f ->> 'code' from jsonb_array_elements(input -> 'failures') f where f ->> 'item_id' = a.id::text limit 1),
          o.obstacle,
          case when a.complete then 'order_creation_interrupted' end)
      end as failure
    from asked a
    left join delivery.items_evaluate(app.uuids(input -> 'item_ids')) o on o.id = a.id
    left join delivery.deliveries d on d.tenant_id = (a.item).tenant_id and d.id = (a.item).delivery_id
  ), manifests as (
    select (j.manifest).id as manifest_id, (array_agg(j.manifest))[1] as manifest, min(j.position) as position,
      jsonb_agg(j.id order by j.position) as item_ids
    from judged j where j.known group by 1
  )
  select jsonb_build_object(
    'created', coalesce((select jsonb_agg(jsonb_build_object('item_id', j.id, 'delivery', jsonb_build_object(
        'id', j.delivery_id, 'delivery_code', j.delivery_code, 'status', j.delivery_status)) order by j.position)
      from judged j where j.delivery_id is not null and j.failure is null), '[]'),
    'failed', coalesce((select jsonb_agg(jsonb_build_object('item_id', j.id, 'barcode_value', (j.item).barcode_value,
        'manifest_id', (j.manifest).id, 'manifest_number', (j.manifest).manifest_number,
        'manifest_status', (j.manifest).status, 'current_status', (j.item).status, 'code', j.failure,
        'params', coalesce(j.elsewhere, (select f -> 'params' from jsonb_array_elements(input -> 'failures') f
          where f ->> 'item_id' = j.id::text and f ->> 'code' = j.failure limit 1)))
        || case when j.elsewhere is null then '{}' else jsonb_build_object('delivery', jsonb_build_object(
          'id', j.delivery_id, 'delivery_code', j.delivery_code, 'status', j.delivery_status)) end order by j.position)
      from judged j where j.failure is not null), '[]'),
    'receipt', jsonb_build_object(
      'requested_count', (select count(*) from judged),
      'received_count', (select count(*) from judged j where j.received),
      'received_item_ids', coalesce((select jsonb_agg(j.id order by j.position) from judged j where j.received), '[]'),
      'ready_item_ids', coalesce((select jsonb_agg(j.id order by j.position) from judged j where j.received and j.complete), '[]'),
      'manifests', coalesce((select jsonb_agg(jsonb_build_object('manifest_id', m.manifest_id,
          'manifest_number', (m.manifest).manifest_number, 'status', (m.manifest).status,
          'remaining_count', delivery.manifest_remaining(m.manifest_id), 'waiting_for', delivery.manifest_waiting_for(m.manifest),
          'ready', (m.manifest).status in ('received', 'received_with_exceptions', 'processing', 'completed'),
          'item_ids', m.item_ids) order by m.position) from manifests m), '[]')),
    'code', case when exists (select from manifests m where (m.manifest).status = 'receiving') then 'manifest_receiving_incomplete' end)
  into v_answer;
  -- A batch that got lost is no answer to remember: the same call with the same key shall finish it. Nor is one without an
  -- order, which is a failure: the wallet may be filled by then, or the rest received.
  if v_key is not null and v_answer -> 'created' = '[]' then
    perform private.idempotency_forget(app.request_setting('operation'), v_key);
  elsif v_key is not null and not v_answer -> 'failed' @> '[{"code": "order_creation_interrupted"}]' then
    v_answer := private.idempotency_store(app.request_setting('operation'), v_key, v_answer);
  end if;
  return jsonb_build_object('answer', v_answer);
end $$;

-- True when the order of an item goes to this branch, or else to this address, with this service: the destination that a repeated creation names.
-- It is so also after the address was corrected, when the order keeps the place it was made for; for a change of the destination that place
-- counts as well (delivery.goes_to).
create or replace function delivery.order_has_destination(
  item delivery.transfer_manifest_items, d delivery.deliveries, branch uuid, address uuid, service uuid
) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return item.destination_branch_id is not distinct from branch and d.dropoff_address_id = address and d.delivery_service_id = service;
end $$;

-- How refusals name the order of an item: {delivery_code, place, service}.
create or replace function delivery.item_order_to_json(item delivery.transfer_manifest_items, d delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('delivery_code', d.delivery_code, 'service', app.localized(d.service_snapshot -> 'name'),
    'place', coalesce((select b.name from delivery.institution_branches b
      where b.tenant_id = item.tenant_id and b.id = item.destination_branch_id), d.dropoff_snapshot ->> 'full_address', ''));
end $$;
