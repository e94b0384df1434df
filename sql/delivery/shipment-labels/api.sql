-- The name of a warehouse. SECURITY DEFINER: an institution prints labels of parcels that go through one it does not see.
-- Fails: forbidden (app.require_tenant).
create or replace function delivery.warehouse_name(tenant uuid, warehouse uuid) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(tenant);
  return (select w.name from warehousing.warehouses w where w.tenant_id = warehouse_name.tenant and w.id = warehouse_name.warehouse);
end $$;

grant execute on function delivery.warehouse_name(uuid, uuid) to barid_caller;

-- Counts a print of these parcels' labels: the next edition, which says where they go now. A parcel's legs show the same.
-- SECURITY DEFINER: an institution prints, and changes nothing else of a delivery.
create or replace function delivery.labels_printed(parcels uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_family uuid[] := parcels || array(select l.id from delivery.deliveries l where l.tenant_id = v_tenant and l.parent_id = any (parcels));
begin
  perform delivery.lock_deliveries(parcels);
  update delivery.deliveries d set label_edition = d.label_edition + 1, label_outdated = false
  where d.tenant_id = v_tenant and d.id = any (v_family);
end $$;

grant execute on function delivery.labels_printed(uuid[]) to barid_caller;

-- Prints shipment labels: what stands on them, in the order of the codes. {delivery_codes: [number]} -> [label]
-- Each call is one edition of every parcel it names. One entry per code, repeats included. Names and addresses are those of the order,
-- not of today. A leg shows
-- the COD and the fee of its parcel; the end that is a warehouse has its name and no person's. mark: the status of a parcel that nobody
-- carries with this label, which stands on it: draft, cancelled, delivered or returned.
-- A customer prints labels of returns that they were allowed, and no others. Fails: delivery_not_found with the codes that the caller has no
-- delivery for, forbidden.
create or replace function delivery.shipment_labels(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_zone text := app.timezone();
  v_unknown jsonb;
  v_labels jsonb;
  v_codes bigint[] := array(select c::bigint from jsonb_array_elements_text(input -> 'delivery_codes') c);
begin
  if not app.has_permission('view:tenant') and not app.has_role('institution') and exists (
      select from unnest(v_codes) c (code) where not exists (
        select from delivery.deliveries d where d.delivery_code = c.code and d.delivery_flow = 'customer_return'
          and d.customer_id = app.user_id() and d.status not in ('draft', 'cancelled'))) then
    perform app.fail('forbidden');
  end if;
  select jsonb_agg(c.code order by c.position) into v_unknown from unnest(v_codes) with ordinality c (code, position)
  where not exists (select from delivery.deliveries d where d.delivery_code = c.code);
  if v_unknown is not null then
    perform app.fail('delivery_not_found', jsonb_build_object('delivery_codes', v_unknown));
  end if;
  perform delivery.labels_printed(array(select distinct delivery.parcel_of(d) from delivery.deliveries d where d.delivery_code = any (v_codes)));
  select
    jsonb_agg(jsonb_build_object(
      'template', d.label_assignment,
      'delivery_code', d.delivery_code,
      'edition', d.label_edition,
      'mark', case when d.status = 'cancelled' then d.status else (
        select p.status from delivery.deliveries p
        where p.tenant_id = d.tenant_id and p.id = delivery.parcel_of(d) and p.status in ('draft', 'delivered', 'returned', 'cancelled')) end,
      'barcode', d.barcode,
      'tenant_name', app.localized(t.name),
      'service_name', app.localized(d.service_snapshot -> 'name'),
      'created_on', to_char(d.created_at at time zone v_zone, 'YYYY-MM-DD'),
      'sender', coalesce(delivery.sender_of(d), jsonb_build_object('name', delivery.warehouse_name(d.tenant_id, d.pickup_warehouse_id), 'phone', null))
        || jsonb_build_object('address', d.pickup_snapshot ->> 'full_address', 'city', d.pickup_snapshot ->> 'city'),
      'recipient', jsonb_build_object('name', coalesce(case d.delivery_flow when 'pnd_inbound'
          then delivery.warehouse_name(d.tenant_id, d.dropoff_warehouse_id) else d.recipient ->> 'name' end, ''),
        'phone', case when d.delivery_flow <> 'pnd_inbound' then d.recipient ->> 'phone' end,
        'address', d.dropoff_snapshot ->> 'full_address', 'city', d.dropoff_snapshot ->> 'city'),
      'cod_amount', nullif((delivery.parcel_terms(d)).cod_amount, 0),
      'delivery_fee', nullif((delivery.parcel_terms(d)).delivery_fee, 0),
      'currency', d.currency,
      'decimals', money.decimals_of(d.currency),
      'payer', d.payer_type,
      'unit_size', trim_scale(d.unit_size)::text,
      'pieces', greatest(1, coalesce(jsonb_array_length(case when jsonb_typeof(d.package_details -> 'items') = 'array'
        then d.package_details -> 'items' end), 1)),
      'notes', d.notes,
      'manifest', case when d.source_snapshot is not null then jsonb_build_object(
        'number', d.source_snapshot #>> '{manifest,number}',
        'institution', coalesce(d.source_snapshot #>> '{source,institution,full_name}', ''),
        'branch_name', coalesce(d.source_snapshot #>> '{source,branch,name}', ''),
        'branch_code', coalesce(d.source_snapshot #>> '{source,branch,code}', ''),
        'item_barcode', coalesce(d.source_snapshot #>> '{item,barcode_value}', d.barcode)) end
    ) order by a.position)
  into v_labels
  from unnest(v_codes) with ordinality a (code, position)
  join delivery.deliveries d on d.delivery_code = a.code
  join tenancy.tenants t on t.id = d.tenant_id;
  return v_labels;
end $$;
