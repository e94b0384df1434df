-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.lock_numbers(counter text, make boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  if make then
    insert into app.counters (tenant_id, counter) values (app.tenant_id(), lock_numbers.counter) on conflict do nothing;
  end if;
  perform from app.counters c where c.tenant_id = app.tenant_id() and c.counter = lock_numbers.counter for no key update;
end $function$;

CREATE OR REPLACE FUNCTION app.require_tenant(tenant uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if current_setting('role', true) = 'barid_caller' and tenant is distinct from app.tenant_id() and tenant is not null then
    perform app.fail('forbidden');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION app.token_grants(tenant_id uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_token jsonb := coalesce(nullif(current_setting('request.jwt.claims', true), ''), '{}')::jsonb;
begin
  if v_token ->> 'sub' is null then
    return '{}';
  end if;
  return (private.identify(jsonb_build_object('sub', v_token -> 'sub', 'issued_at', v_token -> 'iat', 'asked_tenant_id', token_grants.tenant_id,
    'mailbox', false, 'tenant_mode', 'required'))).grants;
exception when sqlstate 'RULE0' then
  return '{}';
end $function$;

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
  perform delivery.drivers_notify(array[c.delivery_id]);
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.amount_changed',
    'entity_type', 'delivery', 'entity_id', d.id, 'event_data', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code,
      'amount_change_id', c.id, 'old_cod_amount', c.old_cod_amount, 'new_cod_amount', c.new_cod_amount, 'currency', c.currency,
      'reason', c.reason, 'requested_by', c.requested_by, 'actor_id', app.user_id()))));
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
    perform app.fail('amount_change_pending');
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

