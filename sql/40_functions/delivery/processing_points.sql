-- Processing points: where drivers hand manifests in.

-- A processing point with its address, as detail and update answer it. {id}
-- Fails: processing_point_not_found.
create or replace function delivery.processing_point_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_point jsonb;
begin
  select to_jsonb(p) || jsonb_build_object('address', to_jsonb(a)) into v_point
  from delivery.processing_points_list p
  join delivery.addresses_list a on a.id = p.address_id
  where p.id = (input ->> 'id')::uuid;
  if v_point is null then
    perform app.fail('processing_point_not_found');
  end if;
  return v_point;
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

-- Changes what is sent. {id, name?, code?, address_id?, metadata?} -> the point with its address
-- Fails: processing_point_not_found, address_not_found, processing_point_code_exists.
create or replace function delivery.processing_point_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  if input ? 'address_id' then
    perform delivery.require_public_address((input ->> 'address_id')::uuid);
  end if;
  update delivery.transfer_processing_points p set
    name = coalesce(input ->> 'name', p.name),
    code = coalesce(input ->> 'code', p.code),
    address_id = coalesce((input ->> 'address_id')::uuid, p.address_id),
    metadata = coalesce(input -> 'metadata', p.metadata)
  where p.id = (input ->> 'id')::uuid;
  return delivery.processing_point_get(input);
end $$;

-- Takes a point out of use; a second time changes nothing. {id} -> {id, is_active}
-- Fails: processing_point_not_found, processing_point_in_use (manifests that are not ended name it).
create or replace function delivery.processing_point_deactivate(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  -- New manifests take a key-share lock on the point; this lock makes them and us take turns.
  perform from delivery.transfer_processing_points p where p.id = v_id for update;
  if not found then
    perform app.fail('processing_point_not_found');
  end if;
  if exists (select from delivery.transfer_manifests m
      where m.tenant_id = app.tenant_id() and m.processing_point_id = v_id and m.status not in ('completed', 'cancelled')) then
    perform app.fail('processing_point_in_use');
  end if;
  update delivery.transfer_processing_points set is_active = false, deactivated_at = now() where id = v_id and is_active;
  return jsonb_build_object('id', v_id, 'is_active', false);
end $$;
