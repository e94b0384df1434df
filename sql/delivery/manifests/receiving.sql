-- Receiving: the steps that the bulk screen and the step-by-step calls share. Callers lock first, in
-- one order everywhere: manifests by id, then items by id.

-- Locks manifests of the tenant, in the order of their ids.
create or replace function delivery.lock_manifests(manifest_ids uuid[]) returns setof delivery.transfer_manifests
language plpgsql set search_path = '' as $$
begin
  return query
  select m.* from delivery.transfer_manifests m
  where m.tenant_id = app.tenant_id() and m.id = any (manifest_ids) order by m.id for no key update;
end $$;

-- Adds events to the history of manifests: [{manifest_id, event_type, manifest_item_id?, payload?}].
-- Manifest number, actor and processing point are filled in. Events that happen once are not repeated.
create or replace function delivery.manifest_events_add(events jsonb) returns void
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
begin
  insert into delivery.transfer_manifest_events (tenant_id, manifest_id, manifest_item_id, event_type, actor_id, payload)
  select v_tenant, m.id, i.id, e.event_type, v_actor,
    jsonb_strip_nulls(jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number, 'item_id', i.id,
      'barcode_value', i.barcode_value, 'actor_id', v_actor, 'processing_point_id', m.processing_point_id))
      || coalesce(e.payload, '{}')
  -- Typed columns: a cast of a joined value is not leakproof, and under row-level security PostgreSQL
  -- would then read whole tables instead of using the index.
  from rows from (jsonb_to_recordset(events) as (manifest_id uuid, manifest_item_id uuid, event_type text, payload jsonb))
    with ordinality e (manifest_id, manifest_item_id, event_type, payload, position)
  join delivery.transfer_manifests m on m.tenant_id = v_tenant and m.id = e.manifest_id
  left join delivery.transfer_manifest_items i on i.tenant_id = v_tenant and i.id = e.manifest_item_id
  order by e.position
  on conflict do nothing;
end $$;

-- A receipt names the person who received, so a key that stands for nobody can receive nothing.
-- Fails: forbidden.
create or replace function delivery.require_receiver() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return coalesce(app.user_id(), app.refuse('forbidden'));
end $$;

-- awaiting_receipt -> receiving for these manifests, with the caller as receiver and receiving_started.
-- source: 'bulk_set_destination' or 'receiving'. Fails: forbidden.
create or replace function delivery.manifests_start_receiving(manifest_ids uuid[], source text) returns void
language plpgsql set search_path = '' as $$
declare
  v_started jsonb;
begin
  with started as (
    update delivery.transfer_manifests m set status = 'receiving', receiving_started_at = now(), receiver_id = delivery.require_receiver()
    where m.tenant_id = app.tenant_id() and m.id = any (manifest_ids) and m.status = 'awaiting_receipt'
    returning m.id
  )
  select jsonb_agg(jsonb_build_object('manifest_id', s.id, 'event_type', 'receiving_started',
    'payload', jsonb_build_object('source', source)) order by s.id)
  into v_started from started s;
  perform delivery.manifest_events_add(coalesce(v_started, '[]'));
end $$;

-- picked_up or in_transit -> received for these items, with item_received each; their barcodes are
-- marked as received. Items in another status stay as they are. Answers how many moved.
create or replace function delivery.items_receive(item_ids uuid[], source text) returns integer
language plpgsql set search_path = '' as $$
declare
  v_received uuid[];
  v_events jsonb;
begin
  with received as (
    update delivery.transfer_manifest_items i set status = 'received', received_at = now(), received_by = delivery.require_receiver()
    where i.tenant_id = app.tenant_id() and i.id = any (item_ids) and i.status in ('picked_up', 'in_transit')
    returning i.id, i.manifest_id
  )
  select array_agg(r.id), jsonb_agg(jsonb_build_object('manifest_id', r.manifest_id, 'manifest_item_id', r.id,
    'event_type', 'item_received', 'payload', jsonb_build_object('source', source)) order by p.position)
  into v_received, v_events
  from received r
  join (select s.id, min(s.position) as position from unnest(item_ids) with ordinality s (id, position) group by s.id) p using (id);
  if v_received is null then
    return 0;
  end if;
  update delivery.transfer_barcodes b set received_at = now()
  from delivery.transfer_manifest_items i
  where i.tenant_id = app.tenant_id() and i.id = any (v_received)
    and b.tenant_id = i.tenant_id and b.barcode = i.barcode_value;
  perform delivery.manifest_events_add(v_events);
  return cardinality(v_received);
end $$;

-- How many items of a manifest nobody has accounted for: not received, and in no open exception.
create or replace function delivery.manifest_remaining(manifest_id uuid) returns integer
language plpgsql stable set search_path = '' as $$
begin
  return (
    select count(*)::integer from delivery.transfer_manifest_items i
    where i.tenant_id = app.tenant_id() and i.manifest_id = manifest_remaining.manifest_id
      and i.status in ('picked_up', 'in_transit')
      and not exists (select from delivery.transfer_manifest_exceptions x
        where x.tenant_id = i.tenant_id and x.manifest_item_id = i.id and x.status = 'open'));
end $$;

