-- The kinds of proof that a stage of a manifest needs and has not: photo, signature.
create or replace function delivery.manifest_proofs_missing(manifest_id uuid, stage text) returns text[]
language plpgsql stable set search_path = '' as $$
begin
  return array(
    select split_part(need.key, '_', 1) from jsonb_each_text(tenancy.manifest_settings() #> array['proof_settings', stage]) need
    where need.value = 'true' and not exists (
      select from delivery.transfer_manifest_proofs p
      where p.tenant_id = app.tenant_id() and p.manifest_id = manifest_proofs_missing.manifest_id
        and p.stage = manifest_proofs_missing.stage and p.kind || '_required' = need.key)
    order by 1);
end $$;

-- The params of a refusal because of what forbids a manifest's step: its label, and of a proof which one is missing.
create or replace function delivery.manifest_obstacle_to_json(m delivery.transfer_manifests, obstacle text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return delivery.manifest_label_to_json(m) || case obstacle
    when 'manifest_delivery_proof_required' then jsonb_build_object('missing', delivery.manifest_proofs_missing(m.id, 'delivery'),
      'text_key', 'manifest_delivery_proof_missing')
    when 'manifest_pickup_proof_required' then jsonb_build_object('missing', delivery.manifest_proofs_missing(m.id, 'pickup'),
      'text_key', 'manifest_pickup_proof_missing')
    else '{}' end;
end $$;

-- True when every proof that the settings ask for at a stage ('pickup', 'delivery') is there.
create or replace function delivery.manifest_has_proof(manifest_id uuid, stage text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return delivery.manifest_proofs_missing(manifest_id, stage) = '{}';
end $$;

-- Photos and signatures that prove a pickup or a delivery. They are objects of the bucket `proofs`,
-- named by their path <tenant id>/..., or https addresses elsewhere.

-- Refuses the address of a picture that lies in another tenant's folder. Fails: invalid_proof_url.
create or replace function delivery.require_proof_urls(urls text[], field text) returns void
language plpgsql stable set search_path = '' as $$
begin
  if exists (select from unnest(urls) url where url !~ '^https://' and split_part(url, '/', 1) <> app.tenant_id()::text) then
    perform app.fail('invalid_proof_url', jsonb_build_object('field', field));
  end if;
end $$;

-- Keeps the proofs of a stage with a locked manifest; one that is there already is not kept twice.
-- proof: {photo_urls?, signature_url?, signed_by?} or null -> {stage, photos, signature}, what was sent
-- Fails: invalid_proof_url.
create or replace function delivery.manifest_proofs_keep(manifest_id uuid, stage text, proof jsonb) returns jsonb
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(proof -> 'photo_urls', '[]')));
  v_signature text := proof ->> 'signature_url';
begin
  perform delivery.require_proof_urls(v_photos, 'photo_urls');
  perform delivery.require_proof_urls(array_remove(array[v_signature], null), 'signature_url');
  insert into delivery.transfer_manifest_proofs (tenant_id, manifest_id, stage, kind, url, signed_by, created_by)
  select app.tenant_id(), manifest_proofs_keep.manifest_id, manifest_proofs_keep.stage, n.kind, n.url,
    case n.kind when 'signature' then proof ->> 'signed_by' end, app.user_id()
  from (
    select 'photo' as kind, url from unnest(v_photos) url
    union all
    select 'signature', v_signature where v_signature is not null
  ) n
  on conflict do nothing;
  return jsonb_build_object('stage', stage, 'photos', cardinality(v_photos), 'signature', v_signature is not null);
end $$;

-- The proofs of a stage may come while the parcels are on their way to it or have just been there.
-- Fails: manifest_action_not_allowed.
create or replace function delivery.require_proof_time(m delivery.transfer_manifests, stage text) returns void
language plpgsql set search_path = '' as $$
begin
  perform delivery.require_manifest_status(m, case stage
    when 'pickup' then '{draft,picked_up,in_transit}'::text[]
    else '{picked_up,in_transit,awaiting_receipt,receiving}' end);
end $$;

-- Adds proofs to a manifest. {id, stage, photo_urls?, signature_url?, signed_by?}
-- -> {manifest_id, complete: all that the settings ask for at this stage is there, proofs: those of the stage}
-- Locks the manifest. Fails: manifest_not_found, manifest_action_not_allowed, invalid_proof_url.
create or replace function delivery.manifest_proofs_add(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_stage text := input ->> 'stage';
begin
  perform delivery.require_proof_time(m, v_stage);
  perform delivery.manifest_event_add(m.id, 'proof_added', delivery.manifest_proofs_keep(m.id, v_stage, input));
  return jsonb_build_object('manifest_id', m.id, 'complete', delivery.manifest_has_proof(m.id, v_stage),
    'proofs', (select jsonb_agg(p order by p ->> 'created_at', p ->> 'id')
      from jsonb_array_elements(delivery.manifest_get(jsonb_build_object('id', m.id)) -> 'proofs') p where p ->> 'stage' = v_stage));
end $$;

-- Where a new proof of a manifest goes in the bucket, for whoever may add it now.
-- {id, stage, kind, extension} -> {path}
-- Fails: manifest_not_found, manifest_action_not_allowed.
create or replace function delivery.manifest_proof_place(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
begin
  perform delivery.require_proof_time(m, input ->> 'stage');
  return jsonb_build_object('path', format('%s/manifests/%s/%s-%s-%s.%s', m.tenant_id, m.id, input ->> 'stage',
    input ->> 'kind', gen_random_uuid(), input ->> 'extension'));
end $$;
