-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.clock(value timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 STABLE STRICT
 SET search_path TO ''
AS $function$
declare
  v_zone text := app.timezone();
begin
  return to_char(value at time zone v_zone,
    case (value at time zone v_zone)::date when (now() at time zone v_zone)::date then 'HH24:MI' else 'YYYY-MM-DD HH24:MI' end);
end $function$;

CREATE OR REPLACE FUNCTION app.contact_patterns(search text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
declare
  v_search text := translate(search, U&'\061C\202A\202B\202C\202D\202E\2066\2067\2068\2069\FEFF', '');
  v_number text := app.dialled(v_search);
begin
  return app.contains_patterns(case v_search when '' then search else v_search end)
    || case when v_number ~ '^(\+|00?)[1-9][0-9]{7,13}$' then app.dialled_patterns(v_search) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION app.dialled_patterns(search text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
declare
  v_number text := app.dialled(search);
begin
  return case
    when v_number !~ '[0-9]{3}'
      or app.ascii_digits(search) !~ '^[0-9+().\s/\u00a0\u061c\u200b-\u200f\u2010-\u2015\u202a-\u202f\u2066-\u2069\ufeff-]+$' then '{}'
    when v_number ~ '^(\+|00?)[1-9][0-9]{7,13}$' then array[app.contains_pattern(right(v_number, 9))]
    else array[app.contains_pattern(v_number)]
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_change_write(p delivery.deliveries, amount numeric, p_reason text, kept jsonb, decided boolean)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  if exists (select from delivery.amount_changes c where c.tenant_id = p.tenant_id and c.delivery_id = p.id and c.status = 'pending') then
    -- A driver, who only requests, can decide nothing.
    perform app.fail('amount_change_pending', case when decided then '{}' else '{"text_key": "amount_change_waits"}' end::jsonb);
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, case when decided then 'approved' else 'pending' end, app.user_id(),
    case when decided then app.user_id() end, case when decided then clock_timestamp() end)
  returning id into v_id;
  if decided then
    perform delivery.amount_change_apply(v_id);
  else
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct app.tenant_id(), u.user_id, 'amount_change_requested', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'amount_change_id', v_id, 'amount', amount, 'currency', p.currency)
    from tenancy.tenant_users u
    left join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
    where u.tenant_id = app.tenant_id() and u.is_active and (r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
      or (p.order_id is null and u.user_id in (p.customer_id, p.institution_user_id)));
  end if;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.assigners_notify(p_type text, assignment_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_office constant text[] := '{tenant_admin,operations_manager,dispatcher}';
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, n.user_id, p_type, delivery.codes_noted(v_tenant, array_agg(a.delivery_id)) || jsonb_strip_nulls(jsonb_build_object(
    'driver_id', p.id, 'driver_name', p.full_name, 'assignment_count', count(*),
    'reason', max(a.response_reason) filter (where a.status = 'rejected'),
    'holders', jsonb_agg(distinct jsonb_build_object('driver_id', h.id, 'driver_name', h.full_name)) filter (where h.id is not null)))
  from delivery.assignments a
  join tenancy.profiles p on p.id = a.driver_id
  left join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
  left join tenancy.profiles h on h.id = f.driver_id
  left join tenancy.tenant_users b on b.tenant_id = a.tenant_id and b.user_id = a.assigned_by and b.is_active and exists (
    select from tenancy.tenant_user_roles r where r.tenant_id = b.tenant_id and r.user_id = b.user_id and r.role_key = any (v_office))
  cross join lateral (
    select b.user_id where b.user_id is not null
    union
    select u.user_id from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id and r.role_key = any (v_office)
    where b.user_id is null and u.tenant_id = v_tenant and u.is_active) n
  where a.tenant_id = v_tenant and a.id = any (assignment_ids) and n.user_id is distinct from app.user_id()
  group by n.user_id, p.id, p.full_name;
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignment_unassign(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_id uuid := (input ->> 'id')::uuid;
  v_assignment delivery.assignments;
  v_delivery_status text;
begin
  select * into v_assignment from delivery.assignments a where a.tenant_id = v_tenant and a.id = v_id;
  if not found then
    perform app.fail('assignment_not_found');
  end if;
  perform delivery.lock_deliveries(array[v_assignment.delivery_id]);
  perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_assignment.driver_id for no key update;
  select * into v_assignment from delivery.assignments a where a.tenant_id = v_tenant and a.id = v_id for no key update;
  select d.status into v_delivery_status from delivery.deliveries d where d.tenant_id = v_tenant and d.id = v_assignment.delivery_id;
  if v_assignment.status not in ('pending', 'assigned', 'accepted') then
    perform app.fail('assignment_ended');
  end if;
  if v_delivery_status not in ('assigned', 'accepted') then
    perform app.fail('delivery_already_picked_up');
  end if;
  perform delivery.assignments_return(array[v_id], input ->> 'reason');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_assignment.driver_id, 'assignment_returned',
    delivery.return_noted(v_tenant, v_id, v_assignment.delivery_id, input ->> 'reason'));
  return jsonb_build_object('id', v_id, 'delivery_id', v_assignment.delivery_id, 'status', 'returned');
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_hand_over(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_from uuid := (input ->> 'driver_id')::uuid;
  v_to uuid := (input ->> 'to_driver_id')::uuid;
  v_asked uuid[] := case when input ->> 'delivery_ids' is not null then app.uuids(input -> 'delivery_ids') end;
  v_take boolean := coalesce((input ->> 'picked_up')::boolean, true);
  v_held uuid[];
  v_carried uuid[];
  v_open jsonb;
  v_moving jsonb;
  v_plan jsonb;
  v_made jsonb;
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_from) then
    perform app.fail('driver_not_found');
  end if;
  if v_from = v_to then
    perform app.fail('same_driver', '{"field": "to_driver_id"}');
  end if;
  v_held := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_from and a.status in ('pending', 'assigned', 'accepted'));
  perform delivery.lock_deliveries(v_held);
  -- The plan below locks the picks again, and the second driver a second time; here they come in order.
  perform from warehousing.picking_orders o where o.tenant_id = v_tenant and o.delivery_id = any (v_held) order by o.id for share;
  perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id in (v_from, v_to) order by d.user_id for no key update;

  select jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', a.delivery_id, 'status', d.status,
      'estimated_pickup_time', a.estimated_pickup_time, 'estimated_delivery_time', a.estimated_delivery_time, 'notes', a.notes,
      'on_road', d.status not in ('assigned', 'accepted'), 'moves', v_take or d.status in ('assigned', 'accepted'),
      -- Handed over once more before it was confirmed, the parcel is still with the one before.
      'handed_over_from', case when d.status not in ('assigned', 'accepted') then
        case when a.status = 'pending' then coalesce(a.handed_over_from, a.id) else a.id end end)
    order by a.sequence_number, a.assignment_time, a.id) into v_open
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  where a.tenant_id = v_tenant and a.driver_id = v_from and a.status in ('pending', 'assigned', 'accepted')
    -- Assignments added while this waited are not locked, and stay.
    and a.delivery_id = any (v_held) and (v_asked is null or a.delivery_id = any (v_asked));
  if exists (select from unnest(v_asked) q (id)
      where not coalesce(v_open, '[]') @> jsonb_build_array(jsonb_build_object('delivery_id', q.id))) then
    perform app.fail('assignment_not_found', '{"field": "delivery_ids"}');
  end if;
  select jsonb_agg(o.line order by o.place) into v_moving
  from jsonb_array_elements(v_open) with ordinality o (line, place) where (o.line ->> 'moves')::boolean;
  if v_moving is null then
    perform app.fail('nothing_to_hand_over');
  end if;

  perform delivery.assignments_return(array(select (m ->> 'assignment_id')::uuid from jsonb_array_elements(v_moving) m), null);
  v_carried := array(select (m ->> 'delivery_id')::uuid from jsonb_array_elements(v_moving) m where (m ->> 'on_road')::boolean);
  v_plan := delivery.assignments_plan(array(select (m.line ->> 'delivery_id')::uuid
    from jsonb_array_elements(v_moving) with ordinality m (line, place) order by m.place), v_to, null, true, v_carried);
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  -- Plan and list are in the same order.
  select jsonb_set(v_plan, '{lines}', jsonb_agg(
    p.line || jsonb_strip_nulls(m.line - '{assignment_id,delivery_id,status,on_road,moves}'::text[]) order by p.place))
  into v_plan
  from jsonb_array_elements(v_plan -> 'lines') with ordinality p (line, place)
  join jsonb_array_elements(v_moving) with ordinality m (line, place) on m.place = p.place;
  v_made := delivery.assignments_write(v_plan, jsonb_build_object('bulk', true, 'confirm', v_carried <> '{}'));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_from, 'assignments_handed_over', jsonb_build_object('to_driver_id', v_to,
    'to_driver_name', (select p.full_name from tenancy.profiles p where p.id = v_to), 'assignment_count', jsonb_array_length(v_moving))
    || delivery.codes_noted(v_tenant, array(select (m ->> 'delivery_id')::uuid from jsonb_array_elements(v_moving) m)));
  return jsonb_build_object('bulk_assignment_id', v_made -> 'bulk_assignment_id', 'assignment_ids', v_made -> 'ids',
    'count', jsonb_array_length(v_moving), 'to_confirm', cardinality(v_carried), 'total_units', v_plan -> 'total', 'driver_capacity_used', v_plan -> 'after',
    'kept', (select coalesce(jsonb_agg(jsonb_build_object('assignment_id', o.line -> 'assignment_id', 'delivery_id', o.line -> 'delivery_id',
        'status', o.line -> 'status') order by o.place), '[]')
      from jsonb_array_elements(v_open) with ordinality o (line, place) where not (o.line ->> 'moves')::boolean));
