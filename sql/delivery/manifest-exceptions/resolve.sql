-- Takes items out of the exception queue, many at once.
-- {item_ids | manifest_id, outcome: 'reprocess' | 'void', notes?}; an entry is the id of an item or of an exception.
-- reprocess: an item that has been received is `received` again, any other is about to be received: its manifest, when its
-- receiving was over, is receiving again until the item is received, void or an exception anew.
-- void: the item is void and its barcode free. An item that has an order is never voided.
-- The exception of a parcel that stands on no manifest is just closed; in the answer its item_id and status are null.
-- The last open exception of a manifest closed: received_with_exceptions -> received.
-- -> {resolved_count, failed_count, resolved: [{exception_id, item_id, outcome, status}], failed: [{item_id, error_key}],
--     manifests: [{manifest_id, manifest_number, status, remaining_count, waiting_for}]}, in the order sent
-- error_key: item_not_found, exception_not_open, item_already_has_order. Entries that fail change nothing.
-- Locks the manifests by id, then the items by id. Fails: manifest_not_found.
create or replace function delivery.exceptions_resolve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_manifest uuid := (input ->> 'manifest_id')::uuid;
  v_outcome text := input ->> 'outcome';
  v_sent uuid[];
  v_asked jsonb;
  v_manifests uuid[];
  v_items uuid[];
  v_exceptions uuid[];
  v_barcodes text[];
begin
  if v_manifest is not null then
    perform delivery.lock_manifest(v_manifest);
    v_sent := array(select x.id from delivery.transfer_manifest_exceptions x
      join delivery.transfer_manifest_items i on i.tenant_id = x.tenant_id and i.id = x.manifest_item_id
      where x.tenant_id = app.tenant_id() and x.manifest_id = v_manifest and x.status = 'open' order by i.position);
  else
    v_sent := app.uuids(input -> 'item_ids');
  end if;

  select array_agg(distinct t.manifest_id), array_agg(distinct t.item_id) into v_manifests, v_items
  from delivery.exception_targets(v_sent) t where t.item_id is not null;
  perform delivery.lock_manifests(v_manifests);
  perform from delivery.transfer_manifest_items i
  where i.tenant_id = app.tenant_id() and i.id = any (v_items) order by i.id for no key update;
  perform from delivery.transfer_manifest_exceptions x
  where x.tenant_id = app.tenant_id() and x.id = any (v_sent) and x.manifest_item_id is null order by x.id for no key update;

  -- Judged only now: until the locks were held, somebody else may have resolved some.
  select jsonb_agg(jsonb_build_object('position', t.place, 'sent_id', t.sent_id, 'item_id', t.item_id,
    'manifest_id', t.manifest_id, 'exception_id', coalesce(x.id, u.id), 'reason', x.reason, 'error_key', case
      when i.id is null and t.unlisted_id is null then 'item_not_found'
      when coalesce(x.id, u.id) is null then 'exception_not_open'
      when v_outcome = 'void' and i.delivery_id is not null then 'item_already_has_order' end) order by t.place)
  into v_asked
  from delivery.exception_targets(v_sent) t
  left join delivery.transfer_manifest_items i on i.tenant_id = app.tenant_id() and i.id = t.item_id
  left join delivery.transfer_manifest_exceptions x on x.tenant_id = i.tenant_id and x.manifest_item_id = i.id and x.status = 'open'
  left join delivery.transfer_manifest_exceptions u on u.tenant_id = app.tenant_id() and u.id = t.unlisted_id and u.status = 'open';
  v_items := array(select (a ->> 'item_id')::uuid from jsonb_array_elements(v_asked) a
    where a ->> 'error_key' is null and a ->> 'item_id' is not null);
  v_exceptions := array(select (a ->> 'exception_id')::uuid from jsonb_array_elements(v_asked) a where a ->> 'error_key' is null);

  update delivery.transfer_manifest_exceptions x set status = 'resolved', outcome = v_outcome, resolution_notes = input ->> 'notes',
    resolved_by = app.user_id(), resolved_at = now()
  where x.tenant_id = app.tenant_id() and x.id = any (v_exceptions);
  if v_outcome = 'void' then
    with voided as (
      update delivery.transfer_manifest_items i set status = 'void'
      where i.tenant_id = app.tenant_id() and i.id = any (v_items) returning i.barcode_value
    )
    select array_agg(v.barcode_value) into v_barcodes from voided v;
    perform delivery.barcodes_release(v_barcodes);
  else
    update delivery.transfer_manifest_items i set status = 'received'
    where i.tenant_id = app.tenant_id() and i.id = any (v_items) and i.received_at is not null and i.status in ('scanned', 'processing');
  end if;
  perform delivery.manifest_events_add(coalesce((
    select jsonb_agg(jsonb_build_object('manifest_id', a -> 'manifest_id', 'manifest_item_id', a -> 'item_id',
      'event_type', 'exception_resolved', 'payload', jsonb_build_object('exception_id', a -> 'exception_id',
        'reason', a -> 'reason', 'outcome', v_outcome)) order by (a ->> 'position')::integer)
    from jsonb_array_elements(v_asked) a where a ->> 'error_key' is null and a ->> 'item_id' is not null), '[]'));
  perform delivery.manifests_resume_receiving(v_manifests);
  perform delivery.manifests_free(v_manifests);
  perform delivery.manifests_clear_exceptions(v_manifests);

  return jsonb_build_object(
    'resolved_count', cardinality(v_exceptions),
    'failed_count', jsonb_array_length(coalesce(v_asked, '[]')) - cardinality(v_exceptions),
    'resolved', (select coalesce(jsonb_agg(jsonb_build_object('exception_id', x.id, 'item_id', i.id, 'outcome', v_outcome,
        'status', i.status) order by array_position(v_exceptions, x.id)), '[]')
      from delivery.transfer_manifest_exceptions x
      left join delivery.transfer_manifest_items i on i.tenant_id = x.tenant_id and i.id = x.manifest_item_id
      where x.tenant_id = app.tenant_id() and x.id = any (v_exceptions)),
    'failed', (select coalesce(jsonb_agg(jsonb_build_object('item_id', a -> 'sent_id', 'error_key', a -> 'error_key')
        order by (a ->> 'position')::integer), '[]')
      from jsonb_array_elements(v_asked) a where a ->> 'error_key' is not null),
    'manifests', (select coalesce(jsonb_agg(jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number,
        'status', m.status, 'remaining_count', delivery.manifest_remaining(m.id), 'waiting_for', delivery.manifest_waiting_for(m))
        order by f.first), '[]')
      from (select (a ->> 'manifest_id')::uuid as id, min((a ->> 'position')::integer) as first
        from jsonb_array_elements(v_asked) a where a ->> 'error_key' is null group by 1) f
      join delivery.transfer_manifests m on m.tenant_id = app.tenant_id() and m.id = f.id));
