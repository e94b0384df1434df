-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments_list, delivery.deliveries, delivery.deliveries_list, delivery.delivery_items in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "delivery"."return_already_exists";

DROP VIEW "delivery"."assignments_list";

DROP VIEW "delivery"."deliveries_list";

DROP FUNCTION "delivery"."attempt_fails"(jsonb, text, text, boolean, boolean);

DROP FUNCTION "delivery"."kept_items_of"(uuid, jsonb);

ALTER TABLE "delivery"."deliveries" ADD COLUMN "postponed_to" date;

ALTER TABLE "delivery"."deliveries" ADD COLUMN "overnight_notice_at" timestamp with time zone;

ALTER TABLE "delivery"."deliveries" ADD COLUMN "made_at_door" boolean NOT NULL DEFAULT false;

ALTER TABLE "delivery"."deliveries" ADD COLUMN "delivered_in_part" boolean NOT NULL DEFAULT false;

ALTER TABLE "delivery"."delivery_items" ADD COLUMN "unit_price" numeric(18,3);

ALTER TABLE "delivery"."delivery_items" ADD COLUMN "returned_item_id" uuid;

CREATE OR REPLACE FUNCTION delivery.assignments_open(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver delivery.drivers := delivery.require_self_assignment();
  v_vehicle delivery.vehicles;
  v_seen delivery.driver_presence;
  v_zones uuid[] := array(select z.zone_id from delivery.driver_zones z where z.tenant_id = v_tenant and z.driver_id = v_driver.user_id);
  v_detour double precision;
  v_near jsonb;
  v_open uuid[];
begin
  select * into v_vehicle from delivery.vehicles v where v.tenant_id = v_tenant and v.id = v_driver.vehicle_id;
  select * into v_seen from delivery.driver_presence s where s.tenant_id = v_tenant and s.driver_id = v_driver.user_id;
  if delivery.driver_problem(v_driver, v_vehicle) is not null then
    return '{"rows": [], "total": 0}';
  end if;
  v_detour := delivery.detour_factor(v_seen.latitude);
  select jsonb_agg(jsonb_build_object('id', n.id, 'km', n.km) order by n.km nulls last, n.created_at, n.id) into v_near
  from (
    select d.id, d.created_at, delivery.way_to(v_seen.latitude, v_seen.longitude, delivery.fetched_at(d), v_detour) as km
    from delivery.deliveries d
    where d.tenant_id = v_tenant and d.status = 'pending' and d.postponed_to is null and d.carrier_type = 'internal' and d.delivery_flow <> 'pnd_parent'
      and d.unit_size <= v_vehicle.unit_capacity - v_driver.capacity_used
      and (v_driver.all_zones or d.pickup_zone_id = any (v_zones) and d.dropoff_zone_id = any (v_zones))
    order by km nulls last, d.created_at, d.id limit 300) n;
  -- Each by itself: whether there is room for all of them is not asked.
  v_open := array(
    select e.delivery_id from delivery.assignments_evaluate(array(select x.id from jsonb_to_recordset(v_near) x (id uuid)), v_driver.user_id, 'Infinity') e
    where e.code is null);
  return jsonb_build_object('total', cardinality(v_open), 'rows', (
    select coalesce(jsonb_agg(jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'delivery_flow', d.delivery_flow,
        'leg', d.leg, 'unit_size', d.unit_size, 'distance_km', round(o.km::numeric, 3),
        'pickup', delivery.place_without_people(delivery.fetched_at(d)), 'dropoff', delivery.place_without_people(delivery.brought_to(d)),
        'cash_due', delivery.cash_due_on(d), 'currency', d.currency, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before,
        'promised_at', d.promised_at, 'created_at', d.created_at) order by o.km nulls last, d.created_at, d.id), '[]')
    from (
      select x.id, x.km from jsonb_to_recordset(v_near) x (id uuid, km double precision)
      join delivery.deliveries y on y.tenant_id = v_tenant and y.id = x.id
      where x.id = any (v_open)
      order by x.km nulls last, y.created_at, x.id limit (input ->> 'limit')::bigint offset (input ->> 'offset')::bigint) o
    join delivery.deliveries d on d.tenant_id = v_tenant and d.id = o.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.attempt_fails(input jsonb, p_reason text, p_notes text, counts boolean, refused boolean, postpone_to date DEFAULT NULL::date)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  perform delivery.require_move(d, '{picked_up,in_transit}', 'failed');
  perform delivery.move_reported(d, input);
  update delivery.deliveries x set status = 'failed', status_reason = p_reason, status_notes = p_notes, attempts_exhausted = refused,
    attempts_used = x.attempts_used + case when counts and delivery.attempt_counts(d) then 1 else 0 end,
    postponed_to = postpone_to, overnight_notice_at = case d.carrier_type when 'internal' then delivery.overnight_notice(postpone_to) end
  where x.tenant_id = d.tenant_id and x.id = d.id;
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.auto_assign(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_dry boolean := coalesce((input ->> 'dry_run')::boolean, false);
  d delivery.deliveries;
begin
  if not v_dry then
    perform delivery.lock_deliveries(array[v_id]);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = v_id;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  if not delivery.is_auto_assignable(d) then
    perform app.fail('delivery_not_auto_assignable');
  end if;
  if d.status <> 'pending' then
    perform app.fail('delivery_status_changed', jsonb_build_object('delivery_ids', array[d.id]));
  end if;
  if v_dry then
    return jsonb_build_object('candidates', (
      select coalesce(jsonb_agg(jsonb_build_object('driver_id', r.driver_id, 'full_name', p.full_name, 'live_stops', r.live_stops,
        'distance_km', round(r.distance_km::numeric, 3), 'eligible', r.reasons = '{}', 'reasons', to_jsonb(r.reasons)) order by r.place), '[]')
      from delivery.driver_ranking(d) r join tenancy.profiles p on p.id = r.driver_id));
  end if;
  update delivery.deliveries x set postponed_to = null where x.tenant_id = d.tenant_id and x.id = d.id and x.postponed_to is not null;
  insert into delivery.driver_searches as s (tenant_id, delivery_id, status, next_attempt_at)
  values (d.tenant_id, d.id, 'searching', clock_timestamp())
  on conflict (tenant_id, delivery_id) do update set status = 'searching', attempts = 0, next_attempt_at = clock_timestamp(),
    declined = '{}', passed_over = '{}';
  perform app.job_add('delivery.auto_assignment', '{}');
  return jsonb_build_object('auto_assignment', delivery.auto_assignment_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.cod_of_kept(p delivery.deliveries, kept jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_agreed record := delivery.kept_items_agreed(p.id);
  v_amount numeric;
begin
  if v_agreed.kept_items @> kept and kept @> v_agreed.kept_items or p.cod_amount = 0 then
    return p.cod_amount;
  end if;
  -- Prices add up to what was ordered, not to what was agreed since.
  if not v_agreed.changed then
    select sum(i.unit_price * k.quantity) into v_amount
    from jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint)
    join delivery.delivery_items i on i.tenant_id = app.tenant_id() and i.delivery_id = p.id and i.id = k.delivery_item_id;
  end if;
  if v_amount is null then
    perform app.fail('item_prices_required', '{"field": "items"}');
  end if;
  return v_amount;
end $function$;

CREATE OR REPLACE FUNCTION delivery.contents_left(p delivery.deliveries, kept jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_agg(to_jsonb(i) - 'sku' || jsonb_build_object('quantity', i.quantity - coalesce(k.quantity, 0), 'returned_item_id', i.id)
      order by i.position)
    from delivery.delivery_items i
    left join jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint) on k.delivery_item_id = i.id
    where i.tenant_id = app.tenant_id() and i.delivery_id = p.id and i.quantity > coalesce(k.quantity, 0));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivered_in_part_mark(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries x set delivered_in_part = true
  where x.tenant_id = app.tenant_id() and x.id in (d.id, delivery.parcel_of(d));
end $function$;

CREATE OR REPLACE FUNCTION delivery.deliveries_after_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parents uuid[];
  v_wrong record;
begin
  if not exists (select from new_rows n join old_rows o on o.id = n.id where n.status <> o.status) then
    return null;
  end if;
  select o.status as was, n.status as becomes into v_wrong from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and not delivery.move_is_legal(n.delivery_flow, o.status, n.status) limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_wrong.was, 'to', v_wrong.becomes));
  end if;
  perform delivery.require_no_return(n) from new_rows n join old_rows o on o.id = n.id
  where o.status = 'pending' and n.status not in ('pending', 'returned', 'cancelled') and n.delivery_flow in ('standard', 'pnd_outbound');
  insert into delivery.delivery_status_history (tenant_id, delivery_id, from_status, to_status, actor_id, note,
    latitude, longitude, distance_m, occurred_at)
  select n.tenant_id, n.id, o.status, n.status, app.user_id(), nullif(concat_ws(': ', n.status_reason, n.status_notes), ''),
    r.latitude, r.longitude, delivery.metres_from_place(n, o.status, r.latitude, r.longitude), r.occurred_at
  from new_rows n join old_rows o on o.id = n.id
  left join lateral (
    select * from jsonb_to_record(nullif(current_setting('app.reported', true), '')::jsonb)
      x (parcel uuid, latitude double precision, longitude double precision, occurred_at timestamptz)
    where x.parcel = delivery.parcel_of(n)) r on true
  where n.status <> o.status order by n.delivery_code, n.sequence_plan nulls first;
  -- Subscribers hear of parcels; a leg shows in its parent.
  insert into integration.system_events (tenant_id, event_type, source_module, entity_type, entity_id, event_data)
  select n.tenant_id, 'delivery.' || n.status, 'delivery', 'delivery', n.id,
    delivery.event_data(n) || jsonb_build_object('from_status', o.status)
  from new_rows n join old_rows o on o.id = n.id
  where n.status <> o.status and n.parent_id is null order by n.delivery_code;

  select array_agg(distinct n.parent_id) into v_parents
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status and n.parent_id is not null;
  if v_parents is not null then
    perform from delivery.deliveries p where p.id = any (v_parents) order by p.id for no key update;
    update delivery.deliveries p set status = f.status, status_reason = f.reason, status_notes = f.notes, attempts_used = f.attempts,
      postponed_to = f.postponed_to,
      picked_up_at = coalesce(p.picked_up_at, f.picked_up_at),
      delivered_at = case when f.status = 'delivered' then f.delivered_at end
    from (
      select l.tenant_id, l.parent_id, delivery.parent_status(array_agg(l.status order by l.sequence_plan)) as status,
        (array_agg(l.status_reason order by l.updated_at desc, l.sequence_plan desc))[1] as reason,
        (array_agg(l.status_notes order by l.updated_at desc, l.sequence_plan desc))[1] as notes, sum(l.attempts_used) as attempts,
        max(l.postponed_to) as postponed_to,
        min(l.picked_up_at) as picked_up_at, max(l.delivered_at) as delivered_at
      from delivery.deliveries l where l.parent_id = any (v_parents)
      group by l.tenant_id, l.parent_id
    ) f
    where p.tenant_id = f.tenant_id and p.id = f.parent_id and
      (p.status <> f.status or p.attempts_used <> f.attempts or p.postponed_to is distinct from f.postponed_to);
  end if;
  perform delivery.originals_come_back(array(
    select n.original_delivery_id from new_rows n join old_rows o on o.id = n.id
    where n.status = 'delivered' and o.status <> 'delivered' and n.delivery_flow = 'operational_return'
      -- A return that ends in a warehouse is back when it is received there (warehousing.parcel_received).
      and (n.dropoff_warehouse_id is null or n.current_warehouse_id = n.dropoff_warehouse_id)));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_cancel(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_under_way text;
  v_ends uuid[];
  v_picks uuid[];
  v_refund jsonb;
  v_waiting delivery.deliveries;
  v_return record;
  v_transfer jsonb;
begin
  -- Also where nothing goes back: a wrong place is an error of the caller.
  perform delivery.require_return_place(input);
  perform delivery.lock_manifest_item((input ->> 'id')::uuid);
  d := delivery.lock_delivery((input ->> 'id')::uuid);
  select * into d from delivery.deliveries x where x.id = delivery.parcel_of(d);
  if not found then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_owner(d);
  -- Back to who sent it, as long as its order stays cancelled, or as it ended at the door; unless it was lost or written off, and nothing is
  -- left to go back.
  if (d.made_at_door or d.delivery_flow = 'operational_return' and exists (select from delivery.deliveries o
      where o.tenant_id = d.tenant_id and o.id = d.original_delivery_id and o.status = 'cancelled')) and not warehousing.return_is_lost(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'cancelled',
      'text_key', case when d.made_at_door then 'reason_return_from_door' else 'reason_return_of_cancelled' end));
  end if;
  select * into v_waiting from delivery.deliveries x
  where x.tenant_id = d.tenant_id and (x.id = d.id or x.parent_id = d.id) and x.delivery_flow in ('standard', 'pnd_outbound')
    and x.status in ('pending', 'assigned', 'accepted') and x.current_warehouse_id is not null
    and (d.picked_up_at is not null or d.ordered_from_address_id is not null)
    and x.current_warehouse_id is distinct from (delivery.ordered_from(d)).warehouse_id;
  if found then
    v_return := delivery.delivery_cancel_waiting(d, v_waiting, input);
    v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
    perform delivery.operational_return_shelve(v_return.id, v_return.picks);
    return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', delivery.delivery_to_json(v_return.id));
  end if;
  if v_operations then
    v_transfer := delivery.transfer_under_way(d);
    if v_transfer is not null then
      perform app.fail('invalid_status_transition', v_transfer || jsonb_build_object('from', d.status, 'to', 'cancelled'));
    end if;
  end if;
  perform delivery.require_move(d, case when v_operations then '{draft,pending,assigned,accepted}' else '{draft,pending}' end::text[], 'cancelled');
  select l.status into v_under_way from delivery.deliveries l
  where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status not in ('draft', 'pending', 'assigned', 'accepted') limit 1;
  if found then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_under_way, 'to', 'cancelled'));
  end if;
  -- A parent that has legs follows them.
  v_ends := array(select l.id from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and d.delivery_flow = 'pnd_parent');
  if cardinality(v_ends) = 0 then
    v_ends := array[d.id];
  end if;
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason', status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = any (v_ends);
  perform delivery.manifest_item_return(d.id);
  v_picks := delivery.delivery_release(d.id);
  v_refund := delivery.delivery_refund_on(d, 'refund_delivery_fee_on_cancel');
  perform warehousing.stock_release('picking_order', p.id) from unnest(v_picks) p (id);
  perform warehousing.waybill_remove_delivery(d.id);
  if d.delivery_flow = 'operational_return' then
    perform warehousing.return_unshelved(d.id);
  end if;
  perform storefront.orders_settle();
  return v_refund || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'operational_return', null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_contents_write(parcel uuid, contents jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into delivery.delivery_items (tenant_id, delivery_id, position, item_id, name, sku, quantity, weight, length, width, height, returned_item_id)
  select app.tenant_id(), parcel, c.position, c.item_id, c.name, c.sku, c.quantity, c.weight, c.length, c.width, c.height, c.returned_item_id
  from rows from (jsonb_to_recordset(contents) as (item_id uuid, name text, sku text, quantity bigint, weight numeric, length numeric,
    width numeric, height numeric, returned_item_id uuid)) with ordinality
    c (item_id, name, sku, quantity, weight, length, width, height, returned_item_id, position);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_create(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_contents jsonb;
  v_staged boolean := coalesce((input ->> 'staged')::boolean, false);
  -- An owner's return that waits for the office is a draft until then.
  v_asked boolean := input ->> 'delivery_flow' = 'customer_return' and input ->> 'status' is distinct from 'draft' and delivery.return_needs_approval();
begin
  if input ->> 'delivery_flow' = 'customer_return' then
    input := delivery.customer_return_input(input);
    -- Two returns of one delivery at the same moment: the second waits here and then finds the first.
    perform delivery.lock_deliveries(array[(input ->> 'original_delivery_id')::uuid]);
    v_contents := delivery.returned_contents((input ->> 'original_delivery_id')::uuid, input -> 'return_items');
  end if;
  if v_staged then
    input := input || jsonb_build_object('warehouse_id', delivery.staging_of(input)) - '{pickup_warehouse_id,dropoff_warehouse_id}'::text[];
  end if;
  d := delivery.delivery_terms(input);
  d.original_delivery_id := (input ->> 'original_delivery_id')::uuid;
  d.status := case when v_asked then 'draft' else input ->> 'status' end;
  d.barcode := input ->> 'barcode';
  if v_staged then
    d.delivery_flow := 'pnd_parent';
    d.staging_warehouse_id := (input ->> 'warehouse_id')::uuid;
  end if;
  -- By itself: what reads in the statement that writes would not see it.
  d.returns_part := v_contents is not null;
  d.id := delivery.delivery_write(d, v_contents);
  if v_asked then
    perform delivery.return_request_ask(d.id);
  end if;
  return delivery.delivery_created_to_json(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_get(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_parcel uuid;
  v_family uuid[];
begin
  select * into d from delivery.deliveries x where x.id = (input ->> 'id')::uuid;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  v_parcel := delivery.parcel_of(d);
  v_family := array(select x.id from delivery.deliveries x where x.tenant_id = d.tenant_id and x.parent_id = d.id) || d.id || v_parcel;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id) || jsonb_build_object(
    'package_details', d.package_details, 'staging_warehouse_id', d.staging_warehouse_id,
    'auto_assignment', case when app.sees_tenant() then delivery.auto_assignment_to_json(d.id) end,
    'label_edition', d.label_edition, 'label_outdated', d.label_outdated,
    'return_request', delivery.return_request_to_json(d.id),
    'legs', (select coalesce(jsonb_agg(to_jsonb(l) order by l.sequence_plan), '[]') from delivery.deliveries_list l where l.parent_id = d.id),
    'exceptions', (select coalesce(jsonb_agg(to_jsonb(e) - 'delivery' order by e.created_at desc, e.id), '[]')
      from delivery.delivery_exceptions_list e where e.delivery_id = any (v_family)),
    'collections', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'driver_id', c.driver_id, 'collection_stage', c.collection_stage,
        'amount', c.amount, 'cod_amount', c.cod_amount, 'delivery_fee_amount', c.delivery_fee_amount,
        'allocations', jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount), 'currency', c.currency,
        'status', c.status, 'collected_at', c.collected_at) order by c.collected_at), '[]')
      from money.cod_collections c where c.tenant_id = d.tenant_id and c.delivery_id = v_parcel),
    'items', (select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'item_id', i.item_id, 'name', i.name, 'sku', i.sku,
        'quantity', i.quantity, 'weight', i.weight, 'length', i.length, 'width', i.width, 'height', i.height,
        'unit_price', i.unit_price, 'returned_item_id', i.returned_item_id) order by i.position), '[]')
      from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = v_parcel),
    'history', (select coalesce(jsonb_agg(jsonb_build_object('id', h.id, 'from_status', h.from_status, 'to_status', h.to_status,
        'actor', case when h.actor_id is not null then jsonb_build_object('id', h.actor_id, 'full_name', coalesce(delivery.person_name(h.actor_id), '')) end,
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
    'handoff', (select to_jsonb(h) from delivery.handoffs_list h where h.delivery_id = any (v_family) order by h.created_at desc limit 1),
    'returns', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'delivery_code', r.delivery_code, 'barcode', r.barcode,
        'status', r.status, 'delivery_flow', r.delivery_flow) order by r.created_at), '[]')
      from delivery.deliveries r where r.tenant_id = d.tenant_id and r.original_delivery_id = v_parcel),
    'proof_requirements', jsonb_build_object('pickup', delivery.proof_needs(d, 'pickup'), 'delivery', delivery.proof_needs(d, 'delivery')),
    'policy', (select delivery.service_policy(s) from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_insert(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into delivery.deliveries (id, tenant_id, delivery_code, barcode, external_reference_id, original_delivery_id, delivery_flow, status,
    customer_id, institution_user_id, delivery_service_id, carrier_type, carrier_code, payer_type, payment_method, cod_amount, delivery_fee,
    currency, unit_size, unit_size_source, package_details, distance_km, pickup_address_id, dropoff_address_id, pickup_snapshot,
    dropoff_snapshot, pickup_zone_id, dropoff_zone_id, pickup_warehouse_id, dropoff_warehouse_id, current_warehouse_id, staging_warehouse_id,
    recipient, notes, service_snapshot, status_reason, promised_at, created_by, order_id, deliver_after,
    deliver_before, made_at_door, returns_part)
  values (d.id, d.tenant_id, d.delivery_code, d.barcode, d.external_reference_id, d.original_delivery_id, d.delivery_flow, d.status,
    d.customer_id, d.institution_user_id, d.delivery_service_id, d.carrier_type, d.carrier_code, d.payer_type, d.payment_method, d.cod_amount,
    d.delivery_fee, d.currency, d.unit_size, d.unit_size_source, d.package_details, d.distance_km, d.pickup_address_id, d.dropoff_address_id,
    d.pickup_snapshot, d.dropoff_snapshot, d.pickup_zone_id, d.dropoff_zone_id, d.pickup_warehouse_id, d.dropoff_warehouse_id,
    d.current_warehouse_id, d.staging_warehouse_id, d.recipient, d.notes, d.service_snapshot, d.status_reason, d.promised_at, d.created_by,
    d.order_id, d.deliver_after, d.deliver_before, coalesce(d.made_at_door, false), coalesce(d.returns_part, false));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_items_write(parcels delivery.deliveries[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into delivery.delivery_items (tenant_id, delivery_id, position, name, quantity, weight, length, width, height, unit_price)
  select d.tenant_id, d.id, n.position, coalesce(nullif(trim(left(n.item ->> 'name', 200)), ''), 'Parcel ' || d.delivery_code),
    coalesce((delivery.read_measure(n.item -> 'quantity')).measure, 1), (delivery.read_measure(n.item -> 'weight')).measure,
    (delivery.read_measure(n.item -> 'length')).measure, (delivery.read_measure(n.item -> 'width')).measure,
    (delivery.read_measure(n.item -> 'height')).measure,
    case when d.manifest_id is null and d.original_delivery_id is null then (delivery.read_price(n.item -> 'unit_price')).price end
  from unnest(parcels) d
  cross join lateral jsonb_array_elements(
    case when jsonb_typeof(d.package_details -> 'items') = 'array' and jsonb_array_length(d.package_details -> 'items') > 0
      then d.package_details -> 'items' else '[{}]' end) with ordinality n (item, position);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_outcome(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_result text := input ->> 'result';
  v_reason jsonb;
  v_answer jsonb;
begin
  perform delivery.require_no_outcome(d);
  perform delivery.require_carrier(d);
  if v_result in ('failed', 'refused', 'postponed') then
    v_reason := delivery.outcome_reason(input);
  end if;
  v_answer := case
    when v_result = 'delivered' then delivery.outcome_delivered(input)
    when v_result = 'partial' then delivery.outcome_partial(d, input)
    when v_result = 'exchanged' then delivery.outcome_exchanged(d, input)
    when v_result = 'postponed' then delivery.outcome_postponed(d, input, v_reason)
    -- A carrier has a way of its own to bring back what is refused.
    when v_result = 'refused' and delivery.attempt_counts(d) and d.carrier_type = 'internal'
      and tenancy.attempt_settings() ->> 'after_last' = 'return' then delivery.outcome_sent_back(d, input, v_reason)
    else delivery.outcome_failed(d, input, v_reason) end;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', v_result, 'reason_code', v_reason ->> 'value', 'actor_id', app.user_id()))));
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_retry(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_operations boolean := app.has_permission('manage:operations:tenant');
  v_reassign boolean := coalesce((input ->> 'reassign')::boolean, false);
  v_override text := input ->> 'override_reason';
  v_allowed integer;
begin
  perform delivery.require_move(d, '{failed}', case when v_reassign then 'pending' else 'in_transit' end);
  perform delivery.move_reported(d, input);
  if not v_operations and (v_reassign or v_override is not null) then
    perform app.fail('forbidden');
  end if;
  if v_reassign and (delivery.leaves_warehouse(d) or delivery.returns_from_door(d)) then
    perform app.fail('return_through_warehouse');
  end if;
  if not v_reassign and a.id is null and d.carrier_type = 'internal' then
    perform app.fail('delivery_has_no_driver');
  end if;
  select s.allowed_delivery_attempts into v_allowed from delivery.delivery_services s
  where s.tenant_id = d.tenant_id and s.id = d.delivery_service_id;
  if (d.attempts_exhausted or delivery.attempt_counts(d) and d.attempts_used >= coalesce(v_allowed, 1)) and v_override is null then
    perform app.fail('delivery_attempts_exhausted', jsonb_build_object('field', 'override_reason',
      'attempts_used', d.attempts_used, 'allowed_delivery_attempts', coalesce(v_allowed, 1)));
  end if;
  update delivery.deliveries x set status = case when v_reassign then 'pending' else 'in_transit' end,
    status_reason = v_override, status_notes = input ->> 'notes', attempts_exhausted = false, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- On its way again: what was to be received of it stays with the driver.
  perform warehousing.receipts_withdraw(d.id);
  if v_reassign then
    perform delivery.assignment_end(a, 'returned');
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select d.tenant_id, a.driver_id, 'assignment_returned', jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id)
    where a.driver_id is not null;
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.move_reported(d, input);
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  if not delivery.leaves_warehouse(d) then
    perform warehousing.receipts_withdraw(d.id, v_warehouse);
  end if;
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.delivery_refund_on(d, 'refund_delivery_fee_on_return') end;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_rewrite(d delivery.deliveries, t delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries x set barcode = coalesce(input ->> 'barcode', x.barcode), customer_id = t.customer_id,
    institution_user_id = t.institution_user_id, delivery_service_id = t.delivery_service_id, service_snapshot = t.service_snapshot,
    carrier_type = t.carrier_type, carrier_code = t.carrier_code, payer_type = t.payer_type, payment_method = t.payment_method,
    cod_amount = t.cod_amount, delivery_fee = t.delivery_fee, currency = t.currency, unit_size = t.unit_size,
    unit_size_source = t.unit_size_source, package_details = t.package_details, distance_km = t.distance_km,
    pickup_address_id = t.pickup_address_id, dropoff_address_id = t.dropoff_address_id, pickup_snapshot = t.pickup_snapshot,
    dropoff_snapshot = t.dropoff_snapshot, pickup_zone_id = t.pickup_zone_id, dropoff_zone_id = t.dropoff_zone_id,
    pickup_warehouse_id = t.pickup_warehouse_id, recipient = t.recipient, notes = t.notes,
    dropoff_warehouse_id = case when x.transfer_kind is null then t.dropoff_warehouse_id else x.dropoff_warehouse_id end,
    ordered_to_warehouse_id = case when x.transfer_kind is not null then t.dropoff_warehouse_id end,
    external_reference_id = t.external_reference_id, promised_at = t.promised_at, deliver_after = t.deliver_after,
    deliver_before = t.deliver_before
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The contents of a part that comes back are those of its original.
  if t.package_details is distinct from d.package_details and not d.returns_part then
    perform delivery.delivery_items_clear(d.id);
    t.id := d.id;
    t.original_delivery_id := d.original_delivery_id;
    t.delivery_code := d.delivery_code;
    perform delivery.delivery_items_write(array[t]);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_terms(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_people record := delivery.delivery_people(input);
  v_currency record := app.currency();
  v_owner uuid := coalesce(v_people.institution_user_id, v_people.customer_id);
  v_from delivery.addresses;
  v_to delivery.addresses;
begin
  d.tenant_id := app.tenant_id();
  d.customer_id := v_people.customer_id;
  d.institution_user_id := v_people.institution_user_id;
  d.payer_type := input ->> 'payer_type';
  d.payment_method := input ->> 'payment_method';
  -- Of a storefront order, said by storefront.order_delivery_terms() alone: no client names it.
  d.order_id := (input ->> 'order_id')::uuid;
  d.cod_amount := coalesce((input ->> 'cod_amount')::numeric, 0);
  d.currency := v_currency.code;
  if d.cod_amount <> round(d.cod_amount, v_currency.decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', 'cod_amount', 'currency', d.currency, 'decimals', v_currency.decimals));
  end if;
  if input ->> 'delivery_flow' is distinct from 'customer_return' then
    perform delivery.require_item_prices(input -> 'package', d.cod_amount, v_currency.decimals, coalesce(input ->> 'package_field', 'package'));
  end if;
  if d.cod_amount > 0 and v_owner is null then
    perform app.fail('customer_required_for_cod', '{"field": "customer_id"}');
  end if;
  if d.payment_method = 'wallet' then
    -- The wallet is the sender's; a receiver pays at the door.
    if d.payer_type <> 'sender' then
      perform app.fail('wallet_is_the_senders', '{"field": "payment_method"}');
    end if;
    if v_owner is null then
      perform app.fail('customer_required_for_wallet', '{"field": "customer_id"}');
    end if;
  end if;
  v_from := delivery.delivery_place(input, 'pickup', v_owner);
  v_to := delivery.delivery_place(input, 'dropoff', v_owner);
  d.pickup_address_id := v_from.id;
  d.pickup_zone_id := v_from.zone_id;
  d.dropoff_address_id := v_to.id;
  d.dropoff_zone_id := v_to.zone_id;
  select to_jsonb(a) into d.pickup_snapshot from delivery.addresses_list a where a.id = v_from.id;
  select to_jsonb(a) into d.dropoff_snapshot from delivery.addresses_list a where a.id = v_to.id;
  d.pickup_warehouse_id := (input ->> 'pickup_warehouse_id')::uuid;
  d.dropoff_warehouse_id := (input ->> 'dropoff_warehouse_id')::uuid;
  d.recipient := coalesce(input -> 'recipient', '{}');
  d.external_reference_id := input ->> 'external_reference_id';
  d.notes := input ->> 'notes';
  d.promised_at := app.instant(input ->> 'promised_at');
  d.deliver_after := app.instant(input ->> 'deliver_after');
  d.deliver_before := app.instant(input ->> 'deliver_before');
  perform delivery.require_delivery_window(d.deliver_after, d.deliver_before);
  d.carrier_type := coalesce(input ->> 'carrier_type', 'internal');
  d.carrier_code := case d.carrier_type when 'external' then coalesce(input ->> 'carrier_code',
    app.refuse('carrier_code_required', '{"field": "carrier_code"}')::text) end;
  d.delivery_flow := coalesce(input ->> 'delivery_flow', 'standard');
  d.created_by := app.user_id();
  return delivery.delivery_priced(d, input, v_from, v_to);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_write(d delivery.deliveries, contents jsonb DEFAULT NULL::jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  d.id := gen_random_uuid();
  d.status := coalesce(d.status, 'pending');
  d.delivery_code := app.take_numbers('delivery_code');
  d.barcode := coalesce(d.barcode, delivery.barcode_of_code(d.delivery_code));
  perform delivery.delivery_insert(d);
  if contents is null then
    perform delivery.delivery_items_write(array[d]);
  else
    perform delivery.delivery_contents_write(d.id, contents);
  end if;
  if d.status = 'pending' then
    perform delivery.delivery_confirm(d);
  end if;
  return d.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_returned_in_part(parcel uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.deliveries r
    join delivery.delivery_items x on x.tenant_id = r.tenant_id and x.delivery_id = r.id and x.returned_item_id is not null
    where r.tenant_id = app.tenant_id() and r.original_delivery_id = parcel and r.returns_part and r.status <> 'cancelled');
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_write(p delivery.deliveries, amount numeric, kept jsonb, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  if amount = p.cod_amount then
    return;
  end if;
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, 'approved', app.user_id(), app.user_id(), clock_timestamp())
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_items_of(parcel uuid, kept jsonb, field text DEFAULT 'kept_items'::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_units numeric;
  v_wrong boolean;
  v_all numeric;
begin
  if coalesce(jsonb_typeof(kept), 'null') = 'null' then
    return null;
  end if;
  select sum(k.quantity), count(*) <> count(distinct k.delivery_item_id) or bool_or(i.id is null or k.quantity not between 1 and i.quantity)
  into v_units, v_wrong
  from jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint)
  left join delivery.delivery_items i on i.tenant_id = v_tenant and i.delivery_id = parcel and i.id = k.delivery_item_id;
  select sum(i.quantity) into v_all from delivery.delivery_items i where i.tenant_id = v_tenant and i.delivery_id = parcel;
  if coalesce(v_wrong or v_units >= v_all, true) then
    perform app.fail('partial_items_invalid', jsonb_build_object('field', field));
  end if;
  return (
    select jsonb_agg(jsonb_build_object('delivery_item_id', k.delivery_item_id, 'quantity', k.quantity) order by k.position)
    from rows from (jsonb_to_recordset(kept) as (delivery_item_id uuid, quantity bigint)) with ordinality k (delivery_item_id, quantity, position));
end $function$;

CREATE OR REPLACE FUNCTION delivery.morning()
 RETURNS interval
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return interval '6 hours';
end $function$;

CREATE OR REPLACE FUNCTION delivery.no_cash(d delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return delivery.cash_summary(jsonb_build_object('cod', 0, 'delivery_fee', 0, 'currency', d.currency));
end $function$;

CREATE OR REPLACE FUNCTION delivery.operational_return_make(d delivery.deliveries, input jsonb, OUT id uuid, OUT picks uuid[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  n delivery.deliveries;
begin
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    perform app.fail('delivery_not_in_warehouse');
  end if;
  select * into p from delivery.deliveries x where x.tenant_id = d.tenant_id and x.id = delivery.parcel_of(d);
  picks := delivery.delivery_release(p.id);
  n := delivery.operational_return_of(p, input);
  select to_jsonb(a), a.zone_id, a.id into n.pickup_snapshot, n.pickup_zone_id, n.pickup_address_id
  from warehousing.warehouses w join delivery.addresses_list a on a.id = w.address_id
  where w.tenant_id = d.tenant_id and w.id = d.current_warehouse_id;
  n.pickup_warehouse_id := d.current_warehouse_id;
  n.current_warehouse_id := d.current_warehouse_id;
  perform delivery.delivery_insert(n);
  perform delivery.delivery_contents_write(n.id, (
    select jsonb_agg(to_jsonb(i) - '{sku,returned_item_id}'::text[] order by i.position)
    from delivery.delivery_items i where i.tenant_id = n.tenant_id and i.delivery_id = n.original_delivery_id));
  id := n.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.operational_return_of(p delivery.deliveries, input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  n delivery.deliveries := p;
  v_to record;
  v_service delivery.delivery_services;
begin
  select * into v_service from delivery.delivery_services s
  where s.id = coalesce((input ->> 'delivery_service_id')::uuid, n.delivery_service_id) and (input ->> 'delivery_service_id' is null or s.deleted_at is null);
  if not found then
    perform app.fail('service_not_found', '{"field": "delivery_service_id"}');
  end if;
  v_to := delivery.return_destination(p, input);
  n.original_delivery_id := p.id;
  n.id := gen_random_uuid();
  -- A warehouse takes it back under its own name, as somebody's door under theirs.
  n.recipient := jsonb_strip_nulls(jsonb_build_object('name', coalesce(delivery.warehouse_name(n.tenant_id, v_to.warehouse_id),
    delivery.person_name(coalesce(n.institution_user_id, n.customer_id)), app.localized(v_to.snapshot -> 'title')),
    'phone', v_to.snapshot #>> '{contact_info,phone}'));
  n.dropoff_address_id := v_to.address_id;
  n.dropoff_snapshot := v_to.snapshot;
  n.dropoff_zone_id := v_to.zone_id;
  -- The goods of a store are received in their warehouse by themselves, when the parcel is back (storefront.order_goods_expect).
  n.dropoff_warehouse_id := case when n.order_id is null then v_to.warehouse_id end;
  n.staging_warehouse_id := null;
  n.delivery_flow := 'operational_return';
  n.status := 'pending';
  n.carrier_type := 'internal';
  n.carrier_code := null;
  n.payer_type := 'sender';
  n.payment_method := 'cash';
  n.cod_amount := 0;
  n.delivery_fee := 0;
  n.distance_km := null;
  n.delivery_service_id := v_service.id;
  n.external_reference_id := null;
  -- It brings nothing of the store's order to anybody.
  n.order_id := null;
  n.promised_at := null;
  n.deliver_after := null;
  n.deliver_before := null;
  n.status_reason := input ->> 'reason';
  n.notes := input ->> 'notes';
  n.created_by := app.user_id();
  n.delivery_code := app.take_numbers('delivery_code');
  n.barcode := delivery.barcode_of_code(n.delivery_code);
  return n;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_delivered(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs')) || '{"returns": []}';
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_exchanged(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_return uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_at_door(d);
  v_return := delivery.return_from_door(d, 'customer_return', input -> 'taken_back', jsonb_build_object('notes', input -> 'note',
    -- Without such a service, that of the parcel.
    'delivery_service_id', (select s.id from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.deleted_at is null
      and s.id::text = lower(app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}'))));
  return delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs'))
    || jsonb_build_object('returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_failed(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.attempt_fails(input, reason ->> 'value', input ->> 'note', (reason ->> 'counts')::boolean, input ->> 'result' = 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs');
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d), 'returns', '[]'::jsonb);
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_partial(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries := delivery.parcel_terms(d);
  v_kept jsonb;
  v_amount numeric;
  v_return uuid;
  v_answer jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_at_door(d);
  if p.order_id is not null then
    perform app.fail('order_amount_fixed');
  end if;
  v_kept := delivery.kept_items_of(p.id, input -> 'items', 'items');
  v_amount := delivery.cod_of_kept(p, v_kept);
  v_return := delivery.return_from_door(d, 'operational_return', delivery.contents_left(p, v_kept), jsonb_build_object('notes', input -> 'note'));
  perform delivery.kept_amount_write(p, v_amount, v_kept, coalesce(input ->> 'note', 'partial'));
  v_answer := delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs'));
  perform delivery.delivered_in_part_mark(d);
  return v_answer || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_postponed(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_day date := delivery.require_postponed_to(input);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
begin
  perform delivery.attempt_fails(input, reason ->> 'value', input ->> 'note', false, false, v_day);
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.postponed',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'postponed_to', v_day, 'reason_code', reason -> 'value', 'actor_id', app.user_id()))));
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d), 'returns', '[]'::jsonb);
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_sent_back(d delivery.deliveries, input jsonb, reason jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_return uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'returned');
  perform delivery.move_reported(d, input);
  v_return := delivery.return_from_door(d, 'operational_return', null, jsonb_build_object('reason', reason -> 'value', 'notes', input -> 'note'));
  update delivery.deliveries x set status = 'returned', status_reason = reason ->> 'value', status_notes = input ->> 'note',
    attempts_used = x.attempts_used + case when (reason ->> 'counts')::boolean then 1 else 0 end, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs');
  perform delivery.assignment_end(a, 'returned');
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d),
    'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.overnight_notice(postponed_to date)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tomorrow date := (now() at time zone app.timezone())::date + 1;
begin
  return case when postponed_to > v_tomorrow then (v_tomorrow + delivery.morning()) at time zone app.timezone() end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.parcel_at(parcel uuid, warehouse uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_parcels uuid[] := parcel || array(
    select o.id from delivery.deliveries r
    join delivery.deliveries o on o.tenant_id = r.tenant_id and o.id = r.original_delivery_id
    -- The rest of a parcel that was delivered in part is not the parcel.
    where r.tenant_id = v_tenant and r.id = parcel and r.delivery_flow = 'operational_return' and o.status <> 'delivered');
begin
  update delivery.deliveries d set current_warehouse_id = warehouse
  where d.tenant_id = v_tenant and (d.id = any (v_parcels) or d.parent_id = any (v_parcels)) and d.current_warehouse_id is distinct from warehouse;
end $function$;

CREATE OR REPLACE FUNCTION delivery.parcel_contents(p delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_agg(to_jsonb(i) - '{sku,returned_item_id}'::text[] || case when p.order_id is null then '{}' else '{"item_id": null}'::jsonb end
      order by i.position)
    from delivery.delivery_items i where i.tenant_id = p.tenant_id and i.delivery_id = p.id);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."parcel_contents"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.postponed_notify()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_count integer;
begin
  with due as (
    select d.id from delivery.deliveries d where d.overnight_notice_at <= now()
    order by d.overnight_notice_at limit 1000 for no key update skip locked
  ), noticed as (
    update delivery.deliveries d set overnight_notice_at = null from due where d.id = due.id
    returning d.tenant_id, d.id, d.delivery_code, d.postponed_to
  ), written as (
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select distinct n.tenant_id, u.user_id, 'delivery_postponed_in_van', jsonb_build_object('delivery_id', n.id, 'delivery_code', n.delivery_code,
      'postponed_to', n.postponed_to)
    from noticed n
    join tenancy.tenant_users u on u.tenant_id = n.tenant_id and u.is_active
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
  )
  select count(*) into v_count from noticed;
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."postponed_notify"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.postponed_resume()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid;
  v_day date;
  v_ids uuid[];
  v_parents uuid[];
  v_count integer := 0;
begin
  for v_tenant in
    -- A day ahead of UTC, for clocks east of it.
    select distinct d.tenant_id from delivery.deliveries d where d.postponed_to <= (now() at time zone 'UTC')::date + 1 order by 1
  loop
    perform set_config('app.tenant_id', v_tenant::text, true);
    v_day := delivery.working_day();
    v_ids := array(select d.id from delivery.deliveries d
      where d.tenant_id = v_tenant and d.postponed_to <= v_day and d.delivery_flow <> 'pnd_parent' order by d.id limit 1000);
    perform delivery.lock_deliveries(v_ids);
    v_parents := array(select d.parent_id from delivery.deliveries d where d.tenant_id = v_tenant and d.id = any (v_ids) and d.parent_id is not null);
    with resumed as (
      update delivery.deliveries d set status = case d.status when 'failed' then 'in_transit' else d.status end, postponed_to = null,
        overnight_notice_at = null, status_reason = case d.status when 'failed' then null else d.status_reason end,
        status_notes = case d.status when 'failed' then null else d.status_notes end
      where d.tenant_id = v_tenant and d.id = any (v_ids) and d.postponed_to <= v_day
      returning 1
    )
    select v_count + count(*) into v_count from resumed;
    -- Those of legs that wait in a warehouse do not follow by themselves.
    update delivery.deliveries p set postponed_to = null
    where p.tenant_id = v_tenant and p.id = any (v_parents) and p.postponed_to <= v_day;
  end loop;
  perform set_config('app.tenant_id', '', true);
  return v_count;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."postponed_resume"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.postponement_ends()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if new.status not in ('failed', 'in_transit', 'pending') and not (new.status = 'returned' and delivery.leaves_warehouse(new))
      or new.carrier_type <> 'internal' and new.status <> 'failed' then
    new.postponed_to := null;
  end if;
  if new.postponed_to is null or new.status <> 'failed' then
    new.overnight_notice_at := null;
  end if;
  return new;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."postponement_ends"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.proof_needs(d delivery.deliveries, stage text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object(
      'photo_required', n.asked and app.boolean_or(s #> array[stage, 'photo_required'], false)
        or stage = 'delivery' and d.made_at_door and d.delivery_flow = 'operational_return',
      'signature_required', n.asked and (app.boolean_or(s #> array[stage, 'signature_required'], false)
        or (stage = 'delivery' and d.delivery_flow <> 'operational_return' and coalesce((
          select app.boolean_or(v.service_options -> 'signature_required', false) from delivery.delivery_services v
          where v.tenant_id = d.tenant_id and v.id = d.delivery_service_id), false))))
    from app.settings('delivery', 'proof_settings') s,
      (select not (stage = 'delivery' and (delivery.is_transferred(d) or delivery.ends_in(d) is not null)) as asked) n);
end $function$;

CREATE OR REPLACE FUNCTION delivery.read_price(value jsonb, OUT price numeric, OUT wrong boolean)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  price := case
    when jsonb_typeof(value) = 'number' then (value #>> '{}')::numeric
    when jsonb_typeof(value) = 'string' and trim(value #>> '{}') ~ '^-?[0-9]{1,15}(\.[0-9]{1,6})?$' then trim(value #>> '{}')::numeric
  end;
  wrong := coalesce(price < 0 or price > 999999999999, false) or (price is null and not (value is null or value = 'null' or trim(value #>> '{}') = ''));
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_at_door(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if not delivery.attempt_counts(d) then
    perform app.fail('outcome_not_at_door', '{"field": "result"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_item_prices(package jsonb, cod_amount numeric, decimals integer, field text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v record;
begin
  select count(*) as items, count(p.price) as priced, sum(p.price * coalesce((delivery.read_measure(i.item -> 'quantity')).measure, 1)) as total,
    min(i.place) filter (where p.wrong or p.price <> round(p.price, decimals)) as wrong
  into v
  from jsonb_array_elements(case when jsonb_typeof(package -> 'items') = 'array' then package -> 'items' else '[]' end) with ordinality i (item, place)
  cross join delivery.read_price(i.item -> 'unit_price') p;
  if v.wrong is not null then
    perform app.fail('invalid_package', jsonb_build_object('field', field, 'item', v.wrong, 'name', 'unit_price', 'decimals', decimals,
      'reason_key', 'reason_price'));
  elsif v.priced > 0 and (v.priced < v.items or v.total <> require_item_prices.cod_amount) then
    perform app.fail('item_prices_not_cod', jsonb_build_object('field', field, 'cod_amount', require_item_prices.cod_amount, 'items_total', v.total));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_postponed_to(input jsonb)
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_day date := (input ->> 'postponed_to')::date;
  v_today date := (now() at time zone app.timezone())::date;
begin
  if v_day is null or v_day not between v_today + 1 and v_today + 30 then
    perform app.fail('invalid_postponed_to', jsonb_build_object('field', 'postponed_to', 'first', v_today + 1, 'last', v_today + 30));
  end if;
  return v_day;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_destination(d delivery.deliveries, input jsonb, OUT address_id uuid, OUT snapshot jsonb, OUT warehouse_id uuid, OUT zone_id uuid)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_named boolean := num_nonnulls(input ->> 'dropoff_address_id', input ->> 'dropoff_warehouse_id') > 0;
  v_mode text := delivery.return_destination_mode();
  v_sender record := delivery.ordered_from(d);
begin
  if v_named and d.order_id is not null then
    perform app.fail('return_destination_fixed',
      jsonb_build_object('field', case when input ->> 'dropoff_address_id' is null then 'dropoff_warehouse_id' else 'dropoff_address_id' end));
  elsif v_named then
    warehouse_id := (input ->> 'dropoff_warehouse_id')::uuid;
    address_id := (input ->> 'dropoff_address_id')::uuid;
  elsif v_mode = 'choose' and d.order_id is null and not coalesce((input ->> 'at_door')::boolean, false) then
    perform app.fail('return_destination_required', '{"field": "dropoff_address_id"}');
  elsif v_mode = 'warehouse' and d.order_id is null then
    warehouse_id := nullif(delivery.returns_warehouse(), d.current_warehouse_id);
  end if;
  if warehouse_id is not null then
    select w.address_id into address_id from warehousing.warehouses w
    where w.tenant_id = d.tenant_id and w.id = return_destination.warehouse_id and w.deleted_at is null;
    if not found then
      perform app.fail('warehouse_not_found', '{"field": "dropoff_warehouse_id"}');
    elsif warehouse_id = d.current_warehouse_id then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_lies_there'));
    end if;
  end if;
  if address_id is null then
    address_id := v_sender.address_id;
    snapshot := v_sender.snapshot;
    warehouse_id := v_sender.warehouse_id;
    zone_id := v_sender.zone_id;
    return;
  end if;
  select to_jsonb(a), a.zone_id into snapshot, zone_id from delivery.addresses_list a where a.id = return_destination.address_id;
  if not found then
    perform app.fail('address_not_found', '{"field": "dropoff_address_id"}');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_from_door(d delivery.deliveries, flow text, contents jsonb, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  a delivery.assignments;
  p delivery.deliveries := delivery.parcel_terms(d);
  n delivery.deliveries;
begin
  select * into a from delivery.assignments x
  where x.tenant_id = v_tenant and x.delivery_id = d.id and x.status in ('assigned', 'accepted');
  if not found then
    perform app.fail('delivery_has_no_driver');
  end if;
  perform from delivery.drivers r where r.tenant_id = v_tenant and r.user_id = a.driver_id for no key update;
  n := delivery.operational_return_of(p, input || '{"at_door": true}');
  n.delivery_flow := flow;
  n.status := 'picked_up';
  n.pickup_address_id := p.dropoff_address_id;
  n.pickup_snapshot := p.dropoff_snapshot;
  n.pickup_zone_id := p.dropoff_zone_id;
  n.pickup_warehouse_id := null;
  n.current_warehouse_id := null;
  n.made_at_door := true;
  n.returns_part := contents is not null;
  perform delivery.delivery_insert(n);
  update delivery.deliveries x set picked_up_at = clock_timestamp() where x.tenant_id = v_tenant and x.id = n.id;
  perform delivery.delivery_contents_write(n.id, coalesce(contents, delivery.parcel_contents(p)));
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, assigned_by, responded_at,
    to_warehouse_id)
  values (v_tenant, n.id, a.driver_id, a.vehicle_id, 'accepted', a.sequence_number, n.unit_size, app.user_id(), clock_timestamp(),
    n.dropoff_warehouse_id);
  return n.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.returned_contents(parcel uuid, asked jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_left jsonb := delivery.units_to_return(parcel);
  v_contents jsonb;
  v_wrong boolean;
  v_part boolean := delivery.is_returned_in_part(parcel);
begin
  if v_left is null or v_part and v_left = '[]' then
    perform app.fail('return_already_exists');
  elsif coalesce(jsonb_typeof(asked), 'null') = 'null' then
    return case when v_part then v_left end;
  end if;
  select count(*) <> count(distinct a.delivery_item_id) or bool_or(i.id is null) into v_wrong
  from jsonb_to_recordset(asked) a (delivery_item_id uuid, quantity bigint)
  left join delivery.delivery_items i on i.tenant_id = app.tenant_id() and i.delivery_id = parcel and i.id = a.delivery_item_id;
  if coalesce(v_wrong, true) then
    perform app.fail('partial_items_invalid', '{"field": "return_items"}');
  end if;
  select jsonb_agg(l.item || jsonb_build_object('quantity', a.quantity)), count(l.item) < count(*) or bool_or((l.item ->> 'quantity')::bigint < a.quantity)
  into v_contents, v_wrong
  from jsonb_to_recordset(asked) a (delivery_item_id uuid, quantity bigint)
  left join jsonb_array_elements(v_left) l (item) on (l.item ->> 'returned_item_id')::uuid = a.delivery_item_id;
  if v_wrong then
    perform app.fail('return_already_exists');
  end if;
  return v_contents;
end $function$;

CREATE OR REPLACE FUNCTION delivery.returned_units()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (
      select from (select distinct n.tenant_id, n.returned_item_id from new_rows n where n.returned_item_id is not null) n
      join delivery.delivery_items i on i.tenant_id = n.tenant_id and i.id = n.returned_item_id
      where i.quantity < (
          select sum(x.quantity) from delivery.delivery_items x
          join delivery.deliveries r on r.tenant_id = x.tenant_id and r.id = x.delivery_id
          where x.tenant_id = i.tenant_id and x.returned_item_id = i.id and r.status <> 'cancelled')
        or exists (select from delivery.deliveries r where r.tenant_id = i.tenant_id and r.original_delivery_id = i.delivery_id
          and r.status <> 'cancelled' and not r.returns_part)) then
    perform app.fail('return_already_exists');
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."returned_units"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.returned_whole()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (
      select from new_rows n
      join delivery.deliveries r on r.tenant_id = n.tenant_id and r.original_delivery_id = n.original_delivery_id and r.returns_part
        and r.status <> 'cancelled'
      join delivery.delivery_items x on x.tenant_id = r.tenant_id and x.delivery_id = r.id and x.returned_item_id is not null
      where n.original_delivery_id is not null and not n.returns_part) then
    perform app.fail('return_already_exists');
  end if;
  return null;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."returned_whole"() FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.returns_from_door(d delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return d.made_at_door and not delivery.leaves_warehouse(d);
end $function$;

CREATE OR REPLACE FUNCTION delivery.search_step(tenant uuid, delivery_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_settings record;
  s delivery.driver_searches;
  d delivery.deliveries;
  v_offer delivery.assignments;
  v_reasons jsonb;
  v_drivers uuid[];
  v_driver uuid;
  v_plan jsonb;
begin
  perform set_config('app.tenant_id', tenant::text, true);
  perform pg_advisory_xact_lock(hashtextextended('driver searches ' || tenant, 0));
  perform delivery.lock_deliveries(array[search_step.delivery_id]);
  select * into s from delivery.driver_searches x where x.tenant_id = tenant and x.delivery_id = search_step.delivery_id for no key update;
  if not found or s.next_attempt_at is null or s.next_attempt_at > clock_timestamp() then
    return 'not_due';
  end if;
  v_settings := delivery.auto_assignment_settings();
  if s.status = 'offered' then
    select * into v_offer from delivery.assignments a
    where a.tenant_id = tenant and a.delivery_id = s.delivery_id and a.status = 'pending';
    return delivery.search_withdraw(s, v_offer);
  end if;
  select * into d from delivery.deliveries x where x.tenant_id = tenant and x.id = s.delivery_id;
  if d.status <> 'pending' or d.postponed_to is not null or not delivery.is_auto_assignable(d) then
    update delivery.driver_searches x set status = 'off', next_attempt_at = null where x.tenant_id = tenant and x.delivery_id = d.id;
    return 'off';
  end if;
  if s.attempts >= v_settings.max_attempts then
    return delivery.search_fail(s, d);
  end if;

  with ranked as materialized (select r.place, r.driver_id, r.reasons from delivery.driver_ranking(d) r)
  select array(select r.driver_id from ranked r where r.reasons = '{}' order by r.place), (
    select jsonb_object_agg(c.reason, c.count) from (
      select r.reasons[1] as reason, count(*) from ranked r
      where r.reasons[1] in ('offline', 'capacity', 'zone', 'away', 'declined') group by 1) c)
  into v_drivers, v_reasons;
  -- The ranking and the plan know the same rules; the plan has the last word.
  foreach v_driver in array v_drivers loop
    v_plan := delivery.assignments_plan(array[d.id], v_driver, null, false);
    exit when v_plan ->> 'code' is null and v_plan #>> '{lines,0,code}' is null;
    v_plan := null;
  end loop;
  s.passed_over := delivery.drivers_passed_over(v_reasons);
  s.attempts := s.attempts + 1;
  if v_plan is null then
    if s.attempts >= v_settings.max_attempts then
      return delivery.search_fail(s, d);
    end if;
    perform delivery.search_continue(s, 'searching', v_settings.retry_after);
    return 'nobody';
  end if;
  v_plan := delivery.assignments_plan(array[d.id], v_driver, null, true);
  if v_plan ->> 'code' is not null or v_plan #>> '{lines,0,code}' is not null then
    return 'again';
  end if;
  perform delivery.search_continue(s, 'offered', v_settings.retry_after);
  perform delivery.assignments_write(v_plan, '{}');
  update delivery.driver_searches x set status = 'assigned', next_attempt_at = null
  from delivery.assignments a
  where x.tenant_id = tenant and x.delivery_id = d.id and a.tenant_id = tenant and a.delivery_id = d.id and a.status = 'assigned';
  return case when found then 'assigned' else 'offered' end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.searches_follow_deliveries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    if (delivery.auto_assignment_settings()).enabled then
      perform delivery.searches_begin(array(select n.id from new_rows n
        where n.tenant_id = app.tenant_id() and n.status = 'pending' and delivery.is_auto_assignable(n)));
    end if;
    return null;
  end if;
  if not exists (select from new_rows n join old_rows o on o.id = n.id where n.status <> o.status or n.carrier_type <> o.carrier_type
      or n.postponed_to is distinct from o.postponed_to) then
    return null;
  end if;
  update delivery.driver_searches s set status = 'off', next_attempt_at = null
  from new_rows n join old_rows o on o.id = n.id
  where s.tenant_id = n.tenant_id and s.delivery_id = n.id and s.status in ('searching', 'offered', 'failed')
    and (n.status not in ('pending', 'assigned', 'accepted') or n.carrier_type <> 'internal')
    and (n.status <> o.status or n.carrier_type <> o.carrier_type);
  -- Deliveries that drivers lose before pickup are the affair of their assignments.
  if (delivery.auto_assignment_settings()).enabled then
    perform delivery.searches_begin(array(select n.id from new_rows n join old_rows o on o.id = n.id
      where n.tenant_id = app.tenant_id() and n.status = 'pending' and n.postponed_to is null
        and (o.status not in ('pending', 'assigned', 'accepted') or o.postponed_to is not null) and delivery.is_auto_assignable(n)));
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.self_assign(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_driver delivery.drivers := delivery.require_self_assignment();
  v_plan jsonb := delivery.assignments_plan(app.uuids(input -> 'delivery_ids'), v_driver.user_id, null, true);
  v_postponed uuid[];
begin
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  -- The plan holds them.
  v_postponed := array(select d.id from delivery.deliveries d
    where d.tenant_id = app.tenant_id() and d.id = any (app.uuids(input -> 'delivery_ids')) and d.postponed_to is not null order by d.id);
  if cardinality(v_postponed) > 0 then
    perform app.fail('delivery_postponed', jsonb_build_object('field', 'delivery_ids', 'delivery_ids', v_postponed));
  end if;
  return delivery.bulk_made(v_plan, delivery.assignments_write(v_plan, '{"bulk": true, "accepted": true}'));
end $function$;

CREATE OR REPLACE FUNCTION delivery.sequence_stops(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_start jsonb;
  v_list jsonb;
begin
  perform delivery.sequence_of(v_driver);
  select s.place into v_start
  from (
    select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('accepted', 'assigned', 'completed', 'returned')
    order by a.assignment_time desc nulls last, a.id desc limit 200
  ) recent
  join delivery.deliveries d on d.tenant_id = v_tenant and d.id = recent.delivery_id
  cross join lateral (values (d.delivered_at, d.dropoff_snapshot), (d.picked_up_at, d.pickup_snapshot)) s (seen_at, place)
  where s.seen_at is not null and s.place ->> 'latitude' is not null and s.place ->> 'longitude' is not null
  order by s.seen_at desc limit 1;

  select coalesce(jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', d.id, 'delivery_code', d.delivery_code,
      'picked_up', d.status in ('picked_up', 'in_transit', 'failed'),
      'pickup', case when f.latitude is not null then jsonb_build_object('latitude', f.latitude, 'longitude', f.longitude) end,
      'dropoff', case when t.latitude is not null then jsonb_build_object('latitude', t.latitude, 'longitude', t.longitude) end,
      'pickup_by', a.estimated_pickup_time, 'dropoff_after', case when d.delivery_flow <> 'pnd_inbound' then d.deliver_after end,
      'dropoff_by', case when d.delivery_flow = 'pnd_inbound' then a.estimated_delivery_time
        else least(a.estimated_delivery_time, d.promised_at, d.deliver_before) end)
    order by a.sequence_number, a.assignment_time, a.id), '[]') into v_list
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  -- Not from the addresses: a driver does not see every one.
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.fetched_at(d) as place offset 0) p) f
  cross join lateral (
    select (p.place ->> 'latitude')::double precision as latitude, (p.place ->> 'longitude')::double precision as longitude
    from (select delivery.brought_to(d) as place offset 0) p) t
  where a.tenant_id = v_tenant and a.driver_id = v_driver and a.status in ('pending', 'assigned', 'accepted') and d.postponed_to is null;
  return jsonb_build_object('start', case when v_start is not null then jsonb_build_object(
    'latitude', v_start -> 'latitude', 'longitude', v_start -> 'longitude') end, 'assignments', v_list,
    'detour', delivery.detour_factor(coalesce((v_list #>> '{0,pickup,latitude}')::double precision,
      (v_list #>> '{0,dropoff,latitude}')::double precision, (v_start ->> 'latitude')::double precision)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.stops_at(d delivery.deliveries, warehouse uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return warehouse is not null and (delivery.returns_from_door(d) or d.delivery_flow = 'standard' and d.order_id is null
    and warehouse is distinct from (delivery.ordered_from(d)).warehouse_id and warehouse is distinct from delivery.ends_in(d));
end $function$;

CREATE OR REPLACE FUNCTION delivery.units_to_return(parcel uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
begin
  if exists (select from delivery.deliveries r
      where r.tenant_id = v_tenant and r.original_delivery_id = parcel and r.status <> 'cancelled' and not r.returns_part) then
    return null;
  end if;
  return (
    select coalesce(jsonb_agg(jsonb_build_object('name', i.name, 'quantity', i.quantity - c.back, 'weight', i.weight, 'length', i.length,
      'width', i.width, 'height', i.height, 'returned_item_id', i.id) order by i.position) filter (where c.back < i.quantity), '[]')
    from delivery.delivery_items i
    cross join lateral (
      select coalesce(sum(x.quantity), 0)::bigint as back from delivery.delivery_items x
      join delivery.deliveries r on r.tenant_id = x.tenant_id and r.id = x.delivery_id
      where x.tenant_id = v_tenant and x.returned_item_id = i.id and r.status <> 'cancelled') c
    where i.tenant_id = v_tenant and i.delivery_id = parcel);
end $function$;

CREATE OR REPLACE FUNCTION delivery.working_day()
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (now() at time zone app.timezone() - delivery.morning())::date;
end $function$;

CREATE OR REPLACE FUNCTION money.driver_pay_accrue(p_delivery uuid, p_driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_due record;
  v_id uuid;
begin
  if p_driver is null then
    return;
  end if;
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  v_due := money.driver_pay_due(d);
  if v_due.amount is null or d.made_at_door then
    return;
  end if;
  insert into money.driver_pay (tenant_id, delivery_id, driver_id, mode, percentage, base_amount, delivery_fee, amount, currency, delivery_code)
  values (d.tenant_id, d.id, p_driver, v_due.mode, v_due.percentage, v_due.base_amount, v_due.delivery_fee, v_due.amount, v_due.currency, d.delivery_code)
  on conflict (tenant_id, delivery_id) where status <> 'reversed' do nothing
  returning id into v_id;
  if v_id is null then
    return;
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'driver_pay.accrued', 'source_module', 'delivery',
    'entity_type', 'driver_pay', 'entity_id', v_id, 'event_data', jsonb_build_object('driver_pay_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'driver_id', p_driver, 'amount', v_due.amount, 'currency', v_due.currency, 'actor_id', app.user_id()))));
  perform money.post_journal('driver_pay', 'driver_pay', v_id, 'Delivery ' || d.delivery_code,
    array[money.account_of('driver_payable', 'driver', p_driver, v_due.currency), money.account_of('driver_cost', 'tenant', null, v_due.currency)],
    array[v_due.amount, -v_due.amount]);
end $function$;

CREATE OR REPLACE FUNCTION tenancy.attempt_settings()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select '{"after_last": "ask"}' || s.saved || jsonb_build_object('reasons', case
      when s.saved ? 'reasons' then (
        select jsonb_agg(r.reason || jsonb_build_object('needs', '{"photo": false, "note": false, "place": false}'::jsonb
          || coalesce(r.reason -> 'needs', '{}')) order by r.position)
        from jsonb_array_elements(s.saved -> 'reasons') with ordinality r (reason, position))
      else tenancy.attempt_reasons_default() end)
    -- offset 0 keeps the settings from being read again for each of their uses above.
    from (select jsonb_strip_nulls(app.settings('delivery', 'attempts')) as saved offset 0) s);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.parcel_received(d delivery.deliveries, r warehousing.receiving_orders)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
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

ALTER TABLE "delivery"."deliveries" ADD CONSTRAINT "notice_of_postponed" CHECK (((overnight_notice_at IS NULL) OR (postponed_to IS NOT NULL))) NOT VALID;

ALTER TABLE "delivery"."deliveries" ADD CONSTRAINT "parts_are_delivered" CHECK (((NOT delivered_in_part) OR (status = 'delivered'::text))) NOT VALID;

ALTER TABLE "delivery"."deliveries" ADD CONSTRAINT "returns_are_made_at_doors" CHECK (((NOT (made_at_door OR returns_part)) OR (original_delivery_id IS NOT NULL))) NOT VALID;

ALTER TABLE "delivery"."delivery_items" ADD CONSTRAINT "delivery_items_tenant_id_returned_item_id_fkey" FOREIGN KEY (tenant_id, returned_item_id) REFERENCES delivery.delivery_items(tenant_id, id) ON DELETE RESTRICT NOT VALID;

ALTER TABLE "delivery"."delivery_items" ADD CONSTRAINT "delivery_items_unit_price_check" CHECK ((unit_price >= (0)::numeric)) NOT VALID;

CREATE VIEW "delivery"."assignments_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_id,
    driver_id,
    vehicle_id,
    bulk_assignment_id,
    assigned_by AS assigned_by_id,
    assignment_time,
    status,
    status AS assignment_status,
    (status = 'pending'::text) AS requires_driver_response,
    sequence_number,
    estimated_pickup_time,
    estimated_delivery_time,
    notes,
    responded_at,
    response_reason,
    ( SELECT ((jsonb_build_object('id', d.id, 'delivery_code', d.delivery_code, 'external_reference_id', d.external_reference_id, 'customer', ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS jsonb_build_object
                   FROM tenancy.profiles p
                  WHERE (p.id =
                        CASE
                            WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                            ELSE d.customer_id
                        END))) || jsonb_build_object('barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'postponed_to', d.postponed_to)) || delivery.carried(d.*))
           FROM delivery.deliveries d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery,
    jsonb_build_object('id', driver_id, 'user', ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone) AS jsonb_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.driver_id))) AS drivers,
    ( SELECT jsonb_build_object('id', v.id, 'name', v.name, 'image_url', v.image_url) AS jsonb_build_object
           FROM delivery.vehicles v
          WHERE ((v.tenant_id = a.tenant_id) AND (v.id = a.vehicle_id))) AS vehicle,
    ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name) AS jsonb_build_object
           FROM tenancy.profiles p
          WHERE (p.id = a.assigned_by)) AS assigned_by,
    ( SELECT jsonb_build_object('id', p.id, 'full_name', p.full_name, 'phone', p.phone, 'email', p.email) AS jsonb_build_object
           FROM (delivery.deliveries d
             JOIN tenancy.profiles p ON ((p.id =
                CASE
                    WHEN (d.customer_id IS NULL) THEN d.institution_user_id
                    ELSE d.customer_id
                END)))
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS customer,
    ( SELECT ((jsonb_build_object('status', d.status, 'barcode', d.barcode, 'parent_id', d.parent_id, 'leg', d.leg, 'delivery_flow', d.delivery_flow, 'unit_size', d.unit_size, 'payer_type', d.payer_type, 'payment_method', d.payment_method, 'notes', d.notes, 'pickup',
                CASE
                    WHEN (a.from_warehouse_id IS NULL) THEN d.pickup_snapshot
                    ELSE delivery.warehouse_place(a.tenant_id, a.from_warehouse_id, d.pickup_snapshot)
                END, 'dropoff',
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN d.dropoff_snapshot
                    ELSE delivery.warehouse_place(a.tenant_id, a.to_warehouse_id, d.dropoff_snapshot)
                END, 'promised_at', d.promised_at, 'deliver_after', d.deliver_after, 'deliver_before', d.deliver_before, 'picked_up_at', d.picked_up_at) || delivery.carried(d.*)) ||
                CASE
                    WHEN (a.to_warehouse_id IS NULL) THEN '{}'::jsonb
                    ELSE '{"recipient": {}}'::jsonb
                END)
           FROM delivery.deliveries d
          WHERE ((d.tenant_id = a.tenant_id) AND (d.id = a.delivery_id))) AS delivery_details,
    route_details AS route
   FROM delivery.assignments a;

CREATE VIEW "delivery"."deliveries_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_code,
    barcode,
    external_reference_id,
    status,
    status_reason,
    status_notes,
    delivery_flow,
    parent_id,
    leg,
    sequence_plan,
    original_delivery_id,
    (parent_id IS NOT NULL) AS is_leg,
    customer_id,
    institution_user_id,
        CASE
            WHEN (customer_id IS NOT NULL) THEN jsonb_build_object('id', customer_id, 'full_name', ( SELECT c.full_name
               FROM tenancy.profiles c
              WHERE (c.id = d.customer_id)), 'phone', ( SELECT c.phone
               FROM tenancy.profiles c
              WHERE (c.id = d.customer_id)))
            ELSE NULL::jsonb
        END AS customer,
        CASE
            WHEN (institution_user_id IS NOT NULL) THEN jsonb_build_object('id', institution_user_id, 'full_name', ( SELECT i.full_name
               FROM tenancy.profiles i
              WHERE (i.id = d.institution_user_id)), 'phone', ( SELECT i.phone
               FROM tenancy.profiles i
              WHERE (i.id = d.institution_user_id)))
            ELSE NULL::jsonb
        END AS institution,
    delivery_service_id,
    jsonb_build_object('id', delivery_service_id, 'code', (service_snapshot ->> 'code'::text), 'name', app.localized((service_snapshot -> 'name'::text))) AS delivery_service,
    carrier_type,
    carrier_code,
    payer_type,
    payment_method,
        CASE
            WHEN (parent_id IS NULL) THEN delivery_fee
            ELSE ((delivery.due_on(d.*) ->> 'delivery_fee'::text))::numeric
        END AS price,
        CASE
            WHEN (parent_id IS NULL) THEN delivery_fee
            ELSE ((delivery.due_on(d.*) ->> 'delivery_fee'::text))::numeric
        END AS delivery_fee,
        CASE
            WHEN (parent_id IS NULL) THEN cod_amount
            ELSE ((delivery.due_on(d.*) ->> 'cod_amount'::text))::numeric
        END AS cod_amount,
        CASE
            WHEN (parent_id IS NULL) THEN COALESCE(ordered_cod_amount, cod_amount)
            ELSE delivery.cod_ordered_on(d.*)
        END AS ordered_cod_amount,
    currency,
    delivery.cash_due_on(d.*) AS cash_due,
        CASE
            WHEN (parent_id IS NOT NULL) THEN delivery.parcel_of_leg_to_json(d.*)
            ELSE NULL::jsonb
        END AS parcel,
    unit_size,
    unit_size_source,
    distance_km,
    pickup_address_id,
    dropoff_address_id,
    pickup_snapshot AS pickup_address,
    dropoff_snapshot AS dropoff_address,
    pickup_zone_id,
    dropoff_zone_id,
    pickup_warehouse_id,
    dropoff_warehouse_id,
    current_warehouse_id,
    delivery.sender_of(d.*) AS sender,
    delivery.recipient_of(d.*) AS recipient,
    notes,
    manifest_id,
    attempts_used,
    ( SELECT jsonb_build_object('id', x.id, 'status', x.status, 'driver_id', x.driver_id, 'driver', jsonb_build_object('id', x.driver_id, 'full_name', p.full_name, 'phone', p.phone), 'vehicle_id', x.vehicle_id, 'assignment_time', x.assignment_time) AS jsonb_build_object
           FROM (delivery.assignments x
             LEFT JOIN tenancy.profiles p ON ((p.id = x.driver_id)))
          WHERE ((x.tenant_id = d.tenant_id) AND (x.delivery_id = d.id) AND (x.status <> 'rejected'::text))
          ORDER BY (x.status = ANY (ARRAY['pending'::text, 'assigned'::text, 'accepted'::text])) DESC, x.assignment_time DESC
         LIMIT 1) AS assignment,
    promised_at,
    picked_up_at,
    delivered_at,
    created_by,
    created_at,
    updated_at,
    deliver_after,
    deliver_before,
    postponed_to,
    delivered_in_part
   FROM delivery.deliveries d;

ALTER INDEX delivery.return_of_all_exists RENAME TO return_already_exists;

CREATE TRIGGER postponement_ends BEFORE UPDATE OF status ON delivery.deliveries FOR EACH ROW WHEN (((old.postponed_to IS NOT NULL) AND (new.status <> old.status) AND (new.delivery_flow <> 'pnd_parent'::text))) EXECUTE FUNCTION delivery.postponement_ends();

CREATE TRIGGER returned_whole AFTER INSERT ON delivery.deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.returned_whole();

CREATE TRIGGER returned_units AFTER INSERT ON delivery.delivery_items REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION delivery.returned_units();

REVOKE ALL ON FUNCTION "delivery"."attempt_fails"(jsonb, text, text, boolean, boolean, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."attempt_fails"(jsonb, text, text, boolean, boolean, date) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."cod_of_kept"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."cod_of_kept"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."contents_left"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."contents_left"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."delivered_in_part_mark"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivered_in_part_mark"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."delivery_contents_write"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."delivery_contents_write"(uuid, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."is_returned_in_part"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_returned_in_part"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."kept_amount_write"(delivery.deliveries, numeric, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_amount_write"(delivery.deliveries, numeric, jsonb, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."kept_items_of"(uuid, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_items_of"(uuid, jsonb, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."morning"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."morning"() TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."no_cash"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."no_cash"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."operational_return_of"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."operational_return_of"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_delivered"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_delivered"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_exchanged"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_exchanged"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_failed"(delivery.deliveries, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_failed"(delivery.deliveries, jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_partial"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_partial"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_postponed"(delivery.deliveries, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_postponed"(delivery.deliveries, jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_sent_back"(delivery.deliveries, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_sent_back"(delivery.deliveries, jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."overnight_notice"(date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."overnight_notice"(date) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."parcel_contents"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."postponed_notify"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."postponed_resume"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."postponement_ends"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."read_price"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."read_price"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_at_door"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_at_door"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_item_prices"(jsonb, numeric, integer, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_item_prices"(jsonb, numeric, integer, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."require_postponed_to"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."require_postponed_to"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_from_door"(delivery.deliveries, text, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_from_door"(delivery.deliveries, text, jsonb, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."returned_contents"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."returned_contents"(uuid, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."returned_units"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."returned_whole"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."returns_from_door"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."returns_from_door"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."units_to_return"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."units_to_return"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."working_day"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."working_day"() TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."assignments_list" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."deliveries_list" TO "barid_caller";

insert into integration.event_types (event_type, source_module, entity_type, event_data)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb
from (values
  -- Deliveries: parcels; a leg shows in its parcel.
  ('{delivery.created}'::text[], 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "delivery_flow": "string",
      "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?", "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "status": "string", "from_status": "string",
      "delivery_flow": "string", "customer_id": "uuid?", "institution_user_id": "uuid?", "external_reference_id": "string?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{delivery.auto_assignment_failed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "attempts": "integer", "passed_over": "object", "actor_id": "uuid?"}'),
  ('{delivery.outcome}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason_code": "string?", "actor_id": "uuid?"}'),
  ('{delivery.postponed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "postponed_to": "string", "reason_code": "string", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery_exception.opened}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "type": "string", "receiving_order_id": "uuid?",
      "actor_id": "uuid?"}'),
  ('{delivery_exception.resolved}', 'delivery', 'delivery_exception',
    '{"exception_id": "uuid", "delivery_id": "uuid", "resolution": "string", "actor_id": "uuid?"}'),

  -- Drivers' work.
  ('{assignment.created}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "total_units": "number",
      "actor_id": "uuid?"}'),
  ('{assignment.accepted,assignment.rejected}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string", "actor_id": "uuid"}'),
  ('{driver.duty_changed}', 'delivery', 'driver', '{"driver_id": "uuid", "on_duty": "boolean", "actor_id": "uuid?"}'),
  ('{assignment.returned}', 'delivery', 'assignment',
    '{"assignment_ids": "array", "delivery_ids": "array", "delivery_id": "uuid", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid?"}'),
  ('{bulk_assignment.created}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "total_units": "number", "actor_id": "uuid?"}'),
  ('{bulk_assignment.accepted,bulk_assignment.rejected}', 'delivery', 'bulk_assignment',
    '{"bulk_assignment_id": "uuid", "assignment_ids": "array", "delivery_ids": "array", "driver_id": "uuid", "status": "string",
      "actor_id": "uuid"}'),

  -- Cash and wallets.
  ('{cod_settlement.created,cod_settlement.reversed}', 'delivery', 'cod_settlement',
    '{"settlement_payment_id": "uuid", "method": "string", "driver_id": "uuid", "receiver_id": "uuid?", "currency": "string",
      "total": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string", "from_user_id": "uuid?", "to_user_id": "uuid?",
      "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{cod.mismatch}', 'delivery', 'tenant', '{"differences": "array"}'),
  ('{wallet.topped_up}', 'payment', 'payment',
    '{"payment_id": "uuid", "account_id": "uuid", "amount": "number", "currency": "string"}'),
  ('{payment.unmatched}', 'payment', 'payment_webhook_event',
    '{"payment_event_id": "uuid", "gateway_code": "string", "reason": "string", "payment_id": "uuid?", "order_id": "uuid?",
      "gateway_order_id": "string?", "gateway_transaction_id": "string?", "amount": "string?", "amount_unit": "string?",
      "currency": "string?"}'),

  -- Warehouses.
  ('{picking_order.started,picking_order.completed,picking_order.cancelled,picking_order.handed_off}', 'warehousing', 'picking_order',
    '{"picking_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "from": "string",
      "to": "string", "actor_id": "uuid?"}'),
  ('{receiving_order.received}', 'warehousing', 'receiving_order',
    '{"receiving_order_id": "uuid", "reference_number": "string", "warehouse_id": "uuid", "delivery_id": "uuid?", "source": "string",
      "actor_id": "uuid?"}'),
  ('{inventory.received}', 'warehousing', 'warehouse',
    '{"receipt_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.returned}', 'warehousing', 'warehouse',
    '{"return_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.written_off}', 'warehousing', 'warehouse',
    '{"write_off_id": "uuid", "warehouse_id": "uuid", "reason": "string", "lines": "integer", "units": "integer", "actor_id": "uuid?"}'),
  ('{inventory.moved}', 'warehousing', 'warehouse',
    '{"move_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "actor_id": "uuid?"}'),
  ('{inventory.adjusted}', 'warehousing', 'warehouse',
    '{"adjustment_id": "uuid", "warehouse_id": "uuid", "item_id": "uuid", "delta": "integer", "actor_id": "uuid?"}'),
  ('{inventory.counted}', 'warehousing', 'warehouse',
    '{"count_id": "uuid", "warehouse_id": "uuid", "lines": "integer", "differences": "integer", "units_found": "integer",
      "units_missing": "integer", "actor_id": "uuid?"}'),
  ('{inventory_transfer.completed}', 'warehousing', 'inventory_transfer',
    '{"inventory_transfer_id": "uuid", "reference_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "lines": "integer", "actor_id": "uuid?"}'),
  ('{sorting_session.completed}', 'warehousing', 'sorting_session',
    '{"session_id": "uuid", "warehouse_id": "uuid", "sorted_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.sealed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "actor_id": "uuid?"}'),
  ('{waybill.cancelled}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid?", "delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.handed_over}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "delivery_count": "integer", "actor_id": "uuid?"}'),
  ('{waybill.received}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "received_count": "integer", "missing_count": "integer", "missing_delivery_ids": "array", "actor_id": "uuid?"}'),
  ('{waybill.closed}', 'warehousing', 'waybill',
    '{"waybill_id": "uuid", "waybill_number": "string", "source_warehouse_id": "uuid", "destination_warehouse_id": "uuid",
      "driver_id": "uuid", "actor_id": "uuid?"}'),
  ('{stock.mismatch}', 'warehousing', 'tenant', '{"differences": "array"}'),

  -- External carriers.
  ('{shipment.booked}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "tracking_number": "string", "actor_id": "uuid?"}'),
  ('{shipment.cancelled}', 'carriers', 'delivery',
    '{"shipment_id": "uuid", "delivery_id": "uuid", "carrier_code": "string", "actor_id": "uuid?"}'),
  ('{carrier_cash.unbooked}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "shipment_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string", "status": "string",
      "outcome": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
      "reference": "string", "actor_id": "uuid?"}'),

  -- Stores.
  ('{order.created,order.paid,order.payment_failed}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "actor_id": "uuid?"}'),
  ('{order.awaiting_approval,order.approved,order.confirmed,order.shipped,order.delivered,order.completed,order.cancelled}',
    'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "from_status": "string",
      "payment_status": "string", "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?",
      "reason": "string?", "actor_id": "uuid?"}'),
  ('{order.shortened,order.refund_due}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "actor_id": "uuid?"}'),
  ('{review.created}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid"}'),
  ('{review.approved,review.rejected}', 'storefront', 'review',
    '{"review_id": "uuid", "product_id": "uuid", "rating": "integer", "status": "string", "actor_id": "uuid?"}'),
  ('{customer.joined}', 'storefront', 'customer', '{"customer_id": "uuid", "market_id": "uuid", "actor_id": "uuid"}'),
  ('{market.created,market.updated,market.submitted,market.approved,market.rejected,market.published,market.unpublished,
      market.deactivated}', 'storefront', 'market',
    '{"market_id": "uuid", "code": "integer", "store_name": "string", "status": "string", "publish_status": "string",
      "needs_reapproval": "boolean", "actor_id": "uuid?"}'),
  ('{custom_domain.connected,custom_domain.verified,custom_domain.unverified,custom_domain.lost,custom_domain.disconnected}', 'storefront', 'custom_domain',
    '{"custom_domain_id": "uuid", "market_id": "uuid", "custom_domain": "string", "status": "string", "actor_id": "uuid?"}'),

  -- Companies, and the system itself.
  ('{tenant.created,tenant.updated}', 'tenants', 'tenant', '{"status": "string", "actor_id": "uuid?"}'),
  ('{tenant.activated,tenant.suspended,tenant.archived}', 'tenants', 'tenant',
    '{"status": "string", "previous_status": "string", "actor_id": "uuid?"}'),
  ('{tenant.subscription_started,tenant.subscription_cancelled}', 'tenants', 'tenant',
    '{"status": "string", "type": "string", "actor_id": "uuid?"}'),
  ('{tenant.modules_changed}', 'tenants', 'tenant', '{"status": "string", "enabled": "array", "actor_id": "uuid?"}'),
  ('{api_key.expiring}', 'tenants', 'api_key',
    '{"api_key_id": "uuid", "name": "string", "hint": "string?", "expires_at": "timestamp", "created_by": "uuid?"}'),
  ('{tenant_user.joined,tenant_user.left}', 'tenants', 'user',
    '{"user_id": "uuid", "tenant_user_type": "string", "actor_id": "uuid"}'),
  ('{tenant_wizard.rollback_failed}', 'tenants', 'tenant', '{"run_id": "uuid", "tenant_id": "uuid", "actor_id": "uuid?"}'),
  ('{webhook_subscription.disabled}', 'webhooks', 'webhook_subscription', '{"subscription_id": "uuid", "reason": "string"}'),
  -- Of the module whose job it was, and of the one whose subscription is tried.
  ('{job.dead}', null, 'tenant', '{"job_id": "integer", "kind": "string", "attempts": "integer"}'),
  ('{webhook.test}', null, 'test', '{"test": "boolean"}')
) e (event_types, source_module, entity_type, event_data)
cross join unnest(e.event_types) t (event_type)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data;

-- Scheduled jobs (UTC). Scheduling a name again changes its job, so this file can be applied again.
-- No seconds and nothing newer than pg_cron 1.4. Without pg_cron the backend works, but old keys and jobs
-- stay and a lost background job waits for the next request of its kind.
do $$
begin
  if not exists (select from pg_available_extensions where name = 'pg_cron') then
    raise notice 'pg_cron is not available on this server: nothing is scheduled';
    return;
  end if;
  -- pg_cron belongs to one database of a server.
  if coalesce(current_setting('cron.database_name', true), current_database()) <> current_database() then
    raise notice 'pg_cron belongs to another database of this server: nothing is scheduled';
    return;
  end if;
  begin
    create extension if not exists pg_cron with schema pg_catalog;
  exception when undefined_object then
    raise notice 'pg_cron is not among shared_preload_libraries: nothing is scheduled';
    return;
  end;
  if exists (select from pg_available_extensions where name = 'pg_net') then
    create extension if not exists pg_net with schema extensions;
  end if;

  perform cron.schedule('barid_kick_jobs', '* * * * *', 'select integration.kick_jobs()');
  perform cron.schedule('barid_searches_sweep', '* * * * *', 'select delivery.searches_sweep()');
  perform cron.schedule('barid_postponed_resume', '*/10 * * * *', 'select delivery.postponed_resume()');
  perform cron.schedule('barid_postponed_notify', '*/10 * * * *', 'select delivery.postponed_notify()');
  perform cron.schedule('barid_tallies_fold', '* * * * *', 'select private.tallies_fold()');
  perform cron.schedule('barid_receipts_sweep', '*/10 * * * *', 'select money.receipts_sweep()');
  perform cron.schedule('barid_cod_reconcile', '17 2 * * *', 'select money.cod_reconcile_all()');
  perform cron.schedule('barid_performance_refresh', '*/15 * * * *', 'select delivery.performance_refresh()');
  perform cron.schedule('barid_performance_rebuilds', '* * * * *', 'select delivery.performance_rebuilds()');
  perform cron.schedule('barid_idempotency_purge', '7 * * * *', 'select private.idempotency_purge()');
  perform cron.schedule('barid_rates_purge', '37 * * * *', 'select private.rates_purge()');
  perform cron.schedule('barid_jobs_purge', '23 3 * * *', 'select private.jobs_purge()');
  perform cron.schedule('barid_wizard_runs_purge', '31 3 * * *', 'select tenancy.wizard_runs_purge()');
  perform cron.schedule('barid_road_distances_purge', '41 3 * * *', 'select delivery.road_distances_purge()');
  perform cron.schedule('barid_api_keys_warn', '27 4 * * *', 'select tenancy.api_keys_warn()');
  perform cron.schedule('barid_invitations_purge', '37 3 * * *', 'select tenancy.invitations_purge()');
  perform cron.schedule('barid_report_stock', '17 2 * * *', 'select warehousing.report_stock()');
  perform cron.schedule('barid_webhooks_release', '*/5 * * * *', 'select integration.webhooks_release()');
  perform cron.schedule('barid_webhooks_purge', '47 3 * * *', 'select integration.webhooks_purge()');
  perform cron.schedule('barid_events_purge', '53 * * * *', 'select integration.events_purge()');
  perform cron.schedule('barid_domains_recheck', '*/5 * * * *', 'select storefront.domains_recheck()');
  perform cron.schedule('barid_payments_reconcile', '*/5 * * * *', 'select money.payments_reconcile()');
  perform cron.schedule('barid_orders_expire', '*/10 * * * *', 'select storefront.orders_expire()');
  perform cron.schedule('barid_orders_complete', '11 2 * * *', 'select storefront.orders_complete()');
  perform cron.schedule('barid_manifests_complete', '27 * * * *', 'select delivery.manifests_complete()');
  perform cron.schedule('barid_positions_partition', '19 * * * *', 'select delivery.positions_partition()');
  perform cron.schedule('barid_package_transfers_backfill', '47 2 * * *', 'select warehousing.package_transfers_backfill()');
  -- pg_cron never forgets a run by itself.
  perform cron.schedule('barid_cron_history_purge', '41 3 * * *',
    'delete from cron.job_run_details where end_time < now() - interval ''7 days''');
end $$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125115321';
end $$;

grant execute on function private.schema_version() to barid_api;