end $function$;

CREATE OR REPLACE FUNCTION delivery.assignments_write(plan jsonb, options jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_driver uuid := (plan ->> 'driver_id')::uuid;
  v_vehicle uuid := (plan ->> 'vehicle_id')::uuid;
  v_count integer := jsonb_array_length(plan -> 'lines');
  v_bulk uuid := case when (options ->> 'bulk')::boolean then gen_random_uuid() end;
  v_accepted boolean := coalesce((options ->> 'accepted')::boolean, false);
  v_status text := case when v_accepted then 'accepted' when (options ->> 'confirm')::boolean
    or app.boolean_or(app.settings('general', 'driver') -> 'require_accept_or_reject_for_assignments', true)
    then 'pending' else 'assigned' end;
  v_last integer := coalesce((select max(a.sequence_number) from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted')), 0);
  v_lines jsonb;
  v_ids jsonb;
begin
  select jsonb_agg(l.line || jsonb_build_object('id', l.id, 'sequence_number',
    coalesce((l.line ->> 'sequence_number')::integer, v_last + l.place)) order by l.place), jsonb_agg(l.id order by l.place) into v_lines, v_ids
  from (select p.line, p.place, gen_random_uuid() as id from jsonb_array_elements(plan -> 'lines') with ordinality p (line, place)) l;

  if v_bulk is not null then
    insert into delivery.bulk_assignments (id, tenant_id, driver_id, assignment_count, total_units, assigned_by)
    values (v_bulk, v_tenant, v_driver, v_count, (plan ->> 'total')::numeric, v_actor);
  end if;
  -- Before the assignments: the guard of deliveries does not ask who carries one. A parcel on the road keeps its status and is written
  -- all the same, so that the list of what changed since shows its new driver.
  update delivery.deliveries d set
    status = case when d.status <> 'pending' then d.status when v_accepted then 'accepted' else 'assigned' end,
    status_reason = case when d.status <> 'pending' then d.status_reason end
  from jsonb_to_recordset(v_lines) l (delivery_id uuid) where d.tenant_id = v_tenant and d.id = l.delivery_id;
  insert into delivery.assignments (id, tenant_id, delivery_id, driver_id, vehicle_id, bulk_assignment_id, status, sequence_number,
    units, estimated_pickup_time, estimated_delivery_time, notes, assigned_by, handed_over_from, responded_at)
  select l.id, v_tenant, l.delivery_id, v_driver, v_vehicle, v_bulk, v_status, l.sequence_number, l.units,
    app.instant(l.estimated_pickup_time), app.instant(l.estimated_delivery_time), l.notes, v_actor, l.handed_over_from,
    case when v_accepted then clock_timestamp() end
  from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, units numeric, sequence_number integer,
    estimated_pickup_time text, estimated_delivery_time text, notes text, handed_over_from uuid);

  if plan -> 'lines' @> '[{"takes_handoff": true}]' then
    -- One left by a driver before is taken over; otherwise there is a new one.
    update delivery.package_handoffs h set assignment_id = l.id, driver_id = v_driver
    from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, takes_handoff boolean)
    where l.takes_handoff and h.tenant_id = v_tenant and h.delivery_id = l.delivery_id and h.status = 'pending';
    insert into delivery.package_handoffs (tenant_id, delivery_id, picking_order_id, warehouse_id, assignment_id, driver_id)
    select v_tenant, l.delivery_id, o.id, o.warehouse_id, l.id, v_driver
    from jsonb_to_recordset(v_lines) l (id uuid, delivery_id uuid, takes_handoff boolean)
    join warehousing.picking_orders o on o.tenant_id = v_tenant and o.delivery_id = l.delivery_id and o.status = 'completed'
    where l.takes_handoff and not exists (select from delivery.package_handoffs h
      where h.tenant_id = v_tenant and h.delivery_id = l.delivery_id and h.status = 'pending');
  end if;

  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_driver, coalesce(options ->> 'notify', case when v_bulk is null then 'assignment_created' else 'bulk_assignment_created' end),
    jsonb_strip_nulls(jsonb_build_object('assignment_id', case when v_bulk is null then v_ids -> 0 end, 'bulk_assignment_id', v_bulk,
      'assignment_count', v_count, 'total_units', plan -> 'total', 'requires_driver_response', v_status = 'pending'))
    || delivery.codes_noted(v_tenant, array(select l.delivery_id from jsonb_to_recordset(v_lines) l (delivery_id uuid))));
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery',
    'event_type', case when v_bulk is null then 'assignment.created' else 'bulk_assignment.created' end,
    'entity_type', case when v_bulk is null then 'assignment' else 'bulk_assignment' end,
    'entity_id', coalesce(to_jsonb(v_bulk), v_ids -> 0),
    'event_data', jsonb_build_object('assignment_ids', v_ids, 'driver_id', v_driver, 'status', v_status,
      'delivery_ids', jsonb_path_query_array(v_lines, '$[*].delivery_id'), 'total_units', plan -> 'total', 'actor_id', v_actor)
      || case when v_bulk is null then '{}' else jsonb_build_object('bulk_assignment_id', v_bulk) end)));
  perform app.job_add('delivery.measure_routes', jsonb_build_object('assignment_ids', v_ids));
  return jsonb_build_object('ids', v_ids, 'bulk_assignment_id', v_bulk);
