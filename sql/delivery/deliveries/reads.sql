-- Reading deliveries.

-- A delivery as lists show it, or null.
create or replace function delivery.delivery_to_json(delivery_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(l) from delivery.deliveries_list l where l.id = delivery_to_json.delivery_id);
end $$;

-- A delivery with all that belongs to it, as far as the caller may see it. {id} -> {delivery}
-- Fails: delivery_not_found.
create or replace function delivery.delivery_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  d delivery.deliveries;
  v_parcel uuid;
  v_family uuid[];
  v_legs jsonb := '[]';
  v_exceptions jsonb := '[]';
  v_handoff jsonb;
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  v_parcel := delivery.parcel_of(d);
  v_family := array[d.id, v_parcel];
  -- Few have these, and to prepare for reading them costs more than to look whether there are any.
  if d.delivery_flow = 'pnd_parent' then
    select coalesce(jsonb_agg(to_jsonb(l) order by l.sequence_plan), '[]'), v_family || coalesce(array_agg(l.id), '{}') into v_legs, v_family
    from delivery.deliveries_list l where l.parent_id = d.id;
  end if;
  if exists (select from delivery.delivery_exceptions e where e.tenant_id = d.tenant_id and e.delivery_id = any (v_family)) then
    select coalesce(jsonb_agg(to_jsonb(e) - 'delivery' order by e.created_at desc, e.id), '[]') into v_exceptions
    from delivery.delivery_exceptions_list e where e.delivery_id = any (v_family);
  end if;
  if exists (select from delivery.package_handoffs h where h.tenant_id = d.tenant_id and h.delivery_id = any (v_family)) then
    select to_jsonb(h) into v_handoff from delivery.handoffs_list h where h.delivery_id = any (v_family) order by h.created_at desc limit 1;
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id) || jsonb_build_object(
    'package_details', d.package_details, 'staging_warehouse_id', d.staging_warehouse_id,
    'auto_assignment', case when app.sees_tenant() then delivery.auto_assignment_to_json(d.id) end,
    'label_edition', d.label_edition, 'label_outdated', d.label_outdated,
    'return_request', delivery.return_request_to_json(d.id),
    'legs', v_legs, 'exceptions', v_exceptions, 'handoff', v_handoff,
    'collections', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'driver_id', c.driver_id, 'collection_stage', c.collection_stage,
        'amount', c.amount, 'cod_amount', c.cod_amount, 'delivery_fee_amount', c.delivery_fee_amount,
        'allocations', jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount), 'currency', c.currency,
        'status', c.status, 'collected_at', c.collected_at) order by c.collected_at), '[]')
      from money.cod_collections c where c.tenant_id = d.tenant_id and c.delivery_id = v_parcel and c.reversed_at is null),
    'items', (select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'item_id', i.item_id, 'name', i.name, 'sku', i.sku,
        'quantity', i.quantity, 'weight', i.weight, 'length', i.length, 'width', i.width, 'height', i.height,
        'unit_price', i.unit_price, 'returned_item_id', i.returned_item_id) order by i.position), '[]')
      from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel),
    'history', (select coalesce(jsonb_agg(jsonb_build_object('id', h.id, 'from_status', h.from_status, 'to_status', h.to_status,
        'actor', case when h.actor_id is not null then jsonb_build_object('id', h.actor_id, 'full_name',
          coalesce((select a.full_name from tenancy.profiles a where a.id = h.actor_id), '')) end,
        'note', h.note, 'created_at', h.created_at, 'occurred_at', h.occurred_at,
        'place', case when h.latitude is not null then jsonb_build_object('latitude', h.latitude, 'longitude', h.longitude,
          'distance_m', h.distance_m) end) order by h.id), '[]')
      from delivery.delivery_status_history h where h.tenant_id = d.tenant_id and h.delivery_id = d.id),
    'proofs', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'delivery_id', p.delivery_id, 'stage', p.stage, 'kind', p.kind,
        'url', p.url, 'signed_by', p.signed_by, 'created_by', p.created_by, 'created_at', p.created_at) order by p.created_at, p.id), '[]')
      from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = any (v_family)),
    'payments', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'type', p.type, 'status', p.status, 'payment_method', p.payment_method,
        'amount', p.amount, 'currency', p.currency, 'processed_at', p.processed_at, 'created_at', p.created_at) order by p.created_at, p.id), '[]')
      from money.payments p where p.tenant_id = d.tenant_id and p.delivery_id = v_parcel),
    'returns', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'delivery_code', r.delivery_code, 'barcode', r.barcode,
        'status', r.status, 'delivery_flow', r.delivery_flow) order by r.created_at), '[]')
      from delivery.deliveries r where r.tenant_id = d.tenant_id and r.original_delivery_id = v_parcel),
    'proof_requirements', jsonb_build_object('pickup', delivery.proof_needs(d, 'pickup'), 'delivery', delivery.proof_needs(d, 'delivery')),
    'policy', (select delivery.service_policy(s) from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id)));
