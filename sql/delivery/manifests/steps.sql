-- The common base of a manifest's steps: finding and locking it for the person who may take the
-- step, naming it in refusals, and refusing what its status does not allow.

-- How refusals name a manifest.
create or replace function delivery.manifest_label_to_json(m delivery.transfer_manifests) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number, 'manifest_status', m.status);
end $$;

-- True when a manifest was the caller's as its driver, and given to somebody else. SECURITY DEFINER: they do not see it any more.
create or replace function delivery.manifest_was_callers(p_manifest uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return app.has_role('driver') and exists (
    select from delivery.transfer_manifest_events e
    where e.tenant_id = app.tenant_id() and e.manifest_id = p_manifest and e.event_type = 'driver_changed'
      and e.payload ->> 'from' = app.user_id()::text);
end $$;

grant execute on function delivery.manifest_was_callers(uuid) to barid_caller;

-- Locks a manifest for a step. Those who run operations or a warehouse reach every manifest of the
-- tenant, a driver their own. Fails: manifest_not_found, assignment_ended (it was the driver's, who may have its parcels, and was given to another).
create or replace function delivery.lock_manifest(manifest_id uuid) returns delivery.transfer_manifests
language plpgsql set search_path = '' as $$
declare
  m delivery.transfer_manifests;
begin
  select * into m from delivery.lock_manifests(array[manifest_id]);
  if m.id is null or not (app.has_permission('manage:operations:tenant') or app.has_permission('manage:module:warehouse')
      or coalesce(m.driver_id = app.user_id(), false)) then
    if delivery.manifest_was_callers(lock_manifest.manifest_id) then
      perform app.fail('assignment_ended', '{"text_key": "manifest_withdrawn"}');
    end if;
    perform app.fail('manifest_not_found');
  end if;
  return m;
end $$;

-- Refuses a move that the manifest cannot make from where it is. Fails: invalid_status_transition.
create or replace function delivery.require_manifest_move(m delivery.transfer_manifests, from_any text[], next_status text)
returns void
language plpgsql set search_path = '' as $$
begin
  if m.status <> all (from_any) then
    perform app.fail('invalid_status_transition',
      delivery.manifest_label_to_json(m) || delivery.move_refused(m.status, next_status));
  end if;
end $$;

-- Refuses work on a manifest in a status that does not allow it, where the work is no move itself.
-- Fails: manifest_action_not_allowed.
create or replace function delivery.require_manifest_status(m delivery.transfer_manifests, any_of text[]) returns void
language plpgsql set search_path = '' as $$
begin
  if m.status <> all (any_of) then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m));
  end if;
end $$;

-- Refuses to take out of use what these open manifests need: names the first twenty, oldest first, and says how many.
create or replace function delivery.require_no_open_manifests(code text, manifest_ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  if manifest_ids <> '{}' then
    perform app.fail(code, (
      select jsonb_build_object('count', cardinality(manifest_ids), 'manifests', jsonb_agg(delivery.manifest_label_to_json(m) order by m.created_at, m.id),
        'numbers', string_agg(m.manifest_number, ', ' order by m.created_at, m.id))
      from (select x.* from delivery.transfer_manifests x where x.tenant_id = app.tenant_id() and x.id = any (manifest_ids)
        order by x.created_at, x.id limit 20) m));
  end if;
end $$;

-- Adds one event to a manifest's history.
create or replace function delivery.manifest_event_add(
  manifest_id uuid, event_type text, payload jsonb default '{}', manifest_item_id uuid default null
) returns void
language plpgsql set search_path = '' as $$
begin
  perform delivery.manifest_events_add(jsonb_build_array(jsonb_build_object('manifest_id', manifest_id,
    'event_type', event_type, 'manifest_item_id', manifest_item_id, 'payload', jsonb_strip_nulls(payload))));
end $$;

-- Where the driver was when they took a step, for its event: {latitude, longitude} or {}.
create or replace function delivery.manifest_location(input jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_strip_nulls(jsonb_build_object('latitude', input -> 'latitude', 'longitude', input -> 'longitude'));
end $$;

-- A manifest as lists show it, which is what every step answers.
create or replace function delivery.manifest_to_json(manifest_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(l) from delivery.manifests_list l where l.id = manifest_to_json.manifest_id);
end $$;