CREATE OR REPLACE FUNCTION delivery.broadcast(topic text, event text, payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform realtime.send(broadcast.payload, broadcast.event, broadcast.topic, true);
exception when others then
  raise warning 'the broadcast of % was not sent: %', broadcast.event, sqlerrm;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_import(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_returned uuid[];
  v_senders uuid[];
begin
  select array_agg((l -> 'input' ->> 'original_delivery_id')::uuid) filter (where l -> 'input' ->> 'delivery_flow' = 'customer_return'),
    array_agg(distinct s.id::uuid) filter (where l -> 'input' ->> 'payment_method' = 'wallet')
  into v_returned, v_senders
  from jsonb_array_elements(input -> 'lines') l,
    unnest(array[l -> 'input' ->> 'customer_id', l -> 'input' ->> 'institution_user_id']) s (id);
  if v_returned is not null then
    perform delivery.lock_deliveries(v_returned);
  end if;
  perform app.lock_numbers('delivery_code', not (input ->> 'dry_run')::boolean);
  if v_senders is not null then
    perform money.lock_wallets(case when app.sees_tenant() then v_senders else array[app.user_id()] end);
  end if;
  return app.import_lines('delivery.delivery_create', '{id}', input);
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_undo(parcel uuid, since timestamp with time zone, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  v_amount numeric;
begin
  select c.old_cod_amount into v_amount from delivery.amount_changes c
  where c.tenant_id = app.tenant_id() and c.delivery_id = kept_amount_undo.parcel and c.status = 'approved' and c.decided_at >= since
  order by c.decided_at limit 1;
  if found then
    select * into strict p from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = kept_amount_undo.parcel;
    perform delivery.kept_amount_write(p, v_amount, null, p_reason);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_items_agreed(parcel uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select c.kept_items from delivery.amount_changes c
    where c.tenant_id = app.tenant_id() and c.delivery_id = parcel and c.status = 'approved'
    order by c.decided_at desc, c.id desc limit 1);
end $function$;

CREATE OR REPLACE FUNCTION delivery.last_move(p_delivery uuid)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select max(h.id) from delivery.delivery_status_history h where h.tenant_id = app.tenant_id() and h.delivery_id = p_delivery);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_outcome_effects(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  perform from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = d.order_id for no key update;
  perform from delivery.drivers x where x.tenant_id = o.tenant_id and x.user_id = o.driver_id for no key update;
  perform from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at order by c.id for no key update;
  perform from money.driver_pay p
  where p.tenant_id = o.tenant_id and p.delivery_id = d.id and p.status <> 'reversed' order by p.id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION delivery.move_is_undone(d delivery.deliveries, p_from text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.outcomes o
    where o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.undone_in = pg_current_xact_id()
      and o.from_status = d.status and p_from in ('delivered', 'failed', 'returned'))
  or (p_from = 'picked_up' and d.status = 'cancelled' and exists (
    select from delivery.deliveries p
    join delivery.outcomes o on o.tenant_id = p.tenant_id and o.delivery_id = p.id
    where p.tenant_id = d.tenant_id and (p.id = d.original_delivery_id or p.parent_id = d.original_delivery_id)
      and o.undone_in = pg_current_xact_id() and o.created_at = d.created_at));
end $function$;

CREATE OR REPLACE FUNCTION delivery.originals_come_back(parcels uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if cardinality(parcels) > 0 then
    update delivery.deliveries o set status = 'returned'
    where o.tenant_id = app.tenant_id() and (o.id = any (parcels) or o.parent_id = any (parcels))
      and o.delivery_flow in ('standard', 'pnd_outbound') and o.status = 'pending';
  end if;
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
    (1, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- It made another move.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    -- An assignment waits for its driver's answer, or another driver has it. A handover that was rejected does not count.
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and (a.status = 'pending' or (a.status in ('assigned', 'accepted') and a.driver_id is distinct from o.driver_id))),
      jsonb_build_object('status', d.status)),
    -- A return that it made is not in its driver's hands any more, or another one was ordered since.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel_id
      and r.status <> 'cancelled' and r.created_at >= o.created_at and (r.created_at, r.status) is distinct from (o.created_at, 'picked_up')),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel_id))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- Of an operational return: the parcel that it brings back has become returned.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_brought_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel_id
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}'),
    (14, 'outcome_is_settled', money.stated_since(v_parcel_id, o.created_at), '{}')
  ) x (place, code, applies, params) where x.applies order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_reassign(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  if o.assignment_id is null or exists (select from delivery.assignments x
      where x.tenant_id = o.tenant_id and x.delivery_id = d.id and x.status in ('assigned', 'accepted')) then
    return;
  end if;
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by, responded_at,
    route_details)
  select x.tenant_id, x.delivery_id, x.driver_id, x.vehicle_id, 'accepted', x.sequence_number, x.units, x.notes, app.user_id(), clock_timestamp(),
    x.route_details
  from delivery.assignments x where x.tenant_id = o.tenant_id and x.id = o.assignment_id
  returning * into a;
  update delivery.outcomes x set new_assignment_id = a.id where x.tenant_id = o.tenant_id and x.id = o.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created',
    'entity_type', 'assignment', 'entity_id', a.id, 'event_data', jsonb_build_object('assignment_ids', array[a.id], 'driver_id', a.driver_id,
      'status', a.status, 'delivery_ids', array[a.delivery_id], 'total_units', a.units, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_record(d delivery.deliveries, p_result text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments;
begin
  perform app.require_tenant(d.tenant_id);
  select * into a from delivery.assignments x
  where x.tenant_id = app.tenant_id() and x.delivery_id = d.id and x.status in ('assigned', 'accepted', 'completed')
  order by x.assignment_time desc, x.id desc limit 1;
  insert into delivery.outcomes (tenant_id, delivery_id, result, from_status, assignment_id, driver_id, before, last_move_id, reported_by)
  values (d.tenant_id, d.id, p_result, d.status, a.id, a.driver_id,
    jsonb_build_object('attempts_used', d.attempts_used, 'attempts_exhausted', d.attempts_exhausted, 'received_by', d.recipient -> 'received_by',
      'transfer_kind', d.transfer_kind, 'dropoff_warehouse_id', d.dropoff_warehouse_id, 'ordered_to_warehouse_id', d.ordered_to_warehouse_id,
      'postponed_to', d.postponed_to),
    delivery.last_move(d.id), app.user_id());
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_withdraw(o delivery.outcomes, d delivery.deliveries, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_returns uuid[] := array(select r.id from delivery.deliveries r
    where r.tenant_id = o.tenant_id and r.original_delivery_id = delivery.parcel_of(d) and r.created_at = o.created_at and r.status = 'picked_up');
begin
  perform app.require_tenant(o.tenant_id);
  -- First, since by it the guard of deliveries knows that these moves are an undo.
  update delivery.outcomes x set undone_at = now(), undone_by = app.user_id(), undo_reason = reason, undone_in = pg_current_xact_id()
  where x.tenant_id = o.tenant_id and x.id = o.id;
  update delivery.deliveries r set status = 'cancelled', status_reason = 'outcome_undone', status_notes = reason
  where r.tenant_id = o.tenant_id and r.id = any (v_returns);
  -- returned: taken back from the driver.
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = o.tenant_id and a.delivery_id = any (v_returns) and a.status in ('pending', 'assigned', 'accepted');
  perform warehousing.arrival_withdraw(d.id);
  update delivery.deliveries x set delivered_in_part = false
  where x.tenant_id = o.tenant_id and x.id in (d.id, delivery.parcel_of(d)) and x.delivered_in_part;
  update delivery.deliveries x set status = o.from_status, status_reason = 'outcome_undone', status_notes = reason, delivered_at = null,
    attempts_used = (o.before ->> 'attempts_used')::integer, attempts_exhausted = (o.before ->> 'attempts_exhausted')::boolean,
    recipient = x.recipient - 'received_by' || jsonb_strip_nulls(jsonb_build_object('received_by', o.before -> 'received_by')),
    transfer_kind = o.before ->> 'transfer_kind', dropoff_warehouse_id = (o.before ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (o.before ->> 'ordered_to_warehouse_id')::uuid, postponed_to = (o.before ->> 'postponed_to')::date,
    overnight_notice_at = null
  where x.tenant_id = o.tenant_id and x.id = d.id;
  if o.result = 'partial' then
    perform delivery.kept_amount_undo(delivery.parcel_of(d), o.created_at, reason);
  end if;
  perform delivery.outcome_reassign(o, d);
end $function$;

CREATE OR REPLACE FUNCTION delivery.positions_partition(ahead integer DEFAULT 7)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
 SET lock_timeout TO '2s'
AS $function$
declare
  v_today date := timezone('UTC', now())::date;
  v_missing date[] := array(
    select g::date from generate_series(v_today - 1, v_today + ahead, interval '1 day') g
    where to_regclass('partitions.driver_positions_' || to_char(g, 'YYYYMMDD')) is null order by g);
  v_old text[] := array(
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'delivery.driver_positions'::regclass and c.relname ~ '^driver_positions_\d{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < v_today - 30);
  v_day date;
  v_name text;
begin
  delete from partitions.driver_positions_default where recorded_at < now() - interval '30 days';
  if cardinality(v_missing) + cardinality(v_old) = 0 then
    return 0;
  end if;
  lock table delivery.driver_positions in access exclusive mode;
  foreach v_day in array v_missing loop
    v_name := format('driver_positions_%s', to_char(v_day, 'YYYYMMDD'));
    execute format('create table partitions.%I (like delivery.driver_positions including defaults including constraints)', v_name);
    execute format('with moved as (delete from partitions.driver_positions_default where recorded_at >= %1$L and recorded_at < %2$L returning *)
      insert into partitions.%3$I select * from moved', v_day::timestamp at time zone 'UTC', (v_day + 1)::timestamp at time zone 'UTC', v_name);
    execute format('alter table delivery.driver_positions attach partition partitions.%I for values from (%L) to (%L)',
      v_name, v_day::timestamp at time zone 'UTC', (v_day + 1)::timestamp at time zone 'UTC');
  end loop;
  foreach v_name in array v_old loop
    execute format('drop table partitions.%I', v_name);
  end loop;
  return cardinality(v_missing) + cardinality(v_old);
end $function$;

CREATE OR REPLACE FUNCTION delivery.priced_from(d delivery.deliveries, OUT latitude double precision, OUT longitude double precision)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_place jsonb := coalesce(d.ordered_from_snapshot, d.pickup_snapshot);
begin
  perform app.require_tenant(d.tenant_id);
  if d.manifest_id is not null and tenancy.manifest_settings() ->> 'delivery_fee_origin' = 'source_location' then
    select m.source_snapshot -> 'address' into v_place from delivery.transfer_manifests m where m.tenant_id = d.tenant_id and m.id = d.manifest_id;
  end if;
  latitude := (v_place ->> 'latitude')::double precision;
  longitude := (v_place ->> 'longitude')::double precision;
end $function$;

CREATE OR REPLACE FUNCTION delivery.proof_counts(p delivery.delivery_proofs)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(p.tenant_id);
  return not exists (
    select from delivery.outcomes o
    where o.tenant_id = p.tenant_id and o.delivery_id = p.delivery_id and o.created_at = p.created_at and o.undone_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_begin(delivery_ids uuid[], declined jsonb DEFAULT '[]'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if cardinality(delivery_ids) = 0 then
    return;
  end if;
  insert into delivery.driver_searches as s (tenant_id, delivery_id, status, next_attempt_at, declined)
  select app.tenant_id(), i.id, 'searching', clock_timestamp(), array(
    select x.driver_id from jsonb_to_recordset(searches_begin.declined) x (delivery_id uuid, driver_id uuid) where x.delivery_id = i.id)
  from unnest(delivery_ids) i (id) order by i.id
  on conflict (tenant_id, delivery_id) do update set status = 'searching', next_attempt_at = excluded.next_attempt_at,
    attempts = case when s.status = 'offered' then s.attempts else 0 end,
    declined = case when s.status = 'offered' then s.declined || excluded.declined else excluded.declined end,
    passed_over = case when s.status = 'offered' then s.passed_over else '{}' end
  where s.status <> 'searching';
  perform app.job_add('delivery.auto_assignment', '{}');
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouse_name(tenant uuid, warehouse uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant);
  return (select w.name from warehousing.warehouses w where w.tenant_id = warehouse_name.tenant and w.id = warehouse_name.warehouse);
end $function$;

CREATE OR REPLACE FUNCTION delivery.warehouse_place(tenant uuid, warehouse uuid, otherwise jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant);
  return coalesce((
    select to_jsonb(a) from warehousing.warehouses w join delivery.addresses_list a on a.id = w.address_id
    where w.tenant_id = warehouse_place.tenant and w.id = warehouse_place.warehouse), otherwise);
end $function$;

CREATE OR REPLACE FUNCTION integration.deliveries_add(event_ids uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  insert into integration.webhook_events (id, tenant_id, subscription_id, system_event_id, event_type, entity_key, body, trace_context)
  select n.id, n.tenant_id, n.subscription_id, n.event_id, n.event_type, n.entity_key,
    integration.webhook_body(n.id, n.event_type, n.created_at, n.tenant_id, n.event_data), n.trace_context
  from (
    select gen_random_uuid() as id, e.tenant_id, s.id as subscription_id, e.id as event_id, e.event_type,
      e.entity_type || '/' || e.entity_id as entity_key, e.event_data, e.created_at, e.position, e.trace_context
    from integration.system_events e
    join integration.webhook_subscriptions s on s.tenant_id = e.tenant_id and s.is_active
    join tenancy.modules m on m.id = s.module_id
    where e.id = any (event_ids) and m.key = integration.module_of(e.event_type, e.source_module)
      and integration.wants(s.event_types, e.event_type)
    order by e.position offset 0
  ) n
  on conflict (subscription_id, system_event_id) do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end $function$;

CREATE OR REPLACE FUNCTION integration.metrics_of_books()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select 'barid_payments_unmatched', jsonb_build_object('gateway', e.gateway_code), count(*)::double precision
  from money.payment_webhook_events e where e.outcome = 'unmatched' and e.resolution is null group by e.gateway_code
  union all
  -- With each type written out, so that it is planned by how rare it is.
  select 'barid_cash_mismatch_tenants', '{}', count(distinct e.tenant_id)::double precision
  from integration.system_events e
  where e.event_type = 'cod.mismatch' and e.status <> 'processed' and e.created_at > now() - interval '25 hours'
  union all
  select 'barid_stock_mismatch_tenants', '{}', count(distinct e.tenant_id)::double precision
  from integration.system_events e
  where e.event_type = 'stock.mismatch' and e.status <> 'processed' and e.created_at > now() - interval '25 hours';
end $function$;

CREATE OR REPLACE FUNCTION integration.metrics_of_cron()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if to_regclass('cron.job_run_details') is null then
    return;
  end if;
  -- As text, because pg_cron need not exist for this function to be made.
  return query execute $q$
    select m.name, jsonb_build_object('cron_job', r.jobname), m.value
    from (
      select j.jobname, extract(epoch from max(d.end_time) filter (where d.status = 'succeeded'))::double precision as succeeded_at,
        (max(d.runid) filter (where d.status = 'failed') > coalesce(max(d.runid) filter (where d.status = 'succeeded'), 0)) as has_failed
      from cron.job j join cron.job_run_details d on d.jobid = j.jobid
      where j.jobname like 'barid\_%' and j.active and d.status in ('succeeded', 'failed')
      group by j.jobname
    ) r
    cross join lateral (values ('barid_cron_job_last_success_timestamp_seconds', r.succeeded_at),
      ('barid_cron_job_failed', coalesce(r.has_failed, false)::integer::double precision)) m (name, value)
    where m.value is not null$q$;
end $function$;

CREATE OR REPLACE FUNCTION integration.metrics_of_queues()
 RETURNS TABLE(name text, labels jsonb, value double precision)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', j.status), count(*)::double precision
  from app.jobs j where j.status in ('queued', 'running') group by j.kind, j.status
  union all
  -- Apart, because each of the two has an index of its own.
  select 'barid_jobs', jsonb_build_object('kind', j.kind, 'status', 'dead'), count(*)::double precision
  from app.jobs j where j.status = 'dead' group by j.kind
  union all
  select 'barid_jobs_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(j.run_at)), 0)::double precision
  from app.jobs j
  where j.status in ('queued', 'running') and j.run_at <= now() and (j.status = 'queued' or j.lease_until < now())
  union all
  select 'barid_webhooks_waiting', '{}', count(*)::double precision
  from integration.webhook_subscriptions s
  join integration.webhook_events e on e.subscription_id = s.id and e.next_attempt_at is not null
  where s.is_active
  union all
  select 'barid_webhooks_oldest_due_age_seconds', '{}', coalesce(extract(epoch from now() - min(w.due_at)), 0)::double precision
  from integration.webhook_subscriptions s
  cross join lateral (
    (select e.next_attempt_at as due_at from integration.webhook_events e
      where s.failing_since is null and e.subscription_id = s.id and e.next_attempt_at <= now()
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at limit 1)
    union all
    (select e.created_at from integration.system_events e
      where e.tenant_id = s.tenant_id and not e.is_dispatched and e.position > s.from_position order by e.position limit 1)
  ) w
  where s.is_active
  union all
  select 'barid_webhook_subscriptions_failing', '{}', count(*)::double precision
  from integration.webhook_subscriptions s where s.is_active and s.failing_since is not null;
end $function$;

CREATE OR REPLACE FUNCTION integration.subscription_disabled_event_emit(tenant_id uuid, subscription_id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant_id);
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select s.tenant_id, 'webhook_subscription.disabled', 'webhooks', 'webhook_subscription', s.id,
    jsonb_build_object('subscription_id', s.id, 'reason', reason)
  from integration.webhook_subscriptions s
  where s.id = subscription_disabled_event_emit.subscription_id and s.tenant_id = subscription_disabled_event_emit.tenant_id and not s.is_active;
end $function$;

CREATE OR REPLACE FUNCTION integration.tenant_exists(tenant_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return integration.may_publish() and exists (select from tenancy.tenants t where t.id = tenant_exists.tenant_id);
end $function$;

CREATE OR REPLACE FUNCTION integration.webhooks_waiting(ahead interval DEFAULT '00:01:05'::interval)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
begin
  return exists (
    select from integration.webhook_subscriptions s where s.is_active and (
      exists (select from integration.webhook_events e where e.subscription_id = s.id and e.next_attempt_at <= now() + ahead)
      or exists (select from integration.system_events e
        where e.tenant_id = s.tenant_id and not e.is_dispatched and e.position > s.from_position)));
end $function$;

CREATE OR REPLACE FUNCTION money.brings_cash_to_bank(kind text, reference uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  if kind not in ('cod_settlement', 'carrier_remittance')
      or not exists (select from money.wallet_holds h where h.tenant_id = v_tenant and h.release = 'on_bank' and h.step = 1) then
    return false;
  end if;
  return exists (
    select from money.cash_brought(v_tenant, kind, reference) b
    join money.wallet_holds h on h.tenant_id = v_tenant and h.reference_type = b.reference_type and h.reference_id = b.reference_id
      and h.release = 'on_bank' and h.step = 1);
end $function$;

CREATE OR REPLACE FUNCTION money.carrier_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, carrier_code text, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'carrier_cash', p.carrier_code, p.currency, p.owed, p.ledger, array(
      select c.id from money.carrier_collections c
      where c.tenant_id = tenant and c.carrier_code = p.carrier_code and c.currency = p.currency and c.collected_at <= as_of
        and c.id not in (select p.carrier_collection_id from money.carrier_paid(tenant, as_of) p)
      order by c.collected_at, c.id limit 100)
  from money.carrier_positions(tenant, as_of) p where p.owed <> p.ledger
  union all
  select 'carrier_collection', s.carrier_code, d.currency, s.cash_due, c.amount, array[s.id]
  from integration.carrier_shipments s
  join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status = 'delivered'
  left join money.carrier_collections c on c.tenant_id = s.tenant_id and c.shipment_id = s.id
  where s.tenant_id = tenant and s.cash_due > 0 and s.status in ('booked', 'cancelling') and d.delivered_at <= as_of
    and c.amount is distinct from s.cash_due
  union all
  select 'carrier_collection_journal', c.carrier_code, c.currency, c.amount, b.amount, array[c.id]
  from money.carrier_collections c
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'carrier_cash' and a.carrier_code = c.carrier_code
    where t.tenant_id = tenant and t.kind = 'cash_collected' and t.reference_type = 'carrier_collection' and t.reference_id = c.id
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and c.amount is distinct from b.amount
  union all
  select 'carrier_remittance_rows', r.carrier_code, r.currency, r.amount, i.total, i.rows
  from money.carrier_remittances r
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      (array_agg(c.id order by c.id))[1:100] as rows,
      coalesce(bool_and(c.carrier_code = r.carrier_code and c.currency = r.currency and c.amount = i.amount
        and (r.reversed_at is not null or c.remittance_id = r.id and c.remitted_at = r.remitted_at)), false) as alike
    from money.carrier_remittance_items i
    join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
    where i.tenant_id = tenant and i.remittance_id = r.id
  ) i on true
  cross join lateral (
    select count(*) as entries from money.carrier_collections c where c.tenant_id = tenant and c.remittance_id = r.id) c
  where r.tenant_id = tenant and r.remitted_at <= as_of
    and (r.amount is distinct from i.total or r.delivery_fee_amount is distinct from i.fees or r.collections is distinct from i.entries
      or not i.alike or c.entries <> case when r.reversed_at is null then r.collections else 0 end)
  union all
  select 'carrier_remittance_journal', r.carrier_code, r.currency, e.taken, b.taken, array[r.id]
  from money.carrier_remittances r
  cross join lateral (
    select case when r.reversed_at <= as_of then 0 else -r.amount end as taken, case when r.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount), 0) as taken, count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id and a.kind = 'carrier_cash' and a.carrier_code = r.carrier_code
    where j.tenant_id = tenant and j.kind in ('carrier_remittance', 'carrier_remittance_REVERSAL')
      and j.reference_type = 'carrier_remittance' and j.reference_id = r.id and j.created_at <= as_of
  ) b on true
  where r.tenant_id = tenant and r.remitted_at <= as_of and (b.taken, b.journals) is distinct from (e.taken, e.journals::bigint)
$function$;

CREATE OR REPLACE FUNCTION money.carrier_paid(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(carrier_collection_id uuid, remittance_id uuid)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select i.carrier_collection_id, i.remittance_id
  from money.carrier_remittances r
  join money.carrier_remittance_items i on i.tenant_id = r.tenant_id and i.remittance_id = r.id
  where r.tenant_id = tenant and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
$function$;

CREATE OR REPLACE FUNCTION money.carrier_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(carrier_code text, currency text, collected numeric, remitted numeric, owed numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with by_row as (
    select c.carrier_code, c.currency::text as currency, sum(c.amount) as collected,
      coalesce(sum(c.amount) filter (where p.carrier_collection_id is not null), 0) as remitted
    from money.carrier_collections c
    left join money.carrier_paid(tenant, as_of) p on p.carrier_collection_id = c.id
    where c.tenant_id = tenant and c.collected_at <= as_of
    group by c.carrier_code, c.currency
  ), by_entry as (
    select a.carrier_code, a.currency::text as currency, sum(e.amount) as held
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'carrier_cash'
    group by a.carrier_code, a.currency
  )
  select coalesce(r.carrier_code, e.carrier_code), coalesce(r.currency, e.currency), coalesce(r.collected, 0), coalesce(r.remitted, 0),
    coalesce(r.collected - r.remitted, 0), coalesce(e.held, 0)
  from by_row r full join by_entry e on e.carrier_code = r.carrier_code and e.currency = r.currency
$function$;

CREATE OR REPLACE FUNCTION money.carriers_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('carrier_name', c.name) order by c.position, p.carrier_code, p.currency), '[]')
    from money.carrier_positions(app.tenant_id(), as_of) p
    join integration.carriers c on c.code = p.carrier_code);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_book(d delivery.deliveries, stage text, kind text, row_id uuid, holder uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_due record := money.cash_due(d, stage);
  v_owner uuid;
  v_cash jsonb := jsonb_build_object('journal', 'cash', 'kind', 'cash_collected', 'reference_type', kind, 'reference_id', row_id,
    'description', 'Delivery ' || d.delivery_code);
  v_credit jsonb := v_cash || '{"journal": "cod", "kind": "cod_credit"}';
begin
  v_cash := jsonb_build_array(
    v_cash || jsonb_build_object('account_id', money.account_of('external', 'tenant', null, d.currency::text), 'amount', -(v_due.cod + v_due.delivery_fee)),
    v_cash || jsonb_build_object('account_id', holder, 'amount', v_due.cod + v_due.delivery_fee));
  if v_due.cod > 0 then
    v_owner := coalesce(money.owner_wallet(d), app.refuse('customer_required_for_cod'));
    v_cash := v_cash || jsonb_build_array(
      v_credit || jsonb_build_object('account_id', money.account_of('cod_clearing', 'tenant', null, d.currency::text), 'amount', -v_due.cod),
      v_credit || jsonb_build_object('account_id', v_owner, 'amount', v_due.cod));
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, actor_id, processed_at)
  select d.tenant_id, 'DELIVERY', p.type, 'SUCCESS', 'cash', p.amount, d.currency, p.account, d.id, app.user_id(), now()
  from (values ('COD_COLLECTION', v_due.cod, v_owner), ('DELIVERY_FEE', v_due.delivery_fee, null)) p (type, amount, account)
  where p.amount > 0;
  perform money.cod_hold(kind, row_id, v_owner, v_due.cod);
  perform money.post(v_cash);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_brought(tenant uuid, kind text, reference uuid)
 RETURNS TABLE(reference_type text, reference_id uuid, amount numeric, place bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if kind = 'cod_settlement' then
    return query
      select 'cod_collection', i.cod_collection_id, i.amount, row_number() over (order by i.position, i.cod_collection_id)
      from money.cod_settlement_items i where i.tenant_id = cash_brought.tenant and i.payment_id = reference;
  elsif kind = 'carrier_remittance' then
    return query
      select 'carrier_collection', i.carrier_collection_id, i.amount, row_number() over (order by c.collected_at, c.id)
      from money.carrier_remittance_items i
      join money.carrier_collections c on c.tenant_id = i.tenant_id and c.id = i.carrier_collection_id
      where i.tenant_id = cash_brought.tenant and i.remittance_id = reference;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_desk_of(asked uuid, owner_type text, currency text)
 RETURNS money.accounts
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  v_owner uuid := case when owner_type <> 'tenant' then coalesce(asked, app.user_id()) end;
  v_desk money.accounts;
begin
  if not money.settles_for_office()
      or (v_owner is distinct from app.user_id() and not app.has_permission('manage:tenant')) then
    perform app.fail('forbidden');
  end if;
  select a.* into v_desk from money.accounts a
  where a.tenant_id = app.tenant_id() and a.kind = 'cash_on_hand' and a.owner_type = owner_type and a.currency = currency
    and (a.owner_user_id = v_owner or v_owner is null);
  if v_desk.id is null then
    perform app.fail('cash_desk_not_found', '{"field": "from_user_id"}');
  end if;
  return v_desk;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_in(tenant uuid, kind text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    with closed as (
      select c.id, c.status = 'remitted' as came_as_cash, c.settlement_payment_id as brought_by
      from money.cod_collections c where kind = 'cod_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'collected'
      union all
      select c.id, true, c.remittance_id
      from money.carrier_collections c where kind = 'carrier_collection' and c.tenant_id = tenant and c.id = any (ids) and c.status <> 'owed'
    )
    select r.id from closed r
    left join money.wallet_holds h on h.tenant_id = tenant and h.reference_type = kind and h.reference_id = r.id and h.release = 'on_bank' and h.step = 1
    left join lateral (
      select count(*) as parts, bool_or(p.amount <> 0) as there from money.desk_parts p
      where h.id is not null and p.tenant_id = tenant and p.reference_type = kind and p.reference_id = r.id and p.brought_by = r.brought_by
    ) d on true
    -- Settled from the wallet; not held until the bank; all of it has left the desks; all of it was short, so that none came.
    where not r.came_as_cash or h.id is null or (d.parts > 0 and not d.there)
      or exists (select from money.cod_settlements s where s.tenant_id = tenant and s.payment_id = r.brought_by and s.shortage = s.total);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_transfer_destination(t money.cash_transfers)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return case t.kind when 'handover' then money.account_of('cash_on_hand', 'staff', t.to_user_id, t.currency::text)
    else money.account_of('external', 'tenant', null, t.currency::text) end;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_hold(kind text, row_id uuid, wallet uuid, amount numeric)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_rule record;
begin
  if amount <= 0 then
    return;
  end if;
  v_rule := money.payout_rule();
  if v_rule.release = 'on_delivery' and v_rule.due_at <= now() then
    return;
  end if;
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
  select a.tenant_id, a.id, cod_hold.kind, row_id, n.step, n.sign * cod_hold.amount, v_rule.release, v_rule.due_at,
    case n.sign when 1 then now() else v_rule.due_at end
  from money.accounts a
  -- on_delivery waits for no cash: its release is written now and counts from due_at.
  cross join (values (1, 1), (2, -1)) n (step, sign)
  where a.tenant_id = app.tenant_id() and a.id = wallet and money.may_be_held(a) and (n.sign = 1 or v_rule.release = 'on_delivery')
  order by n.step;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_hold_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with one as materialized (
    select * from money.cod_holds_of(tenant, as_of)
  )
  select 'held_cash', a.owner_user_id, a.currency::text, sum(o.out_amount), sum(o.held),
    (array_agg(o.reference_id order by o.reference_id) filter (where o.out_amount <> o.held))[1:100]
  from one o join money.accounts a on a.tenant_id = tenant and a.id = o.account_id
  group by a.id, a.owner_user_id, a.currency having bool_or(o.out_amount <> o.held)
  union all
  select 'held_row', a.owner_user_id, a.currency, o.out_amount, o.held, array[o.reference_id]
  from one o join money.accounts a on a.tenant_id = tenant and a.id = o.account_id where not o.sound
  union all
  select 'held_total', a.owner_user_id, a.currency, s.total, t.total, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(h.amount), 0) as total from money.wallet_holds h where h.tenant_id = tenant and h.account_id = a.id) s
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from app.tallies x
    where x.tenant_id = tenant and x.tally = 'wallet_holds' and x.dims = array[a.id::text]) t
  where a.tenant_id = tenant and a.kind = 'wallet' and s.total <> t.total
$function$;

CREATE OR REPLACE FUNCTION money.cod_hold_end(row_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  h money.wallet_holds;
begin
  select * into h from money.wallet_holds x
  where x.tenant_id = app.tenant_id() and x.reference_type = 'cod_collection' and x.reference_id = row_id order by x.step desc limit 1;
  if not found or (h.amount < 0 and h.counts_from <= now()) then
    return;
  end if;
  insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + n.step, n.sign * abs(h.amount), h.release,
    -- A release may not count before due_at.
    least(h.due_at, n.counts_from), n.counts_from
  from (values (1, 1, h.counts_from), (2, -1, now())) n (step, sign, counts_from)
  where h.amount < 0
  union all
  select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, least(h.due_at, now()), now()
  where h.amount > 0;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_again(kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform money.cod_holds_follow(app.tenant_id(), kind, ids);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_follow(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_again uuid[];
begin
  -- Of most cash nothing is held; an insert of no rows would still run every trigger of the table.
  if not exists (select from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery') then
    return;
  end if;
  with written as (
    insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
    select h.tenant_id, h.account_id, h.reference_type, h.reference_id, h.step + 1, -h.amount, h.release, h.due_at,
      greatest(now(), h.counts_from, case when h.amount > 0 then h.due_at end)
    from (
      select distinct on (x.reference_id) x.* from money.wallet_holds x
      where x.tenant_id = tenant and x.reference_type = kind and x.reference_id = any (ids) and x.release <> 'on_delivery'
        -- Nothing is held any more of a row that is reversed (money.cod_hold_end).
        and not exists (select from money.cod_collections c
          where kind = 'cod_collection' and c.tenant_id = tenant and c.id = x.reference_id and c.reversed_at is not null)
      order by x.reference_id, x.step desc
    ) h
    left join money.cash_in(tenant, kind, ids) i (id) on i.id = h.reference_id
    where (h.amount > 0) = (i.id is not null)
    order by h.reference_id
    returning reference_id, amount
  )
  select array_agg(w.reference_id) into v_again from written w where w.amount > 0;
  -- COD that is held again may be on a statement already, so its movement is looked at again. What was held is still to be looked at.
  if v_again is not null then
    perform money.movements_pend(tenant, kind, v_again);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cod_holds_of(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(reference_id uuid, account_id uuid, carrier boolean, out_amount numeric, held numeric, later numeric, sound boolean, at_desk boolean)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with held as (
    select h.reference_type, h.reference_id, (array_agg(h.account_id order by h.step))[1] as account_id, min(h.release) as release,
      sum(h.amount) as held, coalesce(-sum(h.amount) filter (where h.counts_from > as_of), 0) as later,
      count(*) = max(h.step) and count(distinct h.account_id) = 1 and count(distinct abs(h.amount)) = 1 as sound, max(h.amount) as amount
    from money.wallet_holds h where h.tenant_id = tenant and h.created_at <= as_of
    group by h.reference_type, h.reference_id
  ), settled as (
    select i.cod_collection_id as id, i.payment_id as brought_by
    from money.cod_settlement_items i
    join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
    where i.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
  ), lying as (
    select p.reference_type, p.reference_id, p.brought_by
    from money.desk_parts p
    join money.desk_part_moves m on m.tenant_id = tenant and m.account_id = p.account_id and m.part_id = p.part_id and m.created_at <= as_of
    where p.tenant_id = tenant and p.reference_id is not null
    group by p.reference_type, p.reference_id, p.brought_by, p.account_id having sum(m.amount) <> 0
  ), taken as (
    select c.id, 'cod_collection' as kind, c.delivery_id, c.cod_amount,
      (c.reversed_at is null or c.reversed_at > as_of) and c.id not in (select s.id from settled s) as is_out,
      exists (select from settled s join lying l on l.reference_type = 'cod_collection' and l.reference_id = s.id and l.brought_by = s.brought_by
        where s.id = c.id) as is_there
    from money.cod_collections c
    where c.tenant_id = tenant and c.id in (select h.reference_id from held h where h.reference_type = 'cod_collection')
    union all
    select c.id, 'carrier_collection', c.delivery_id, c.cod_amount, p.remittance_id is null,
      exists (select from lying l where l.reference_type = 'carrier_collection' and l.reference_id = c.id and l.brought_by = p.remittance_id)
    from money.carrier_collections c
    left join money.carrier_paid(tenant, as_of) p on p.carrier_collection_id = c.id
    where c.tenant_id = tenant and c.id in (select h.reference_id from held h where h.reference_type = 'carrier_collection')
  )
  select h.reference_id, h.account_id, h.reference_type = 'carrier_collection',
    case when h.release <> 'on_delivery' and t.is_out or h.release = 'on_bank' and t.is_there then t.cod_amount else 0 end, h.held, h.later,
    coalesce(h.sound and h.amount = t.cod_amount and exists (
      select from money.payments p where p.tenant_id = tenant and p.delivery_id = t.delivery_id and p.type = 'COD_COLLECTION'
        and p.account_id = h.account_id), false),
    coalesce(h.release = 'on_bank' and t.is_there, false)
  from held h
  left join taken t on t.kind = h.reference_type and t.id = h.reference_id
$function$;

CREATE OR REPLACE FUNCTION money.cod_holds_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(w) order by w.user_name, w.user_id, w.currency), '[]')
    from (
      select a.id as wallet_id, a.owner_user_id as user_id, p.full_name as user_name, a.currency,
        coalesce(sum(o.out_amount) filter (where not o.carrier and not o.at_desk), 0) as in_hand,
        coalesce(sum(o.out_amount) filter (where o.carrier and not o.at_desk), 0) as with_carriers,
        coalesce(sum(o.out_amount) filter (where o.at_desk), 0) as at_desks,
        sum(o.held) as held, sum(o.later) as waiting
      from money.cod_holds_of(app.tenant_id(), as_of) o
      join money.accounts a on a.tenant_id = app.tenant_id() and a.id = o.account_id
      left join tenancy.profiles p on p.id = a.owner_user_id
      group by a.id, a.owner_user_id, p.full_name, a.currency
      having sum(o.held) <> 0 or sum(o.later) <> 0 or sum(o.out_amount) <> 0
    ) w);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(driver_id uuid, currency text, collected numeric, remitted numeric, settled_by_wallet numeric, in_hand numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with moved (driver_id, currency, collected, remitted, settled, ledger) as (
    select c.driver_id, c.currency::text, sum(c.amount), coalesce(sum(c.amount) filter (where c.remitted_at <= as_of), 0),
      coalesce(sum(c.amount) filter (where c.settled_at <= as_of), 0), 0
    from money.cod_collections c where c.tenant_id = tenant and c.collected_at <= as_of and (c.reversed_at is null or c.reversed_at > as_of)
    group by c.driver_id, c.currency
    union all
    -- Reversed since.
    select s.driver_id, s.currency::text, 0, case s.method when 'remit' then s.total else 0 end,
      case s.method when 'wallet' then s.total else 0 end, 0
    from money.cod_settlements s where s.tenant_id = tenant and s.settled_at <= as_of and s.reversed_at > as_of
    union all
    select a.owner_user_id, a.currency::text, 0, 0, 0, sum(e.amount)
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_cash'
    group by a.owner_user_id, a.currency
  )
  select m.driver_id, m.currency, sum(m.collected), sum(m.remitted), sum(m.settled), sum(m.collected - m.remitted - m.settled), sum(m.ledger)
  from moved m group by m.driver_id, m.currency
$function$;

CREATE OR REPLACE FUNCTION money.cod_reversal_event_emit(s money.cod_settlements)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'cod_settlement.reversed', 'source_module', 'delivery',
    'entity_type', 'cod_settlement', 'entity_id', s.payment_id, 'event_data', jsonb_build_object('settlement_payment_id', s.payment_id,
      'method', s.method, 'driver_id', s.driver_id, 'receiver_id', s.receiver_id, 'currency', s.currency, 'total', s.total,
      'collections', s.collections, 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select s.tenant_id, p.id, 'cod_settlement_reversed', jsonb_build_object('settlement_payment_id', s.payment_id, 'amount', s.total,
    'currency', s.currency)
  from (select s.driver_id union select s.receiver_id) p (id)
  where p.id <> app.user_id();
end $function$;

CREATE OR REPLACE FUNCTION money.desk_arrivals(t money.ledger_transactions, undone uuid, desk uuid, came numeric)
 RETURNS TABLE(part_id uuid, amount numeric)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_last bigint;
  v_short numeric;
  v_rows numeric := 0;
begin
  if undone is not null then
    return query
      select m.part_id, -sum(m.amount) from money.desk_part_moves m
      where m.tenant_id = t.tenant_id and m.transaction_id = undone and m.account_id = desk
      group by m.part_id having sum(m.amount) <> 0;
    select coalesce(-sum(m.amount), 0) into v_rows from money.desk_part_moves m
    where m.tenant_id = t.tenant_id and m.transaction_id = undone and m.account_id = desk;
  else
    select coalesce(sum(b.amount), 0) into v_rows from money.cash_brought(t.tenant_id, t.kind, t.reference_id) b;
    v_short := greatest(v_rows - came, 0);
    v_last := money.desk_last_place();
    return query
      with brought as (
        select b.*, gen_random_uuid() as part_id, sum(b.amount) over (order by b.place rows unbounded preceding) - b.amount as before
        from money.cash_brought(t.tenant_id, t.kind, t.reference_id) b
      ), made as (
        insert into money.desk_parts (tenant_id, account_id, part_id, place, reference_type, reference_id, brought_by, amount)
        select t.tenant_id, desk, b.part_id, v_last + b.place, b.reference_type, b.reference_id, t.reference_id, 0 from brought b
      )
      select b.part_id, m.amount
      from brought b
      cross join lateral (values (b.amount), (least(-least(b.amount, v_short - b.before), 0))) m (amount)
      where m.amount <> 0
      order by b.place;
    v_rows := v_rows - v_short;
  end if;
  if came <> v_rows then
    return query select money.desk_part_new(desk), came - v_rows;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_debts_settle(journal uuid, desk uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_debt money.desk_parts;
  v_parts uuid[];
  v_amounts numeric[];
begin
  select p.* into v_debt from money.desk_parts p where p.tenant_id = app.tenant_id() and p.account_id = desk and p.amount < 0;
  if v_debt.part_id is null then
    return;
  end if;
  perform money.lock_desk_endings();
  select array_agg(o.part_id), array_agg(-o.amount) into v_parts, v_amounts from money.desk_oldest(desk, -v_debt.amount) o;
  if v_parts is not null then
    v_parts := v_parts || v_debt.part_id;
    perform money.desk_parts_book(array_fill(journal, array[cardinality(v_parts)]), array_fill(desk, array[cardinality(v_parts)]), v_parts,
      v_amounts || (select -sum(a) from unnest(v_amounts) a));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'desk_cash', p.user_id, p.currency, p.in_hand, p.ledger, array(
      select x.id from (
        select s.payment_id as id, s.settled_at as at from money.cod_settlements s
        where s.tenant_id = tenant and s.method = 'remit' and s.receiver_id = p.user_id and s.currency = p.currency
          and p.owner_type = case when s.receiver_id = s.driver_id then 'driver' else 'staff' end
        union all
        select r.id, r.remitted_at from money.carrier_remittances r
        where r.tenant_id = tenant and p.owner_type = 'tenant' and r.currency = p.currency
        union all
        select h.id, h.resolved_at from money.cash_handovers h
        where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off') and h.currency = p.currency
          and h.counted_by = p.user_id
        union all
        select t.id, t.created_at from money.cash_transfers t
        where t.tenant_id = tenant and t.currency = p.currency and (
          t.from_owner_type = p.owner_type and t.from_user_id is not distinct from p.user_id
          or p.owner_type = 'staff' and t.to_user_id = p.user_id)
        union all
        select t.id, t.paid_at from money.driver_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
        union all
        select t.id, t.paid_at from money.merchant_payouts t
        where t.tenant_id = tenant and t.method = 'cash' and t.currency = p.currency and p.owner_type = 'staff' and t.actor_id = p.user_id
      ) x where x.at <= as_of order by x.at desc, x.id limit 100)
  from money.desk_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'cash_transfer_journal', t.from_user_id, t.currency, e.taken, b.taken, array[t.id]
  from money.cash_transfers t
  cross join lateral (
    select case when t.reversed_at <= as_of then 0 else -t.amount end as taken, case when t.reversed_at <= as_of then 2 else 1 end as journals
  ) e
  left join lateral (
    select coalesce(sum(l.amount) filter (where a.kind = 'cash_on_hand' and a.owner_type = t.from_owner_type
        and a.owner_user_id is not distinct from t.from_user_id), 0) as taken,
      coalesce(sum(l.amount) filter (where case t.kind when 'handover'
        then a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.to_user_id else a.kind = 'external' end), 0) as brought,
      count(distinct j.kind) as journals
    from money.ledger_transactions j
    join money.ledger_entries l on l.tenant_id = j.tenant_id and l.transaction_id = j.id and l.currency = t.currency
    join money.accounts a on a.tenant_id = l.tenant_id and a.id = l.account_id
    where j.tenant_id = tenant and j.kind in ('cash_transfer', 'cash_transfer_REVERSAL') and j.reference_type = 'cash_transfer'
      and j.reference_id = t.id and j.created_at <= as_of
  ) b on true
  where t.tenant_id = tenant and t.created_at <= as_of
    and (b.taken, b.brought, b.journals) is distinct from (e.taken, -e.taken, e.journals::bigint)
  union all
  select 'desk_parts', a.owner_user_id, a.currency, e.total, m.total, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.ledger_entries x
    where x.tenant_id = tenant and x.account_id = a.id and x.created_at <= as_of) e
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.desk_part_moves x
    where x.tenant_id = tenant and x.account_id = a.id and x.created_at <= as_of) m
  where a.tenant_id = tenant and a.queued_since <= as_of and e.total <> m.total
  union all
  select 'desk_part', a.owner_user_id, a.currency, m.total, p.amount, array[coalesce(p.reference_id, p.part_id)]
  from money.desk_parts p
  join money.accounts a on a.tenant_id = p.tenant_id and a.id = p.account_id
  cross join lateral (
    select coalesce(sum(x.amount), 0) as total from money.desk_part_moves x
    where x.tenant_id = tenant and x.account_id = p.account_id and x.part_id = p.part_id) m
  where p.tenant_id = tenant and m.total <> p.amount
$function$;

CREATE OR REPLACE FUNCTION money.desk_last_place()
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((select p.place from money.desk_parts p where p.tenant_id = app.tenant_id() order by p.place desc nulls last limit 1), 0);
end $function$;

CREATE OR REPLACE FUNCTION money.desk_oldest(desk uuid, wanted numeric, undone uuid DEFAULT NULL::uuid)
 RETURNS TABLE(part_id uuid, amount numeric)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
begin
  return query
  with own as (
    select m.part_id, sum(m.amount) as amount from money.desk_part_moves m
    where m.tenant_id = v_tenant and m.transaction_id = undone and m.account_id = desk
    group by m.part_id having sum(m.amount) > 0
  ), there as (
    select p.part_id, p.place, s.own, s.amount
    from money.desk_parts p
    left join own o on o.part_id = p.part_id
    cross join lateral (select least(p.amount, coalesce(o.amount, 0)) as amount) i
    cross join lateral (values (true, i.amount), (false, p.amount - i.amount)) s (own, amount)
    where p.tenant_id = v_tenant and p.account_id = desk and p.amount > 0 and s.amount > 0
  ), line as (
    select t.*, sum(t.amount) over (order by t.own desc, t.place, t.part_id rows unbounded preceding) - t.amount as before from there t
  )
  select l.part_id, sum(least(l.amount, wanted - l.before)) from line l
  where l.before < wanted
  group by l.part_id, l.place order by l.place, l.part_id;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_part_new(desk uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_part uuid := gen_random_uuid();
begin
  insert into money.desk_parts (tenant_id, account_id, part_id, place, amount)
  values (app.tenant_id(), desk, v_part, money.desk_last_place() + 1, 0);
  return v_part;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_parts_book(journals uuid[], desks uuid[], parts uuid[], amounts numeric[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  insert into money.desk_parts (tenant_id, account_id, part_id, place, reference_type, reference_id, brought_by, amount)
  select distinct on (m.desk, m.part) v_tenant, m.desk, m.part, p.place, p.reference_type, p.reference_id, p.brought_by, 0
  from unnest(desks, parts) m (desk, part)
  join money.desk_parts p on p.tenant_id = v_tenant and p.part_id = m.part and p.account_id = any (desks) and p.account_id <> m.desk
  where not exists (select from money.desk_parts x where x.tenant_id = v_tenant and x.account_id = m.desk and x.part_id = m.part)
  order by m.desk, m.part;
  update money.desk_parts p set amount = p.amount + m.amount
  from (select l.desk, l.part, sum(l.amount) as amount from unnest(desks, parts, amounts) l (desk, part, amount) group by l.desk, l.part) m
  where p.tenant_id = v_tenant and p.account_id = m.desk and p.part_id = m.part;
  insert into money.desk_part_moves (tenant_id, transaction_id, account_id, part_id, amount)
  select v_tenant, m.journal, m.desk, m.part, m.amount
  from unnest(journals, desks, parts, amounts) with ordinality m (journal, desk, part, amount, line)
  where m.amount <> 0 order by m.line;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_parts_exchange(t money.ledger_transactions, undone uuid, desk uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_journals uuid[];
  v_desks uuid[];
  v_parts uuid[];
  v_amounts numeric[];
begin
  with mine as (
    select p.part_id, p.place from money.desk_parts p where p.tenant_id = t.tenant_id and p.brought_by = t.reference_id and p.account_id = desk
  ), ended as (
    -- By journals that were not reversed: at the desk where it came to last.
    select j.created_at, j.id as took, m.part_id, -sum(m.amount) as amount, (array_agg(m.account_id order by m.amount desc))[1] as at
    from (
      select x.transaction_id, x.part_id, x.account_id, sum(x.amount) as amount
      from money.desk_part_moves x
      where x.tenant_id = t.tenant_id and x.part_id in (select i.part_id from mine i) and x.transaction_id <> undone
      group by x.transaction_id, x.part_id, x.account_id) m
    join money.ledger_transactions j on j.tenant_id = t.tenant_id and j.id = m.transaction_id
    where not exists (
      select from money.ledger_transactions r
      where r.tenant_id = t.tenant_id and r.kind = j.kind || '_REVERSAL' and r.reference_type = j.reference_type and r.reference_id = j.reference_id)
    group by j.created_at, j.id, m.part_id having sum(m.amount) < 0
  ), gone as (
    -- The oldest of the others take the places of those that have left.
    select g.*, sum(g.amount) over (order by g.created_at, g.took, g.at, i.place, i.part_id rows unbounded preceding) - g.amount as before
    from (
      select 'infinity'::timestamptz as created_at, null::uuid as took, p.account_id as at, p.part_id, p.amount
      from money.desk_parts p
      where p.tenant_id = t.tenant_id and p.brought_by = t.reference_id and p.account_id <> desk and p.amount > 0
      union all
      select e.created_at, e.took, e.at, e.part_id, e.amount from ended e) g
    join mine i on i.part_id = g.part_id
  ), there as (
    select p.part_id, p.amount, sum(p.amount) over (order by p.place, p.part_id rows unbounded preceding) - p.amount as before
    from money.desk_parts p
    where p.tenant_id = t.tenant_id and p.account_id = desk and p.amount > 0 and p.brought_by is distinct from t.reference_id
  ), pair as (
    select g.took, g.at, g.part_id as mine, o.part_id as other, least(g.before + g.amount, o.before + o.amount) - greatest(g.before, o.before) as amount
    from gone g
    join there o on o.before < g.before + g.amount and g.before < o.before + o.amount
  ), move as (
    select m.journal, m.desk, m.part, sum(m.amount) as amount
    from pair p
    cross join lateral (values (t.id, desk, p.mine, p.amount), (t.id, desk, p.other, -p.amount), (t.id, p.at, p.mine, -p.amount),
      (t.id, p.at, p.other, p.amount), (p.took, p.at, p.mine, p.amount), (p.took, p.at, p.other, -p.amount)) m (journal, desk, part, amount)
    where m.journal is not null
    group by m.journal, m.desk, m.part having sum(m.amount) <> 0
  )
  select array_agg(m.journal), array_agg(m.desk), array_agg(m.part), array_agg(m.amount) into v_journals, v_desks, v_parts, v_amounts from move m;
  if v_parts is not null then
    perform money.desk_parts_book(v_journals, v_desks, v_parts, v_amounts);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(owner_type text, user_id uuid, currency text, remitted numeric, shortages numeric, transferred_out numeric, transferred_in numeric, paid_out numeric, in_hand numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with transfer as (
    select t.* from money.cash_transfers t
    where t.tenant_id = tenant and t.created_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
  ), moved (owner_type, user_id, currency, remitted, shortages, given, got, paid, ledger) as (
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, s.total, 0, 0, 0, 0, 0
    from money.cod_settlements s
    where s.tenant_id = tenant and s.method = 'remit' and not s.historical and s.settled_at <= as_of
      and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    -- The shortage at the remittance, less the amount found in a second count.
    select case when s.receiver_id = s.driver_id then 'driver' else 'staff' end, s.receiver_id, s.currency::text, 0,
      case when h.resolution = 'recounted' and h.resolved_at <= as_of then 0 else s.shortage end, 0, 0, 0, 0
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
    union all
    select 'tenant', null, r.currency::text, r.amount, 0, 0, 0, 0, 0
    from money.carrier_remittances r
    where r.tenant_id = tenant and r.remitted_at <= as_of and (r.reversed_at is null or r.reversed_at > as_of)
    union all
    -- Whose desk it was is what the journal says: the counter's, or the till when the counter is no member of the tenant.
    select a.owner_type, a.owner_user_id, h.currency::text, 0, h.declared_amount - h.counted_amount, 0, 0, 0, 0
    from money.cash_handovers h
    join money.ledger_transactions t on t.tenant_id = h.tenant_id and t.kind = 'cash_shortage' and t.reference_id = h.id
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'cash_on_hand'
    where h.tenant_id = tenant and h.resolution in ('driver_owes', 'written_off') and h.resolved_at <= as_of
    union all
    select t.from_owner_type, t.from_user_id, t.currency::text, 0, 0, t.amount, 0, 0, 0 from transfer t
    union all
    select 'staff', t.to_user_id, t.currency::text, 0, 0, 0, t.amount, 0, 0 from transfer t where t.kind = 'handover'
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.driver_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select 'staff', t.actor_id, t.currency::text, 0, 0, 0, 0, t.amount, 0 from money.merchant_payouts t
    where t.tenant_id = tenant and t.method = 'cash' and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select a.owner_type, a.owner_user_id, a.currency::text, 0, 0, 0, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'cash_on_hand'
  )
  select m.owner_type, m.user_id, m.currency, sum(m.remitted), sum(m.shortages), sum(m.given), sum(m.got),
    sum(m.paid), sum(m.remitted - m.shortages - m.given + m.got - m.paid), sum(m.ledger)
  from moved m group by m.owner_type, m.user_id, m.currency
$function$;

CREATE OR REPLACE FUNCTION money.desk_queue_begin(desk uuid, before numeric)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- The clock: everything that is committed here came before it, also by a transaction that began after this one.
  update money.accounts a set queued_since = clock_timestamp() where a.tenant_id = app.tenant_id() and a.id = desk;
  if before <> 0 then
    perform money.desk_parts_book(array[null::uuid], array[desk], array[money.desk_part_new(desk)], array[before]);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.desk_queues_follow(journal uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  t money.ledger_transactions;
  v_undone uuid;
  v_entry record;
  v_given uuid[] := '{}';
  v_given_amounts numeric[] := '{}';
  v_desks uuid[] := '{}';
  v_parts uuid[] := '{}';
  v_amounts numeric[] := '{}';
  v_got uuid[];
  v_got_amounts numeric[];
  v_rest numeric;
begin
  select x.* into t from money.ledger_transactions x where x.tenant_id = v_tenant and x.id = journal;
  select x.id into v_undone from money.ledger_transactions x
  where x.tenant_id = v_tenant and t.kind = x.kind || '_REVERSAL' and x.reference_type = t.reference_type and x.reference_id = t.reference_id;
  if t.kind not in ('cod_settlement', 'carrier_remittance') then
    perform money.lock_desk_endings();
  end if;
  -- The desk that gives comes first.
  for v_entry in
    select a.id as desk, sum(e.amount) as amount, a.balance - sum(e.amount) as before, a.queued_since is not null as queued
    from money.ledger_entries e
    join money.accounts a on a.tenant_id = v_tenant and a.id = e.account_id and a.kind = 'cash_on_hand'
    where e.tenant_id = v_tenant and e.transaction_id = journal
    group by a.id having sum(e.amount) <> 0 order by sum(e.amount), a.id
  loop
    if not v_entry.queued then
      perform money.desk_queue_begin(v_entry.desk, v_entry.before);
    end if;
    if v_entry.amount < 0 then
      if t.kind in ('cod_settlement_REVERSAL', 'carrier_remittance_REVERSAL') then
        perform money.desk_parts_exchange(t, v_undone, v_entry.desk);
      end if;
      select coalesce(array_agg(o.part_id), '{}'), coalesce(array_agg(-o.amount), '{}'), -v_entry.amount - coalesce(sum(o.amount), 0)
      into v_got, v_got_amounts, v_rest
      from money.desk_oldest(v_entry.desk, -v_entry.amount, v_undone) o;
      if v_rest > 0 then
        -- A shortage that is booked before its cash comes.
        v_got := v_got || coalesce((select p.part_id from money.desk_parts p
          where p.tenant_id = v_tenant and p.account_id = v_entry.desk and p.amount < 0), money.desk_part_new(v_entry.desk));
        v_got_amounts := v_got_amounts || -v_rest;
      end if;
      v_given := v_given || v_got;
      v_given_amounts := v_given_amounts || v_got_amounts;
    elsif cardinality(v_given) > 0 then
      v_got := v_given;
      v_got_amounts := array(select -a from unnest(v_given_amounts) with ordinality g (a, line) order by g.line);
    else
      select array_agg(a.part_id), array_agg(a.amount) into v_got, v_got_amounts from money.desk_arrivals(t, v_undone, v_entry.desk, v_entry.amount) a;
    end if;
    v_desks := v_desks || array_fill(v_entry.desk, array[cardinality(v_got)]);
    v_parts := v_parts || v_got;
    v_amounts := v_amounts || v_got_amounts;
  end loop;
  perform money.desk_parts_book(array_fill(journal, array[cardinality(v_parts)]), v_desks, v_parts, v_amounts);
  perform money.desk_debts_settle(journal, d.desk) from (select distinct u.desk from unnest(v_desks) u (desk)) d order by d.desk;
end $function$;

CREATE OR REPLACE FUNCTION money.desks_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('user_name', q.full_name)
      order by q.full_name, p.owner_type, p.user_id, p.currency), '[]')
    from money.desk_positions(app.tenant_id(), as_of) p
    left join tenancy.profiles q on q.id = p.user_id);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_pay_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'driver_pay', p.driver_id, p.currency, p.owed, p.ledger, array(
      select x.id from money.driver_pay x
      where x.tenant_id = tenant and x.driver_id = p.driver_id and x.currency = p.currency and x.accrued_at <= as_of
        and (x.status = 'accrued' or coalesce(x.paid_at, x.reversed_at) > as_of)
      order by x.accrued_at, x.id limit 100)
  from money.driver_pay_positions(tenant, as_of) p where p.owed <> p.ledger
  union all
  select 'driver_pay_journal', p.driver_id, p.currency, n.earned, b.earned, array[p.id]
  from money.driver_pay p
  cross join lateral (select case when p.reversed_at <= as_of then 0 else p.amount end as earned) n
  left join lateral (
    select coalesce(sum(e.amount), 0) as earned from money.ledger_transactions j
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_payable' and a.owner_user_id = p.driver_id
      and a.currency = p.currency
    where j.tenant_id = tenant and j.kind in ('driver_pay', 'driver_pay_REVERSAL') and j.reference_type = 'driver_pay' and j.reference_id = p.id
      and j.created_at <= as_of
  ) b on true
  where p.tenant_id = tenant and p.accrued_at <= as_of and b.earned <> n.earned
  union all
  select 'driver_payout_rows', t.driver_id, t.currency, t.amount, i.total, i.rows
  from money.driver_payouts t
  left join lateral (
    select sum(i.amount) as total, count(*) as entries, (array_agg(p.id order by p.id))[1:100] as rows,
      coalesce(bool_and(p.driver_id = t.driver_id and p.currency = t.currency and p.amount = i.amount and i.reversed_at is not distinct from t.reversed_at
        and (t.reversed_at is not null or p.payout_id = t.id)), false) as alike
    from money.driver_payout_items i
    join money.driver_pay p on p.tenant_id = i.tenant_id and p.id = i.driver_pay_id
    where i.tenant_id = tenant and i.payout_id = t.id
  ) i on true
  where t.tenant_id = tenant and t.paid_at <= as_of and (t.amount is distinct from i.total or t.accruals is distinct from i.entries or not i.alike)
  union all
  select 'driver_paid', p.driver_id, p.currency, i.amount, p.amount, array[p.id]
  from money.driver_pay p
  left join money.driver_payout_items i on i.tenant_id = p.tenant_id and i.driver_pay_id = p.id and i.reversed_at is null
  where p.tenant_id = tenant and p.accrued_at <= as_of and p.payout_id is distinct from i.payout_id
  union all
  select 'driver_payout_journal', t.driver_id, t.currency, n.taken, b.taken, array[t.id]
  from money.driver_payouts t
  cross join lateral (select case when t.reversed_at <= as_of then 0 else -t.amount end as taken) n
  left join lateral (
    select coalesce(sum(e.amount) filter (where a.kind = 'driver_payable' and a.owner_user_id = t.driver_id), 0) as taken,
      coalesce(sum(e.amount) filter (where case t.method when 'wallet' then a.kind = 'wallet' and a.owner_type = 'driver' and a.owner_user_id = t.driver_id
        else a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id end), 0)
        * case t.method when 'wallet' then -1 else 1 end as brought
    from money.ledger_transactions j
    join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id and e.currency = t.currency
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
    where j.tenant_id = tenant and j.reference_type = 'driver_payout' and j.reference_id = t.id and j.created_at <= as_of
  ) b on true
  where t.tenant_id = tenant and t.paid_at <= as_of and (b.taken, b.brought) is distinct from (n.taken, n.taken)
$function$;

CREATE OR REPLACE FUNCTION money.driver_pay_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(driver_id uuid, currency text, accrued numeric, paid numeric, owed numeric, ledger numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with moved (driver_id, currency, accrued, paid, ledger) as (
    select p.driver_id, p.currency::text, p.amount, 0, 0 from money.driver_pay p
    where p.tenant_id = tenant and p.accrued_at <= as_of and (p.reversed_at is null or p.reversed_at > as_of)
    union all
    select t.driver_id, t.currency::text, 0, t.amount, 0 from money.driver_payouts t
    where t.tenant_id = tenant and t.paid_at <= as_of and (t.reversed_at is null or t.reversed_at > as_of)
    union all
    select a.owner_user_id, a.currency::text, 0, 0, e.amount
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_payable'
  )
  select m.driver_id, m.currency, sum(m.accrued), sum(m.paid), sum(m.accrued - m.paid), sum(m.ledger)
  from moved m group by m.driver_id, m.currency
$function$;

CREATE OR REPLACE FUNCTION money.driver_pay_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('driver_name', q.full_name) order by q.full_name, p.driver_id, p.currency), '[]')
    from money.driver_pay_positions(app.tenant_id(), as_of) p
    left join tenancy.profiles q on q.id = p.driver_id);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_payout_accounts(t money.driver_payouts, OUT payable uuid, OUT paid uuid, OUT outside uuid)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  payable := money.account_of('driver_payable', 'driver', t.driver_id, t.currency::text);
  if t.method = 'wallet' then
    paid := money.account_of('wallet', 'driver', t.driver_id, t.currency::text);
  else
    outside := money.account_of('external', 'tenant', null, t.currency::text);
    select a.id into paid from money.accounts a
    where a.tenant_id = t.tenant_id and a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id and a.currency = t.currency;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.handover_free(s money.cod_settlements)
 RETURNS numeric
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  h money.cash_handovers;
begin
  update money.cash_handovers u set settlement_payment_id = null
  where u.tenant_id = s.tenant_id and u.settlement_payment_id = s.payment_id
  returning * into h;
  if s.shortage > 0 and h.status <> 'discrepancy' then
    perform app.fail('settlement_not_reversible', '{"text_key": "reason_shortage_resolved"}');
  end if;
  return case when h.resolution in ('driver_owes', 'written_off') and h.counted_by = s.receiver_id
    then h.declared_amount - h.counted_amount else 0 end;
end $function$;

CREATE OR REPLACE FUNCTION money.handover_of(driver uuid, currency text, total numeric)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_row money.cash_handovers;
begin
  select u.* into v_row from money.cash_handovers u
  where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
    and u.status in ('counted', 'resolved') and u.settlement_payment_id is null and u.declared_amount = total
  -- A row that another transaction has locked is waited for: one that was skipped would be remitted by nobody.
  order by u.created_at limit 1 for no key update;
  if v_row.id is null and not v_required then
    -- A transaction that resolves or cancels it is waited for as well: a shortage is booked once, and one that was counted
    -- again in full meanwhile is this remittance's all the same.
    select u.* into v_row from money.cash_handovers u
    where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
      and (u.status = 'discrepancy' and u.counted_amount < u.declared_amount or u.status = 'resolved')
      and u.settlement_payment_id is null and u.declared_amount = total
    order by u.created_at limit 1 for no key update;
  elsif v_row.id is null then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', handover_of.currency));
  end if;
  return v_row;
end $function$;

CREATE OR REPLACE FUNCTION money.held_of(tenant uuid, account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((select sum(t.amount) from app.tallies t where t.tenant_id = tenant and t.tally = 'wallet_holds' and t.dims = array[account::text]), 0)
    - coalesce((select sum(h.amount) from money.wallet_holds h
      where h.tenant_id = tenant and h.account_id = account and h.counts_from > h.created_at and h.counts_from > now()), 0);
end $function$;

CREATE OR REPLACE FUNCTION money.kept_of(tenant uuid, account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(-sum(l.amount), 0) from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id and s.status <> 'void'
    where l.tenant_id = kept_of.tenant and l.account_id = account and l.movement is null);
end $function$;

CREATE OR REPLACE FUNCTION money.lock_carrier_collections(input jsonb)
 RETURNS money.carrier_collections[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_carrier text := input ->> 'carrier_code';
  v_field text := case when input ? 'carrier_collection_ids' then 'carrier_collection_ids' when input ? 'delivery_ids' then 'delivery_ids' end;
  v_ids uuid[];
  v_rows money.carrier_collections[];
begin
  if v_field is null then
    select array_agg(l order by l.collected_at, l.id) into v_rows from (
      select c.* from money.carrier_collections c
      where c.tenant_id = v_tenant and c.carrier_code = v_carrier and c.currency = input ->> 'currency' and c.status = 'owed'
      order by c.id for no key update) l;
    if v_rows is null then
      perform app.fail('no_pending_collections');
    end if;
    return v_rows;
  end if;
  v_ids := app.uuids(input -> v_field);
  select array_agg(l order by l.collected_at, l.id) into v_rows from (
    select c.* from money.carrier_collections c
    where c.tenant_id = v_tenant and c.carrier_code = v_carrier and c.status = 'owed'
      and case v_field when 'delivery_ids' then c.delivery_id else c.id end = any (v_ids)
    order by c.id for no key update) l;
  if cardinality(v_rows) is distinct from cardinality(v_ids) then
    perform app.fail('cod_collections_not_pending', jsonb_build_object('field', v_field, 'invalid_ids', (
      select jsonb_agg(i.id order by i.place) from unnest(v_ids) with ordinality i (id, place)
      where i.id not in (select case v_field when 'delivery_ids' then r.delivery_id else r.id end from unnest(v_rows) r))));
  end if;
  return v_rows;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_cash_desk(giver uuid, taker uuid, amount numeric, currency text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_held numeric := (money.lock_balances(array[giver, taker]) ->> giver::text)::numeric;
begin
  if v_held < amount then
    perform app.fail('insufficient_desk_cash', jsonb_build_object('held', v_held, 'currency', currency));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_cash_refund(refund uuid)
 RETURNS money.payments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  select x.* into p from money.payments x
  where x.tenant_id = app.tenant_id() and x.id = refund and x.category = 'DELIVERY' and x.type = 'REFUND' and x.payment_method = 'cash'
  for no key update;
  if p.id is null then
    perform app.fail('cash_refund_not_found');
  elsif p.status <> 'pending' then
    perform app.fail('cash_refund_already_paid');
  end if;
  return p;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_cod_collections(scope text, collection_ids uuid[], driver_id text)
 RETURNS money.cod_collections[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  v_tenant uuid := app.tenant_id();
  v_office boolean := money.settles_for_office();
  v_driver uuid := money.cod_driver(lock_cod_collections.driver_id);
  v_rows money.cod_collections[];
  v_drivers bigint;
begin
  if scope = 'all' then
    if v_driver is null then
      perform app.fail('driver_id_required', '{"field": "driver_id"}');
    end if;
    -- Waits for a reversal of this driver's settlements (money.cod_unsettle) before reading the rows: what all of
    -- the cash is and what the wallet holds are then of one moment.
    perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver for share;
    select array_agg(l order by l.collected_at, l.id) into v_rows from (
      select c.* from money.cod_collections c
      where c.tenant_id = v_tenant and c.driver_id = v_driver and c.status = 'collected' and c.reversed_at is null
      order by c.id for no key update) l;
    if v_rows is null then
      perform app.fail('no_pending_collections');
    end if;
    return v_rows;
  end if;
  if cardinality(collection_ids) = 0 then
    perform app.fail('cod_collection_ids_required', '{"field": "cod_collection_ids"}');
  end if;
  select array_agg(l order by l.collected_at, l.id), count(distinct l.driver_id) into v_rows, v_drivers from (
    select c.* from money.cod_collections c
    where c.tenant_id = v_tenant and c.id = any (collection_ids) and c.status = 'collected' and c.reversed_at is null
      and (c.driver_id = v_driver or v_office)
    order by c.id for no key update) l;
  if cardinality(v_rows) is distinct from cardinality(collection_ids) then
    perform app.fail('cod_collections_not_pending', jsonb_build_object('field', 'cod_collection_ids', 'invalid_ids', (
      select jsonb_agg(i.id order by i.place) from unnest(collection_ids) with ordinality i (id, place)
      where i.id not in (select r.id from unnest(v_rows) r))));
  end if;
  if v_drivers > 1 or v_rows[1].driver_id <> v_driver then
    perform app.fail('mixed_driver_selection', '{"field": "cod_collection_ids"}');
  end if;
  return v_rows;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_handover(id uuid, states text[], otherwise text)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  if not money.settles_for_office() then
    perform app.fail('forbidden');
  end if;
  select h.* into v_row from money.cash_handovers h where h.tenant_id = app.tenant_id() and h.id = lock_handover.id for no key update;
  if v_row.id is null then
    perform app.fail('handover_not_found');
  elsif v_row.status <> all (states) then
    perform app.fail(otherwise, jsonb_build_object('from', v_row.status));
  end if;
  return v_row;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_returned_cash(giver uuid, taker uuid, amount numeric, currency text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if exists (select from money.accounts a where a.tenant_id = app.tenant_id() and a.id = giver and a.queued_since is not null) then
    perform money.lock_balances(array(select a.id from money.accounts a
      where a.tenant_id = app.tenant_id() and (a.id in (giver, taker) or a.kind = 'cash_on_hand' and a.currency = lock_returned_cash.currency)));
  end if;
  perform money.lock_cash_desk(giver, taker, amount, currency);
end $function$;

CREATE OR REPLACE FUNCTION money.lock_statement(p_id uuid)
 RETURNS money.merchant_statements
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  s money.merchant_statements;
begin
  select x.* into s from money.merchant_statements x
  where x.tenant_id = app.tenant_id() and x.id = p_id and (app.sees_tenant() or x.owner_user_id = app.user_id()) for no key update;
  if s.id is null then
    perform app.fail('statement_not_found');
  end if;
  return s;
end $function$;

CREATE OR REPLACE FUNCTION money.merchant_payout_desk(t money.merchant_payouts)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select a.id from money.accounts a
    where a.tenant_id = t.tenant_id and a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id and a.currency = t.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.merchant_wallet(owner uuid, currency text)
 RETURNS money.accounts
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_wallet money.accounts;
begin
  select a.* into v_wallet from money.accounts a
  join tenancy.tenant_users u on u.tenant_id = a.tenant_id and u.user_id = a.owner_user_id
  where a.tenant_id = app.tenant_id() and a.owner_user_id = merchant_wallet.owner and a.currency = merchant_wallet.currency
    and money.may_be_held(a)
  order by a.owner_type = u.tenant_user_type desc, a.id limit 1;
  return v_wallet;
end $function$;

CREATE OR REPLACE FUNCTION money.minor_digits(p money.payments)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(
    (select (g.settings ->> 'amount_exponent')::integer from money.payment_gateways g
      where g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code),
    money.decimals_of(p.currency));
end $function$;

CREATE OR REPLACE FUNCTION money.movements_pend(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select e.tenant_id, e.account_id, e.version
  from money.ledger_transactions t
  join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet'
  where t.tenant_id = movements_pend.tenant and t.kind = 'cod_credit' and t.reference_type = movements_pend.kind
    and t.reference_id = any (ids)
  order by e.id;
end $function$;

CREATE OR REPLACE FUNCTION money.owner_wallet(d delivery.deliveries)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return case
    when d.order_id is not null then money.account_of('wallet', 'tenant', null, d.currency::text)
    when d.institution_user_id is not null then money.account_of('wallet', 'institution', d.institution_user_id, d.currency::text)
    when d.customer_id is not null then money.account_of('wallet', 'customer', d.customer_id, d.currency::text) end;
end $function$;

CREATE OR REPLACE FUNCTION money.payer_name(d delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((select p.full_name from tenancy.profiles p where p.id = coalesce(d.customer_id, d.institution_user_id)),
    d.recipient ->> 'name', '');
end $function$;

CREATE OR REPLACE FUNCTION money.payment_evaluate(p money.payments, o storefront.storefront_orders, facts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select case
      when facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' or (facts ->> 'amount')::numeric
        <> p.amount * case facts ->> 'unit' when 'minor' then 10 ^ money.minor_digits(p) else 1 end
        then 'amount_differs'
      when upper(facts ->> 'currency') not in (c.code, c.numeric_code) then 'currency_differs'
      when g.settings ->> 'terminal' is not null and g.settings ->> 'terminal' is distinct from facts ->> 'terminal' then 'terminal_differs'
      when facts ->> 'order' is not null and lower(facts ->> 'order') not in (p.gateway_order_id, coalesce(p.order_id::text, ''))
        or facts ->> 'reference' ~ '^[0-9]{12,18}$' and facts ->> 'reference' <> p.gateway_order_id then 'order_differs'
      when p.status = 'CANCELLED' or o.status = 'cancelled' then 'order_cancelled'
      when coalesce(facts ->> 'transaction_id', '') = '' then 'transaction_missing'
      when p.status = 'SUCCESS' or o.payment_status = 'paid' then 'already_paid'
    end
    from tenancy.currencies c
    left join money.payment_gateways g on g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code
    where c.code = p.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_follow(p money.payments, o storefront.storefront_orders, facts jsonb, OUT outcome text, OUT reason text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  outcome := 'ignored';
  if facts ->> 'kind' = 'refunded' then
    reason := money.payment_refunded(p, facts);
    outcome := case when reason is null then 'processed' when reason = 'already_refunded' then 'ignored' else 'unmatched' end;
  elsif facts ->> 'kind' = 'failed' then
    if p.status <> 'pending' then
      reason := 'payment_is_' || lower(p.status);
      return;
    end if;
    update money.payments x set status = 'FAILED', processed_at = now() where x.tenant_id = p.tenant_id and x.id = p.id;
    update storefront.storefront_orders x set payment_status = 'failed'
    where x.tenant_id = p.tenant_id and x.id = p.order_id and x.payment_status = 'pending';
    outcome := 'processed';
  elsif facts ->> 'kind' = 'paid' then
    if p.status = 'SUCCESS' and p.gateway_transaction_id = facts ->> 'transaction_id' then
      reason := 'already_processed';
      return;
    elsif exists (select from money.payment_webhook_events e
        where e.tenant_id = p.tenant_id and e.payment_id = p.id and e.action is not null
          and e.facts ->> 'transaction_id' = payment_follow.facts ->> 'transaction_id') then
      reason := 'already_resolved';
      return;
    end if;
    reason := money.payment_evaluate(p, o, facts);
    if reason is null then
      begin
        -- A second try waits beside a failed one that is paid after all.
        update money.payments x set status = 'CANCELLED', processed_at = now()
        where x.tenant_id = p.tenant_id and x.order_id = p.order_id and x.type = 'ORDER' and x.status = 'pending' and x.id <> p.id;
        perform money.payment_made(p, facts ->> 'transaction_id', facts ->> 'terminal');
      exception when unique_violation then
        reason := 'transaction_already_used';
      end;
    end if;
    outcome := case when reason is null then 'processed' else 'unmatched' end;
  else
    reason := 'nothing_to_do';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.payment_known(p money.payments)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object('id', p.id, 'tenant_id', p.tenant_id, 'gateway_code', p.gateway_code, 'gateway_order_id', p.gateway_order_id,
      'gateway_reference', p.gateway_reference, 'amount', p.amount::text, 'currency', p.currency, 'numeric_code', c.numeric_code,
      'exponent', money.minor_digits(p), 'description', p.reference, 'back_ref', p.back_ref,
      'expires_at', p.expires_at, 'settings', coalesce(g.settings, '{}'), 'secrets', coalesce(g.secrets, '{}'))
    from tenancy.currencies c
    left join money.payment_gateways g on g.tenant_id = p.tenant_id and g.gateway_code = p.gateway_code
    where c.code = p.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.payment_made(p money.payments, p_transaction text DEFAULT NULL::text, p_terminal text DEFAULT NULL::text, p_booked boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update money.payments x set status = 'SUCCESS', processed_at = now(), terminal = coalesce(p_terminal, x.terminal),
    gateway_transaction_id = coalesce(p_transaction, x.gateway_transaction_id)
  where x.tenant_id = p.tenant_id and x.id = p.id;
  if not p_booked then
    perform money.book_payment(p, case p.type when 'ORDER' then 'order_payment' else 'wallet_topup' end,
      money.account_of('external', 'tenant', null, p.currency),
      case p.type when 'ORDER' then money.account_of('wallet', 'tenant', null, p.currency) else p.account_id end, p.reference);
  end if;
  if p.order_id is not null then
    update storefront.storefront_orders o set payment_status = 'paid' where o.tenant_id = p.tenant_id and o.id = p.order_id;
  else
    perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'wallet.topped_up', 'source_module', 'payment',
      'entity_type', 'payment', 'entity_id', p.id, 'event_data', jsonb_build_object('payment_id', p.id, 'account_id', p.account_id,
        'amount', p.amount, 'currency', p.currency))));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.payment_may_come(p money.payments)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(p.tenant_id);
  return p.payment_method = 'gateway' and p.redirect_url is not null and (p.status = 'pending' or p.status = 'FAILED' and (
    p.order_id is null or exists (
      select from storefront.storefront_orders o
      where o.tenant_id = p.tenant_id and o.id = p.order_id and o.status in ('pending', 'awaiting_approval') and o.payment_status <> 'paid')));
end $function$;

CREATE OR REPLACE FUNCTION money.payment_refunded(p money.payments, facts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  r money.payments;
  v_amount numeric;
  v_left numeric;
begin
  if exists (select from money.payments x where x.gateway_code = p.gateway_code and x.gateway_transaction_id = facts ->> 'refund_id') then
    return 'already_refunded';
  elsif p.status <> 'SUCCESS' or coalesce(facts ->> 'refund_id', '') = '' or facts ->> 'amount' !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then
    return 'refund_of_nothing';
  end if;
  v_amount := (facts ->> 'amount')::numeric / case facts ->> 'unit' when 'minor'
    then 10 ^ money.minor_digits(p) else 1 end;
  update money.payments x set gateway_transaction_id = facts ->> 'refund_id'
  where x.tenant_id = p.tenant_id and x.account_id = p.account_id and x.type = 'REFUND' and x.reference = p.id::text and x.amount = v_amount
    and x.gateway_transaction_id like 'resolved-%';
  if found then
    return 'already_refunded';
  end if;
  select coalesce(sum(case x.type when 'REFUND' then -x.amount else x.amount end), 0) into v_left from money.payments x
  where x.tenant_id = p.tenant_id and x.status = 'SUCCESS' and (x.id = p.id or (x.type = 'REFUND' and (x.order_id = p.order_id or x.reference = p.id::text)));
  if v_amount > v_left or v_amount <= 0 or v_amount <> round(v_amount, 3) then
    return 'amount_differs';
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, gateway_code,
    gateway_transaction_id, reference, processed_at)
  values (p.tenant_id, p.category, 'REFUND', 'SUCCESS', 'gateway', v_amount, p.currency, p.account_id, p.order_id, p.gateway_code,
    facts ->> 'refund_id', case when p.order_id is null then p.id::text else p.reference end, now())
  returning * into r;
  perform money.book_payment(r, 'gateway_refund',
    case p.type when 'ORDER' then money.account_of('wallet', 'tenant', null, p.currency) else p.account_id end,
    money.account_of('external', 'tenant', null, p.currency), p.reference);
  return null;
exception
  when check_violation or sqlstate 'RULE0' then
    if sqlerrm not like '%insufficient_wallet_balance%' then
      raise;
    end if;
    return 'insufficient_wallet_balance';
end $function$;

CREATE OR REPLACE FUNCTION money.post_journal(kind text, reference_type text, reference_id uuid, description text, account_ids uuid[], amounts numeric[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_journal uuid := gen_random_uuid();
  v_line record;
  v_account money.accounts;
  v_short money.accounts;
  v_desk boolean := false;
  v_queued boolean := false;
begin
  perform money.require_core();
  perform money.amounts_exact(amounts);
  insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, description, actor_id)
  values (v_journal, v_tenant, kind, reference_type, reference_id, description, app.user_id());
  for v_line in select l.account_id, l.amount from unnest(account_ids, amounts) l (account_id, amount) order by l.account_id loop
    update money.accounts a set balance = a.balance + v_line.amount, version = a.version + 1
    where a.tenant_id = v_tenant and a.id = v_line.account_id and (a.floor is null or a.balance + v_line.amount >= a.floor)
    returning a.* into v_account;
    if not found then
      select * into v_short from money.accounts a where a.tenant_id = v_tenant and a.id = v_line.account_id;
      if v_short.id is not null then
        perform money.wallet_short(v_short, v_line.amount);
      end if;
      perform app.fail('wallet_not_found');
    end if;
    insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
    values (v_tenant, v_journal, v_line.account_id, v_line.amount, v_account.currency, v_account.balance, v_account.version);
    if v_account.kind = 'cash_on_hand' then
      v_desk := true;
      v_queued := v_queued or v_account.queued_since is not null;
    end if;
    if v_line.amount < 0 then
      v_account.balance := v_account.balance - v_line.amount;
      perform money.require_available(v_account, v_line.amount, kind);
    end if;
  end loop;
  if v_queued or v_desk and money.brings_cash_to_bank(kind, reference_id) then
    perform money.desk_queues_follow(v_journal);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.receipt_reissue(payment uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update money.settlement_receipts r set status = 'pending', error = null, edition = r.edition + 1
  where r.tenant_id = app.tenant_id() and r.payment_id = payment;
  perform money.receipt_queue(payment);
end $function$;

CREATE OR REPLACE FUNCTION money.receipt_request(payment uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into money.settlement_receipts (payment_id, tenant_id, language, hash)
  values (payment, app.tenant_id(), coalesce(app.request_setting('language'), 'en'), money.receipt_hash(payment));
  perform money.receipt_queue(payment);
end $function$;

CREATE OR REPLACE FUNCTION money.require_available(a money.accounts, change numeric, journal text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_held numeric;
begin
  if not money.may_be_held(a) then
    return;
  end if;
  v_held := case when journal = 'merchant_payout' then money.held_of(a.tenant_id, a.id) else money.unavailable_of(a) end;
  if v_held <> 0 and a.balance + change - v_held < a.floor then
    if journal = 'merchant_payout' then
      perform app.fail('statement_not_covered', jsonb_build_object('balance', a.balance, 'held', v_held, 'required', -change, 'currency', a.currency));
    end if;
    perform money.wallet_short(a, change, v_held);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.reversed_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'reversed_row', c.driver_id, c.currency::text, 0::numeric, m.counting, array[c.id]
  from money.cod_collections c
  cross join lateral (
    select coalesce((select sum(q.amount) from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id
        and q.processed_at = c.collected_at and q.type in ('COD_COLLECTION', 'DELIVERY_FEE') and q.status <> 'CANCELLED'), 0)
      + coalesce((select sum(w.amount) from money.driver_pay w
        join delivery.deliveries l on l.tenant_id = tenant and l.id = w.delivery_id and c.delivery_id in (l.id, l.parent_id)
        where w.tenant_id = tenant and w.driver_id = c.driver_id and w.accrued_at = c.collected_at and w.status <> 'reversed'), 0) as counting
  ) m
  where c.tenant_id = tenant and c.reversed_at <= as_of and m.counting <> 0
$function$;

CREATE OR REPLACE FUNCTION money.stated_movements(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(account_id uuid, movement bigint, reference_id uuid, whole numeric, held numeric, stated numeric, due boolean)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with wallet as materialized (
    select a.id, m.opening, m.opening_movement, m.looked_to from money.accounts a
    join money.merchant_accounts m on m.tenant_id = a.tenant_id and m.account_id = a.id and m.opened_at <= as_of
    where a.tenant_id = tenant and a.kind = 'wallet' and a.owner_type in ('customer', 'institution')
  ), held as (
    select h.reference_type, h.reference_id, sum(h.amount) as held from money.wallet_holds h
    where h.tenant_id = tenant and h.created_at <= as_of and (h.counts_from <= h.created_at or h.counts_from <= least(as_of, now()))
    group by h.reference_type, h.reference_id having sum(h.amount) <> 0
  ), moved as (
    select w.id, e.version as movement, t.reference_id, e.amount as whole, coalesce(h.held, 0) as held
    from wallet w
    join money.ledger_entries e on e.tenant_id = tenant and e.account_id = w.id and e.version > w.opening_movement and e.created_at <= as_of
    join money.ledger_transactions t on t.tenant_id = tenant and t.id = e.transaction_id
      and t.kind not in ('merchant_payout', 'merchant_payout_REVERSAL')
    left join held h on t.kind = 'cod_credit' and h.reference_type = t.reference_type and h.reference_id = t.reference_id
    union all
    select w.id, 0, w.id, w.opening, 0 from wallet w where w.opening <> 0
  ), said as (
    select l.account_id, l.movement, sum(l.amount) as stated from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = tenant and s.id = l.statement_id
    where l.tenant_id = tenant and l.movement is not null and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by l.account_id, l.movement
  ), pending as (
    select distinct p.account_id, p.movement from money.merchant_pending p where p.tenant_id = tenant
  )
  select coalesce(m.id, s.account_id), coalesce(m.movement, s.movement), coalesce(m.reference_id, s.account_id), coalesce(m.whole, 0), coalesce(m.held, 0),
    coalesce(s.stated, 0), coalesce(m.movement > w.looked_to, false) or p.movement is not null
  from moved m
  full join said s on s.account_id = m.id and s.movement = m.movement
  left join wallet w on w.id = m.id
  left join pending p on p.account_id = coalesce(m.id, s.account_id) and p.movement = coalesce(m.movement, s.movement)
$function$;

CREATE OR REPLACE FUNCTION money.stated_of(tenant uuid, account uuid)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((select sum(s.net) from money.merchant_statements s
    where s.tenant_id = tenant and s.account_id = account and s.status = 'open'), 0);
end $function$;

CREATE OR REPLACE FUNCTION money.stated_since(p_parcel uuid, p_since timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id
    where l.tenant_id = app.tenant_id() and l.delivery_id = p_parcel and l.collected_at >= p_since and s.status in ('open', 'paid'));
end $function$;

CREATE OR REPLACE FUNCTION money.statement_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select 'statement_balance', a.owner_user_id, a.currency::text, p.balance + p.paid, p.lines + p.held + p.unstated, array[a.id]
  from money.statement_positions(tenant, as_of) p
  join money.accounts a on a.tenant_id = tenant and a.id = p.account_id
  where p.lines + p.held + p.unstated <> p.balance + p.paid
  union all
  select 'statement_lines', s.owner_user_id, s.currency, s.net, l.net, array[s.id]
  from money.merchant_statements s
  left join lateral (
    select count(*) as lines, coalesce(sum(x.amount) filter (where x.kind = 'cod'), 0) as cod,
      coalesce(-sum(x.amount) filter (where x.kind = 'delivery_fee'), 0) as fees, coalesce(sum(x.amount) filter (where x.kind = 'refund'), 0) as refunds,
      coalesce(sum(x.amount), 0) as net, bool_and(x.account_id = s.account_id) as own
    from money.merchant_statement_lines x where x.tenant_id = tenant and x.statement_id = s.id
  ) l on true
  where s.tenant_id = tenant and s.opened_at <= as_of and (l.lines, l.cod, l.fees, l.refunds, l.net, l.own)
    is distinct from (s.lines::bigint, s.gross_cod, s.fees, s.refunds, s.net, true)
  union all
  select m.kind, a.owner_user_id, a.currency, sum(m.expected), sum(m.stated), (array_agg(m.reference_id order by m.movement))[1:100]
  from (
    select k.kind, x.account_id, x.movement, x.reference_id, k.expected, x.stated
    from money.stated_movements(tenant, as_of) x
    cross join lateral (values ('stated_movement', x.whole, x.stated not in (0, x.whole)),
      ('unstated_movement', x.whole - x.held, as_of >= now() and x.stated <> x.whole - x.held and not x.due)) k (kind, expected, differs)
    where k.differs
  ) m
  join money.accounts a on a.tenant_id = tenant and a.id = m.account_id
  group by m.kind, a.id, a.owner_user_id, a.currency
  union all
  select 'stated_balance', a.owner_user_id, a.currency, s.lines, s.stated, array[a.id]
  from money.accounts a
  cross join lateral (
    select money.stated_of(tenant, a.id) as stated, coalesce(sum(l.amount), 0) as lines
    from money.merchant_statements s
    join money.merchant_statement_lines l on l.tenant_id = tenant and l.statement_id = s.id
    where s.tenant_id = tenant and s.account_id = a.id and s.voided_at is null and not exists (
      select from money.merchant_payouts p where p.tenant_id = tenant and p.statement_id = s.id and p.reversed_at is null)
  ) s
  where a.tenant_id = tenant and a.id in (select x.account_id from money.merchant_statements x where x.tenant_id = tenant) and s.lines <> s.stated
  union all
  select 'statement_payout', s.owner_user_id, s.currency, case s.status when 'paid' then s.net else 0 end, coalesce(p.amount, 0), array[s.id]
  from money.merchant_statements s
  left join money.merchant_payouts p on p.tenant_id = tenant and p.statement_id = s.id and p.reversed_at is null
  where s.tenant_id = tenant and (s.payout_id is distinct from p.id or (s.status = 'paid') <> (p.id is not null) or p.amount <> s.net)
  union all
  select 'payout_journal', p.owner_user_id, p.currency, n.taken, case when j.wallet <> n.taken then j.wallet else j.desk end, array[p.id]
  from money.merchant_payouts p
  join money.merchant_statements s on s.tenant_id = tenant and s.id = p.statement_id
  cross join lateral (select case when p.reversed_at <= as_of then 0 else -p.amount end as taken) n
  cross join lateral (
    select coalesce(sum(e.amount) filter (where e.account_id = s.account_id), 0) as wallet,
      coalesce(sum(e.amount) filter (where a.kind = 'cash_on_hand' and a.owner_user_id = p.actor_id), 0) as desk
    from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = tenant and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = tenant and a.id = e.account_id
    where t.tenant_id = tenant and t.reference_type = 'merchant_payout' and t.reference_id = p.id and t.created_at <= as_of
  ) j
  where p.tenant_id = tenant and p.paid_at <= as_of and (j.wallet <> n.taken or j.desk <> case p.method when 'cash' then n.taken else 0 end)
  union all
  select 'statement_number', null, c.currency, c.last, c.statements, null
  from (
    select min(s.currency::text) as currency, max(s.number) as highest, count(*)::numeric as statements,
      (select max(n.last)::numeric from money.merchant_statement_numbers n where n.tenant_id = tenant) as last
    from money.merchant_statements s where s.tenant_id = tenant
  ) c
  where c.statements > 0 and (c.highest, c.statements) is distinct from (c.last::bigint, c.last)
$function$;

CREATE OR REPLACE FUNCTION money.statement_make(p_wallet uuid, p_until timestamp with time zone, p_cycle_day date DEFAULT NULL::date)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_wallet money.accounts;
  v_marks money.merchant_accounts;
  v_rule record;
  v_lines money.merchant_statement_lines[];
  v_unsettled bigint[];
  v_pending bigint[];
  v_looked_to bigint;
  v_kept numeric;
  v_net numeric;
  v_cod boolean;
  v_id uuid := gen_random_uuid();
  v_number bigint;
  s money.merchant_statements;
begin
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = p_wallet for no key update;
  if exists (select from money.merchant_statements o where o.tenant_id = v_tenant and o.account_id = p_wallet and o.cycle_day = p_cycle_day) then
    return null;
  end if;
  select m.* into v_marks from money.merchant_accounts m where m.tenant_id = v_tenant and m.account_id = p_wallet;
  v_rule := money.statement_rule(v_wallet.currency::text);
  v_kept := money.kept_of(v_tenant, p_wallet);
  -- One query, so that holds, movements and what is pending are those of one moment.
  with moved as materialized (
    select * from money.statement_movements(v_tenant, p_wallet, coalesce(v_marks.looked_to, 0), p_until)
  ), line as (
    select m.movement, case when m.stated then 'adjustment' else m.kind end as kind, m.amount, m.delivery_id, m.happened_at, m.released_at, m.kind as origin
    from moved m where m.amount <> 0
    union all
    select null, 'adjustment', k.amount, null, now(), now(), null from (values (v_kept), (-v_rule.keep)) k (amount) where k.amount <> 0
  )
  select
    (select array_agg(row(v_tenant, null, l.position, p_wallet, l.movement, l.kind, l.amount, l.delivery_id, d.delivery_code, d.external_reference_id,
          l.happened_at, l.released_at)::money.merchant_statement_lines)
      from (select x.*, row_number() over (order by x.movement is null, x.happened_at, x.movement, x.amount desc) as position from line x) l
      left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = l.delivery_id),
    (select sum(l.amount) from line l),
    (select bool_or(l.origin = 'cod') from line l),
    (select array_agg(p.id) from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet),
    (select min(m.movement) - 1 from moved m where not m.early and m.movement > coalesce(v_marks.looked_to, 0)),
    (select array_agg(m.movement) from moved m where not m.settled)
  into v_lines, v_net, v_cod, v_pending, v_looked_to, v_unsettled;
  if coalesce(v_net, 0) <= 0 or v_net < v_rule.minimum or p_cycle_day is not null and v_cod is not true then
    return null;
  end if;
  v_looked_to := coalesce(v_looked_to, v_wallet.version);
  v_number := money.statement_number_next();
  insert into money.merchant_statements (id, tenant_id, number, account_id, owner_user_id, currency, opened_by, period_from, period_to, gross_cod, fees,
    refunds, adjustments, net, lines, cycle_day, hash)
  select v_id, v_tenant, v_number, p_wallet, v_wallet.owner_user_id, v_wallet.currency, app.user_id(),
    least(coalesce((select max(x.period_to) from money.merchant_statements x where x.tenant_id = v_tenant and x.account_id = p_wallet and x.status <> 'void'),
      v_marks.opened_at, v_wallet.created_at), least(p_until, now())), least(p_until, now()),
    coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0), coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0),
    coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0), coalesce(sum(l.amount) filter (where l.kind = 'adjustment'), 0), v_net, count(*), p_cycle_day,
    money.statement_hash(v_id, v_tenant, v_number, v_wallet.owner_user_id, v_wallet.currency::text, v_net, v_lines)
  from unnest(v_lines) l
  returning * into s;
  insert into money.merchant_statement_lines (tenant_id, statement_id, position, account_id, movement, kind, amount, delivery_id, delivery_code,
    external_reference_id, collected_at, released_at)
  select l.tenant_id, s.id, l.position, l.account_id, l.movement, l.kind, l.amount, l.delivery_id, l.delivery_code, l.external_reference_id, l.collected_at,
    l.released_at
  from unnest(v_lines) l;
  delete from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = p_wallet and p.id = any (v_pending);
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select v_tenant, p_wallet, u.movement from unnest(v_unsettled) u (movement) where u.movement <= v_looked_to;
  insert into money.merchant_accounts (tenant_id, account_id, looked_to) values (v_tenant, p_wallet, v_looked_to)
  on conflict (tenant_id, account_id) do update set looked_to = excluded.looked_to;
  perform money.statement_event_emit('merchant_statement.opened', s);
  return s.id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_movements(p_tenant uuid, p_account uuid, p_looked_to bigint, p_until timestamp with time zone)
 RETURNS TABLE(movement bigint, kind text, amount numeric, stated boolean, settled boolean, early boolean, happened_at timestamp with time zone, released_at timestamp with time zone, delivery_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select e.version as movement from money.ledger_entries e where e.account_id = p_account and e.version > p_looked_to
    union
    select p.movement from money.merchant_pending p where p.tenant_id = p_tenant and p.account_id = p_account
  ), moved as (
    select w.movement, money.movement_kind(t.kind) as kind, e.amount as whole, e.created_at as happened_at, t.reference_type, t.reference_id,
      t.kind = 'cod_credit' as holdable
    from wanted w
    join money.ledger_entries e on e.account_id = p_account and e.version = w.movement
    join money.ledger_transactions t on t.tenant_id = p_tenant and t.id = e.transaction_id
    where money.movement_kind(t.kind) is not null
    union all
    select 0::bigint, 'adjustment', m.opening, m.opened_at, null, null, false
    from wanted w
    join money.merchant_accounts m on m.tenant_id = p_tenant and m.account_id = p_account
    where w.movement = 0
  ), said as materialized (
    select l.movement, sum(l.amount) as said
    from money.merchant_statement_lines l
    join money.merchant_statements o on o.tenant_id = l.tenant_id and o.id = l.statement_id and o.status <> 'void'
    where l.tenant_id = p_tenant and l.account_id = p_account and l.movement in (select w.movement from wanted w)
    group by l.movement
  )
  select m.movement, m.kind, case when m.happened_at < p_until then m.whole - h.held - coalesce(s.said, 0) else 0 end, s.movement is not null,
    m.happened_at < p_until and h.held = 0, m.happened_at < p_until, m.happened_at, greatest(m.happened_at, h.released_at),
    coalesce(p.delivery_id, c.delivery_id, r.delivery_id)
  from moved m
  cross join lateral (
    select coalesce(sum(x.amount) filter (where x.counts_from <= x.created_at or x.counts_from <= now()), 0) as held,
      max(x.counts_from) filter (where x.amount < 0 and (x.counts_from <= x.created_at or x.counts_from <= now())) as released_at
    from money.wallet_holds x
    where m.holdable and x.tenant_id = p_tenant and x.reference_type = m.reference_type and x.reference_id = m.reference_id
  ) h
  left join said s on s.movement = m.movement
  left join money.payments p on m.reference_type = 'payment' and p.tenant_id = p_tenant and p.id = m.reference_id
  left join money.cod_collections c on m.reference_type = 'cod_collection' and c.tenant_id = p_tenant and c.id = m.reference_id
  left join money.carrier_collections r on m.reference_type = 'carrier_collection' and r.tenant_id = p_tenant and r.id = m.reference_id;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_number_next()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_number bigint;
begin
  insert into money.merchant_statement_numbers as n (tenant_id, last) values (app.tenant_id(), 1)
  on conflict (tenant_id) do update set last = n.last + 1
  returning n.last into v_number;
  return v_number;
end $function$;

CREATE OR REPLACE FUNCTION money.statement_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(account_id uuid, lines numeric, held numeric, unstated numeric, balance numeric, paid numeric, open numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with moved as materialized (
    select m.account_id, sum(m.whole - m.held - m.stated) as unstated, sum(m.stated) as stated
    from (
      select x.account_id, x.whole, x.held, x.stated from money.stated_movements(tenant, as_of) x
      union all
      select x.account_id, 0, 0, 0 from money.merchant_accounts x where x.tenant_id = tenant and x.opened_at <= as_of
    ) m
    group by m.account_id
  ), kept as (
    select s.account_id, sum(l.amount) as kept from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = tenant and s.id = l.statement_id
    where l.tenant_id = tenant and l.movement is null and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by s.account_id
  ), held as (
    select h.account_id, sum(h.amount) as held from money.wallet_holds h
    where h.tenant_id = tenant and h.created_at <= as_of and (h.counts_from <= h.created_at or h.counts_from <= least(as_of, now()))
    group by h.account_id
  ), net as (
    select s.account_id, coalesce(sum(s.net) filter (where p.id is not null), 0) as paid, coalesce(sum(s.net) filter (where p.id is null), 0) as open
    from money.merchant_statements s
    left join money.merchant_payouts p on p.tenant_id = tenant and p.statement_id = s.id and p.paid_at <= as_of
      and (p.reversed_at is null or p.reversed_at > as_of)
    where s.tenant_id = tenant and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by s.account_id
  ), was as (
    select e.account_id, sum(e.amount) as balance from money.ledger_entries e
    where as_of < now() and e.tenant_id = tenant and e.created_at <= as_of and e.account_id in (select m.account_id from moved m)
    group by e.account_id
  )
  select m.account_id, m.stated + coalesce(k.kept, 0), coalesce(h.held, 0), m.unstated - coalesce(k.kept, 0),
    case when as_of < now() then coalesce(b.balance, 0) else a.balance end, coalesce(n.paid, 0), coalesce(n.open, 0)
  from moved m
  join money.accounts a on a.tenant_id = tenant and a.id = m.account_id
  left join kept k on k.account_id = m.account_id
  left join held h on h.account_id = m.account_id
  left join net n on n.account_id = m.account_id
  left join was b on b.account_id = m.account_id
$function$;

CREATE OR REPLACE FUNCTION money.statements_reconciled(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(w) order by w.user_name, w.user_id, w.currency), '[]')
    from (
      select a.id as wallet_id, a.owner_user_id as user_id, q.full_name as user_name, a.currency, p.lines, p.held, p.unstated, p.balance, p.paid, p.open
      from money.statement_positions(app.tenant_id(), as_of) p
      join money.accounts a on a.tenant_id = app.tenant_id() and a.id = p.account_id
      left join tenancy.profiles q on q.id = a.owner_user_id
      where (p.lines, p.held, p.unstated, p.balance, p.paid) <> (0, 0, 0, 0, 0)
    ) w);
end $function$;

CREATE OR REPLACE FUNCTION money.unavailable_of(a money.accounts)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when money.may_be_held(a) then money.held_of(a.tenant_id, a.id) + money.stated_of(a.tenant_id, a.id) else 0 end;
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_accept(e money.payment_webhook_events, p money.payments, o storefront.storefront_orders, p_amount numeric)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if p.status = 'SUCCESS' or o.payment_status = 'paid' then
    return 'already_paid';
  elsif p.status = 'CANCELLED' or o.status not in ('pending', 'awaiting_approval') then
    return 'order_cancelled';
  elsif o.id is not null and p_amount > o.total_price then
    return 'amount_differs';
  end if;
  update storefront.storefront_orders x set discount_amount = x.discount_amount + x.total_price - p_amount, total_price = p_amount
  where x.tenant_id = o.tenant_id and x.id = o.id and x.total_price <> p_amount;
  update money.payments x set status = 'CANCELLED', processed_at = now()
  where x.tenant_id = p.tenant_id and x.order_id = p.order_id and x.type = 'ORDER' and x.status = 'pending' and x.id <> p.id;
  update money.payments x set amount = p_amount where x.tenant_id = p.tenant_id and x.id = p.id returning * into p;
  perform money.payment_made(p, e.facts ->> 'transaction_id', e.facts ->> 'terminal');
  return null;
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_amount(e money.payment_webhook_events, p money.payments, OUT amount numeric, OUT refusal text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  refusal := case
    when e.facts ->> 'kind' <> 'paid' then 'not_a_payment'
    when p.id is null then 'payment_unknown'
    when not exists (select from tenancy.currencies c
      where c.code = p.currency and upper(e.facts ->> 'currency') in (c.code, c.numeric_code)) then 'currency_differs'
    when coalesce(e.facts ->> 'amount', '') !~ '^[0-9]{1,15}(\.[0-9]{1,3})?$' then 'amount_differs'
    when coalesce(e.facts ->> 'transaction_id', '') = '' then 'transaction_missing'
    when exists (select from money.payments x
      where x.gateway_code = e.gateway_code and x.gateway_transaction_id = e.facts ->> 'transaction_id') then 'transaction_already_used'
  end;
  if refusal is null then
    amount := (e.facts ->> 'amount')::numeric / case e.facts ->> 'unit' when 'minor' then 10 ^ money.minor_digits(p) else 1 end;
    if amount <= 0 or amount <> round(amount, money.decimals_of(p.currency)) then
      refusal := 'amount_differs';
    end if;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_announce(p_event uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  e money.payment_webhook_events;
  v_data jsonb;
begin
  select * into e from money.payment_webhook_events x where x.tenant_id = v_tenant and x.id = p_event;
  if e.outcome <> 'unmatched' or exists (
      select from money.payment_webhook_events x
      where x.tenant_id = v_tenant and x.payment_id = e.payment_id and x.id <> e.id and x.outcome = 'unmatched' and x.resolution is null
        and x.facts ->> 'kind' = e.facts ->> 'kind' and x.facts ->> 'transaction_id' = e.facts ->> 'transaction_id') then
    return;
  end if;
  v_data := jsonb_build_object('payment_event_id', e.id, 'gateway_code', e.gateway_code, 'reason', e.reason, 'payment_id', e.payment_id,
    'order_id', (select p.order_id from money.payments p where p.tenant_id = v_tenant and p.id = e.payment_id),
    'gateway_order_id', e.facts -> 'gateway_order_id', 'gateway_transaction_id', e.facts -> 'transaction_id',
    'amount', e.facts -> 'amount', 'amount_unit', e.facts -> 'unit', 'currency', e.facts -> 'currency');
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'payment.unmatched', 'source_module', 'payment',
    'entity_type', 'payment_webhook_event', 'entity_id', e.id, 'event_data', v_data)));
  perform tenancy.notify_tenant_admins('payment_unmatched', v_data);
end $function$;

CREATE OR REPLACE FUNCTION money.unmatched_book(e money.payment_webhook_events, p money.payments, p_account uuid, p_amount numeric)
 RETURNS money.payments
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  r money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, gateway_code, reference, snapshot,
    actor_id)
  values (p.tenant_id, 'WALLET', 'WALLET_TOPUP', 'pending', 'gateway', p_amount, p.currency, p_account, p.gateway_code, p.reference,
    jsonb_build_object('payment_event_id', e.id, 'payment_id', p.id, 'order_id', p.order_id), app.user_id())
  returning * into r;
  perform money.payment_made(r, e.facts ->> 'transaction_id', e.facts ->> 'terminal');
  select * into r from money.payments x where x.tenant_id = r.tenant_id and x.id = r.id;
  return r;
end $function$;

CREATE OR REPLACE FUNCTION private.api_key_scopes(tenant_id uuid, maker uuid, scopes text[])
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(tenant_id);
  return array(
    select s.scope from unnest(scopes) s (scope)
    where s.scope not like '%:system'
      and (exists (select from tenancy.system_users u where u.user_id = maker)
        or exists (
          select from tenancy.tenant_users u
          join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
          join tenancy.role_permissions p on p.role_key = r.role_key and p.permission_key = s.scope
          where u.tenant_id = api_key_scopes.tenant_id and u.user_id = maker and u.is_active)));
end $function$;

CREATE OR REPLACE FUNCTION storefront.domain_event_emit(d storefront.custom_domains, happened text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  perform storefront.domain_event_write(d, happened);
end $function$;

CREATE OR REPLACE FUNCTION storefront.domain_event_write(d storefront.custom_domains, happened text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  values (d.tenant_id, 'custom_domain.' || happened, 'storefront', 'custom_domain', d.id, jsonb_build_object('custom_domain_id', d.id,
    'market_id', d.market_id, 'custom_domain', d.custom_domain, 'status', d.status,
    'actor_id', case when d.tenant_id = app.tenant_id() then app.user_id() end));
end $function$;

REVOKE ALL ON FUNCTION "storefront"."domain_event_write"(storefront.custom_domains, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.domain_record_active(d storefront.custom_domains, complete boolean)
 RETURNS storefront.custom_domains
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if complete is null then
    update storefront.custom_domains x set dns_checked_at = now() where x.tenant_id = d.tenant_id and x.id = d.id returning * into d;
  elsif not complete and d.dns_missing_since <= now() - interval '3 days' then
    update storefront.custom_domains x set status = 'pending_dns', dns_checked_at = now(), dns_verified_at = null,
      dns_missing_since = null, pending_since = now()
    where x.tenant_id = d.tenant_id and x.id = d.id returning * into d;
    perform storefront.domain_event_write(d, 'unverified');
  else
    update storefront.custom_domains x set dns_checked_at = now(),
      dns_missing_since = case when not complete then coalesce(x.dns_missing_since, now()) end
    where x.tenant_id = d.tenant_id and x.id = d.id returning * into d;
  end if;
  return d;
end $function$;

CREATE OR REPLACE FUNCTION storefront.domain_record_lookup(p_domain uuid, complete boolean, holder_gone uuid DEFAULT NULL::uuid)
 RETURNS storefront.custom_domains
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  d storefront.custom_domains;
  v_lost storefront.custom_domains;
begin
  if current_setting('role', true) = 'barid_caller' and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select * into d from storefront.custom_domains x where x.tenant_id = v_tenant and x.id = p_domain;
  perform pg_advisory_xact_lock(hashtextextended('domain ' || d.custom_domain, 0));
  select * into d from storefront.custom_domains x
  where x.tenant_id = v_tenant and x.id = p_domain and x.status <> 'archived' for update;
  if d.id is null then
    return null;
  elsif d.status = 'active' then
    return storefront.domain_record_active(d, complete);
  elsif complete is not true then
    update storefront.custom_domains x set dns_checked_at = now() where x.tenant_id = v_tenant and x.id = d.id returning * into d;
    return d;
  end if;
  if exists (select from storefront.custom_domains x
      where x.custom_domain = d.custom_domain and x.status = 'active' and x.id is distinct from holder_gone) then
    perform app.fail('custom_domain_taken', '{"field": "custom_domain"}');
  end if;
  for v_lost in
    update storefront.custom_domains x set status = 'archived', disconnected_at = now()
    where x.custom_domain = d.custom_domain and x.status <> 'archived' and x.id <> d.id returning *
  loop
    perform storefront.domain_event_write(v_lost, 'lost');
  end loop;
  update storefront.custom_domains x set status = 'active', dns_checked_at = now(), dns_verified_at = now()
  where x.tenant_id = v_tenant and x.id = d.id returning * into d;
  perform storefront.domain_event_write(d, 'verified');
  return d;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_after_delivery_ended(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_ends record;
begin
  select count(*) filter (where d.status = 'delivered') > 0 as delivered,
    bool_and(d.status in ('delivered', 'returned', 'cancelled')) as over into v_ends
  from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id;
  if v_ends.delivered and v_ends.over then
    perform storefront.order_delivered(o, p_booked => true);
  elsif v_ends.over then
    update storefront.storefront_orders x set status = 'cancelled', cancelled_at = now(), cancel_reason = 'other', fulfilment = 'returned'
    where x.tenant_id = o.tenant_id and x.id = o.id;
  elsif v_ends.delivered then
    update storefront.storefront_orders x set fulfilment = 'partial'
    where x.tenant_id = o.tenant_id and x.id = o.id and x.fulfilment = 'none';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_cut(missing jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_picks uuid[];
  v_left jsonb;
begin
  update storefront.storefront_order_part_items g set short = g.short + m.quantity
  from jsonb_to_recordset(missing) as m (part_id uuid, position integer, quantity integer)
  where g.tenant_id = v_tenant and g.part_id = m.part_id and g.position = m.position;
  v_picks := array(select p.picking_order_id from storefront.storefront_order_parts p
    where p.tenant_id = v_tenant and p.id = any (array(select m.part_id from jsonb_to_recordset(missing) as m (part_id uuid))));
  select jsonb_agg(jsonb_build_object('item_id', i.item_id, 'warehouse_id', i.warehouse_id, 'bin_id', i.bin_id,
    'quantity', i.quantity - i.picked_quantity) order by i.picking_order_id, i.position) into v_left
  from warehousing.picking_order_items i
  where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity < i.quantity;
  delete from warehousing.picking_order_items i where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity = 0;
  update warehousing.picking_order_items i set quantity = i.picked_quantity
  where i.tenant_id = v_tenant and i.picking_order_id = any (v_picks) and i.picked_quantity < i.quantity;
  update warehousing.picking_orders k set status = 'cancelled'
  where k.tenant_id = v_tenant and k.id = any (v_picks) and not exists (
    select from warehousing.picking_order_items i where i.tenant_id = v_tenant and i.picking_order_id = k.id);
  delete from delivery.delivery_items i using storefront.storefront_order_parts p, storefront.storefront_order_part_items g
  where p.tenant_id = v_tenant and p.picking_order_id = any (v_picks) and g.tenant_id = v_tenant and g.part_id = p.id and g.short = g.quantity
    and i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.position;
  update delivery.delivery_items i set quantity = g.quantity - g.short
  from storefront.storefront_order_parts p, storefront.storefront_order_part_items g
  where p.tenant_id = v_tenant and p.picking_order_id = any (v_picks) and g.tenant_id = v_tenant and g.part_id = p.id and g.short > 0
    and i.tenant_id = v_tenant and i.delivery_id = p.delivery_id and i.position = g.position;
  return v_left;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_delivered(o storefront.storefront_orders, p_booked boolean, p_note text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  update storefront.storefront_orders x set status = 'delivered', delivered_at = now(), status_note = p_note,
    fulfilment = case when storefront.order_is_whole(o.id) then 'full' else 'partial' end
  where x.tenant_id = o.tenant_id and x.id = o.id;
  select * into p from money.payments x
  where x.tenant_id = o.tenant_id and x.order_id = o.id and x.type = 'ORDER' and x.status = 'pending' and x.payment_method = 'cash' for no key update;
  if p.id is null then
    return;
  elsif p_booked then
    update money.payments x set amount = (
      select coalesce(sum(d.cod_amount), 0) from delivery.deliveries d
      where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered')
    where x.tenant_id = p.tenant_id and x.id = p.id
    returning * into p;
  end if;
  perform money.payment_made(p, p_booked => p_booked);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_event_emit(o storefront.storefront_orders, happened text, more jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  values (o.tenant_id, 'order.' || happened, 'storefront', 'order', o.id, jsonb_build_object('order_id', o.id,
    'order_number', o.order_number, 'market_id', o.market_id, 'user_id', o.user_id, 'status', o.status,
    'payment_status', o.payment_status, 'payment_method', o.payment_method, 'total_price', o.total_price, 'currency', o.currency,
    'delivery_id', o.delivery_id, 'reason', o.cancel_reason, 'actor_id', app.user_id()) || more);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_give_back(o storefront.storefront_orders, p_amount numeric, p_note text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p money.payments;
begin
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, order_id, reference,
    snapshot, actor_id, processed_at)
  values (o.tenant_id, 'ORDER', 'REFUND', 'SUCCESS', 'wallet', p_amount, o.currency,
    money.account_of('wallet', 'customer', o.user_id, o.currency), o.id, o.order_number,
    case when p_note is not null then jsonb_build_object('note', p_note) end, app.user_id(), now())
  returning * into p;
  perform money.book_payment(p, 'order_refund', money.account_of('wallet', 'tenant', null, o.currency), p.account_id, o.order_number);
  perform storefront.order_event_emit(o, 'refunded', jsonb_build_object('amount', p.amount, 'payment_id', p.id));
  return storefront.refund_to_json(p);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_has_unmatched_payment(o storefront.storefront_orders)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  return exists (
    select from money.payments p
    join money.payment_webhook_events e on e.tenant_id = p.tenant_id and e.payment_id = p.id
    where p.tenant_id = o.tenant_id and p.order_id = o.id and e.outcome = 'unmatched' and e.resolution is null
      and e.facts ->> 'kind' = 'paid');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_is_undelivered(p_tenant uuid, p_order uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.deliveries d
    join delivery.outcomes o on o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.undone_in = pg_current_xact_id()
    where d.tenant_id = p_tenant and d.order_id = p_order);
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_is_whole(p_order uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return not exists (
    select from storefront.storefront_order_parts p
    join storefront.storefront_order_part_items g on g.tenant_id = p.tenant_id and g.part_id = p.id
    left join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
    where p.tenant_id = app.tenant_id() and p.order_id = p_order
      and (g.short > 0 or p.left_at is null or coalesce(d.status, 'delivered') <> 'delivered'));
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_part_leaves(p storefront.storefront_order_parts, taken boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  k warehousing.picking_orders;
  v_missing jsonb;
  v_left jsonb;
begin
  if p.left_at is not null then
    return;
  end if;
  select * into k from warehousing.picking_orders x
  where x.tenant_id = p.tenant_id and x.id = p.picking_order_id and x.status <> 'cancelled' for no key update;
  if k.status in ('pending', 'in_progress') then
    if not (taken or storefront.picks_as_it_leaves()) then
      perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
    end if;
    update warehousing.picking_order_items i set picked_quantity = i.quantity, status = 'picked'
    where i.tenant_id = k.tenant_id and i.picking_order_id = k.id;
    perform warehousing.picking_move(k, 'completed');
    k.status := 'completed';
  elsif k.id is not null then
    v_missing := storefront.order_missing(p.order_id, p.id);
    if v_missing <> '[]' then
      if not taken then
        perform app.fail('goods_not_picked', jsonb_build_object('picking_order_id', k.id));
      end if;
      v_left := storefront.order_cut(v_missing);
    end if;
  end if;
  update storefront.storefront_order_parts x set left_at = clock_timestamp() where x.tenant_id = p.tenant_id and x.id = p.id;
  if k.id is not null then
    update warehousing.picking_orders x set status = 'handed_off' where x.tenant_id = k.tenant_id and x.id = k.id;
    perform warehousing.picking_event_emit(k, k.status, 'handed_off');
    if v_left is not null then
      perform warehousing.stock_release('order', p.order_id, v_left);
    end if;
    perform warehousing.stock_exit('order', p.order_id, warehouse => p.warehouse_id);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_refundable(o storefront.storefront_orders)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(o.tenant_id);
  return (
    select coalesce(sum(case p.type when 'ORDER' then p.amount when 'REFUND' then -p.amount end), 0)
    from money.payments p where p.tenant_id = o.tenant_id and p.order_id = o.id and p.status = 'SUCCESS');
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_shipped(o storefront.storefront_orders, p_note text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update storefront.storefront_orders x set status = 'shipped', shipped_at = now(), status_note = p_note
  where x.tenant_id = o.tenant_id and x.id = o.id;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_undelivered(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_payment uuid;
begin
  update money.payments p set status = 'pending', processed_at = null, amount = o.total_price
  where p.tenant_id = o.tenant_id and p.order_id = o.id and p.type = 'ORDER' and p.status = 'SUCCESS' and p.payment_method = 'cash'
    and o.status = 'delivered'
  returning p.id into v_payment;
  update storefront.storefront_orders x set status = 'shipped', delivered_at = null, status_note = 'outcome_undone',
    payment_status = case when v_payment is null then x.payment_status else 'pending' end,
    fulfilment = case when exists (select from delivery.deliveries d where d.tenant_id = o.tenant_id and d.order_id = o.id and d.status = 'delivered')
      then 'partial' else 'none' end
  where x.tenant_id = o.tenant_id and x.id = o.id;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.account_creator(user_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(
    (select r.new_tenant_id from tenancy.wizard_runs r
      where r.admin_user_id = account_creator.user_id and not r.admin_existed order by r.created_at desc limit 1),
    (select j.tenant_id from app.jobs j
      where j.kind = 'tenants.remove_auth_user' and j.entity_key = account_creator.user_id::text and j.status in ('queued', 'running')
      order by j.id desc limit 1),
    (select i.tenant_id from tenancy.invitations i
      where i.account_id = account_creator.user_id and i.sealed_password is not null order by i.created_at desc limit 1));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.mailbox_of_caller()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select u.email from auth.users u
    where u.id = app.user_id() and u.email_confirmed_at is not null and not u.is_sso_user and u.deleted_at is null
      and not exists (select from tenancy.system_users s where s.user_id = u.id));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.may_join(user_id uuid, tenant_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from tenancy.profiles p
    join auth.users u on u.id = p.id
    where p.id = may_join.user_id and (p.proven_at is not null or p.made_by_tenant = may_join.tenant_id
      or (p.made_by_tenant is null and u.email_confirmed_at is not null)));
end $function$;

CREATE OR REPLACE FUNCTION tenancy.member_admit(user_id uuid, person jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  insert into tenancy.tenant_users as u (tenant_id, user_id, tenant_user_type, is_business, employee_id)
  values (v_tenant, member_admit.user_id, person ->> 'tenant_user_type',
    coalesce((person ->> 'is_business')::boolean, false), person ->> 'employee_id')
  on conflict on constraint user_already_member do update set tenant_user_type = excluded.tenant_user_type,
    is_business = excluded.is_business, employee_id = excluded.employee_id, is_active = true, left_at = null
  where u.left_at is not null;
  if not found then
    perform app.fail('user_already_member');
  end if;
  insert into tenancy.tenant_user_roles (tenant_id, user_id, role_key)
  select v_tenant, member_admit.user_id, r.key from jsonb_array_elements_text(person -> 'roles') r (key);
  perform tenancy.member_provision(member_admit.user_id, person ->> 'tenant_user_type');
  update delivery.drivers d set status = 'active'
  where d.tenant_id = v_tenant and d.user_id = member_admit.user_id and person ->> 'tenant_user_type' = 'driver';
end $function$;

CREATE OR REPLACE FUNCTION tenancy.member_event_emit(event_type text, user_id uuid, tenant_user_type text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', member_event_emit.event_type, 'source_module', 'tenants',
    'entity_type', 'user', 'entity_id', member_event_emit.user_id, 'event_data', jsonb_build_object(
      'user_id', member_event_emit.user_id, 'tenant_user_type', member_event_emit.tenant_user_type, 'actor_id', app.user_id()))));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.arrival_withdraw(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update warehousing.receiving_orders r set status = 'cancelled'
  where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status = 'pending' and r.source = 'inbound';
end $function$;

CREATE OR REPLACE FUNCTION warehousing.package_transfers_backfill()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return warehousing.package_transfers_project(array(select w.id from warehousing.waybills w), true);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.package_transfers_project(waybills uuid[], to_closed boolean)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_made bigint;
begin
  insert into warehousing.package_transfers (tenant_id, mode, operation_type, source_warehouse_id, destination_warehouse_id, waybill_id, notes,
    performed_by, created_at)
  select w.tenant_id, 'delivery_operation', 'waybill', w.source_warehouse_id, w.destination_warehouse_id, w.id, w.notes, w.created_by, w.created_at
  from warehousing.waybills w
  join warehousing.warehouses d on d.tenant_id = w.tenant_id and d.id = w.destination_warehouse_id
  where w.id = any (waybills) and w.source_warehouse_id <> w.destination_warehouse_id and (to_closed or d.deleted_at is null)
    and exists (select from warehousing.waybill_deliveries p where p.tenant_id = w.tenant_id and p.waybill_id = w.id)
    and not exists (select from warehousing.package_transfers t where t.tenant_id = w.tenant_id and t.waybill_id = w.id)
  on conflict on constraint one_transfer_per_waybill do nothing;
  get diagnostics v_made = row_count;
  insert into warehousing.package_transfer_deliveries (tenant_id, transfer_id, delivery_id, position)
  select p.tenant_id, t.id, p.delivery_id, p.position
  from warehousing.waybill_deliveries p
  join warehousing.package_transfers t on t.tenant_id = p.tenant_id and t.waybill_id = p.waybill_id
  where t.waybill_id = any (waybills)
    and not exists (select from warehousing.package_transfer_deliveries x
      where x.tenant_id = p.tenant_id and x.transfer_id = t.id and x.delivery_id = p.delivery_id)
  on conflict do nothing;
  return v_made;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_items_known(parcel uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  with made as (
    insert into warehousing.inventory_items (tenant_id, name, sku, barcode, parcel_delivery_id)
    select i.tenant_id, i.name, 'PARCEL-' || d.delivery_code || '-' || i.position, d.barcode, d.id
    from delivery.delivery_items i
    join delivery.deliveries d on d.tenant_id = i.tenant_id and d.id = i.delivery_id
    where i.tenant_id = app.tenant_id() and i.delivery_id = parcel and i.item_id is null
    returning id, tenant_id, sku
  )
  update delivery.delivery_items i set item_id = m.id
  from made m, delivery.deliveries d
  where i.tenant_id = m.tenant_id and i.delivery_id = parcel and d.tenant_id = i.tenant_id and d.id = parcel
    and m.sku = 'PARCEL-' || d.delivery_code || '-' || i.position;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_received(d delivery.deliveries, r warehousing.receiving_orders)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if r.source = 'inbound' then
    perform delivery.parcel_at(delivery.parcel_of(d), r.warehouse_id);
    -- It brought a parcel back here.
    if d.delivery_flow = 'operational_return' and d.status = 'delivered' then
      perform delivery.originals_come_back(array[d.original_delivery_id]);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
    update delivery.deliveries n set status = 'pending', pickup_warehouse_id = coalesce(n.pickup_warehouse_id, r.warehouse_id)
    where n.tenant_id = d.tenant_id and n.parent_id = d.parent_id and n.sequence_plan = d.sequence_plan + 1 and n.status = 'draft';
    return;
  end if;
  if d.status in ('picked_up', 'in_transit', 'failed')
      and (d.delivery_flow = 'standard' and d.order_id is not null or delivery.stops_at(d, r.warehouse_id)) then
    -- It stops here, and continues from here.
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status <> 'in_transit';
    perform warehousing.parcels_advance(array[d.id], r.warehouse_id);
    -- A return that has come to its end.
    perform delivery.returned_fees_refund(array[d.id]);
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    update delivery.deliveries x set status = 'returned' where x.tenant_id = d.tenant_id and x.id = d.id;
    if not delivery.leaves_warehouse(d) then
      -- Back for good, now that it is here.
      perform delivery.delivery_returned_for_good(d.id);
      perform delivery.returned_fees_refund(array[d.id]);
    end if;
  end if;
  -- The goods of a store are unpacked: no parcel lies there.
  if d.order_id is null then
    perform delivery.parcel_at(delivery.parcel_of(d), r.warehouse_id);
  end if;
  if delivery.leaves_warehouse(d) then
    -- It sets out from where it is now.
    update delivery.deliveries x set status = 'pending', pickup_warehouse_id = w.id, pickup_address_id = a.id,
      pickup_snapshot = case when x.pickup_warehouse_id = w.id then x.pickup_snapshot else to_jsonb(a) end,
      pickup_zone_id = case when x.pickup_warehouse_id = w.id then x.pickup_zone_id else a.zone_id end
    from warehousing.warehouses w
    join delivery.addresses_list a on a.id = w.address_id
    where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'returned' and w.tenant_id = d.tenant_id and w.id = r.warehouse_id;
  end if;
  update delivery.assignments a set status = 'returned', ended_at = clock_timestamp()
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status in ('pending', 'assigned', 'accepted');
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_entries(r warehousing.receiving_orders, details jsonb)
 RETURNS TABLE(place bigint, line uuid, item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select n.position - 1, o.id, n.item_id, n.bin_id, n.received_quantity, n.condition, n.damaged_quantity
  from rows from (jsonb_to_recordset(details) as (item_id uuid, bin_id uuid, received_quantity bigint, condition text, damaged_quantity bigint))
    with ordinality n (item_id, bin_id, received_quantity, condition, damaged_quantity, position)
  left join warehousing.receiving_order_items o on o.tenant_id = r.tenant_id and o.receiving_order_id = r.id
    and case when n.item_id is null then n.position = o.position else n.item_id = o.item_id end;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_fill(r warehousing.receiving_orders, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_details jsonb := coalesce(nullif(details, 'null'), '[]');
  v_bin uuid := coalesce((v_details #>> '{0,bin_id}')::uuid, warehousing.default_receiving_bin(r.warehouse_id));
  v_wrong record;
begin
  select e.place, e.line is null as unknown, e.twice, e.item_id into v_wrong
  from (
    select n.*, row_number() over (partition by n.line order by n.place) > 1 and n.line is not null as twice,
      n.bin_id is not null and not exists (select from warehousing.bins b
        where b.tenant_id = r.tenant_id and b.warehouse_id = r.warehouse_id and b.id = n.bin_id) as nowhere
    from warehousing.receipt_entries(r, v_details) n) e
  where e.line is null or e.twice or e.nowhere
  order by e.place limit 1;
  if found then
    if v_wrong.unknown then
      perform app.fail('inventory_item_not_found', jsonb_build_object('field', format('item_details.%s.item_id', v_wrong.place)));
    elsif v_wrong.twice then
      perform app.fail('item_named_twice', jsonb_build_object('field',
        format('item_details.%s', v_wrong.place) || case when v_wrong.item_id is null then '' else '.item_id' end));
    end if;
    perform app.fail('bin_not_found', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
  end if;
  update warehousing.receiving_order_items i set
    received_quantity = coalesce(n.received_quantity, i.quantity),
    bin_id = coalesce(n.bin_id, v_bin),
    condition = coalesce(n.condition, case when n.damaged_quantity > 0 then 'damaged' end, 'good'),
    damaged_quantity = least(coalesce(n.received_quantity, i.quantity),
      coalesce(n.damaged_quantity, case n.condition when 'damaged' then coalesce(n.received_quantity, i.quantity) end, 0))
  from warehousing.receiving_order_items o
  left join warehousing.receipt_entries(r, v_details) n on n.line = o.id
  where o.tenant_id = r.tenant_id and o.receiving_order_id = r.id and i.id = o.id;
  select e.place into v_wrong
  from warehousing.receipt_entries(r, v_details) e
  join warehousing.receiving_order_items i on i.tenant_id = r.tenant_id and i.id = e.line
  where e.damaged_quantity > i.received_quantity order by e.place limit 1;
  if found then
    perform app.fail('damaged_too_much', jsonb_build_object('field', format('item_details.%s.damaged_quantity', v_wrong.place)));
  end if;
  -- A line that nobody wrote of is wrong because of the bin that serves for all.
  select i.*, coalesce(n.place, 0) as place, case when n.bin_id is null then 0 else n.place end as bin_place into v_wrong
  from warehousing.receiving_order_items i
  left join warehousing.receipt_entries(r, v_details) n on n.line = i.id
  left join warehousing.bins b on b.tenant_id = i.tenant_id and b.id = i.bin_id
  where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id
    and (i.received_quantity > i.quantity or (i.received_quantity > 0 and b.is_active is not true))
  order by i.position limit 1;
  if found then
    if v_wrong.received_quantity > v_wrong.quantity then
      perform app.fail('received_too_much', jsonb_build_object('field', format('item_details.%s.received_quantity', v_wrong.place),
        'expected', v_wrong.quantity));
    elsif v_wrong.bin_id is null then
      perform app.fail('bin_id_required_for_received_items', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.place)));
    end if;
    perform app.fail('bin_inactive', jsonb_build_object('field', format('item_details.%s.bin_id', v_wrong.bin_place)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_open(d delivery.deliveries, warehouse uuid, source text, exception uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
begin
  select r.id into v_id from warehousing.receiving_orders r
  where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending';
  if found then
    update warehousing.receiving_orders r set exception_id = exception, source = receipt_open.source
    where r.tenant_id = d.tenant_id and r.id = v_id and exception is not null and r.source <> 'inbound';
    return v_id;
  end if;
  if not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id) then
    perform delivery.delivery_items_write(array[v_parcel]);
  end if;
  perform warehousing.parcel_items_known(v_parcel.id);
  insert into warehousing.receiving_orders (tenant_id, reference_number, warehouse_id, source, delivery_id, exception_id, created_by)
  values (d.tenant_id, 'RCV-' || app.padded(app.take_numbers('receiving_order'), 6), warehouse, source, d.id, exception, app.user_id())
  returning id into v_id;
  insert into warehousing.receiving_order_items (tenant_id, receiving_order_id, position, warehouse_id, item_id, quantity)
  select d.tenant_id, v_id, i.position, warehouse, i.item_id, i.quantity
  from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel.id;
  update storefront.storefront_order_parts p set receiving_order_id = v_id
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and receipt_open.source <> 'inbound';
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.receipt_pieces(r warehousing.receiving_orders)
 RETURNS TABLE(item_id uuid, bin_id uuid, status text, lot_number text, serial_number text, quantity bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query
  with come as (
    select i.position, i.item_id, i.bin_id, c.status, c.quantity,
      sum(c.quantity) over (partition by i.item_id order by i.position, c.status) as until
    from warehousing.receiving_order_items i
    cross join lateral (values ('available', i.received_quantity - i.damaged_quantity), ('damaged', i.damaged_quantity)) c (status, quantity)
    where i.tenant_id = r.tenant_id and i.receiving_order_id = r.id and c.quantity > 0
  ), gone as (
    select t.item_id, t.lot_number, t.serial_number, t.quantity, sum(t.quantity) over (partition by t.item_id order by t.id) as until
    from storefront.storefront_order_parts p
    join warehousing.inventory_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.order_id and t.reference_type = 'order'
      and t.transaction_type = 'pick' and t.warehouse_id = p.warehouse_id
    where p.tenant_id = r.tenant_id and p.receiving_order_id = r.id
  )
  select c.item_id, c.bin_id, c.status, g.lot_number, g.serial_number,
    coalesce(least(c.until, g.until) - greatest(c.until - c.quantity, g.until - g.quantity), c.quantity)::bigint
  from come c
  left join gone g on g.item_id = c.item_id and g.until - g.quantity < c.until and c.until - c.quantity < g.until
  order by c.position, c.status, g.until;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.report_stock(only_tenant uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select t.id, 'stock.mismatch', 'warehousing', 'tenant', t.id, jsonb_build_object('differences', d.list)
  from tenancy.tenants t
  cross join lateral (
    select jsonb_agg(jsonb_strip_nulls(to_jsonb(x)) order by x.kind, x.stock_id, x.movement_id, x.order_id, x.picking_order_id) as list
    from (select * from warehousing.stock_differences(t.id, now()) limit 100) x) d
  where d.list is not null and (only_tenant is null or t.id = only_tenant);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.return_is_lost(r delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(r.tenant_id);
  return r.current_warehouse_id is not null
    and not exists (select from warehousing.receiving_orders n where n.tenant_id = r.tenant_id and n.delivery_id = r.id and n.status = 'pending')
    and not exists (
      select from delivery.delivery_items i
      join warehousing.stock s on s.tenant_id = i.tenant_id and s.item_id = i.item_id and s.warehouse_id = r.current_warehouse_id and s.quantity > 0
      where i.tenant_id = r.tenant_id and i.delivery_id = r.id);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_allocate(lines jsonb, p_reserved_for uuid DEFAULT NULL::uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_taken private.stock_part[] := warehousing.stock_take((
    select array_agg((l.line, l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number, l.quantity, coalesce(l.field, 'quantity'),
      warehousing.stock_rank(l.warehouse_id, l.bin_id, l.lot_number, l.serial_number))::private.stock_demand order by l.line)
    from rows from (jsonb_to_recordset(lines) as (item_id uuid, warehouse_id uuid, bin_id uuid, lot_number text, serial_number text,
      quantity bigint, field text)) with ordinality l (item_id, warehouse_id, bin_id, lot_number, serial_number, quantity, field, line)),
    p_reserved_for);
begin
  return (select coalesce(jsonb_agg(to_jsonb(p) - 'stock_id' order by p.line), '[]') from unnest(v_taken) p);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_count_look(lines warehousing.inventory_count_lines[], whole_bins boolean, held uuid[], OUT beside warehousing.inventory_count_lines[], OUT settled boolean)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
 SET enable_nestloop TO 'off'
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  with here as materialized (
    select s.* from (
      select distinct l.warehouse_id, l.bin_id, l.item_id, e.status
      from unnest(lines) l
      cross join lateral (values (l.status), (case when l.status = 'available' then 'reserved' end)) e (status)
      where e.status is not null and not whole_bins) p
    cross join lateral (
      select s.id, s.warehouse_id, s.bin_id, s.item_id, s.status, s.lot_number, s.serial_number, s.quantity from warehousing.stock s
      where s.tenant_id = v_tenant and s.warehouse_id = p.warehouse_id and s.status = p.status and s.bin_id = p.bin_id and s.item_id = p.item_id
        and s.quantity > 0
      offset 0) s
    union all
    select s.* from (select distinct l.warehouse_id, l.bin_id from unnest(lines) l where whole_bins) p
    cross join lateral (
      select s.id, s.warehouse_id, s.bin_id, s.item_id, s.status, s.lot_number, s.serial_number, s.quantity from warehousing.stock s
      where s.tenant_id = v_tenant and s.warehouse_id = p.warehouse_id and s.bin_id = p.bin_id and s.quantity > 0
      offset 0) s
    where (select i.parcel_delivery_id from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = s.item_id) is null
  ), places as (
    -- Texts of lots and serials are never empty, so nothing else is like none.
    select h.warehouse_id, h.bin_id, h.item_id, case h.status when 'reserved' then 'available' else h.status end as status,
      coalesce(h.lot_number, '') as lot, coalesce(h.serial_number, '') as serial, sum(h.quantity)::bigint as expected,
      coalesce(sum(h.quantity) filter (where h.status = 'reserved'), 0)::bigint as reserved,
      bool_and(h.status = 'reserved' or r.id is not null) as settled
    from here h left join unnest(held) r (id) on r.id = h.id
    group by 1, 2, 3, 4, 5, 6
  ), told as (
    select row_number() over (order by l.position nulls last,
        case when l.position is null then (select b.code from warehousing.bins b where b.tenant_id = v_tenant and b.id = p.bin_id) end,
        case when l.position is null then (select i.sku from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = p.item_id) end,
        p.item_id, p.status, p.lot, p.serial) as position,
      coalesce(l.warehouse_id, p.warehouse_id) as warehouse_id, coalesce(l.bin_id, p.bin_id) as bin_id, coalesce(l.item_id, p.item_id) as item_id,
      coalesce(l.status, p.status) as status, coalesce(l.lot_number, nullif(p.lot, '')) as lot_number,
      coalesce(l.serial_number, nullif(p.serial, '')) as serial_number, coalesce(p.expected, 0) as expected,
      coalesce(p.reserved, 0) as reserved, coalesce(l.counted, 0) as counted, coalesce(p.settled, true) as settled
    from unnest(lines) l
    full join places p on p.bin_id = l.bin_id and p.item_id = l.item_id and p.status = l.status
      and p.lot = coalesce(l.lot_number, '') and p.serial = coalesce(l.serial_number, '')
    where whole_bins or l.position is not null
  )
  select array_agg((null, null, t.position, t.warehouse_id, t.bin_id, t.item_id, t.status, t.lot_number, t.serial_number, t.expected,
      t.reserved, t.counted)::warehousing.inventory_count_lines order by t.position), bool_and(t.settled)
  into beside, settled
  from told t;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_count_rows(lines warehousing.inventory_count_lines[], whole_bins boolean)
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[] := array(
    select p.to_stock
    from unnest(warehousing.stock_open(array(
      select (l.position, 'count', l.item_id, l.warehouse_id, l.counted, null, false, null, null, null, null, null, null,
        l.counted > 0, l.bin_id, l.status, null, null, l.lot_number, l.serial_number, null, null, null, null, null)::private.stock_movement
      from unnest(lines) l))) p
    where p.to_stock is not null);
begin
  if whole_bins then
    v_rows := array(
      select r.id from unnest(v_rows) r (id)
      union
      select s.id from (select distinct l.warehouse_id, l.bin_id from unnest(lines) l) b
      cross join lateral (
        select s.id, s.item_id from warehousing.stock s
        where s.tenant_id = v_tenant and s.warehouse_id = b.warehouse_id and s.bin_id = b.bin_id and s.reserved_for_id is null and s.quantity > 0
        offset 0) s
      where (select i.parcel_delivery_id from warehousing.inventory_items i where i.tenant_id = v_tenant and i.id = s.item_id) is null);
  end if;
  return v_rows;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_move(movements private.stock_movement[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_actor uuid := app.user_id();
  v_changes private.stock_change[];
  v_serials boolean := exists (select from unnest(movements) l where l.to_serial is not null);
  v_short record;
begin
  if coalesce(cardinality(movements), 0) = 0 then
    return;
  end if;
  -- Closing a warehouse or a bin, or giving an item serial numbers, waits for stock that is still coming in,
  -- and what comes later is checked by the change.
  perform from warehousing.warehouses w where w.tenant_id = v_tenant
    and w.id = any (array(select l.warehouse_id from unnest(movements) l where l.goes)) order by w.id for key share;
  perform from warehousing.bins b where b.tenant_id = v_tenant
    and b.id = any (array(select l.to_bin from unnest(movements) l where l.goes)) order by b.id for key share;
  perform from warehousing.inventory_items i where i.tenant_id = v_tenant
    and i.id = any (array(select l.item_id from unnest(movements) l where l.goes)) order by i.id for key share;
  perform warehousing.require_stock_movement(movements);

  movements := warehousing.stock_open(movements);
  select l.field, l.item_id into v_short from unnest(movements) l where l.comes and l.from_stock is null order by l.line limit 1;
  if found then
    perform app.fail('insufficient_stock', jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id));
  end if;
  select array_agg((n.id, n.delta, n.written_off)::private.stock_change) into v_changes from (
    select g.id, sum(g.delta)::bigint as delta, bool_or(g.written_off) as written_off from (
      select l.from_stock as id, -l.quantity as delta, l.type = 'write_off' as written_off from unnest(movements) l where l.comes
      union all
      select l.to_stock, l.quantity, false from unnest(movements) l where l.goes) g
    group by g.id) n;
  perform from warehousing.stock s
  where s.tenant_id = v_tenant and s.id = any (array(select c.stock_id from unnest(v_changes) c)) order by s.id for no key update;

  select l.field, l.item_id, b.twice into v_short
  from (
    select s.id, s.quantity + c.delta > 1 as twice
    from unnest(v_changes) c join warehousing.stock s on s.tenant_id = v_tenant and s.id = c.stock_id
    where s.written_off_at is not null or s.quantity + c.delta < 0 or (s.serial_number is not null and s.quantity + c.delta > 1)
    offset 0) b
  join unnest(movements) l on b.id in (l.from_stock, l.to_stock)
  order by l.line limit 1;
  if found then
    perform app.fail(case when v_short.twice then 'serial_number_taken' else 'insufficient_stock' end,
      jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id));
  end if;

  insert into warehousing.inventory_transactions (tenant_id, transaction_type, item_id, warehouse_id, quantity, from_stock_id, to_stock_id,
    from_bin_id, to_bin_id, from_status, to_status, lot_number, serial_number, reference_type, reference_id, reason, note, performed_by)
  select v_tenant, l.type, l.item_id, l.warehouse_id, l.quantity, l.from_stock, l.to_stock,
    l.from_bin, l.to_bin, case when l.comes then l.from_status end, case when l.goes then l.to_status end,
    coalesce(l.to_lot, l.from_lot), coalesce(l.to_serial, l.from_serial), l.reference_type, l.reference_id, l.reason, l.note, v_actor
  from unnest(movements) l
  order by l.line;

  -- Decreases first: a serial number may not be in two places, not even for a moment.
  for sign in 0..1 loop
    exit when sign = 1 and not v_serials;
    update warehousing.stock s set quantity = s.quantity + c.delta,
      written_off_at = case when s.quantity + c.delta = 0 and c.written_off then clock_timestamp() end
    from unnest(v_changes) c
    where s.tenant_id = v_tenant and s.id = c.stock_id and c.delta <> 0 and (not v_serials or (sign = 0) = (c.delta < 0));
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_open(movements private.stock_movement[])
 RETURNS private.stock_movement[]
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  movements := warehousing.stock_places(movements);
  if exists (select from unnest(movements) l where l.goes and l.to_stock is null) then
    -- In one order for everybody: two who open the same places would wait for each other in a circle.
    insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, status, lot_number, serial_number, reserved_for_type, reserved_for_id)
    select distinct v_tenant, l.warehouse_id, l.to_bin, l.item_id, l.to_status, l.to_lot, l.to_serial, l.to_type, l.to_for
    from unnest(movements) l where l.goes and l.to_stock is null
    order by l.to_bin, l.item_id, l.to_status, l.to_lot, l.to_serial, l.to_for
    on conflict do nothing;
    movements := warehousing.stock_places(movements);
  end if;
  return movements;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_reserved(p_type text, p_id uuid, warehouse uuid DEFAULT NULL::uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('item_id', s.item_id, 'warehouse_id', s.warehouse_id, 'bin_id', s.bin_id,
      'lot_number', s.lot_number, 'serial_number', s.serial_number, 'quantity', s.quantity) order by s.created_at, s.id), '[]')
    from warehousing.stock s
    where s.tenant_id = app.tenant_id() and s.reserved_for_id = p_id and s.reserved_for_type = p_type and s.quantity > 0
      and (warehouse is null or s.warehouse_id = warehouse));
end $function$;

CREATE OR REPLACE FUNCTION warehousing.stock_take(demands private.stock_demand[], p_reserved_for uuid DEFAULT NULL::uuid, beside uuid[] DEFAULT '{}'::uuid[])
 RETURNS private.stock_part[]
 LANGUAGE plpgsql
 SET search_path TO ''
 SET enable_nestloop TO 'off'
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_status text := case when p_reserved_for is null then 'available' else 'reserved' end;
  v_rows uuid[];
  v_taken private.stock_part[] := '{}';
  v_rank integer;
  v_short record;
begin
  -- Asked line by line (offset 0), each by its item or by whom it is set aside for: a plan for all at once reads whole warehouses.
  if p_reserved_for is null then
    v_rows := array(
      select c.id from unnest(demands) l
      cross join lateral (
        select s.id from warehousing.stock s
        where s.tenant_id = v_tenant and s.item_id = l.item_id and s.status = 'available' and s.quantity > 0 and s.written_off_at is null
          and (l.warehouse_id is null or s.warehouse_id = l.warehouse_id) and (l.bin_id is null or s.bin_id = l.bin_id)
          and (l.lot_number is null or s.lot_number = l.lot_number) and (l.serial_number is null or s.serial_number = l.serial_number)
        offset 0) c);
  else
    v_rows := array(
      select c.id from unnest(demands) l
      cross join lateral (
        select s.id from warehousing.stock s
        where s.tenant_id = v_tenant and s.reserved_for_id = p_reserved_for and s.item_id = l.item_id and s.quantity > 0
          and (l.warehouse_id is null or s.warehouse_id = l.warehouse_id) and (l.bin_id is null or s.bin_id = l.bin_id)
          and (l.lot_number is null or s.lot_number = l.lot_number) and (l.serial_number is null or s.serial_number = l.serial_number)
        offset 0) c);
  end if;
  perform from warehousing.stock s where s.tenant_id = v_tenant and s.id = any (v_rows || beside) order by s.id for no key update;

  for v_rank in select distinct l.rank from unnest(demands) l order by l.rank desc loop
    -- Demands of one rank do not overlap unless they are equal: laid end to end beside the rows that may
    -- meet them, each takes the stretch it covers.
    with demand as materialized (
      select l.line, l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number, l.quantity,
        dense_rank() over (order by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number) as kind,
        sum(l.quantity) over (partition by l.item_id, l.warehouse_id, l.bin_id, l.lot_number, l.serial_number order by l.line) as until
      from unnest(demands) l where l.rank = v_rank
    ), held as materialized (
      select s.id, s.item_id, s.warehouse_id, s.bin_id, s.lot_number, s.serial_number, s.created_at, s.quantity - coalesce(t.quantity, 0) as quantity
      from warehousing.stock s
      left join (select p.stock_id, sum(p.quantity) as quantity from unnest(v_taken) p group by p.stock_id) t on t.stock_id = s.id
      where s.tenant_id = v_tenant and s.id = any (v_rows) and s.status = v_status and s.quantity > coalesce(t.quantity, 0)
    ), supply as materialized (
      select k.kind, s.id, s.item_id, s.warehouse_id, s.bin_id, s.lot_number, s.serial_number, s.quantity,
        sum(s.quantity) over (partition by k.kind order by s.created_at, s.id) as until
      from (select distinct on (d.kind) d.* from demand d order by d.kind) k
      join held s on s.item_id = k.item_id
        and (k.warehouse_id is null or s.warehouse_id = k.warehouse_id) and (k.bin_id is null or s.bin_id = k.bin_id)
        and (k.lot_number is null or s.lot_number = k.lot_number) and (k.serial_number is null or s.serial_number = k.serial_number)
    )
    select v_taken || coalesce(array_agg((d.line, p.id, p.item_id, p.warehouse_id, p.bin_id, p.lot_number, p.serial_number,
      least(d.until, p.until) - greatest(d.until - d.quantity, p.until - p.quantity))::private.stock_part order by d.line, p.until), '{}')
    into v_taken
    from demand d join supply p on p.kind = d.kind and p.until - p.quantity < d.until and d.until - d.quantity < p.until;
  end loop;

  select l.item_id, l.field into v_short
  from unnest(demands) l
  left join (select p.line, sum(p.quantity) as quantity from unnest(v_taken) p group by p.line) t on t.line = l.line
  where l.quantity > coalesce(t.quantity, 0)
  order by l.line limit 1;
  if found then
    perform app.fail('insufficient_stock', jsonb_build_object('field', v_short.field, 'item_id', v_short.item_id));
  end if;
  return v_taken;
end $function$;

REVOKE ALL ON FUNCTION "app"."lock_numbers"(text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."lock_numbers"(text, boolean) TO "barid_caller";

REVOKE ALL ON FUNCTION "app"."require_tenant"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."require_tenant"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "storefront"."domain_event_write"(storefront.custom_domains, text) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125234157';
end $$;

grant execute on function private.schema_version() to barid_api;