end $$;

-- Ids of deliveries whose number, barcode, reference or recipient contains a text; for the office also those of a customer or an institution
-- whose name contains it, where it names at most 50 of them. SECURITY DEFINER because ILIKE is not
-- leakproof: under row-level security PostgreSQL may not use the trigram index for it. It looks at the caller's own
-- tenant only, and answers ids that the caller still has to read through the policies. A driver who brings a parcel into a warehouse is not shown
-- its recipient, and does not find it by them.
create or replace function delivery.deliveries_matching(part text) returns setof uuid
language plpgsql stable security definer rows 20 set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_patterns text[] := app.contact_patterns(part);
  v_dialled text[] := app.dialled_patterns(part);
  v_owners uuid[];
begin
  if app.sees_tenant() then
    v_owners := array(
      select u.user_id from tenancy.tenant_users u join tenancy.profiles p on p.id = u.user_id
      where u.tenant_id = v_tenant and app.folded(p.full_name) ilike any (v_patterns) limit 51);
  end if;
  return query execute $query$
    select d.id from delivery.deliveries d where d.tenant_id = $1 and app.folded(d.delivery_code::text || ' ' || d.barcode || ' '
      || coalesce(d.external_reference_id, '') || ' ' || coalesce(d.recipient ->> 'name', '') || ' ' || coalesce(d.recipient ->> 'phone', ''))
      operator(pg_catalog.~~*) any ($2)
    and (app.folded(d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '') || ' '
      || coalesce(d.recipient ->> 'name', '') || ' ' || coalesce(d.recipient ->> 'phone', '')) || '') operator(pg_catalog.~~*) any ($3)
    and ($4 or d.delivery_flow <> 'pnd_inbound' or $5 in (d.customer_id, d.institution_user_id)
      or app.folded(d.delivery_code::text || ' ' || d.barcode || ' ' || coalesce(d.external_reference_id, '')) operator(pg_catalog.~~*) any ($3))
  $query$ using v_tenant, app.index_patterns(v_patterns), v_patterns, app.sees_tenant(), app.user_id();
  -- Telephone numbers that are kept as people wrote them.
  if cardinality(v_dialled) > 0 then
    return query execute $query$
      select d.id from delivery.deliveries d where d.tenant_id = $1 and (d.recipient ->> 'phone') operator(pg_catalog.~) '[^0-9+]'
      and app.dialled(d.recipient ->> 'phone') operator(pg_catalog.~~*) any ($2)
      and (app.dialled(d.recipient ->> 'phone') || '') operator(pg_catalog.~~*) any ($3)
      and ($4 or d.delivery_flow <> 'pnd_inbound' or $5 in (d.customer_id, d.institution_user_id))
    $query$ using v_tenant, app.index_patterns(v_dialled), v_dialled, app.sees_tenant(), app.user_id();
  end if;
  if cardinality(v_owners) between 1 and 50 then
    return query
      select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.customer_id = any (v_owners)
      union all
      select d.id from delivery.deliveries d where d.tenant_id = v_tenant and d.institution_user_id = any (v_owners);
  end if;
end $$;

grant execute on function delivery.deliveries_matching(text) to barid_caller;
