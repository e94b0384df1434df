-- The legal moves of manifests and their items, kept by the database whatever a core forgets.

-- Allows legal moves of a manifest only.
create or replace function delivery.manifest_guard() returns trigger
language plpgsql set search_path = '' as $$
begin
  if new.status <> old.status and not (old.status || '>' || new.status) = any (array[
    'draft>picked_up', 'draft>cancelled',
    'picked_up>in_transit', 'picked_up>awaiting_receipt', 'picked_up>cancelled',
    'in_transit>awaiting_receipt', 'in_transit>cancelled',
    'awaiting_receipt>receiving', 'awaiting_receipt>cancelled',
    'received>receiving', 'received_with_exceptions>receiving', 'processing>receiving',
    'receiving>received', 'receiving>received_with_exceptions',
    'received>received_with_exceptions', 'received_with_exceptions>received',
    'received>processing', 'received_with_exceptions>processing',
    'processing>completed', 'completed>processing']) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  -- Receiving is over until an item is about to be received again.
  if new.status = 'receiving' and old.status in ('received', 'received_with_exceptions', 'processing')
    and delivery.manifest_remaining(new.id) = 0 then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  -- It ended with all of its items; only one that came back from a cancelled order opens it again.
  if old.status = 'completed' and new.status <> old.status and not exists (
      select from delivery.transfer_manifest_items i
      where i.tenant_id = new.tenant_id and i.manifest_id = new.id and i.status not in ('order_created', 'void')) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  return new;
end $$;

-- Allows legal moves of an item only; an item leaves its order only when that was cancelled.
create or replace function delivery.manifest_item_guard() returns trigger
language plpgsql set search_path = '' as $$
begin
  if new.status <> old.status and not (old.status || '>' || new.status) = any (array[
    'picked_up>in_transit', 'picked_up>received', 'in_transit>received',
    'received>scanned', 'received>processing', 'scanned>processing',
    'scanned>received', 'processing>received',
    'received>order_created', 'scanned>order_created', 'processing>order_created', 'order_created>received',
    'picked_up>void', 'in_transit>void', 'received>void', 'scanned>void', 'processing>void']) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  -- Only a cancelled order gives its item back, and then it has none.
  -- Asked apart: an expression with a query in it costs as much where it is not reached.
  if old.delivery_id is not null and (new.delivery_id is distinct from old.delivery_id or new.status <> old.status) then
    if not (new.delivery_id is null and new.status = 'received' and exists (
        select from delivery.deliveries d
        where d.tenant_id = old.tenant_id and d.id = old.delivery_id and d.status = 'cancelled')) then
      perform app.fail('item_already_has_order');
    end if;
  end if;
  return new;
end $$;

-- An order's origin is written once.
create or replace function delivery.snapshot_guard() returns trigger
language plpgsql set search_path = '' as $$
begin
  if new.source_snapshot is distinct from old.source_snapshot or new.snapshot_version is distinct from old.snapshot_version
      or new.manifest_id is distinct from old.manifest_id or new.manifest_item_id is distinct from old.manifest_item_id then
    raise exception 'the source snapshot of delivery % is immutable', old.id using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

drop trigger if exists guard on delivery.transfer_manifests;
create trigger guard before update of status on delivery.transfer_manifests
  for each row execute function delivery.manifest_guard();
drop trigger if exists guard on delivery.transfer_manifest_items;
create trigger guard before update on delivery.transfer_manifest_items
  for each row execute function delivery.manifest_item_guard();
drop trigger if exists guard_snapshot on delivery.deliveries;
create trigger guard_snapshot before update on delivery.deliveries
  for each row when (old.source_snapshot is not null) execute function delivery.snapshot_guard();

grant execute on function delivery.manifest_guard(), delivery.manifest_item_guard(), delivery.snapshot_guard(),
  private.touch(), private.refuse_change() to barid_caller;
