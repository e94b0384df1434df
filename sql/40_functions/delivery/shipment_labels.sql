-- What shipment labels print, in the order of the codes. {delivery_codes: [number]} -> [label]
-- One entry per code, repeats included. Names and addresses are those of the order, not of today.
-- Fails: delivery_not_found with the codes that the caller has no delivery for.
create or replace function delivery.shipment_labels(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_zone text := app.timezone();
  v_unknown jsonb;
  v_labels jsonb;
begin
  -- Materialized: a cast of a joined value is not leakproof and would keep the index on codes unused.
  with asked as materialized (
    select c.code::bigint as code, c.position from jsonb_array_elements_text(input -> 'delivery_codes') with ordinality c (code, position)
  )
  select
    jsonb_agg(a.code order by a.position) filter (where d.id is null),
    jsonb_agg(jsonb_build_object(
      'template', d.label_assignment,
      'delivery_code', d.delivery_code,
      'barcode', d.barcode,
      'tenant_name', app.localized(t.name),
      'service_name', app.localized(d.service_snapshot -> 'name'),
      'created_on', to_char(d.created_at at time zone v_zone, 'YYYY-MM-DD'),
      'sender', jsonb_build_object(
        'name', coalesce(d.source_snapshot #>> '{source,institution,full_name}', p.full_name, app.localized(t.name)),
        'phone', coalesce(d.source_snapshot #>> '{source,institution,phone}', p.phone),
        'address', d.pickup_snapshot ->> 'full_address', 'city', d.pickup_snapshot ->> 'city'),
      'recipient', jsonb_build_object('name', coalesce(d.recipient ->> 'name', ''), 'phone', d.recipient ->> 'phone',
        'address', d.dropoff_snapshot ->> 'full_address', 'city', d.dropoff_snapshot ->> 'city'),
      'cod_amount', nullif(d.cod_amount, 0),
      'currency', d.currency,
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
    ) order by a.position) filter (where d.id is not null)
  into v_unknown, v_labels
  from asked a
  left join delivery.deliveries d on d.delivery_code = a.code
  left join tenancy.tenants t on t.id = d.tenant_id
  left join tenancy.profiles p on p.id = case when d.institution_user_id is null then d.customer_id else d.institution_user_id end;
  if v_unknown is not null then
    perform app.fail('delivery_not_found', jsonb_build_object('delivery_codes', v_unknown));
  end if;
  return v_labels;
end $$;
