-- The exception queue: items that somebody has to look at. An item keeps its status in the queue.

-- Opens an exception on each of these items of locked manifests, with its event.
-- Fails: exception_already_open.
create or replace function delivery.exceptions_create(item_ids uuid[], reason text, notes text, photo_urls text[]) returns uuid[]
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_events jsonb;
  v_ids uuid[];
begin
  with opened as (
    insert into delivery.transfer_manifest_exceptions (tenant_id, manifest_item_id, manifest_id, reason, notes, photo_urls,
      previous_item_status, created_by)
    select i.tenant_id, i.id, i.manifest_id, exceptions_create.reason, exceptions_create.notes, exceptions_create.photo_urls,
      i.status, app.user_id()
    from delivery.transfer_manifest_items i
    where i.tenant_id = app.tenant_id() and i.id = any (item_ids)
    returning id, manifest_id, manifest_item_id
  )
  select array_agg(o.id), jsonb_agg(jsonb_build_object('manifest_id', o.manifest_id, 'manifest_item_id', o.manifest_item_id,
    'event_type', 'exception_opened', 'payload', jsonb_build_object('exception_id', o.id, 'reason', exceptions_create.reason))
    order by array_position(item_ids, o.manifest_item_id))
  into v_ids, v_events from opened o;
  perform delivery.manifest_events_add(coalesce(v_events, '[]'));
  return coalesce(v_ids, '{}');
end $$;

-- Puts an item into the queue; a manifest that was received becomes received_with_exceptions, and so does one that was
-- being received again because of this item. A scanned parcel that stands on no manifest enters the queue with its barcode
-- alone: neither item nor manifest.
-- {manifest_item_id | barcode_value, reason, notes?, photo_urls?} -> the exception as lists show it
-- Locks the manifest, then the item. Fails: invalid_exception_reason, invalid_barcode, item_not_found,
-- manifest_action_not_allowed, item_void, item_already_has_order, exception_already_open, invalid_proof_url.
create or replace function delivery.exception_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_barcode text := delivery.barcode_normalise(input ->> 'barcode_value');
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(input -> 'photo_urls', '[]')));
  v_reasons jsonb := tenancy.manifest_settings() -> 'reasons';
  v_item delivery.transfer_manifest_items;
  m delivery.transfer_manifests;
  v_id uuid;
begin
  if jsonb_typeof(v_reasons) <> 'array' or not exists (
      select from jsonb_array_elements(v_reasons) r where r ->> 'value' = input ->> 'reason') then
    perform app.fail('invalid_exception_reason', '{"field": "reason"}');
  end if;
  if v_barcode is not null and not delivery.barcode_is_valid(v_barcode) then
    perform app.fail('invalid_barcode', jsonb_build_object('field', 'barcode_value', 'barcode_value', input -> 'barcode_value'));
  end if;
  perform delivery.require_proof_urls(v_photos, 'photo_urls');

  if v_barcode is null then
    select i.* into v_item from delivery.transfer_manifest_items i
    where i.tenant_id = app.tenant_id() and i.id = (input ->> 'manifest_item_id')::uuid;
  else
    -- A barcode may have come back after its item became void: the one that is not void is meant.
    select i.* into v_item from delivery.transfer_manifest_items i
    where i.tenant_id = app.tenant_id() and i.barcode_value = v_barcode
    order by i.status = 'void', i.created_at desc limit 1;
    if v_item.id is null or v_item.status = 'void' then
      insert into delivery.transfer_manifest_exceptions (tenant_id, barcode_value, reason, notes, photo_urls, created_by)
      values (app.tenant_id(), v_barcode, input ->> 'reason', input ->> 'notes', v_photos, app.user_id())
      returning id into v_id;
      return (select to_jsonb(x) from delivery.manifest_exceptions_list x where x.id = v_id);
    end if;
  end if;
  if v_item.id is null then
    perform app.fail('item_not_found');
  end if;
  m := delivery.lock_manifest(v_item.manifest_id);
  select i.* into v_item from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.id = v_item.id
  for no key update;
  if v_item.id is null then
    perform app.fail('item_not_found');
  end if;
  if v_item.delivery_id is not null then
    perform app.fail('item_already_has_order');
  elsif v_item.status = 'void' then
    perform app.fail('item_void');
  end if;
  perform delivery.require_manifest_status(m,
    '{picked_up,in_transit,awaiting_receipt,receiving,received,received_with_exceptions,processing}');
  v_id := (delivery.exceptions_create(array[v_item.id], input ->> 'reason', input ->> 'notes', v_photos))[1];
  perform delivery.manifests_free(array[m.id]);
  if m.status = 'received' then
    update delivery.transfer_manifests set status = 'received_with_exceptions' where tenant_id = m.tenant_id and id = m.id;
  end if;
  return (select to_jsonb(x) from delivery.manifest_exceptions_list x where x.id = v_id);
end $$;