end $$;

-- Resolves the ids of a resolve call: an item, or the item of an exception; null when neither is the
-- caller's, unless it is the exception of a parcel without an item and answered as unlisted_id. An item named twice, or by its
-- exception as well, stands at its first place only.
create or replace function delivery.exception_targets(sent uuid[])
returns table (place integer, sent_id uuid, item_id uuid, manifest_id uuid, unlisted_id uuid)
language plpgsql stable set search_path = '' as $$
begin
  return query
  select distinct on (coalesce(i.id, x.manifest_item_id, s.id))
    s.position::integer, s.id, coalesce(i.id, x.manifest_item_id), coalesce(i.manifest_id, x.manifest_id),
    case when x.manifest_item_id is null then x.id end
  from unnest(sent) with ordinality s (id, position)
  left join delivery.transfer_manifest_items i on i.tenant_id = app.tenant_id() and i.id = s.id
  left join delivery.transfer_manifest_exceptions x on x.tenant_id = app.tenant_id() and x.id = s.id
  order by coalesce(i.id, x.manifest_item_id, s.id), s.position;
end $$;

-- received_with_exceptions -> received for those of these locked manifests that have no open exception left.
create or replace function delivery.manifests_clear_exceptions(manifest_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_cleared jsonb;
begin
  with cleared as (
    update delivery.transfer_manifests m set status = 'received'
    where m.tenant_id = app.tenant_id() and m.id = any (manifest_ids) and m.status = 'received_with_exceptions'
      and not exists (select from delivery.transfer_manifest_exceptions x
        where x.tenant_id = m.tenant_id and x.manifest_id = m.id and x.status = 'open')
    returning m.id
  )
  select jsonb_agg(jsonb_build_object('manifest_id', c.id, 'event_type', 'exceptions_cleared') order by c.id)
  into v_cleared from cleared c;
  perform delivery.manifest_events_add(coalesce(v_cleared, '[]'));
end $$;
