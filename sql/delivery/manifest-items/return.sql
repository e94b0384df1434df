-- A cancelled order gives its manifest item back. SECURITY DEFINER, because the institution that cancels its order writes neither
-- the codes that are reserved nor the history of a manifest.

-- Locks the manifest and the item that a delivery, or the parcel of a leg, was made from: the order of locks has them
-- before the delivery.
create or replace function delivery.lock_manifest_item(delivery_id uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_order delivery.deliveries;
begin
  select p.* into v_order from delivery.deliveries d
  join delivery.deliveries p on p.tenant_id = d.tenant_id and p.id = coalesce(d.parent_id, d.id)
  where d.tenant_id = v_tenant and d.id = lock_manifest_item.delivery_id;
  if v_order.manifest_item_id is null then
    return;
  end if;
  perform from delivery.transfer_manifests m where m.tenant_id = v_tenant and m.id = v_order.manifest_id for no key update;
  perform from delivery.transfer_manifest_items i where i.tenant_id = v_tenant and i.id = v_order.manifest_item_id for no key update;
end $$;

-- order_created -> received for the item of a cancelled delivery: it has no order, no destination and no reserved code,
-- and a completed manifest is processing again. Events: order_cancelled, processing_resumed. The caller holds the locks
-- of delivery.lock_manifest_item. A delivery that came from no manifest changes nothing.
create or replace function delivery.manifest_item_return(parcel uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_item delivery.transfer_manifest_items;
  v_resumed boolean;
begin
  update delivery.transfer_manifest_items i set status = 'received', delivery_id = null, destination_branch_id = null,
    destination_address_id = null
  where i.tenant_id = v_tenant and i.delivery_id = parcel
  returning * into v_item;
  if not found then
    return;
  end if;
  delete from delivery.delivery_code_reservations r where r.tenant_id = v_tenant and r.manifest_item_id = v_item.id;
  update delivery.transfer_manifests m set status = 'processing', completed_at = null
  where m.tenant_id = v_tenant and m.id = v_item.manifest_id and m.status = 'completed';
  v_resumed := found;
  perform delivery.manifest_event_add(v_item.manifest_id, 'order_cancelled', (
    select jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'reason', d.status_reason)
    from delivery.deliveries d where d.tenant_id = v_tenant and d.id = parcel), v_item.id);
  if v_resumed then
    perform delivery.manifest_event_add(v_item.manifest_id, 'processing_resumed', '{}', v_item.id);
  end if;
end $$;

grant execute on function delivery.lock_manifest_item(uuid), delivery.manifest_item_return(uuid) to barid_caller;
