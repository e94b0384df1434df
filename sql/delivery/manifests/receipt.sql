-- Receiving a manifest step by step, and ending it. The bulk screen takes the same steps in one call.
-- Each locks the manifest.

-- awaiting_receipt -> receiving, the caller being the receiver. {id, receive_all?} -> the manifest as lists show it
-- receive_all, where the settings receive in bulk, takes every item that is in no open exception as here.
-- Fails: manifest_not_found, invalid_status_transition, receive_all_not_allowed, manifest_arrival_required,
-- manifest_delivery_proof_required, forbidden.
create or replace function delivery.manifest_start_receiving(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_all boolean := coalesce((input ->> 'receive_all')::boolean, false);
  v_obstacle text;
begin
  perform delivery.require_manifest_move(m, '{awaiting_receipt}', 'receiving');
  if v_all and tenancy.manifest_settings() ->> 'receiving_mode' <> 'manifest_bulk' then
    perform app.fail('receive_all_not_allowed');
  end if;
  select j.obstacle into v_obstacle from delivery.manifests_evaluate(array[m.id]) j;
  if v_obstacle is not null then
    perform app.fail(v_obstacle, delivery.manifest_obstacle_to_json(m, v_obstacle));
  end if;
  perform delivery.manifests_start_receiving(array[m.id], 'receiving');
  if v_all then
    perform delivery.items_receive(array(
      select i.id from delivery.manifest_items_list i
      where i.manifest_id = m.id and i.status in ('picked_up', 'in_transit') and i.open_exception is null order by i.position), 'receiving');
  end if;
  return delivery.manifest_to_json(m.id);
end $$;

-- Receives items of a manifest; those received before stay as they are. {id, item_ids}
-- -> {manifest, received_item_ids, already_received_item_ids, remaining_count}, ids in the order sent
-- Also once receiving is over, for parcels that turn up late: the recorded count grows with them.
-- Locks the manifest, then the items by id. All or none.
-- Fails: manifest_not_found, manifest_action_not_allowed, item_not_found, item_void, forbidden.
create or replace function delivery.manifest_receive_items(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_known uuid[];
  v_new uuid[];
begin
  perform delivery.require_manifest_status(m, '{receiving,received,received_with_exceptions,processing}');
  perform from delivery.transfer_manifest_items i
  where i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.id = any (v_ids) order by i.id for no key update;
  select array_agg(i.id order by array_position(v_ids, i.id)),
    array_agg(i.id order by array_position(v_ids, i.id)) filter (where i.status in ('picked_up', 'in_transit'))
  into v_known, v_new
  from delivery.transfer_manifest_items i
  where i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.id = any (v_ids);
  if coalesce(cardinality(v_known), 0) < (select count(distinct id) from unnest(v_ids) id) then
    perform app.fail('item_not_found');
  end if;
  if exists (select from delivery.transfer_manifest_items i
      where i.tenant_id = m.tenant_id and i.id = any (v_known) and i.status = 'void') then
    perform app.fail('item_void');
  end if;
  v_new := coalesce(v_new, '{}');
  perform delivery.items_receive(v_new, 'receiving');
  if m.received_count is not null then
    update delivery.transfer_manifests set received_count = m.received_count + cardinality(v_new)
    where tenant_id = m.tenant_id and id = m.id;
  end if;
  return jsonb_build_object('manifest', delivery.manifest_to_json(m.id), 'received_item_ids', to_jsonb(v_new),
    'already_received_item_ids', to_jsonb(array(select id from unnest(v_known) with ordinality k (id, position)
      where id <> all (v_new) order by position)),
    'remaining_count', delivery.manifest_remaining(m.id));
end $$;

-- receiving -> received, or received_with_exceptions while one is open. {id, missing?} -> the manifest as lists show it
-- With missing 'exception' every item nobody has seen gets the exception missing_on_receive.
-- Fails: manifest_not_found, invalid_status_transition, manifest_items_missing, forbidden.
create or replace function delivery.manifest_complete_receiving(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_missing uuid[];
begin
  perform delivery.require_manifest_move(m, '{receiving}', 'received');
  v_missing := array(select i.id from delivery.manifest_items_list i
    where i.manifest_id = m.id and i.status in ('picked_up', 'in_transit') and i.open_exception is null order by i.position);
  if cardinality(v_missing) > 0 then
    if input ->> 'missing' is distinct from 'exception' then
      perform app.fail('manifest_items_missing', delivery.manifest_label_to_json(m) || jsonb_build_object('remaining_count', cardinality(v_missing)));
    end if;
    perform delivery.exceptions_create(v_missing, 'missing_on_receive', null, '{}');
  end if;
  perform delivery.manifests_complete_receiving(array[m.id], 'receiving');
  return delivery.manifest_to_json(m.id);
end $$;

-- received, received_with_exceptions -> processing. {id} -> the manifest as lists show it
-- Fails: manifest_not_found, invalid_status_transition.
create or replace function delivery.manifest_start_processing(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
begin
  perform delivery.require_manifest_move(m, '{received,received_with_exceptions}', 'processing');
  update delivery.transfer_manifests set status = 'processing', processing_started_at = now() where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'processing_started');
  return delivery.manifest_to_json(m.id);
end $$;

-- processing -> completed, once every item has its order or is void. {id} -> the manifest as lists show it
-- Fails: manifest_not_found, invalid_status_transition, manifest_has_open_exceptions, manifest_items_unfinished.
create or replace function delivery.manifest_complete(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_open integer;
  v_unfinished integer;
begin
  perform delivery.require_manifest_move(m, '{processing}', 'completed');
  select count(*) filter (where i.open_exception is not null), count(*) filter (where i.status not in ('order_created', 'void'))
  into v_open, v_unfinished
  from delivery.manifest_items_list i where i.manifest_id = m.id;
  if v_open > 0 then
    perform app.fail('manifest_has_open_exceptions', delivery.manifest_label_to_json(m) || jsonb_build_object('count', v_open));
  elsif v_unfinished > 0 then
    perform app.fail('manifest_items_unfinished', delivery.manifest_label_to_json(m) || jsonb_build_object('count', v_unfinished));
  end if;
  update delivery.transfer_manifests set status = 'completed', completed_at = now() where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'manifest_completed');
  return delivery.manifest_to_json(m.id);
end $$;
