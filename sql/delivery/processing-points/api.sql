-- Processing points: where drivers hand manifests in.

-- A processing point with its address, as detail and update answer it. {id}
-- Fails: processing_point_not_found.
create or replace function delivery.processing_point_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found((
    select to_jsonb(p) || jsonb_build_object('address', to_jsonb(a))
    from delivery.processing_points_list p
    join delivery.addresses_list a on a.id = p.address_id
    where p.id = (input ->> 'id')::uuid), 'processing_point_not_found');
end $$;

-- Adds a point. {name, code, address_id, metadata?} -> {id, name, code, is_active}
-- Fails: address_not_found, processing_point_code_exists.
create or replace function delivery.processing_point_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_point delivery.transfer_processing_points;
begin
  perform delivery.require_public_address((input ->> 'address_id')::uuid);
  insert into delivery.transfer_processing_points (tenant_id, name, code, address_id, metadata)
  values (app.tenant_id(), input ->> 'name', input ->> 'code', (input ->> 'address_id')::uuid,
    coalesce(input -> 'metadata', '{}'))
  returning * into v_point;
  return jsonb_build_object('id', v_point.id, 'name', v_point.name, 'code', v_point.code, 'is_active', v_point.is_active);
end $$;

-- Takes a point from what relies on it, so that it can go out of use: branches that have it as their default
-- have none from then on. Fails: processing_point_not_found, processing_point_in_use (manifests that are not
-- ended name it).
create or replace function delivery.processing_point_release(point_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  -- New manifests and branches take a key-share lock on the point; this lock makes them and us take turns.
  perform from delivery.transfer_processing_points p where p.id = point_id for update;
  if not found then
    perform app.fail('processing_point_not_found');
  end if;
  perform delivery.require_no_open_manifests('processing_point_in_use', array(select m.id from delivery.transfer_manifests m
    where m.tenant_id = app.tenant_id() and m.processing_point_id = point_id and m.status not in ('completed', 'cancelled')));
  update delivery.institution_branches b set default_processing_point_id = null
  where b.tenant_id = app.tenant_id() and b.default_processing_point_id = point_id;
end $$;

-- Changes what is sent; is_active takes the point out of use or back into it (branches that had it as their
-- default choose it anew). {id, name?, code?, address_id?, metadata?, is_active?} -> the point with its address
-- Fails: processing_point_not_found, address_not_found, processing_point_code_exists, processing_point_in_use.
create or replace function delivery.processing_point_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_active boolean := (input ->> 'is_active')::boolean;
begin
  perform delivery.processing_point_get(input);
  if input ? 'address_id' then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
  end if;
  if not v_active then
    perform delivery.processing_point_release((input ->> 'id')::uuid);
  end if;
  update delivery.transfer_processing_points p set
    name = coalesce(input ->> 'name', p.name),
    code = coalesce(input ->> 'code', p.code),
    address_id = coalesce((input ->> 'address_id')::uuid, p.address_id),
    metadata = coalesce(input -> 'metadata', p.metadata),
    is_active = coalesce(v_active, p.is_active),
    deactivated_at = case v_active when true then null when false then coalesce(p.deactivated_at, now()) else p.deactivated_at end
  where p.id = (input ->> 'id')::uuid;
  return delivery.processing_point_get(input);
end $$;

-- Takes a point out of use; a second time changes nothing. {id} -> {id, is_active}
-- Fails: what processing_point_release fails with.
create or replace function delivery.processing_point_deactivate(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  perform delivery.processing_point_release(v_id);
  update delivery.transfer_processing_points set is_active = false, deactivated_at = now() where id = v_id and is_active;
  return jsonb_build_object('id', v_id, 'is_active', false);
end $$;
