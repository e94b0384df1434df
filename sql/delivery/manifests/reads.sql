-- Reading a manifest.

-- Its history, oldest first.
create or replace function delivery.manifest_history(manifest_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'event_type', e.event_type, 'manifest_item_id', e.manifest_item_id,
      'actor', case when e.actor_id is not null then jsonb_build_object('id', e.actor_id, 'full_name', coalesce(p.full_name, '')) end,
      'payload', e.payload, 'created_at', e.created_at) order by e.id), '[]')
    from delivery.transfer_manifest_events e
    left join tenancy.profiles p on p.id = e.actor_id
    where e.tenant_id = app.tenant_id() and e.manifest_id = manifest_history.manifest_id);
end $$;

-- How many items of a manifest are in which status, and how many still wait for somebody.
create or replace function delivery.manifest_counts(manifest_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object(
      'total', count(*),
      'picked_up', count(*) filter (where i.status = 'picked_up'),
      'in_transit', count(*) filter (where i.status = 'in_transit'),
      'received', count(*) filter (where i.status = 'received'),
      'scanned', count(*) filter (where i.status = 'scanned'),
      'processing', count(*) filter (where i.status = 'processing'),
      'order_created', count(*) filter (where i.status = 'order_created'),
      'void', count(*) filter (where i.status = 'void'),
      'open_exceptions', count(*) filter (where i.open_exception is not null),
      'remaining', count(*) filter (where i.status in ('picked_up', 'in_transit') and i.open_exception is null))
    from delivery.manifest_items_list i where i.manifest_id = manifest_counts.manifest_id);
end $$;

-- A manifest in full. {id, events?: true}
-- -> the list's row, source_snapshot, items[], counts, proofs[], proofRequirements, events[] when asked.
-- Fails: manifest_not_found.
create or replace function delivery.manifest_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_manifest jsonb;
begin
  select to_jsonb(l) || jsonb_build_object(
    'source_snapshot', m.source_snapshot,
    'items', (select coalesce(jsonb_agg(to_jsonb(i) - 'manifest_id' order by i.position), '[]')
      from delivery.manifest_items_list i where i.manifest_id = l.id),
    'counts', delivery.manifest_counts(l.id),
    'proofs', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'stage', p.stage, 'kind', p.kind, 'url', p.url,
        'signed_by', p.signed_by, 'created_by', p.created_by, 'created_at', p.created_at) order by p.created_at, p.id), '[]')
      from delivery.transfer_manifest_proofs p where p.tenant_id = m.tenant_id and p.manifest_id = m.id),
    'proofRequirements', tenancy.manifest_settings() -> 'proof_settings')
  into v_manifest
  from delivery.manifests_list l
  join delivery.transfer_manifests m on m.id = l.id
  where l.id = v_id;
  if v_manifest is null then
    perform app.fail('manifest_not_found');
  end if;
  if (input ->> 'events')::boolean then
    v_manifest := v_manifest || jsonb_build_object('events', delivery.manifest_history(v_id));
  end if;
  return v_manifest;
end $$;

-- The history of a manifest. {id} -> [{id, event_type, manifest_item_id, actor, payload, created_at}]
-- Fails: manifest_not_found.
create or replace function delivery.manifest_events_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  perform from delivery.transfer_manifests m where m.tenant_id = app.tenant_id() and m.id = v_id;
  if not found then
    perform app.fail('manifest_not_found');
  end if;
  return delivery.manifest_history(v_id);
end $$;
