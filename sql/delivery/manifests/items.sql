-- The items of a manifest while it is a draft.

-- Refuses destinations the caller does not have, or branches that are closed; those that are open stay so until the end of the transaction
-- (delivery.require_branch_unused). Locks: the branches (for key share). Fails: branch_not_found, branch_inactive, address_not_found.
create or replace function delivery.require_destinations(branch_ids uuid[], address_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_known integer;
  v_active boolean;
begin
  select count(*), coalesce(bool_and(b.is_active), true) into v_known, v_active
  from (
    select x.is_active from delivery.institution_branches x where x.tenant_id = app.tenant_id() and x.id = any (branch_ids)
    order by x.id for key share) b;
  if v_known < (select count(distinct id) from unnest(branch_ids) id) then
    perform app.fail('branch_not_found');
  end if;
  if not v_active then
    perform app.fail('branch_inactive');
  end if;
  if (select count(*) from delivery.usable_addresses a where a.id = any (address_ids))
      < (select count(distinct id) from unnest(address_ids) id) then
    perform app.fail('address_not_found');
  end if;
end $$;

-- Puts items behind those a locked draft has, in the order sent, and marks issued barcodes as used.
-- items: [{barcode_value, destination_branch_id?, destination_address_id?, package_details?, metadata?}]
-- Answers their ids in that order. All or none.
-- Fails: invalid_barcode, barcode_already_used (both name the barcode), and what require_destinations fails with.
create or replace function delivery.manifest_items_insert(manifest_id uuid, items jsonb) returns uuid[]
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_id uuid := manifest_items_insert.manifest_id;
  v_barcodes text[];
  v_last integer;
  v_ids uuid[];
  v_wrong record;
  v_taken text;
begin
  select array_agg(delivery.barcode_normalise(s.item ->> 'barcode_value') order by s.position) into v_barcodes
  from jsonb_array_elements(items) with ordinality s (item, position);
  select b.position, b.barcode into v_wrong
  from unnest(v_barcodes) with ordinality b (barcode, position)
  where not delivery.barcode_is_valid(b.barcode) order by b.position limit 1;
  if found then
    perform app.fail('invalid_barcode', jsonb_build_object('barcode_value', items #>> array[(v_wrong.position - 1)::text, 'barcode_value'],
      'field', format('items.%s.barcode_value', v_wrong.position - 1)));
  end if;
  perform delivery.require_destinations(
    array(select (s ->> 'destination_branch_id')::uuid from jsonb_array_elements(items) s where s ->> 'destination_branch_id' is not null),
    array(select (s ->> 'destination_address_id')::uuid from jsonb_array_elements(items) s where s ->> 'destination_address_id' is not null));
  select coalesce(max(i.position), 0) into v_last
  from delivery.transfer_manifest_items i where i.tenant_id = app.tenant_id() and i.manifest_id = v_id;

  -- Written in the order of the barcodes, so that two calls with the same ones wait and never deadlock.
  with written as (
    insert into delivery.transfer_manifest_items (tenant_id, manifest_id, barcode_value, position, destination_branch_id,
      destination_address_id, package_details, metadata)
    select app.tenant_id(), v_id, b.barcode, v_last + b.position, (s.item ->> 'destination_branch_id')::uuid,
      (s.item ->> 'destination_address_id')::uuid, nullif(s.item -> 'package_details', 'null'), coalesce(s.item -> 'metadata', '{}')
    from unnest(v_barcodes) with ordinality b (barcode, position)
    join jsonb_array_elements(items) with ordinality s (item, position) on s.position = b.position
    order by b.barcode, b.position
    on conflict (tenant_id, barcode_value) where status <> 'void' do nothing
    returning id, barcode_value, position
  )
  select array_agg(w.id order by w.position), (array_agg(b.barcode order by b.position) filter (where w.id is null))[1]
  into v_ids, v_taken
  from unnest(v_barcodes) with ordinality b (barcode, position)
  left join written w on w.position = v_last + b.position;
  if v_taken is not null then
    perform app.fail('barcode_already_used', jsonb_build_object('barcode_value', v_taken));
  end if;
  update delivery.transfer_barcodes b set status = 'used', used_at = now()
  where b.tenant_id = app.tenant_id() and b.barcode = any (v_barcodes);
  perform delivery.manifest_event_add(v_id, 'items_added', jsonb_build_object('item_ids', to_jsonb(v_ids), 'barcodes', to_jsonb(v_barcodes)));
  return v_ids;
end $$;

-- Gives the barcodes of items that are gone or void back to be used again.
create or replace function delivery.barcodes_release(barcodes text[]) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.transfer_barcodes b set status = 'unused', used_at = null, received_at = null
  where b.tenant_id = app.tenant_id() and b.barcode = any (barcodes) and not exists (
    select from delivery.transfer_manifest_items i
    where i.tenant_id = b.tenant_id and i.barcode_value = b.barcode and i.status <> 'void');
end $$;

-- Adds items to a draft. {id, items} -> {manifest_id, items_count, items: the new ones}
-- Locks the manifest. Fails: manifest_not_found, manifest_action_not_allowed (also above 5,000 items, which one answer can show),
-- and what manifest_items_insert fails with.
create or replace function delivery.manifest_items_add(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_max constant integer := 5000;
  v_ids uuid[];
begin
  if m.status <> 'draft' then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_takes_no_items"}');
  elsif jsonb_array_length(input -> 'items') > v_max - (
      select count(*) from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id) then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m)
      || jsonb_build_object('text_key', 'reason_manifest_is_full', 'field', 'items', 'items_max', v_max));
  end if;
  v_ids := delivery.manifest_items_insert(m.id, input -> 'items');
  return jsonb_build_object('manifest_id', m.id,
    'items_count', (select count(*) from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id),
    'items', (select jsonb_agg(to_jsonb(i) - 'manifest_id' order by i.position) from delivery.manifest_items_list i where i.id = any (v_ids)));
end $$;

-- Takes an item off a draft. {id, item_id} -> {id, manifest_id, items_count}
-- Locks the manifest. Fails: manifest_not_found, manifest_action_not_allowed, item_not_found.
create or replace function delivery.manifest_item_remove(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_item delivery.transfer_manifest_items;
begin
  perform delivery.require_manifest_status(m, '{draft}');
  delete from delivery.transfer_manifest_items i
  where i.tenant_id = m.tenant_id and i.manifest_id = m.id and i.id = (input ->> 'item_id')::uuid
  returning * into v_item;
  if v_item.id is null then
    perform app.fail('item_not_found');
  end if;
  perform delivery.barcodes_release(array[v_item.barcode_value]);
  perform delivery.manifest_event_add(m.id, 'item_removed',
    jsonb_build_object('item_id', v_item.id, 'barcode_value', v_item.barcode_value));
  return jsonb_build_object('id', v_item.id, 'manifest_id', m.id,
    'items_count', (select count(*) from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id));
end $$;
