-- Where a batch goes: resolved once for the whole request.
-- {destination_branch_id | destination_address_id} -> {address_id, branch_id, recipient{name, phone}}
-- Fails: branch_not_found, address_not_found.
create or replace function delivery.manifest_place(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_address uuid;
  v_branch uuid;
  v_recipient jsonb;
begin
  if input ->> 'destination_branch_id' is not null then
    select b.id, b.address_id,
      jsonb_build_object('name', b.name, 'phone', coalesce(
        nullif(b.contact_info ->> 'phone', ''), nullif(a.contact_info ->> 'phone', ''), p.phone))
    into v_branch, v_address, v_recipient
    from delivery.institution_branches b
    join delivery.addresses a on a.tenant_id = b.tenant_id and a.id = b.address_id
    left join tenancy.profiles p on p.id = b.institution_user_id
    where b.id = (input ->> 'destination_branch_id')::uuid and b.is_active;
    if not found then
      perform app.fail('branch_not_found', '{"field": "destination_branch_id"}');
    end if;
  else
    select a.id, jsonb_build_object('name', coalesce(app.localized(a.title), a.full_address), 'phone', a.contact_info ->> 'phone')
    into v_address, v_recipient
    from delivery.addresses a where a.id = (input ->> 'destination_address_id')::uuid;
    if not found then
      perform app.fail('address_not_found', '{"field": "destination_address_id"}');
    end if;
  end if;
  return jsonb_build_object('address_id', v_address, 'branch_id', v_branch, 'recipient', v_recipient);
end $$;

-- Refuses a service that manifests cannot use.
-- Fails: service_not_found, delivery_service_not_available (switched off, or not among the tenant's services for this flow).
create or replace function delivery.require_manifest_service(service_id uuid, settings jsonb default tenancy.manifest_settings()) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_active boolean;
begin
  select s.active into v_active from delivery.delivery_services s where s.id = service_id and s.deleted_at is null;
  if not found then
    perform app.fail('service_not_found', '{"field": "delivery_service_id"}');
  end if;
  if not v_active or (jsonb_array_length(settings -> 'available_delivery_service_ids') > 0
      and not settings -> 'available_delivery_service_ids' ? service_id::text) then
    perform app.fail('delivery_service_not_available', '{"field": "delivery_service_id"}');
  end if;
end $$;

-- Where a batch goes and with which service, the default of manifests unless one is sent.
-- {destination_branch_id | destination_address_id, delivery_service_id?} -> manifest_place's answer with service_id
-- Fails: as manifest_place and require_manifest_service, delivery_service_id_required.
create or replace function delivery.manifest_destination(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_settings jsonb := tenancy.manifest_settings();
  v_service uuid := coalesce(input ->> 'delivery_service_id', v_settings ->> 'default_delivery_service_id')::uuid;
  v_place jsonb := delivery.manifest_place(input);
begin
  if v_service is null then
    perform app.fail('delivery_service_id_required', '{"field": "delivery_service_id"}');
  end if;
  perform delivery.require_manifest_service(v_service, v_settings);
  return v_place || jsonb_build_object('service_id', v_service);
end $$;
