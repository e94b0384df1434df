-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.manifest_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_give(m delivery.transfer_manifests, driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if m.status in ('awaiting_receipt', 'receiving') then
    perform app.fail('manifest_action_not_allowed', delivery.manifest_label_to_json(m) || '{"text_key": "reason_manifest_arrived"}');
  end if;
  perform delivery.require_manifest_status(m, '{draft,picked_up,in_transit}');
  perform delivery.require_driver(driver);
  update delivery.transfer_manifests set driver_id = driver where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'driver_changed', jsonb_build_object('from', m.driver_id, 'to', driver));
  perform delivery.manifest_notify(m, 'manifest_given', array[driver]);
  perform delivery.manifest_notify(m, 'manifest_given_to_another', array[m.driver_id]);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_notify(m delivery.transfer_manifests, type text, people uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(m.tenant_id);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select m.tenant_id, n.user_id, manifest_notify.type, jsonb_build_object('manifest_id', m.id, 'manifest_number', m.manifest_number)
  from (select distinct p.user_id from unnest(people) p (user_id)) n
  where n.user_id is not null and n.user_id is distinct from app.user_id();
end $function$;

REVOKE ALL ON FUNCTION "delivery"."manifest_notify"(delivery.transfer_manifests, text, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_notify"(delivery.transfer_manifests, text, uuid[]) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128133940';
end $$;

grant execute on function private.schema_version() to barid_api;