end $function$;

CREATE OR REPLACE FUNCTION delivery.change_announce(parcels uuid[], changed text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_row record;
begin
  if changed = '{}' then
    return;
  end if;
  for v_row in
    with family as (
      select d.id, d.delivery_code, d.parent_id, a.id as assignment_id, a.driver_id, coalesce(d.parent_id, d.id) as parcel
      from delivery.deliveries d
      left join delivery.open_assignments a on a.tenant_id = d.tenant_id and a.delivery_id = d.id
      where d.tenant_id = v_tenant and (d.id = any (parcels) or d.parent_id = any (parcels) and d.status not in ('delivered', 'cancelled'))
    )
    select f.id, f.delivery_code, f.parent_id, f.assignment_id, f.driver_id from family f
    where f.driver_id is not null
      or f.id = any (parcels) and not exists (select from family x where x.parcel = f.parcel and x.driver_id is not null)
    order by f.delivery_code, f.id
  loop
    perform delivery.broadcast(t.topic, 'delivery.changed', jsonb_build_object('delivery_id', v_row.id, 'delivery_code', v_row.delivery_code,
      'parent_id', v_row.parent_id, 'changed', change_announce.changed, 'driver_id', v_row.driver_id))
    from (values (format('tenant:%s:board', v_tenant)), ('driver:' || v_row.driver_id)) t (topic) where t.topic is not null;
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select v_tenant, v_row.driver_id, 'delivery_changed', jsonb_build_object('assignment_id', v_row.assignment_id, 'delivery_id', v_row.id,
      'delivery_code', v_row.delivery_code, 'changed', change_announce.changed)
    where v_row.driver_id is distinct from app.user_id() and v_row.driver_id is not null;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION delivery.codes_noted(tenant uuid, delivery_ids uuid[])
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_codes jsonb := coalesce((
    select jsonb_agg(c.delivery_code order by c.delivery_code) from (
      select d.delivery_code from delivery.deliveries d where d.tenant_id = tenant and d.id = any (codes_noted.delivery_ids)
      order by d.delivery_code limit 20) c), '[]');
begin
  return jsonb_build_object('delivery_codes', v_codes) || case when cardinality(delivery_ids) = 1
    then jsonb_build_object('delivery_id', delivery_ids[1], 'delivery_code', v_codes -> 0) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_matching(part text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 20
 SET search_path TO ''
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_proofs_keep(d delivery.deliveries, p_stage text, proof jsonb, field text DEFAULT 'proof'::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(nullif(proof -> 'photo_urls', 'null'), '[]')));
  v_signature text := proof ->> 'signature_url';
  v_needs jsonb := delivery.proof_needs(d, p_stage);
  v_at timestamptz := delivery.reported_at(d);
  v_missing text[];
begin
  perform delivery.require_proof_urls(v_photos, field || '.photo_urls');
  perform delivery.require_proof_urls(array_remove(array[v_signature], null), field || '.signature_url');
  if v_photos <> '{}' or v_signature is not null then
    insert into delivery.delivery_proofs (tenant_id, delivery_id, stage, kind, url, signed_by, created_by)
    select d.tenant_id, d.id, p_stage, n.kind, n.url, case n.kind when 'signature' then proof ->> 'signed_by' end, app.user_id()
    from (
      select 'photo' as kind, url from unnest(v_photos) url
      union all
      select 'signature', v_signature where v_signature is not null
    ) n
    where not exists (select from delivery.delivery_proofs p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = n.kind and p.url = n.url
        and delivery.proof_counts(p));
  end if;
  if not v_needs @? '$.* ? (@ == true)' then
    return;
  end if;
  if v_at is not null then
    v_needs := (
      select jsonb_object_agg(n.key, n.value::boolean and (t.needs -> n.key)::boolean)
      from jsonb_each(v_needs) n, delivery.proof_needs_at(d, p_stage, v_at) t (needs));
  end if;
  v_missing := array(
    select k.kind from (values ('photo'), ('signature')) k (kind)
    where (v_needs ->> (k.kind || '_required'))::boolean and not exists (
      select from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = k.kind
        and delivery.proof_counts(p))
    order by k.kind);
  if v_missing <> '{}' then
    perform app.fail('delivery_proof_required', jsonb_build_object('field',
      field || case v_missing[1] when 'photo' then '.photo_urls' else '.signature_url' end, 'stage', p_stage, 'missing', v_missing));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_retry(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_reassign boolean := coalesce((input ->> 'reassign')::boolean, false);
  v_override text := input ->> 'override_reason';
  v_allowed integer;
begin
  perform delivery.require_move(d, '{failed}', case when v_reassign then 'pending' else 'in_transit' end);
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if not v_operations and (v_reassign or v_override is not null) then
    perform app.fail('forbidden');
  end if;
  if v_reassign and (delivery.leaves_warehouse(d) or delivery.returns_from_door(d)) then
    perform app.fail('return_through_warehouse');
  end if;
  perform delivery.require_off_waybill(d, a, case when v_reassign then 'pending' else 'in_transit' end);
  if not v_reassign and a.id is null and d.carrier_type = 'internal' then
    perform app.fail('delivery_has_no_driver');
  end if;
  select s.allowed_delivery_attempts into v_allowed from delivery.delivery_services s
  where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  if (d.attempts_exhausted or delivery.attempt_counts(d) and d.attempts_used >= coalesce(v_allowed, 1)) and v_override is null then
    perform app.fail('delivery_attempts_exhausted', jsonb_build_object('field', 'override_reason',
      'attempts_used', d.attempts_used, 'allowed_delivery_attempts', coalesce(v_allowed, 1))
      || case when d.attempts_exhausted then '{"text_key": "delivery_was_refused"}'::jsonb else '{}' end);
  end if;
  update delivery.deliveries x set status = case when v_reassign then 'pending' else 'in_transit' end,
    status_reason = v_override, status_notes = input ->> 'notes', attempts_exhausted = false, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- On its way again: what was to be received of it stays with the driver.
  perform warehousing.receipts_withdraw(d.id);
  if v_reassign then
    perform delivery.assignment_end(a, 'returned');
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select d.tenant_id, a.driver_id, 'assignment_returned', delivery.return_noted(d.tenant_id, a.id, d.id, v_override)
    where a.driver_id is not null;
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_taken(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_due jsonb := money.cash_to_take(d, 'pickup');
begin
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  if a.status is distinct from 'assigned' and a.status is distinct from 'accepted' then
    perform app.fail('assignment_not_accepted', delivery.unanswered_to_json(a));
  end if;
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  update delivery.deliveries x set status = 'picked_up', picked_up_at = clock_timestamp(), status_reason = null, status_notes = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.moving_exception_expect(d);
  perform delivery.delivery_proofs_keep(d, 'pickup', input -> 'proof');
  perform delivery.require_cash(d, 'pickup', input -> 'cash_collected');
  perform money.cash_collected(delivery.parcel_of(d), 'pickup', a.driver_id);
  return delivery.cash_summary(v_due);
end $function$;

CREATE OR REPLACE FUNCTION delivery.duty_change(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := coalesce((input ->> 'driver_id')::uuid, case when app.has_role('driver') then app.user_id() end);
  v_on boolean := (input ->> 'on_duty')::boolean;
  v_codes bigint[];
  v_status text;
  v_was boolean;
begin
  if v_driver is null or (v_driver <> app.user_id() and not app.has_permission('manage:operations:tenant')) then
    perform app.fail('forbidden');
  end if;
  select d.status into v_status from delivery.drivers d where d.tenant_id = app.tenant_id() and d.user_id = v_driver for share;
  if not found then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  if v_on and v_status <> 'active' then
    perform app.fail('driver_inactive');
  end if;
  if not v_on and not coalesce((input ->> 'keep_parcels')::boolean, false) then
    v_codes := delivery.parcels_in_hand(v_driver);
    if cardinality(v_codes) > 0 then
      perform app.fail('driver_has_parcels', jsonb_build_object('delivery_codes', to_jsonb(v_codes))
        || case when v_driver = app.user_id() then '{"text_key": "driver_has_parcels_in_hand"}'::jsonb else '{}' end);
    end if;
  end if;
  insert into delivery.driver_presence (tenant_id, driver_id) values (app.tenant_id(), v_driver) on conflict do nothing;
  select s.on_duty into v_was from delivery.driver_presence s where s.tenant_id = app.tenant_id() and s.driver_id = v_driver for no key update;
  update delivery.driver_presence s set on_duty = v_on,
    duty_changed_at = case when v_was = v_on then s.duty_changed_at else now() end,
    last_heartbeat_at = case when v_driver = app.user_id() then now() else s.last_heartbeat_at end
  where s.tenant_id = app.tenant_id() and s.driver_id = v_driver;
  if v_was <> v_on then
    perform delivery.duty_announce(v_driver, v_on);
  end if;
  return jsonb_build_object('driver', delivery.driver_to_json(v_driver));
end $function$;

CREATE OR REPLACE FUNCTION delivery.handovers_undo(ended uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_events jsonb;
begin
  with back as (
    insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by,
      responded_at)
    select v_tenant, a.delivery_id, f.driver_id, f.vehicle_id, 'accepted', f.sequence_number, a.units, f.notes, a.assigned_by, clock_timestamp()
    from delivery.assignments a
    join delivery.assignments f on f.tenant_id = a.tenant_id and f.id = a.handed_over_from
    where a.tenant_id = v_tenant and a.id = any (ended) and a.status in ('rejected', 'returned')
    returning id, driver_id, delivery_id, units
  ), told as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select v_tenant, b.driver_id, 'assignment_created', jsonb_build_object('assignment_id', b.id, 'assignment_count', 1,
      'total_units', b.units, 'requires_driver_response', false) || delivery.codes_noted(v_tenant, array[b.delivery_id])
    from back b
  )
  select jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created', 'entity_type', 'assignment',
    'entity_id', b.id, 'event_data', jsonb_build_object('assignment_ids', array[b.id], 'driver_id', b.driver_id, 'status', 'accepted',
      'delivery_ids', array[b.delivery_id], 'total_units', b.units, 'actor_id', app.user_id())) order by b.id)
  into v_events from back b;
  if v_events is not null then
    perform app.events_add(v_events);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_has_proof(manifest_id uuid, stage text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.manifest_proofs_missing(manifest_id, stage) = '{}';
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_items_validate(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    with found as materialized (
      -- Typed columns, since a cast of a joined value is not leakproof and would keep the index unused.
      select e.position, e.item_id is null and e.barcode is null as is_empty, f.id
      from rows from (jsonb_to_recordset(input -> 'identifiers') as (item_id uuid, barcode text))
        with ordinality e (item_id, barcode, position)
      left join lateral (
        select c.id from (
          select a.id, a.status, a.created_at from delivery.transfer_manifest_items a where a.id = e.item_id
          union all
          select b.id, b.status, b.created_at from delivery.transfer_manifest_items b where b.barcode_value = e.barcode
        ) c
        order by c.status = 'void', c.created_at desc limit 1
      ) f on true
    ), manifest as materialized (
      -- Judged once each, not once an item.
      select j.id, j.manifest, j.obstacle, case j.obstacle when 'manifest_delivery_proof_required'
        then jsonb_build_object('missing', delivery.manifest_proofs_missing(j.id, 'delivery')) else '{}' end as missing
      from delivery.manifests_evaluate((
        select array_agg(distinct i.manifest_id) from found f join delivery.transfer_manifest_items i on i.id = f.id)) j
    )
    select coalesce(jsonb_agg(
      case
        when f.is_empty then '{}'::jsonb
        when i.id is null then jsonb_build_object('error_key', 'item_not_found')
        else jsonb_build_object(
          'error_key', coalesce(m.obstacle, j.obstacle),
          'manifest_item_id', i.id, 'barcode_value', i.barcode_value, 'manifest_id', m.id,
          'manifest_number', (m.manifest).manifest_number, 'manifest_status', (m.manifest).status,
          'current_status', i.status) || coalesce(m.missing, '{}')
      end order by f.position), '[]')
    from found f
    left join delivery.transfer_manifest_items i on i.id = f.id
    left join manifest m on m.id = i.manifest_id
    left join delivery.items_evaluate((select array_agg(f.id) from found f where f.id is not null)) j on j.id = i.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_obstacle_to_json(m delivery.transfer_manifests, obstacle text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.manifest_label_to_json(m) || case obstacle
    when 'manifest_delivery_proof_required' then jsonb_build_object('missing', delivery.manifest_proofs_missing(m.id, 'delivery'),
      'text_key', 'manifest_delivery_proof_missing')
    when 'manifest_pickup_proof_required' then jsonb_build_object('missing', delivery.manifest_proofs_missing(m.id, 'pickup'),
      'text_key', 'manifest_pickup_proof_missing')
    else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_pickup(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_proof jsonb;
begin
  perform delivery.require_manifest_move(m, '{draft}', 'picked_up');
  if not exists (select from delivery.transfer_manifest_items i where i.tenant_id = m.tenant_id and i.manifest_id = m.id) then
    perform app.fail('manifest_has_no_items', delivery.manifest_label_to_json(m));
  end if;
  v_proof := delivery.manifest_proofs_keep(m.id, 'pickup', input -> 'proof');
  if not delivery.manifest_has_proof(m.id, 'pickup') then
    perform app.fail('manifest_pickup_proof_required', delivery.manifest_obstacle_to_json(m, 'manifest_pickup_proof_required'));
  end if;
  update delivery.transfer_manifests set status = 'picked_up', picked_up_at = now() where tenant_id = m.tenant_id and id = m.id;
  perform delivery.manifest_event_add(m.id, 'manifest_picked_up', v_proof || delivery.manifest_location(input));
  return delivery.manifest_to_json(m.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_proofs_missing(manifest_id uuid, stage text)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select split_part(need.key, '_', 1) from jsonb_each_text(tenancy.manifest_settings() #> array['proof_settings', stage]) need
    where need.value = 'true' and not exists (
      select from delivery.transfer_manifest_proofs p
      where p.tenant_id = app.tenant_id() and p.manifest_id = manifest_proofs_missing.manifest_id
        and p.stage = manifest_proofs_missing.stage and p.kind || '_required' = need.key)
    order by 1);
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_receive_and_order(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_key text := input ->> 'idempotency_key';
  v_ids uuid[] := app.uuids(input -> 'item_ids');
  v_destination jsonb;
  v_answer jsonb;
  v_manifests uuid[];
  v_offender record;
  v_usable uuid[];
  v_pending uuid[];
  v_obstacle text;
  v_failures jsonb := '[]';
begin
  if v_key is not null then
    -- Nothing here is emptied by a null: it says as much as a field left out.
    v_answer := private.idempotency_claim(app.request_setting('operation'), v_key,
      jsonb_strip_nulls(input - 'idempotency_key'), 'idempotency_conflict');
    if v_answer is not null then
      return jsonb_build_object('replayed', true, 'answer', v_answer);
    end if;
  end if;
  v_destination := delivery.manifest_destination(input);

  select array_agg(distinct i.manifest_id) into v_manifests
  from delivery.transfer_manifest_items i where i.id = any (v_ids);
  perform from delivery.lock_manifests(coalesce(v_manifests, '{}'));
  perform from delivery.transfer_manifest_items i where i.id = any (v_ids) order by i.id for no key update;

  -- Also by items that have their order: what is completed is ended for a repeat too, as checking the batch says.
  select j.manifest, j.obstacle into v_offender
  from (
    select i.manifest_id, min(asked.position) as position
    from unnest(v_ids) with ordinality asked (id, position)
    join delivery.transfer_manifest_items i on i.id = asked.id
    group by i.manifest_id
  ) first
  join delivery.manifests_evaluate(v_manifests) j on j.id = first.manifest_id and j.obstacle is not null
  order by first.position limit 1;
  if found then
    perform app.fail(v_offender.obstacle, delivery.manifest_obstacle_to_json(v_offender.manifest, v_offender.obstacle));
  end if;

  select coalesce(array_agg(j.id order by asked.position), '{}'), array_agg(distinct j.manifest_id)
  into v_usable, v_manifests
  from unnest(v_ids) with ordinality asked (id, position)
  join delivery.items_evaluate(v_ids) j on j.id = asked.id and j.obstacle is null;

  if v_manifests is not null then
    perform delivery.manifests_start_receiving(v_manifests, 'bulk_set_destination');
    perform delivery.items_receive(v_usable, 'bulk_set_destination');
    perform delivery.manifests_complete_receiving(v_manifests, 'bulk_set_destination');
  end if;

  select coalesce(array_agg(i.id order by asked.position), '{}') into v_pending
  from unnest(v_usable) with ordinality asked (id, position)
  join delivery.transfer_manifest_items i on i.id = asked.id and i.status = 'received'
  join delivery.transfer_manifests m on m.tenant_id = i.tenant_id and m.id = i.manifest_id
    and m.status in ('received', 'received_with_exceptions', 'processing');
  -- Before the numbers, which drivers' own calls wait for with the driver locked.
  perform delivery.lock_staging_driver();
  perform delivery.delivery_codes_reserve(v_pending);

  if cardinality(v_pending) > (input ->> 'orders_max')::integer then
    return jsonb_build_object('pending', v_pending, 'destination', v_destination,
      'asker', jsonb_build_object('userId', app.user_id(), 'tenantId', app.tenant_id()));
  end if;
  if cardinality(v_pending) > 0 then
    v_obstacle := delivery.manifest_destination_obstacle(v_destination, true);
    v_failures := case when v_obstacle is null then delivery.manifest_orders_make(v_pending, v_destination)
      else delivery.items_failed(v_pending, v_obstacle) end;
  end if;
  return delivery.manifest_orders_outcome(input || jsonb_build_object('failures', v_failures, 'destination', v_destination));
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_start_receiving(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  m delivery.transfer_manifests := delivery.lock_manifest((input ->> 'id')::uuid);
  v_all boolean := coalesce((input ->> 'receive_all')::boolean, false);
  v_obstacle text;
begin
  perform delivery.require_manifest_move(m, '{awaiting_receipt}', 'receiving');
  if v_all and tenancy.manifest_settings() ->> 'receiving_mode' <> 'manifest_bulk' then
    perform app.fail('receive_all_not_allowed');
  end if;
  select j.obstacle into v_obstacle from delivery.manifests_evaluate(array[m.id]) j;
  if v_obstacle is not null then
    perform app.fail(v_obstacle, delivery.manifest_obstacle_to_json(m, v_obstacle));
  end if;
  perform delivery.manifests_start_receiving(array[m.id], 'receiving');
  if v_all then
    perform delivery.items_receive(array(
      select i.id from delivery.manifest_items_list i
      where i.manifest_id = m.id and i.status in ('picked_up', 'in_transit') and i.open_exception is null order by i.position), 'receiving');
  end if;
  return delivery.manifest_to_json(m.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.move_reported(d delivery.deliveries, input jsonb, place jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_at timestamptz := app.instant(input ->> 'occurred_at');
begin
  if v_at not between now() - interval '72 hours' and now() + interval '2 minutes' then
    perform app.fail('invalid_occurred_at', jsonb_build_object('field', 'occurred_at', 'server_time', clock_timestamp()) || case when v_at > now()
      then jsonb_build_object('text_key', 'occurred_at_ahead', 'time', app.clock(v_at), 'now', app.clock(clock_timestamp())) else '{}' end);
  end if;
  if v_at is not null or input ->> 'latitude' is not null then
    perform set_config('app.reported', jsonb_build_object('parcel', delivery.parcel_of(d), 'delivery', d.id,
      'reported_as', case when v_at is not null then delivery.reported_as(input) end,
      'latitude', input -> 'latitude', 'longitude', input -> 'longitude', 'occurred_at', v_at,
      'distance_m', round(app.distance_km((place ->> 'latitude')::double precision, (place ->> 'longitude')::double precision,
        (input ->> 'latitude')::double precision, (input ->> 'longitude')::double precision) * 1000))::text, true);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.offers_withdraw(delivery_ids uuid[], driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_offers uuid[];
begin
  perform delivery.lock_deliveries(delivery_ids);
  -- The plan that follows locks picks and driver again; here they come in order.
  perform from warehousing.picking_orders o where o.tenant_id = v_tenant and o.delivery_id = any (delivery_ids) order by o.id for share;
  v_offers := array(
    select a.id from delivery.driver_searches s
    join delivery.assignments a on a.tenant_id = s.tenant_id and a.delivery_id = s.delivery_id and a.status = 'pending'
    where s.tenant_id = v_tenant and s.delivery_id = any (delivery_ids) and s.status = 'offered');
  if v_offers = '{}' then
    return;
  end if;
  perform from delivery.drivers r where r.tenant_id = v_tenant and (r.user_id = driver or r.user_id in (
    select a.driver_id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_offers)))
  order by r.user_id for no key update;
  perform delivery.assignments_return(v_offers, null);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select v_tenant, a.driver_id, 'assignment_returned', delivery.return_noted(v_tenant, a.id, a.delivery_id, null)
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (v_offers) and a.driver_id is distinct from driver;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel_id uuid := delivery.parcel_of(d);
  v_brought_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  perform app.require_tenant(o.tenant_id);
  select x.code, x.params into code, params from (values
    -- Of a carrier's reports `delivered` alone leaves an outcome: after any other it reports again.
    (1, 'carrier_reports_outcome', d.carrier_type = 'external' and d.status in ('delivered', 'failed', 'returned')
      and delivery.last_move(d.id) is distinct from o.last_move_id, '{}'),
    (2, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until, 'until', app.clock(v_until))),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or on its way to another driver's, or was lost; or another one was ordered since,
    -- and is not cancelled, or was fetched before that.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.created_at >= o.created_at and (r.status <> 'cancelled' or r.created_at = o.created_at or r.picked_up_at is not null)
      and ((r.created_at, r.status) is distinct from (o.created_at, 'picked_up')
        or not exists (select from delivery.assignments a where a.tenant_id = r.tenant_id and a.delivery_id = r.id
          and a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id))),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- It gave something back, and its customer has ordered another return of that parcel.
    (9, 'outcome_went_on', d.status = 'delivered' and exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id
      and r.original_delivery_id = delivery.gave_back_of(d.id) and r.created_at >= o.created_at
      and (r.status <> 'cancelled' or r.picked_up_at is not null)), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (12, 'outcome_is_settled', exists (select from money.carrier_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status in ('remitted', 'written_off')), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.positions_record(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := app.user_id();
  v_accepted integer := 0;
begin
  update delivery.driver_presence s set last_heartbeat_at = now()
  where s.tenant_id = v_tenant and s.driver_id = v_driver and s.on_duty;
  if found then
    with kept as (
      insert into delivery.driver_positions as x (tenant_id, driver_id, recorded_at, latitude, longitude, accuracy_m, speed_kmh, heading, battery_percent)
      select v_tenant, v_driver, p.recorded_at, p.latitude, p.longitude, p.accuracy_m, p.speed_kmh, p.heading, p.battery_percent
      from jsonb_to_recordset(input -> 'positions') p (recorded_at timestamptz, latitude double precision, longitude double precision,
        accuracy_m double precision, speed_kmh double precision, heading double precision, battery_percent double precision)
      where p.recorded_at between now() - interval '24 hours' and now() + interval '2 minutes'
      on conflict do nothing
      returning x.recorded_at, x.latitude, x.longitude, x.accuracy_m
    ), latest as (
      update delivery.driver_presence s set recorded_at = k.recorded_at, latitude = k.latitude, longitude = k.longitude, accuracy_m = k.accuracy_m,
        moved_at = clock_timestamp()
      from (select * from kept order by recorded_at desc limit 1) k
      where s.tenant_id = v_tenant and s.driver_id = v_driver and (s.recorded_at is null or s.recorded_at < k.recorded_at)
    )
    select count(*) into v_accepted from kept;
  end if;
  return jsonb_build_object('accepted', v_accepted, 'ignored', jsonb_array_length(input -> 'positions') - v_accepted,
    'ahead', (select count(*) from jsonb_to_recordset(input -> 'positions') p (recorded_at timestamptz)
      where p.recorded_at > now() + interval '2 minutes'),
    'next_in_seconds', coalesce((app.settings('general', 'user_settings') ->> 'heartbeat_interval_seconds')::integer, 30));
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_write(p delivery.deliveries, to_address uuid, priced delivery.deliveries, recipient jsonb, unassigned uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_place jsonb;
  v_ends_in uuid := delivery.redirect_ends_in(p, to_address);
  v_family uuid[] := p.id || array(select l.id from delivery.deliveries l where l.tenant_id = v_tenant and l.parent_id = p.id);
begin
  select to_jsonb(a) into strict v_place from delivery.addresses x join delivery.addresses_list a on a.id = x.id
  where x.tenant_id = v_tenant and x.id = to_address;
  perform from delivery.drivers r
  where r.tenant_id = v_tenant and r.user_id in (
    select a.driver_id from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned))
  order by r.user_id for no key update;
  perform delivery.assignments_return(unassigned, 'redirected');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select a.tenant_id, a.driver_id, 'assignment_returned', delivery.return_noted(a.tenant_id, a.id, a.delivery_id, 'redirected')
  from delivery.assignments a where a.tenant_id = v_tenant and a.id = any (unassigned) and a.driver_id is distinct from app.user_id();
  update delivery.deliveries x set
    dropoff_address_id = to_address,
    dropoff_snapshot = v_place,
    dropoff_zone_id = (v_place ->> 'zone_id')::uuid,
    recipient = case when jsonb_typeof(redirect_write.recipient) = 'object' then delivery.recipient_corrected(x.recipient, redirect_write.recipient)
      else x.recipient end,
    delivery_fee = priced.delivery_fee,
    service_snapshot = priced.service_snapshot,
    distance_km = priced.distance_km,
    -- A transfer to another warehouse on the way stays.
    dropoff_warehouse_id = case when x.transfer_kind is null then v_ends_in else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then v_ends_in end,
    label_outdated = true
  where x.tenant_id = v_tenant and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  if p.manifest_item_id is not null then
    update delivery.transfer_manifest_items i set destination_branch_id = null, destination_address_id = to_address
    where i.tenant_id = v_tenant and i.id = p.manifest_item_id;
    perform delivery.manifest_event_add(p.manifest_id, 'destination_changed', jsonb_build_object('delivery_id', p.id,
      'delivery_code', p.delivery_code, 'destination_branch_id', null, 'destination_address_id', to_address,
      'delivery_service_id', p.delivery_service_id, 'price_difference', priced.delivery_fee - p.delivery_fee), p.manifest_item_id);
  end if;
  perform delivery.change_announce(array[p.id], array_remove(array['place',
    case when jsonb_typeof(redirect_write.recipient) = 'object'
      and delivery.recipient_corrected(p.recipient, redirect_write.recipient) <> p.recipient then 'recipient' end,
    case when priced.delivery_fee <> p.delivery_fee then 'amount' end], null));
  perform delivery.routes_remeasure(v_family);
  -- The driver did not refuse it, and the office has not taken it in hand: the search for another one begins anew.
  if unassigned <> '{}' and (delivery.auto_assignment_settings()).enabled and delivery.is_auto_assignable(p) then
    perform delivery.searches_begin(array[p.id]);
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected',
    'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'previous_address_id', p.dropoff_address_id, 'dropoff_address_id', to_address, 'dropoff_zone_id', v_place -> 'zone_id',
      'delivery_fee', priced.delivery_fee, 'price_difference', priced.delivery_fee - p.delivery_fee, 'currency', p.currency,
      'driver_unassigned', unassigned <> '{}', 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_carrier(d delivery.deliveries)
 RETURNS delivery.assignments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  -- As delivery.open_assignments has it.
  select * into a from delivery.assignments x
  where x.tenant_id = d.tenant_id and x.delivery_id = d.id and (x.status in ('pending', 'assigned', 'accepted')) is true;
  if not app.has_permission('manage:operations:tenant') and a.driver_id is distinct from app.user_id() then
    perform app.fail('assignment_ended', jsonb_build_object('delivery_ids', array[d.id], 'status', d.status,
      'text_key', case x.status when 'completed' then 'delivery_done_by_driver' else 'delivery_left_driver' end))
    from delivery.assignments x
    where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.driver_id = app.user_id() and x.status in ('completed', 'returned')
    order by x.assignment_time desc limit 1;
    perform app.fail('forbidden');
  end if;
  -- Handed over on the road: whoever gets the parcel says first that it is there.
  if a.status = 'pending' and d.status in ('picked_up', 'in_transit', 'failed', 'returned') then
    perform app.fail('assignment_not_accepted', delivery.unanswered_to_json(a));
  end if;
  perform delivery.lock_driver(a.driver_id);
  return a;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_cash(d delivery.deliveries, stage text, cash jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_due jsonb;
begin
  if coalesce(jsonb_typeof(cash), 'null') = 'null' then
    return;
  end if;
  v_due := money.cash_to_take(d, stage);
  if coalesce((cash ->> 'cod')::numeric, 0) <> (v_due ->> 'cod')::numeric
      or coalesce((cash ->> 'delivery_fee')::numeric, 0) <> (v_due ->> 'delivery_fee')::numeric then
    perform app.fail('cash_amount_mismatch', v_due || jsonb_build_object('field', 'cash_collected', 'due', v_due));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_pickup_undoable(d delivery.deliveries, h delivery.delivery_status_history, c money.cod_collections)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_until timestamptz := d.picked_up_at + delivery.undo_period();
begin
  perform app.fail(x.code, x.params) from (values
    (1, 'no_pickup_to_undo', d.status not in ('picked_up', 'in_transit'), jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    -- It began at a door, as the return of what its receiver gave.
    (3, 'no_pickup_to_undo', h.id is null, jsonb_build_object('status', d.status)),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until, 'until', app.clock(v_until))),
    (5, 'pickup_not_at_sender', delivery.came_from_elsewhere(d, h.id), '{}'),
    (6, 'pickup_went_on', delivery.pickup_went_on(d, h.id), jsonb_build_object('status', d.status)),
    (7, 'outcome_is_settled', c.status <> 'collected', '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_noted(tenant uuid, assignment uuid, delivery uuid, reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.codes_noted(tenant, array[delivery]) || jsonb_strip_nulls(jsonb_build_object('assignment_id', assignment, 'reason', reason));
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_withdraw(s delivery.driver_searches, offer delivery.assignments)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  r delivery.drivers;
  v_vain boolean;
  v_reason text;
begin
  if offer.id is null then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = s.tenant_id and x.delivery_id = s.delivery_id;
    return 'off';
  end if;
  select * into r from delivery.drivers x where x.tenant_id = s.tenant_id and x.user_id = offer.driver_id for no key update;
  v_vain := delivery.offer_is_in_vain(r, delivery.asks_on_duty(s.tenant_id));
  if not v_vain and s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  -- A driver who works again later may be asked again.
  if not v_vain then
    s.declined := s.declined || offer.driver_id;
  end if;
  perform delivery.search_continue(s, 'searching', interval '0');
  v_reason := case when r.status <> 'active' then 'driver_inactive' when v_vain then 'driver_off_duty' else 'unanswered' end;
  perform delivery.assignments_return(array[offer.id], v_reason);
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (s.tenant_id, offer.driver_id, 'assignment_returned', delivery.return_noted(s.tenant_id, offer.id, s.delivery_id, v_reason));
  return 'withdrawn';
end $function$;

CREATE OR REPLACE FUNCTION delivery.unanswered_to_json(a delivery.assignments)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('status', a.status)
    || case when a.driver_id = app.user_id() then '{"text_key": "assignment_not_accepted_by_you"}'::jsonb else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION money.handover_declare(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := money.cod_driver(input ->> 'driver_id');
  v_currency text := (app.currency()).code;
  v_row money.cash_handovers;
begin
  if v_driver is null then
    perform app.fail('driver_id_required', '{"field": "driver_id"}');
  end if;
  perform money.decimals_checked((input ->> 'amount')::numeric, v_currency, 'amount');
  -- Of two at once the index refuses one, without its details.
  select h.* into v_row from money.cash_handovers h
  where h.tenant_id = app.tenant_id() and h.driver_id = v_driver and h.currency = v_currency and h.status = 'declared';
  if found then
    perform app.fail('handover_already_declared', jsonb_build_object('cash_handover_id', v_row.id, 'amount', v_row.declared_amount,
      'currency', v_row.currency, 'text_key', 'handover_waits_for_count'));
  end if;
  insert into money.cash_handovers (tenant_id, driver_id, currency, declared_amount, notes, declared_by)
  values (app.tenant_id(), v_driver, v_currency, (input ->> 'amount')::numeric, input ->> 'notes', app.user_id())
  returning * into v_row;
  if input ->> 'counted_amount' is not null then
    return money.handover_count(jsonb_build_object('id', v_row.id, 'counted_amount', input -> 'counted_amount'));
  end if;
  return money.handover_to_json(v_row);
end $function$;

REVOKE ALL ON FUNCTION "app"."clock"(timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."clock"(timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "app"."dialled_patterns"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."dialled_patterns"(text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."codes_noted"(uuid, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."codes_noted"(uuid, uuid[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."manifest_obstacle_to_json"(delivery.transfer_manifests, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_obstacle_to_json"(delivery.transfer_manifests, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."manifest_proofs_missing"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_proofs_missing"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_noted"(uuid, uuid, uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_noted"(uuid, uuid, uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."unanswered_to_json"(delivery.assignments) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."unanswered_to_json"(delivery.assignments) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129163420';
end $$;

grant execute on function private.schema_version() to barid_api;
