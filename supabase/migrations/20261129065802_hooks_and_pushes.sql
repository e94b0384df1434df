-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE UNLOGGED TABLE "delivery"."status_broadcasts" ("id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL, "tenants" uuid[] NOT NULL, "drivers" uuid[] NOT NULL, "lines" jsonb[] NOT NULL, CONSTRAINT "status_broadcasts_pkey" PRIMARY KEY (id));

ALTER TABLE "delivery"."status_broadcasts" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."status_broadcasts" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.amount_change_apply(change_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  c delivery.amount_changes;
  d delivery.deliveries;
begin
  select * into strict c from delivery.amount_changes x where x.tenant_id = app.tenant_id() and x.id = change_id and x.status = 'approved';
  update delivery.deliveries x set cod_amount = c.new_cod_amount, ordered_cod_amount = coalesce(x.ordered_cod_amount, x.cod_amount),
    label_outdated = true
  where x.tenant_id = c.tenant_id and x.id = c.delivery_id
  returning * into strict d;
  update delivery.deliveries x set label_outdated = true where x.tenant_id = c.tenant_id and x.parent_id = c.delivery_id;
  perform delivery.change_announce(array[c.delivery_id], '{amount}');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.amount_changed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'amount_change_id', c.id, 'old_cod_amount', c.old_cod_amount, 'new_cod_amount', c.new_cod_amount, 'currency', c.currency,
      'reason', c.reason, 'requested_by', c.requested_by, 'actor_id', app.user_id()))));
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
      'delivery_code', v_row.delivery_code)
    where v_row.driver_id is distinct from app.user_id() and v_row.driver_id is not null;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_fetched constant text[] := '{pending,assigned,accepted}';
  v_tenants uuid[];
  v_lines jsonb[];
  v_waits boolean;