-- The items that a manifest which is being received waits for, at most twenty: [{item_id, barcode_value}]
create or replace function delivery.manifest_waiting_for(m delivery.transfer_manifests) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item_id', w.id, 'barcode_value', w.barcode_value) order by w.position), '[]')
    from (
      select i.id, i.barcode_value, i.position from delivery.transfer_manifest_items i
      where m.status = 'receiving' and i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.status in ('picked_up', 'in_transit')
        and not exists (select from delivery.transfer_manifest_exceptions x
          where x.tenant_id = i.tenant_id and x.manifest_item_id = i.id and x.status = 'open')
      order by i.position limit 20) w);
end $$;

-- received, received_with_exceptions, processing -> receiving for those of these locked manifests that wait for an item
-- again, with receiving_resumed. What was recorded of the receipt is recorded anew when it ends.
create or replace function delivery.manifests_resume_receiving(manifest_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_resumed jsonb;
begin
  with resumed as (
    update delivery.transfer_manifests m set status = 'receiving', received_at = null, received_by = null, received_count = null,
      processing_started_at = null, receiver_id = coalesce(m.receiver_id, app.user_id())
    where m.tenant_id = app.tenant_id() and m.id = any (manifest_ids) and m.status in ('received', 'received_with_exceptions', 'processing')
      and delivery.manifest_remaining(m.id) > 0
    returning m.id
  )
  select jsonb_agg(jsonb_build_object('manifest_id', r.id, 'event_type', 'receiving_resumed') order by r.id)
  into v_resumed from resumed r;
  perform delivery.manifest_events_add(coalesce(v_resumed, '[]'));
end $$;

-- Ends the receiving of those of these locked manifests that were being received once more and wait for nothing now.
create or replace function delivery.manifests_free(manifest_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  perform delivery.manifests_complete_receiving(array(
    select m.id from delivery.transfer_manifests m
    where m.tenant_id = app.tenant_id() and m.id = any (manifest_ids) and m.status = 'receiving' and exists (
      select from delivery.transfer_manifest_events e
      where e.tenant_id = m.tenant_id and e.manifest_id = m.id and e.event_type = 'receiving_resumed')), 'receiving');
end $$;

-- receiving -> received (or received_with_exceptions while one is open) for those of these manifests
-- whose every item is accounted for, with received_at, received_by, the count and receiving_completed.
create or replace function delivery.manifests_complete_receiving(manifest_ids uuid[], source text) returns void
language plpgsql set search_path = '' as $$
declare
  v_completed jsonb;
begin
  with completed as (
    update delivery.transfer_manifests m set received_at = now(), received_by = delivery.require_receiver(),
      received_count = (select count(*) from delivery.transfer_manifest_items i
        where i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.received_at is not null),
      status = case when exists (select from delivery.transfer_manifest_exceptions x
          where x.tenant_id = m.tenant_id and x.manifest_id = m.id and x.status = 'open')
        then 'received_with_exceptions' else 'received' end
    where m.tenant_id = app.tenant_id() and m.id = any (manifest_ids) and m.status = 'receiving'
      and delivery.manifest_remaining(m.id) = 0
    returning m.id, m.received_count
  )
  select jsonb_agg(jsonb_build_object('manifest_id', c.id, 'event_type', 'receiving_completed',
    'payload', jsonb_build_object('source', source, 'received_count', c.received_count) || (
      select case when count(*) > 0 then jsonb_build_object('round', count(*) + 1) else '{}' end from delivery.transfer_manifest_events e
      where e.tenant_id = app.tenant_id() and e.manifest_id = c.id and e.event_type = 'receiving_resumed')) order by c.id)
  into v_completed from completed c;
  perform delivery.manifest_events_add(coalesce(v_completed, '[]'));
end $$;

-- Judges manifests for orders: why none can be made in their present state, or null when they can.
-- manifest_bulk_order_creation_not_allowed, manifest_arrival_required, manifest_delivery_proof_required,
-- manifest_bulk_receipt_incomplete. A set, so that five hundred manifests read the settings once.
create or replace function delivery.manifests_evaluate(manifest_ids uuid[])
returns table (id uuid, manifest delivery.transfer_manifests, obstacle text)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  v_proof jsonb := tenancy.manifest_settings() #> '{proof_settings,delivery}';
  v_needed text[] := array_remove(array[
    case when (v_proof ->> 'photo_required')::boolean then 'photo' end,
    case when (v_proof ->> 'signature_required')::boolean then 'signature' end], null);
begin
  return query
  select m.id, m, case
    when m.status not in ('awaiting_receipt', 'receiving', 'received', 'received_with_exceptions', 'processing')
      then 'manifest_bulk_order_creation_not_allowed'
    when m.status in ('awaiting_receipt', 'receiving') and m.driver_arrived_at is null then 'manifest_arrival_required'
    when m.status in ('awaiting_receipt', 'receiving') and exists (
        select from unnest(v_needed) n (kind) where not exists (
          select from delivery.transfer_manifest_proofs p
          where p.tenant_id = m.tenant_id and p.manifest_id = m.id and p.stage = 'delivery' and p.kind = n.kind))
      then 'manifest_delivery_proof_required'
    when m.status = 'receiving' and m.receiver_id is null then 'manifest_bulk_receipt_incomplete'
    when m.status in ('received', 'received_with_exceptions', 'processing')
      and (m.received_at is null or m.received_by is null or m.received_count is null) then 'manifest_bulk_receipt_incomplete'
  end
  from delivery.transfer_manifests m where m.id = any (manifest_ids);
end $$;
