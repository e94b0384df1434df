-- Institutions and their branches: where parcels of manifests come from.

-- An institution. {id}. Fails: institution_not_found.
create or replace function delivery.institution_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found((
    select to_jsonb(i) - 'created_at'
    from delivery.institutions_list i where i.id = (input ->> 'id')::uuid), 'institution_not_found');
end $$;

-- Refuses a processing point, which the request names in `field`, that does not exist or is out of use. The lock makes us and whoever
-- takes the point out of use take turns. Fails: processing_point_not_found, processing_point_inactive.
create or replace function delivery.require_point_in(point_id uuid, field text) returns void
language plpgsql set search_path = '' as $$
declare
  v_active boolean;
begin
  select p.is_active into v_active from delivery.transfer_processing_points p where p.id = point_id for key share;
  if not found then
    perform app.fail('processing_point_not_found', jsonb_build_object('field', field));
  elsif not v_active then
    perform app.fail('processing_point_inactive', jsonb_build_object('field', field));
  end if;
end $$;

-- The same of a branch's default.
create or replace function delivery.require_point(point_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform delivery.require_point_in(point_id, 'default_processing_point_id');
end $$;

-- A branch with what it points at. {id, institution_user_id}. Fails: branch_not_found.
create or replace function delivery.branch_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return app.found((
    select to_jsonb(b)
    from delivery.branches_list b
    where b.id = (input ->> 'id')::uuid and b.institution_user_id = (input ->> 'institution_user_id')::uuid), 'branch_not_found');
end $$;

-- The branch with exactly this code, as a QR code carries it. {code, include_inactive?}
-- Fails: branch_not_found, branch_code_ambiguous (several institutions have it; `branches` sums them up).
create or replace function delivery.branch_by_code(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_branches jsonb;
begin
  select jsonb_agg(to_jsonb(b) order by b.institution_user ->> 'full_name', b.id) into v_branches
  from delivery.branches_list b
  where b.code = input ->> 'code' and (b.is_active or coalesce((input ->> 'include_inactive')::boolean, false));
  if v_branches is null then
    perform app.fail('branch_not_found');
  elsif jsonb_array_length(v_branches) > 1 then
    perform app.fail('branch_code_ambiguous', jsonb_build_object('branches', (
      select jsonb_agg(jsonb_build_object('id', b.branch -> 'id', 'name', b.branch -> 'name', 'code', b.branch -> 'code',
        'is_active', b.branch -> 'is_active', 'institution_user_id', b.branch -> 'institution_user_id',
        'institution_user', b.branch -> 'institution_user') order by b.position)
      from jsonb_array_elements(v_branches) with ordinality b (branch, position))));
  end if;
  return v_branches -> 0;
end $$;

-- Adds a branch to an institution that the caller has checked.
create or replace function delivery.branch_add(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_institution uuid := (input ->> 'institution_user_id')::uuid;
  v_point uuid := (input ->> 'default_processing_point_id')::uuid;
  v_branch delivery.institution_branches;
begin
  perform delivery.require_public_address((input ->> 'address_id')::uuid, v_institution);
  if v_point is not null then
    perform delivery.require_point(v_point);
  end if;
  insert into delivery.institution_branches (tenant_id, institution_user_id, name, code, address_id,
    default_processing_point_id, contact_info, metadata)
  values (app.tenant_id(), v_institution, input ->> 'name', input ->> 'code', (input ->> 'address_id')::uuid, v_point,
    coalesce(input -> 'contact_info', '{}'), coalesce(input -> 'metadata', '{}'))
  returning * into v_branch;
  return jsonb_build_object('id', v_branch.id, 'institution_user_id', v_branch.institution_user_id,
    'name', v_branch.name, 'code', v_branch.code);
end $$;

-- Adds a branch. {institution_user_id, name, code, address_id, default_processing_point_id?, contact_info?, metadata?}
-- -> {id, institution_user_id, name, code}
-- Fails: institution_not_found, institution_inactive, address_not_found, processing_point_not_found, processing_point_inactive, branch_code_exists.
create or replace function delivery.branch_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform delivery.require_institution((input ->> 'institution_user_id')::uuid);
  return delivery.branch_add(input);
end $$;

-- Adds the branches of a file to an institution. {institution_user_id, lines, dry_run, refused?} -> see app.import_lines
-- Fails: institution_not_found, institution_inactive, import_has_errors; a line: as branch_create.
create or replace function delivery.branch_import(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform delivery.require_institution((input ->> 'institution_user_id')::uuid);
  return app.import_lines('delivery.branch_add', '{id}', input, jsonb_build_object('institution_user_id', input -> 'institution_user_id'));
end $$;

-- Locks a branch that shall go out of use. Fails: branch_not_found, branch_in_use (manifests that are not ended
-- start or end there, or one of their parcels still has to become an order to it).
create or replace function delivery.require_branch_unused(branch_id uuid, institution_user_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  -- Manifests, items and orders that begin or end at the branch take a key-share lock on it; this lock makes them and us take turns.
  perform from delivery.institution_branches b
  where b.id = branch_id and b.institution_user_id = require_branch_unused.institution_user_id for update;
  if not found then
    perform app.fail('branch_not_found');
  end if;
  perform delivery.require_no_open_manifests('branch_in_use', array(
    select m.id from delivery.transfer_manifests m
    where m.tenant_id = app.tenant_id() and branch_id in (m.source_branch_id, m.destination_branch_id)
      and m.status not in ('completed', 'cancelled')
    union
    select m.id from delivery.transfer_manifest_items i
    join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    where i.tenant_id = app.tenant_id() and i.destination_branch_id = branch_id and i.status not in ('order_created', 'void')
      and m.status not in ('completed', 'cancelled')));
end $$;

-- Changes what is sent; default_processing_point_id null takes the default away, is_active takes the branch out
-- of use or back into it.
-- {id, institution_user_id, name?, default_processing_point_id?, contact_info?, metadata?, is_active?}
-- -> the branch with what it points at
-- Fails: branch_not_found, processing_point_not_found, processing_point_inactive, branch_in_use.
create or replace function delivery.branch_update(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_branch jsonb := delivery.branch_get(input);
  v_point uuid := (input ->> 'default_processing_point_id')::uuid;
  v_active boolean := (input ->> 'is_active')::boolean;
  -- A default that is sent as it was is neither checked nor written: somebody may be taking the point out of use.
  v_other_point boolean := input ? 'default_processing_point_id'
    and v_point is distinct from (v_branch ->> 'default_processing_point_id')::uuid;
begin
  if v_other_point and v_point is not null then
    perform delivery.require_point(v_point);
  end if;
  if not v_active then
    perform delivery.require_branch_unused((input ->> 'id')::uuid, (input ->> 'institution_user_id')::uuid);
  end if;
  update delivery.institution_branches b set
    name = coalesce(input ->> 'name', b.name),
    default_processing_point_id = case when v_other_point then v_point else b.default_processing_point_id end,
    contact_info = coalesce(input -> 'contact_info', b.contact_info),
    metadata = coalesce(input -> 'metadata', b.metadata),
    is_active = coalesce(v_active, b.is_active),
    deactivated_at = case v_active when true then null when false then coalesce(b.deactivated_at, now()) else b.deactivated_at end
  where b.id = (input ->> 'id')::uuid;
  return delivery.branch_get(input);
end $$;

-- Takes a branch out of use; a second time changes nothing. {id, institution_user_id} -> {id, is_active}
-- Fails: what require_branch_unused fails with.
create or replace function delivery.branch_deactivate(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid := (input ->> 'id')::uuid;
begin
  perform delivery.require_branch_unused(v_id, (input ->> 'institution_user_id')::uuid);
  update delivery.institution_branches set is_active = false, deactivated_at = now() where id = v_id and is_active;
  return jsonb_build_object('id', v_id, 'is_active', false);
end $$;
