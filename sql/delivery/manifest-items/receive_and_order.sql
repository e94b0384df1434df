-- The one action of the bulk screen: receive what was scanned and make orders of what is complete.
--
-- Two phases. First every manifest of the request is checked; one that may not be used (status, arrival,
-- proof, receipt) refuses the whole request, named by the first item that belongs to it. After that
-- only items can fail, each by itself.
--
-- {item_ids, destination_branch_id | destination_address_id, delivery_service_id?, orders_max, idempotency_key?}
-- With no more than orders_max orders to make they are made here, in this transaction, and the answer is
-- complete. Otherwise everything is received, the codes are reserved, and {pending, destination, asker} tell the
-- caller which orders to make in batches (delivery.manifest_orders_create) before delivery.manifest_orders_outcome.
-- Locks: the key, manifests by id, items by id, the default driver, numbers, wallets by id. A repeat finds its work done.
-- Fails: what delivery.manifest_destination fails with, manifest_bulk_order_creation_not_allowed,
-- manifest_arrival_required, manifest_delivery_proof_required, manifest_bulk_receipt_incomplete.
create or replace function delivery.manifest_receive_and_order(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_key text := input ->> 'idempotency_key';
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb;
  v_answer jsonb;
  v_manifests uuid[];
  v_offender record;
  v_usable uuid[];
  v_pending uuid[];
  v_obstacle text;
  v_failures jsonb := '[]';
begin
  if v_key is not null then
    -- Nothing here is emptied by a null: it says as much as a field left out.
    v_answer := private.idempotency_claim(app.request_setting('operation'), v_key,
      jsonb_strip_nulls(input - 'idempotency_key'), 'idempotency_conflict');
    if v_answer is not null then
      return jsonb_build_object('replayed', true, 'answer', v_answer);
    end if;
  end if;
  v_destination := delivery.manifest_destination(input);

  select array_agg(distinct i.manifest_id) into v_manifests
  from delivery.transfer_manifest_items i where i.id = any (v_ids);
  perform from delivery.lock_manifests(coalesce(v_manifests, '{}'));
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;

  -- Also by items that have their order: what is completed is ended for a repeat too, as checking the batch says.
  select j.manifest, j.obstacle into v_offender
  from (
    select i.manifest_id, min(asked.position) as position
    from unnest(v_ids) with ordinality asked (id, position)
    join delivery.transfer_manifest_items i on i.id = asked.id
    group by i.manifest_id
  ) first
  join delivery.manifests_evaluate(v_manifests) j on j.id = first.manifest_id and j.obstacle is not null
  order by first.position limit 1;
  if found then
    perform app.fail(v_offender.obstacle, delivery.manifest_obstacle_to_json(v_offender.manifest, v_offender.obstacle));
  end if;

  select coalesce(array_agg(j.id order by asked.position), '{}'), array_agg(distinct j.manifest_id)
  into v_usable, v_manifests
  from unnest(v_ids) with ordinality asked (id, position)
  join delivery.items_evaluate(v_ids) j on j.id = asked.id and j.obstacle is null;

  if v_manifests is not null then
    perform delivery.manifests_start_receiving(v_manifests, 'bulk_set_destination');
    perform delivery.items_receive(v_usable, 'bulk_set_destination');
    perform delivery.manifests_complete_receiving(v_manifests, 'bulk_set_destination');
  end if;

  select coalesce(array_agg(i.id order by asked.position), '{}') into v_pending
  from unnest(v_usable) with ordinality asked (id, position)
  join delivery.transfer_manifest_items i on i.id = asked.id and i.status = 'received'
  join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    and m.status in ('received', 'received_with_exceptions', 'processing');
  -- Before the numbers, which drivers' own calls wait for with the driver locked.
  perform delivery.lock_staging_driver();
  perform delivery.delivery_codes_reserve(v_pending);

  if cardinality(v_pending) > (input ->> 'orders_max')::integer then
    return jsonb_build_object('pending', v_pending, 'destination', v_destination,
      'asker', jsonb_build_object('userId', app.user_id(), 'tenantId', app.tenant_id()));
  end if;
  if cardinality(v_pending) > 0 then
    v_obstacle := delivery.manifest_destination_obstacle(v_destination, true);
    v_failures := case when v_obstacle is null then delivery.manifest_orders_make(v_pending, v_destination)
      else delivery.items_failed(v_pending, v_obstacle) end;
  end if;
  return delivery.manifest_orders_outcome(input || jsonb_build_object('failures', v_failures, 'destination', v_destination));
end $$;

-- Takes delivery codes for these items at once, in the order given; an item that has one keeps it.
create or replace function delivery.delivery_codes_reserve(item_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_new uuid[];
  v_first bigint;
begin
  select coalesce(array_agg(a.id order by a.position), '{}') into v_new
  from unnest(item_ids) with ordinality a (id, position)
  where not exists (select from delivery.delivery_code_reservations r
    where r.tenant_id = v_tenant and r.manifest_item_id = a.id);
  if cardinality(v_new) = 0 then
    return;
  end if;
  v_first := app.take_numbers('delivery_code', cardinality(v_new));
  insert into delivery.delivery_code_reservations (tenant_id, manifest_item_id, delivery_code)
  select v_tenant, n.id, v_first + n.position - 1
  from unnest(v_new) with ordinality n (id, position);
end $$;
