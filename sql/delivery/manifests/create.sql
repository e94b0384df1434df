-- Making a manifest.

-- Whether somebody drives for the caller's tenant: 'active', 'inactive', or null when they are no driver.
-- SECURITY DEFINER, because institutions may name a driver and see no driver's row. Answers one word.
create or replace function delivery.driver_status(driver_id uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select case when u.is_active and d.status is distinct from 'inactive' then 'active' else 'inactive' end
    from tenancy.tenant_users u
    left join delivery.drivers d on d.tenant_id = u.tenant_id and d.user_id = u.user_id
    where u.tenant_id = app.tenant_id() and u.user_id = driver_id and u.tenant_user_type = 'driver');
end $$;
grant execute on function delivery.driver_status(uuid) to barid_caller;

-- The fields of a new manifest that the caller may not set. Operations may set all; a driver takes it
-- themselves, in a workflow the settings allow; an institution makes its own.
-- Fails: forbidden, manifest_workflow_not_allowed, processing_point_choice_not_allowed.
create or replace function delivery.require_manifest_creator(input jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_settings jsonb := tenancy.manifest_settings();
begin
  if app.has_permission('manage:operations:tenant') then
    return;
  elsif app.has_role('driver') then
    if coalesce((input ->> 'driver_id')::uuid <> app.user_id(), false) then
      perform app.fail('forbidden');
    end if;
    if not (v_settings ->> (case input ->> 'creation_source'
        when 'form' then 'allow_driver_create_manifest_from_form'
        when 'institution_qr' then 'allow_driver_scan_institution_qr'
        else 'allow_driver_scan_item_barcode' end))::boolean then
      perform app.fail('manifest_workflow_not_allowed', jsonb_build_object('creation_source', input -> 'creation_source'));
    end if;
    if input ->> 'processing_point_id' is not null and not (v_settings ->> 'allow_driver_select_processing_point')::boolean then
      perform app.fail('processing_point_choice_not_allowed');
    end if;
  elsif (input ->> 'institution_user_id')::uuid is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
end $$;

-- Fails: institution_not_found, institution_inactive.
create or replace function delivery.require_institution(institution_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_active boolean;
begin
  select u.is_active into v_active from tenancy.tenant_users u
  where u.tenant_id = app.tenant_id() and u.user_id = require_institution.institution_user_id
    and u.tenant_user_type = 'institution';
  if v_active is null then
    perform app.fail('institution_not_found');
  elsif not v_active then
    perform app.fail('institution_inactive');
  end if;
end $$;

-- Fails: driver_not_found, driver_inactive.
create or replace function delivery.require_driver(driver_id uuid) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_status text := delivery.driver_status(driver_id);
begin
  if v_status is null then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  elsif v_status = 'inactive' then
    perform app.fail('driver_inactive', '{"field": "driver_id"}');
  end if;
end $$;

-- Makes a draft. {institution_user_id, source_branch_id, creation_source, processing_point_id?, driver_id?,
-- destination_branch_id?, destination_address_id?, source_address_id?, notes?, items?} -> the manifest in full
-- Locks branch and processing point against being taken out of use meanwhile, then the tenant's number.
-- Fails: what require_manifest_creator, require_institution, require_driver, require_destinations and
-- manifest_items_insert fail with; branch_not_found (also one of another institution), branch_inactive,
-- processing_point_required, processing_point_not_found, processing_point_inactive, address_not_found.
create or replace function delivery.manifest_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_institution uuid := (input ->> 'institution_user_id')::uuid;
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_branch delivery.institution_branches;
  v_point delivery.transfer_processing_points;
  v_address uuid;
  m delivery.transfer_manifests;
begin
  perform delivery.require_manifest_creator(input);
  if v_driver is null and not app.has_permission('manage:operations:tenant') and app.has_role('driver') then
    v_driver := app.user_id();
  end if;
  perform delivery.require_institution(v_institution);
  if v_driver is not null then
    perform delivery.require_driver(v_driver);
  end if;

  select b.* into v_branch from delivery.institution_branches b
  where b.tenant_id = app.tenant_id() and b.id = (input ->> 'source_branch_id')::uuid and b.institution_user_id = v_institution
  for key share;
  if v_branch.id is null then
    perform app.fail('branch_not_found');
  elsif not v_branch.is_active then
    perform app.fail('branch_inactive');
  elsif coalesce(input ->> 'processing_point_id', v_branch.default_processing_point_id::text) is null then
    perform app.fail('processing_point_required', '{"field": "processing_point_id"}');
  end if;
  select p.* into v_point from delivery.transfer_processing_points p
  where p.tenant_id = app.tenant_id() and p.id = coalesce((input ->> 'processing_point_id')::uuid, v_branch.default_processing_point_id)
  for key share;
  if v_point.id is null then
    perform app.fail('processing_point_not_found');
  elsif not v_point.is_active then
    perform app.fail('processing_point_inactive');
  end if;
  v_address := coalesce((input ->> 'source_address_id')::uuid, v_branch.address_id);
  -- Staff see every address; a parcel's origin is the tenant's or the institution's own.
  if not exists (select from delivery.addresses a where a.tenant_id = app.tenant_id() and a.id = v_address
      and (a.owner_user_id is null or a.owner_user_id = v_institution)
      and exists (select from delivery.usable_addresses u where u.id = a.id)) then
    perform app.fail('address_not_found');
  end if;
  perform delivery.require_destinations(
    array_remove(array[(input ->> 'destination_branch_id')::uuid], null),
    array_remove(array[(input ->> 'destination_address_id')::uuid], null));

  insert into delivery.transfer_manifests (tenant_id, manifest_number, institution_user_id, source_branch_id, source_address_id,
    source_snapshot, processing_point_id, driver_id, destination_branch_id, destination_address_id, creation_source, notes, created_by)
  select app.tenant_id(), delivery.manifest_number(app.take_numbers('manifest_number')), v_institution, v_branch.id, a.id,
    jsonb_build_object(
      'branch', jsonb_build_object('id', v_branch.id, 'name', v_branch.name, 'code', v_branch.code, 'contact_info', v_branch.contact_info),
      'address', to_jsonb(a),
      'institution', jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone)),
    v_point.id, v_driver, (input ->> 'destination_branch_id')::uuid, (input ->> 'destination_address_id')::uuid,
    input ->> 'creation_source', input ->> 'notes', app.user_id()
  from delivery.addresses_list a
  join tenancy.people p on p.id = v_institution
  where a.id = v_address
  returning * into m;
  perform delivery.manifest_event_add(m.id, 'manifest_created', jsonb_build_object('creation_source', input -> 'creation_source'));
  if jsonb_array_length(coalesce(input -> 'items', '[]')) > 0 then
    perform delivery.manifest_items_insert(m.id, input -> 'items');
  end if;
  perform delivery.manifest_notify(m, 'manifest_given', array[m.driver_id]);
  return delivery.manifest_get(jsonb_build_object('id', m.id));
end $$;

-- How the number of a manifest is written: TM- and at least six digits.
create or replace function delivery.manifest_number(number bigint) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return 'TM-' || app.padded(number, 6);
end $$;
