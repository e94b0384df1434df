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
    left join tenancy.people p on p.id = b.institution_user_id
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

-- Why nothing can be sent to the destination of a batch any more, or null: between the request, which resolved it, and its batch the
-- address may have been deleted, or the branch closed. With `hold` both stay as they are until the end of the transaction.
-- {address_id, branch_id?} -> address_not_found, branch_not_found or null. Locks with `hold`: the address, the branch (for key share).
create or replace function delivery.manifest_destination_obstacle(destination jsonb, hold boolean) returns text
language plpgsql set search_path = '' as $$
declare
  v_address uuid := destination ->> 'address_id';
  v_branch uuid := destination ->> 'branch_id';
begin
  -- Asked once each: the policies of addresses cost more than all else here.
  if hold then
    perform from delivery.addresses a where a.id = v_address for key share;
  else
    perform from delivery.addresses a where a.id = v_address;
  end if;
  if not found then
    return 'address_not_found';
  elsif v_branch is null then
    return null;
  end if;
  if hold then
    perform from delivery.institution_branches b where b.id = v_branch and b.is_active for key share;
  else
    perform from delivery.institution_branches b where b.id = v_branch and b.is_active;
  end if;
  return case when not found then 'branch_not_found' end;
end $$;

-- The same failure for every item of a batch. -> [{item_id, code}], in the order of the items.
create or replace function delivery.items_failed(item_ids uuid[], code text) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item_id', i.id, 'code', items_failed.code) order by i.position), '[]')
    from unnest(item_ids) with ordinality i (id, position));
end $$;