begin
  if tg_op = 'INSERT' then
    select array_agg(r.tenant_id), array_agg(r.line), bool_and(r.waits) into v_tenants, v_lines, v_waits
    from (
      select n.tenant_id, n.status in ('draft', 'pending') as waits, jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
          'parent_id', n.parent_id, 'status', n.status, 'from_status', null, 'driver_id', null,
          'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
            'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')) as line
      from new_rows n
      cross join lateral (
        select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p
      order by n.delivery_code, n.sequence_plan nulls first) r;
    -- Nobody has what is just ordered: that need not wait for the commit.
    if v_waits then
      perform delivery.rows_broadcast('delivery.status', 'deliveries', v_tenants, null, v_lines);
    elsif v_lines is not null then
      insert into delivery.status_broadcasts (tenants, drivers, lines) values (v_tenants, array_fill(null::uuid, array[cardinality(v_lines)]), v_lines);
    end if;
    return null;
  end if;
  insert into delivery.status_broadcasts (tenants, drivers, lines)
  select array_agg(r.tenant_id), array_agg(r.driver_id), array_agg(r.line)
  from (
    select n.tenant_id, a.driver_id, jsonb_build_object('id', n.id, 'delivery_code', n.delivery_code,
        'parent_id', n.parent_id, 'status', n.status, 'from_status', o.status, 'driver_id', null,
        'place', jsonb_build_object('kind', case when n.status = any (v_fetched) then 'pickup' else 'dropoff' end,
          'latitude', p.place -> 'latitude', 'longitude', p.place -> 'longitude')) as line
    from new_rows n
    join old_rows o on o.id = n.id
    cross join lateral (
      select case when n.status = any (v_fetched) then delivery.fetched_at(n) else delivery.brought_to(n) end as place offset 0) p
    left join delivery.open_assignments a on a.tenant_id = n.tenant_id and a.delivery_id = n.id
    where n.status <> o.status
    order by n.delivery_code, n.sequence_plan nulls first) r
  having count(*) > 0;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_corrected(parcel uuid, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  was delivery.deliveries;
  became delivery.deliveries;
begin
  select * into was from delivery.deliveries x where x.tenant_id = v_tenant and x.id = parcel;
  update delivery.deliveries x set
    recipient = n.recipient,
    notes = n.notes,
    label_outdated = x.label_outdated or x.label_edition > 0 and delivery.label_differs(x.recipient, x.notes, n.recipient, n.notes),
    external_reference_id = case when input ? 'external_reference_id' then input ->> 'external_reference_id' else x.external_reference_id end,
    promised_at = case when input ? 'promised_at' then app.instant(input ->> 'promised_at') else x.promised_at end,
    deliver_after = case when input ? 'deliver_after' then app.instant(input ->> 'deliver_after') else x.deliver_after end,
    deliver_before = case when input ? 'deliver_before' then app.instant(input ->> 'deliver_before') else x.deliver_before end
  from (
    select o.id, case when input ? 'recipient' then delivery.recipient_corrected(o.recipient, input -> 'recipient') else o.recipient end as recipient,
      case when input ? 'notes' then input ->> 'notes' else o.notes end as notes
    from delivery.deliveries o
    where o.tenant_id = v_tenant and (o.id = parcel or (o.parent_id = parcel and o.status not in ('delivered', 'cancelled')))
  ) n
  where x.tenant_id = v_tenant and x.id = n.id;
  select * into became from delivery.deliveries x where x.tenant_id = v_tenant and x.id = parcel;
  perform delivery.change_announce(array[parcel], array_remove(array[
    case when became.recipient <> was.recipient then 'recipient' end,
    case when (became.promised_at, became.deliver_after, became.deliver_before)
      is distinct from (was.promised_at, was.deliver_after, was.deliver_before) then 'window' end,
    case when became.notes is distinct from was.notes then 'notes' end,
    case when became.external_reference_id is distinct from was.external_reference_id then 'reference' end], null));
end $function$;

CREATE OR REPLACE FUNCTION delivery.order_changes_write(changes private.order_change[], destination jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_branch uuid := (destination ->> 'branch_id')::uuid;
  v_address uuid := (destination ->> 'address_id')::uuid;
  v_address_snapshot jsonb;
  v_delivery_ids uuid[] := array(select c.delivery_id from unnest(changes) c);
begin
  if v_delivery_ids = '{}' then
    return;
  end if;
  select to_jsonb(a) into v_address_snapshot from delivery.addresses_list a where a.id = v_address;

  update money.payments payment set status = 'CANCELLED'
  where payment.tenant_id = v_tenant and payment.status = 'SUCCESS' and payment.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE')
    and payment.delivery_id = any (array(select c.delivery_id from unnest(changes) c where c.new_payment_id is not null));
  -- `reference` is the id of the payment that this one replaces.
  insert into money.payments (id, tenant_id, category, type, status, payment_method, amount, currency, account_id,
    delivery_id, reference, actor_id, processed_at)
  select c.new_payment_id, v_tenant, 'DELIVERY', 'DELIVERY_FEE', 'SUCCESS', 'wallet', c.price, (app.currency()).code, c.wallet_id,
    c.delivery_id, c.payment_id::text, app.user_id(), now()
  from unnest(changes) c where c.new_payment_id is not null;

  update delivery.deliveries parent set
    dropoff_address_id = v_address,
    dropoff_snapshot = v_address_snapshot,
    dropoff_zone_id = (v_address_snapshot ->> 'zone_id')::uuid,
    recipient = destination -> 'recipient',
    delivery_service_id = c.service_id,
    service_snapshot = delivery.service_snapshot(c.service_id),
    delivery_fee = c.price,
    unit_size = c.unit_size,
    unit_size_source = c.unit_size_source,
    distance_km = c.distance_km,
    label_outdated = true
  from unnest(changes) c
  where parent.tenant_id = v_tenant and parent.id = c.delivery_id;
  perform delivery.legs_take_destination(v_delivery_ids);
  update delivery.transfer_manifest_items item set
    destination_branch_id = v_branch,
    destination_address_id = case when v_branch is null then v_address end
  where item.tenant_id = v_tenant
    and item.id = any (array(select c.item_id from unnest(changes) c));

  perform delivery.change_announce(array_agg(c.delivery_id), '{place,recipient}'::text[] || case when c.difference <> 0 then '{amount}'::text[] end)
  from unnest(changes) c group by c.difference <> 0;
  perform delivery.routes_remeasure(v_delivery_ids);
  perform delivery.manifest_events_add((
    select jsonb_agg(jsonb_build_object('manifest_id', c.manifest_id, 'manifest_item_id', c.item_id,
      'event_type', 'destination_changed', 'payload', jsonb_build_object(
        'delivery_id', c.delivery_id, 'delivery_code', c.delivery_code,
        'destination_branch_id', v_branch, 'destination_address_id', v_address,
        'delivery_service_id', c.service_id, 'price_difference', c.difference)) order by c.position)
    from unnest(changes) c));
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
  select a.tenant_id, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', a.delivery_id)
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

CREATE OR REPLACE FUNCTION delivery.rows_broadcast(event text, name text, tenants uuid[], drivers uuid[], rows jsonb[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if rows is null then
    return;
  end if;
  perform delivery.broadcast(g.topic, rows_broadcast.event, jsonb_build_object(rows_broadcast.name, g.lines))
  from (
    select t.topic, jsonb_agg(c.line order by c.place) as lines
    from unnest(rows_broadcast.tenants, rows_broadcast.drivers, rows_broadcast.rows) with ordinality c (tenant, driver, line, place)
    cross join lateral (values ('tenant:' || c.tenant || ':board'), ('driver:' || c.driver)) t (topic)
    where t.topic is not null
    group by t.topic, (c.place - 1) / 100
    order by t.topic, min(c.place)) g;
end $function$;

CREATE OR REPLACE FUNCTION delivery.statuses_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_drivers uuid[];
  v_lines jsonb[];
begin
  select array_agg(a.driver_id order by l.place), array_agg(jsonb_set(l.line, '{driver_id}', coalesce(to_jsonb(a.driver_id), 'null'))
    order by l.place) into v_drivers, v_lines
  from unnest(new.tenants, new.lines) with ordinality l (tenant, line, place)
  left join lateral (
    select x.driver_id from delivery.assignments x
    where x.tenant_id = l.tenant and x.delivery_id = (l.line ->> 'id')::uuid
      and (x.status in ('pending', 'assigned', 'accepted') or x.status = 'completed' and l.line ->> 'status' <> 'pending')
    order by x.status = 'completed', x.assignment_time desc limit 1) a on true;
  perform delivery.rows_broadcast('delivery.status', 'deliveries', new.tenants, v_drivers, v_lines);
  perform delivery.rows_broadcast('delivery.status', 'deliveries', array_agg(null::uuid), array_agg(d.had order by d.place),
    array_agg(d.line order by d.place))
  from unnest(new.drivers, v_drivers, v_lines) with ordinality d (had, has, line, place)
  where d.had is distinct from d.has and d.had is not null
  having count(*) > 0;
  delete from delivery.status_broadcasts b where b.id = new.id;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."statuses_broadcast"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.warehouse_moves(warehouse uuid, from_address uuid, to_address uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_to delivery.addresses;
  v_snapshot jsonb;
  v_parcels uuid[];
begin
  if not app.has_permission('manage:operations:tenant') then
    perform app.fail('forbidden');
  end if;
  select a.* into strict v_to from delivery.addresses a where a.tenant_id = v_tenant and a.id = to_address;
  select to_jsonb(a) into v_snapshot from delivery.addresses_list a where a.id = to_address;
  v_parcels := array(
    select distinct delivery.parcel_of(d) from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status not in ('delivered', 'returned', 'cancelled')
      and (d.pickup_warehouse_id = warehouse and d.pickup_address_id = from_address
        or d.ordered_from_warehouse_id = warehouse and d.ordered_from_address_id = from_address
        or delivery.ends_in(d) = warehouse and d.dropoff_address_id = from_address));
  if v_parcels = '{}' then
    return;
  end if;
  perform delivery.lock_deliveries(v_parcels);
  update delivery.deliveries d set
    pickup_address_id = case when m.begins then to_address else d.pickup_address_id end,
    pickup_snapshot = case when m.begins then v_snapshot else d.pickup_snapshot end,
    pickup_zone_id = case when m.begins then v_to.zone_id else d.pickup_zone_id end,
    ordered_from_address_id = case when m.began then to_address else d.ordered_from_address_id end,
    ordered_from_snapshot = case when m.began then v_snapshot else d.ordered_from_snapshot end,
    dropoff_address_id = case when m.ends then to_address else d.dropoff_address_id end,
    dropoff_snapshot = case when m.ends then v_snapshot else d.dropoff_snapshot end,
    dropoff_zone_id = case when m.ends then v_to.zone_id else d.dropoff_zone_id end,
    label_outdated = d.label_outdated or m.ends and d.label_edition > 0
  from (
    select x.id, x.pickup_warehouse_id is not distinct from warehouse and x.pickup_address_id = from_address as begins,
      x.ordered_from_warehouse_id is not distinct from warehouse and x.ordered_from_address_id is not distinct from from_address as began,
      delivery.ends_in(x) is not distinct from warehouse and x.dropoff_address_id = from_address as ends
    from delivery.deliveries x
    where x.tenant_id = v_tenant and (x.id = any (v_parcels) or x.parent_id = any (v_parcels))
      and x.status not in ('delivered', 'returned', 'cancelled')
  ) m
  where d.tenant_id = v_tenant and d.id = m.id and (m.begins or m.began or m.ends);
  perform delivery.change_announce(v_parcels, '{place}');
end $function$;

CREATE OR REPLACE FUNCTION integration.event_types_named(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_unknown text[];
  v_others text[];
  v_published text[];
begin
  with named as (
    select n.name from unnest(integration.event_types_of(input)) n (name) where n.name <> '*'
  ), known as (
    select n.name, bool_or(t.source_module is null or integration.module_of(t.event_type, t.source_module) = m.key) as heard
    from named n
    join integration.event_types t on integration.wants(array[n.name], t.event_type)
    left join integration.webhook_subscriptions s on s.id = (input ->> 'id')::uuid
    left join tenancy.modules m on m.id = s.module_id
    group by n.name
  )
  select array_agg(n.name order by n.name) filter (where k.heard is null), array_agg(n.name order by n.name) filter (where not k.heard)
  into v_unknown, v_others
  from named n left join known k on k.name = n.name;
  if v_unknown is not null or v_others is not null then
    v_published := private.published_types();
    v_unknown := array(
      select n.name from unnest(v_unknown) with ordinality n (name, place)
      where not exists (select from unnest(v_published) p (event_type) where integration.wants(array[n.name], p.event_type))
      order by n.place);
    v_others := array(
      select n.name from unnest(v_others) with ordinality n (name, place)
      where not exists (select from unnest(v_published) p (event_type) where integration.wants(array[n.name], p.event_type))
      order by n.place);
  end if;
  return jsonb_strip_nulls(jsonb_build_object('unknown_event_types', nullif(to_jsonb(v_unknown), '[]'),
    'other_module_event_types', nullif(to_jsonb(v_others), '[]')));
end $function$;

CREATE OR REPLACE FUNCTION integration.events_waiting(tenants uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from integration.webhook_subscriptions s
    where s.is_active and (array_position(tenants, null) is not null or s.tenant_id = any (tenants)) and exists (select from integration.system_events e
      where e.tenant_id = s.tenant_id and not e.is_dispatched and e.position > s.from_position));
end $function$;

REVOKE ALL ON FUNCTION "integration"."events_waiting"(uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION integration.result_save(result jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ok boolean := (result ->> 'ok')::boolean;
  v_manual boolean := coalesce((result ->> 'is_manual')::boolean, false);
  v_code integer := (result ->> 'http_status_code')::integer;
  v_wait interval;
  e integration.webhook_events;
  s integration.webhook_subscriptions;
begin
  select w.* into e from integration.webhook_events w where w.id = (result ->> 'id')::uuid for update;
  if not found then
    return null;
  end if;
  insert into integration.webhook_attempts (tenant_id, event_id, is_manual, http_status_code, latency_ms, response_body, error_message)
  values (e.tenant_id, e.id, v_manual, v_code, (result ->> 'latency_ms')::integer, result ->> 'response_body', result ->> 'error_message');
  if e.claim_token is distinct from (result ->> 'claim_token')::uuid then
    return jsonb_build_object('id', e.id, 'status', e.status, 'retry_count', e.retry_count);
  end if;
  if not v_ok then
    -- Failures of one subscription take turns: what was sent beside the one that ended it is not tried again either.
    select x.* into s from integration.webhook_subscriptions x where x.id = e.subscription_id for no key update;
  end if;
  if not v_ok and not v_manual and s.disabled_at is null then
    -- A subscriber may ask for a longer pause, up to an hour.
    v_wait := integration.retry_after(e.attempts + 1);
    if v_wait is not null and result ->> 'retry_after' is not null then
      v_wait := greatest(v_wait, make_interval(secs => least((result ->> 'retry_after')::integer, 3600)));
    end if;
  end if;
  update integration.webhook_events w set
    status = case when v_ok then 'success' when v_wait is null then 'failed' else 'retrying' end,
    http_status_code = v_code, error_message = case when v_ok then w.error_message else left(result ->> 'error_message', 2000) end,
    retry_count = w.retry_count + (not v_ok)::int, attempts = w.attempts + (not v_manual)::int,
    next_attempt_at = now() + v_wait, claim_token = null, claimed_at = null
  where w.id = e.id returning w.* into e;
  if v_ok then
    update integration.webhook_subscriptions x set failing_since = null where x.id = e.subscription_id and x.failing_since is not null;
  else
    -- A test or an attempt by hand proves that the subscriber answers, and not that it never does.
    update integration.webhook_subscriptions x set failing_since = now()
    where x.id = e.subscription_id and x.failing_since is null and not v_manual;
    if v_code = 410 then
      perform integration.subscription_disable(e.subscription_id, 'gone');
    elsif s.failing_since < now() - interval '5 days' and not v_manual and v_wait is null then
      -- An event has used up its attempts: one failure after days without events is not five days of them.
      perform integration.subscription_disable(e.subscription_id, 'failing');
    end if;
  end if;
  return jsonb_build_object('id', e.id, 'status', e.status, 'retry_count', e.retry_count);
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input #>> '{made,id}')::uuid;
begin
  if not exists (select from tenancy.modules m where m.id = (input ->> 'module_id')::uuid) then
    perform app.fail('invalid_reference', '{"field": "module_id"}');
  end if;
  insert into integration.webhook_subscriptions (id, tenant_id, module_id, url, event_types, is_active, secret, created_by)
  values (v_id, app.tenant_id(), (input ->> 'module_id')::uuid, input ->> 'url', integration.event_types_of(input),
    coalesce((input ->> 'is_active')::boolean, true), input #>> '{made,secret}', app.user_id());
  return jsonb_build_object('subscription', integration.subscription_of(v_id), 'secret', input #>> '{made,secret}')
    || integration.event_types_named(input || jsonb_build_object('id', v_id));
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_disable(id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_tenant uuid;
begin
  perform integration.subscription_hand_out(id);
  update integration.webhook_subscriptions s set is_active = false, disabled_at = now(), disabled_reason = reason
  where s.id = id and s.is_active returning s.tenant_id into v_tenant;
  if not found then
    return;
  end if;
  update integration.webhook_events e set status = 'failed', next_attempt_at = null,
    error_message = coalesce(e.error_message, 'subscription disabled')
  where e.subscription_id = id and e.next_attempt_at is not null and e.claim_token is null;
  perform integration.subscription_disabled_event_emit(v_tenant, id, reason);
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_hand_out(subscription uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x where x.id = subscription_hand_out.subscription;
  perform app.require_tenant(s.tenant_id);
  -- One at a time for a tenant, as the fan-out.
  perform pg_advisory_xact_lock(hashtextextended('webhooks/' || s.tenant_id, 0));
  perform integration.deliveries_add(array(
    select e.id from integration.system_events e
    where e.tenant_id = s.tenant_id and not e.is_dispatched and e.position > s.from_position order by e.position limit 10000));
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_recover(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_max constant integer := 10000;
  v_id uuid := (input ->> 'id')::uuid;
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_statuses text[] := case when (input ->> 'succeeded')::boolean then '{failed,success}'::text[] else '{failed}' end;
  v_events uuid[];
  v_waiting integer;
begin
  if not (integration.subscription_of(v_id) ->> 'is_active')::boolean then
    perform app.fail('webhook_subscription_inactive');
  end if;
  select array_agg(p.id) into v_events from (
    select e.id from integration.webhook_events e
    where e.subscription_id = v_id and e.status = any (v_statuses) and e.next_attempt_at is null and e.claim_token is null
      -- A test is not sent twice.
      and (e.status = 'failed' or e.system_event_id is not null)
      and e.created_at >= (input ->> 'since')::timestamptz
      and (input ->> 'until' is null or e.created_at <= (input ->> 'until')::timestamptz)
    limit v_max + 1) p;
  if cardinality(v_events) > v_max then
    perform app.fail('replay_too_large', jsonb_build_object('field', 'since', 'max', v_max));
  end if;
  if v_dry_run then
    v_waiting := (select count(*) from integration.webhook_events w
      where w.subscription_id = v_id and w.next_attempt_at > now() and w.claim_token is null);
  else
    v_waiting := integration.waiting_due(v_id);
    update integration.webhook_events e set status = 'pending', attempts = 0, next_attempt_at = now()
    where e.id in (
      select w.id from integration.webhook_events w where w.id = any (v_events) and w.next_attempt_at is null and w.claim_token is null
      order by w.id for update);
    if v_events is not null then
      perform set_config('app.events_queued', 'on', true);
    end if;
  end if;
  return jsonb_build_object('requeued', coalesce(cardinality(v_events), 0), 'waiting', v_waiting, 'dry_run', v_dry_run);
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_update(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  s integration.webhook_subscriptions;
begin
  select * into s from integration.webhook_subscriptions x where x.id = v_id;
  if coalesce((input ->> 'is_active')::boolean, s.is_active) and (not s.is_active or input ->> 'url' <> s.url) then
    -- Deliveries before their subscription, as results lock them.
    perform integration.waiting_due(v_id);
  end if;
  update integration.webhook_subscriptions x set
    url = coalesce(input ->> 'url', x.url),
    event_types = coalesce(integration.event_types_of(input), x.event_types),
    is_active = coalesce((input ->> 'is_active')::boolean, x.is_active)
  where x.id = v_id;
  return jsonb_build_object('subscription', integration.subscription_of(v_id)) || integration.event_types_named(input);
end $function$;

CREATE OR REPLACE FUNCTION integration.test_begin(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := case when input ? 'key' then md5(concat_ws('/', private.idempotency_scope(), input ->> 'id', input ->> 'key'))::uuid
    else gen_random_uuid() end;
  v_answer jsonb := integration.key_claim(input);
  e integration.webhook_events;
begin
  if v_answer is not null then
    return jsonb_build_object('answer', v_answer);
  end if;
  perform integration.subscription_of((input ->> 'id')::uuid);
  begin
    insert into integration.webhook_events as w (id, tenant_id, subscription_id, event_type, entity_key, body, status, next_attempt_at,
      claim_token, claimed_at)
    values (v_id, app.tenant_id(), (input ->> 'id')::uuid, 'webhook.test', 'test/' || v_id,
      integration.webhook_body(v_id, 'webhook.test', now(), app.tenant_id(), '{"test": true}'), 'retrying', null, gen_random_uuid(), now())
    on conflict (id) do update set status = 'retrying', claim_token = excluded.claim_token, claimed_at = excluded.claimed_at
    where w.claim_token is null or w.claimed_at < now() - interval '5 minutes'
    returning * into e;
  exception when foreign_key_violation then
    -- Removed since it was looked for.
    perform app.fail('webhook_subscription_not_found');
  end;
  return case when e.id is null then '{"busy": true}' else jsonb_build_object('claimed', integration.claimed(e)) end;
end $function$;

CREATE OR REPLACE FUNCTION integration.waiting_due(subscription uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  update integration.webhook_events e set attempts = 0, next_attempt_at = now()
  where e.id in (
    select w.id from integration.webhook_events w
    where w.subscription_id = waiting_due.subscription and w.next_attempt_at > now() and w.claim_token is null
    order by w.id for update skip locked);
  get diagnostics v_count = row_count;
  if exists (select from integration.webhook_events w where w.subscription_id = waiting_due.subscription and w.next_attempt_at is not null) then
    perform set_config('app.events_queued', 'on', true);
  end if;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION integration.webhook_events_about(entity text)
 RETURNS TABLE(id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query select w.id from integration.system_events e
  join integration.webhook_events w on w.system_event_id = e.id
  where e.entity_id = webhook_events_about.entity::uuid and e.tenant_id = app.tenant_id();
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_cash_divide(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_changed uuid[];
  v_booked record;
begin
  with part as (
    select p.position, p.delivery_id, p.left_at is null as here, d.status = 'cancelled' as cancelled,
      -- The fee stays with what has left with it and may still come; else it is on the first that is here.
      row_number() over (partition by d.status in ('cancelled', 'returned')
        order by (p.left_at is not null and d.delivery_fee > 0) desc, (p.left_at is null) desc, p.position) as turn,
      row_number() over (partition by p.left_at is null order by p.position) as place, (
        select coalesce(sum(i.unit_price * (g.quantity - g.short)), 0) from storefront.storefront_order_part_items g
        join storefront.storefront_order_items i on i.tenant_id = g.tenant_id and i.id = g.order_item_id
        where g.tenant_id = p.tenant_id and g.part_id = p.id) as value
    from storefront.storefront_order_parts p
    join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and (p.charged_short > 0 or storefront.order_part_has_goods(p))
  ), due as (
    -- Goods whose delivery is cancelled have their share, which nobody collects.
    select t.delivery_id, coalesce(s.goods[t.place], 0) as goods, case when t.turn = 1 then o.shipping_cost else 0 end as fee
    from part t, (
      select storefront.shares(storefront.goods_total(o) - storefront.goods_under_way(o), array_agg(w.value order by w.position),
        money.decimals_of(o.currency)) as goods
      from part w where w.here) s
    where t.here and not t.cancelled
  ), changed as (
    update delivery.deliveries d set cod_amount = u.goods + least(u.fee, o.total_price), delivery_fee = u.fee,
      label_outdated = d.label_outdated or d.label_edition > 0
    from due u where d.tenant_id = o.tenant_id and d.id = u.delivery_id
      and (d.cod_amount, d.delivery_fee) is distinct from (u.goods + least(u.fee, o.total_price), u.fee)
    returning d.id
  ), outdated as (
    update delivery.deliveries l set label_outdated = true
    from changed c where l.tenant_id = o.tenant_id and l.parent_id = c.id and l.label_edition > 0
  )
  select array_agg(c.id order by c.id) into v_changed from changed c;
  perform delivery.change_announce(v_changed, '{amount}') where v_changed is not null;
  select d.id, s.carrier_code, s.cash_due, d.currency into v_booked
  from storefront.storefront_order_parts p
  join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id and d.status <> 'cancelled'
  join integration.carrier_shipments s on s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status <> 'cancelled' and s.cash_due > 0
  cross join lateral money.cash_due(d, 'dropoff') n
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.left_at is null and (n.cod + n.delivery_fee <> s.cash_due
    or not storefront.order_part_has_goods(p))
  order by p.position limit 1;
  if found then
    perform app.fail('shipment_cash_changes', jsonb_build_object('delivery_id', v_booked.id, 'carrier_code', v_booked.carrier_code,
      'amount', v_booked.cash_due, 'currency', v_booked.currency));
  end if;
end $function$;

CREATE CONSTRAINT TRIGGER statuses_broadcast AFTER INSERT ON delivery.status_broadcasts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION delivery.statuses_broadcast();

CREATE POLICY "deny_all" ON "delivery"."status_broadcasts" FOR ALL TO "barid_caller" USING (false);

REVOKE ALL ON FUNCTION "delivery"."change_announce"(uuid[], text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."change_announce"(uuid[], text[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."statuses_broadcast"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "integration"."event_types_named"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."event_types_named"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."events_waiting"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."events_waiting"(uuid[]) TO "barid_api";

REVOKE ALL ON FUNCTION "integration"."subscription_hand_out"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."subscription_hand_out"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."waiting_due"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."waiting_due"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "integration"."webhook_events_about"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "integration"."webhook_events_about"(text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129065802';
end $$;

grant execute on function private.schema_version() to barid_api;
