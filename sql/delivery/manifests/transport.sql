-- The driver's part of a manifest's life: pickup, departure, arrival; and cancelling it. Each locks the
-- manifest, makes one legal move and answers the manifest as lists show it.

-- draft -> picked_up. {id, proof?, latitude?, longitude?}
-- Fails: manifest_not_found, invalid_status_transition, manifest_has_no_items, invalid_proof_url,
-- manifest_pickup_proof_required.
create or replace function delivery.manifest_pickup(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_proof jsonb;
begin
  perform delivery.require_manifest_move(m, '{draft}', 'picked_up');
  if not exists (select from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id) then
    perform app.fail('manifest_has_no_items', delivery.manifest_label_to_json(m));
  end if;
  v_proof := delivery.manifest_proofs_keep(m.id, 'pickup', input -> 'proof');
  if not delivery.manifest_has_proof(m.id, 'pickup') then
    perform app.fail('manifest_pickup_proof_required', delivery.manifest_obstacle_to_json(m, 'manifest_pickup_proof_required'));
  end if;
  update delivery.transfer_manifests set status = 'picked_up', picked_up_at = now() where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'manifest_picked_up', v_proof || delivery.manifest_location(input));
  return delivery.manifest_to_json(m.id);
end $$;

-- picked_up -> in_transit, with its items. {id}
-- Fails: manifest_not_found, invalid_status_transition.
create or replace function delivery.manifest_depart(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
begin
  perform delivery.require_manifest_move(m, '{picked_up}', 'in_transit');
  update delivery.transfer_manifests set status = 'in_transit', departed_at = now() where tenant_id = m.tenant_id and id = m.id;
  update delivery.transfer_manifest_items set status = 'in_transit'
  where tenant_id = m.tenant_id and manifest_id = m.id and status = 'picked_up';
  perform delivery.manifest_event_add(m.id, 'manifest_in_transit');
  return delivery.manifest_to_json(m.id);
end $$;

-- in_transit (or picked_up, when nobody recorded the departure) -> awaiting_receipt.
-- {id, latitude?, longitude?, proof?}; the delivery proof may also come later.
-- Fails: manifest_not_found, invalid_status_transition, invalid_proof_url.
create or replace function delivery.manifest_arrive(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_proof jsonb;
begin
  perform delivery.require_manifest_move(m, '{in_transit,picked_up}', 'awaiting_receipt');
  v_proof := delivery.manifest_proofs_keep(m.id, 'delivery', input -> 'proof');
  update delivery.transfer_manifests set status = 'awaiting_receipt', driver_arrived_at = now()
  where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'driver_arrived', v_proof || delivery.manifest_location(input));
  return delivery.manifest_to_json(m.id);
end $$;

-- draft, picked_up, in_transit, awaiting_receipt -> cancelled; its items become void, their exceptions close with them and
-- their barcodes can be used again. {id, reason}
-- A driver cancels only their drafts; once they have the parcels, operations decide.
-- Fails: manifest_not_found, invalid_status_transition, forbidden.
create or replace function delivery.manifest_cancel(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_barcodes text[];
begin
  perform delivery.require_manifest_move(m, '{draft,picked_up,in_transit,awaiting_receipt}', 'cancelled');
  if m.status <> 'draft' and not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  update delivery.transfer_manifests set status = 'cancelled', cancelled_at = now(), cancel_reason = input ->> 'reason'
  where tenant_id = m.tenant_id and id = m.id;
  update delivery.transfer_manifest_exceptions set status = 'resolved', outcome = 'void', resolution_notes = input ->> 'reason',
    resolved_by = app.user_id(), resolved_at = now()
  where tenant_id = m.tenant_id and manifest_id = m.id and status = 'open';
  with voided as (
    update delivery.transfer_manifest_items set status = 'void'
    where tenant_id = m.tenant_id and manifest_id = m.id and status <> 'void'
    returning barcode_value
  )
  select array_agg(v.barcode_value) into v_barcodes from voided v;
  perform delivery.barcodes_release(v_barcodes);
  perform delivery.manifest_event_add(m.id, 'manifest_cancelled', jsonb_build_object('reason', input -> 'reason'));
  perform delivery.manifest_notify(m, 'manifest_cancelled', array[m.driver_id, m.institution_user_id]);
  return delivery.manifest_to_json(m.id);
end $$;
