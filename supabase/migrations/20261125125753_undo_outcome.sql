-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments, delivery.deliveries, delivery.drivers, tenancy.profiles, tenancy.tenants in share row exclusive mode;
      lock table money.cod_collections, money.cod_collections_list in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

DROP VIEW "money"."cod_collections_list";

ALTER TABLE "money"."cod_collections" DROP CONSTRAINT "cash_already_collected";

CREATE TABLE "delivery"."outcomes" ("id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL, "tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "result" text NOT NULL, "from_status" text NOT NULL, "assignment_id" uuid, "driver_id" uuid, "before" jsonb NOT NULL, "last_move_id" bigint NOT NULL, "reported_by" uuid, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "undone_at" timestamp with time zone, "undone_by" uuid, "undo_reason" text, "undone_in" xid8, "new_assignment_id" uuid, CONSTRAINT "outcome_undone_when_and_why" CHECK ((((undone_at IS NULL) = (undo_reason IS NULL)) AND ((undone_at IS NULL) = (undone_in IS NULL)))), CONSTRAINT "outcomes_before_check" CHECK ((jsonb_typeof(before) = 'object'::text)), CONSTRAINT "outcomes_from_status_check" CHECK ((from_status = ANY (ARRAY['picked_up'::text, 'in_transit'::text]))), CONSTRAINT "outcomes_pkey" PRIMARY KEY (id), CONSTRAINT "outcomes_result_check" CHECK ((result = ANY (ARRAY['delivered'::text, 'partial'::text, 'exchanged'::text, 'postponed'::text, 'refused'::text, 'failed'::text]))), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(result) <= 1000) AND (octet_length(from_status) <= 1000) AND (octet_length(undo_reason) <= 4000))));

ALTER TABLE "delivery"."outcomes" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."outcomes" FORCE ROW LEVEL SECURITY;

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
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'failed'));
  return d;
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
  if p.cod_amount = coalesce(p.ordered_cod_amount, p.cod_amount) then
    select sum(i.unit_price * k.quantity) into v_amount
    from jsonb_to_recordset(kept) k (delivery_item_id uuid, quantity bigint)
    join delivery.delivery_items i on i.tenant_id = app.tenant_id() and i.delivery_id = p.id and i.id = k.delivery_item_id;
  end if;
  if v_amount is null then
    perform app.fail('item_prices_required', '{"field": "items"}');
  end if;
  return v_amount;
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
  where n.status <> o.status and not delivery.move_is_legal(n.delivery_flow, o.status, n.status)
    and not delivery.move_is_undone(n, o.status) limit 1;
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

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_shipment uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.move_reported(d, input);
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof');
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id into v_shipment from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      if not found then
        perform app.fail('delivery_has_no_driver');
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof');
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_shipment is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'));
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
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
      from money.cod_collections c where c.tenant_id = d.tenant_id and c.delivery_id = v_parcel and c.reversed_at is null),
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
  perform delivery.outcome_complete(d.id);
  return v_answer || jsonb_build_object('undo_until', delivery.outcome_undo_until(delivery.outcome_of(d.id)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_proofs_keep(d delivery.deliveries, p_stage text, proof jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(nullif(proof -> 'photo_urls', 'null'), '[]')));
  v_signature text := proof ->> 'signature_url';
  v_needs jsonb := delivery.proof_needs(d, p_stage);
  v_missing text;
begin
  perform delivery.require_proof_urls(v_photos, 'proof.photo_urls');
  perform delivery.require_proof_urls(array_remove(array[v_signature], null), 'proof.signature_url');
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
  select k.kind into v_missing from (values ('photo', 'proof.photo_urls'), ('signature', 'proof.signature_url')) k (kind, field)
  where (v_needs ->> (k.kind || '_required'))::boolean and not exists (
    select from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = k.kind
      and delivery.proof_counts(p))
  limit 1;
  if v_missing is not null then
    perform app.fail('delivery_proof_required', jsonb_build_object('field',
      case v_missing when 'photo' then 'proof.photo_urls' else 'proof.signature_url' end, 'stage', p_stage));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_undo(parcel uuid, since timestamp with time zone, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION delivery.last_move(p_delivery uuid)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select max(h.id) from delivery.delivery_status_history h where h.tenant_id = app.tenant_id() and h.delivery_id = p_delivery);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_outcome(p_delivery uuid)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  select * into d from delivery.deliveries x where x.id = p_delivery;
  if not found then
    perform app.fail('delivery_not_found');
  end if;
  perform delivery.lock_deliveries(d.id || delivery.made_of(delivery.parcel_of(d)));
  return delivery.delivery_to_move(d.id);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_outcome_effects(o delivery.outcomes, d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from storefront.storefront_orders x where x.tenant_id = o.tenant_id and x.id = d.order_id for no key update;
  perform from delivery.drivers x where x.tenant_id = o.tenant_id and x.user_id = o.driver_id for no key update;
  perform from money.cod_collections c
  where c.tenant_id = o.tenant_id and c.delivery_id = delivery.parcel_of(d) and c.collected_at = o.created_at order by c.id for no key update;
  perform from money.driver_pay p
  where p.tenant_id = o.tenant_id and p.delivery_id = d.id and p.status <> 'reversed' order by p.id for no key update;
end $function$;

CREATE OR REPLACE FUNCTION delivery.made_of(parcel uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return array(select r.id from delivery.deliveries r
    where r.tenant_id = app.tenant_id() and r.original_delivery_id = parcel and r.status <> 'cancelled');
end $function$;

CREATE OR REPLACE FUNCTION delivery.move_is_undone(d delivery.deliveries, p_from text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
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

REVOKE ALL ON FUNCTION "delivery"."move_is_undone"(delivery.deliveries, text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.outcome_complete(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update delivery.outcomes o set last_move_id = delivery.last_move(p_delivery)
  where o.tenant_id = app.tenant_id() and o.delivery_id = p_delivery and o.created_at = now() and o.undone_at is null;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_obstacle(o delivery.outcomes, d delivery.deliveries, OUT code text, OUT params jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel uuid := delivery.parcel_of(d);
  v_goes_back uuid := case d.delivery_flow when 'operational_return' then d.original_delivery_id end;
  v_until timestamptz := delivery.outcome_undo_until(o);
begin
  select x.code, x.params into code, params from (values
    (1, 'no_outcome_to_undo', o.id is null, jsonb_build_object('status', d.status)),
    (2, 'carrier_reports_outcome', d.carrier_type = 'external', '{}'),
    (3, 'outcome_already_undone', o.undone_at is not null, '{}'),
    (4, 'undo_period_over', now() > v_until, jsonb_build_object('undo_until', v_until)),
    -- The delivery moved on, or somebody else has it.
    (5, 'outcome_went_on', delivery.last_move(d.id) > o.last_move_id, jsonb_build_object('status', d.status)),
    (6, 'outcome_went_on', exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id
      and a.status in ('pending', 'assigned', 'accepted') and a.id is distinct from o.assignment_id), jsonb_build_object('status', d.status)),
    -- A return made of it moved on, or was ordered since.
    (7, 'outcome_went_on', exists (select from delivery.deliveries r where r.tenant_id = o.tenant_id and r.original_delivery_id = v_parcel
      and r.status <> 'cancelled' and r.created_at >= o.created_at and (r.created_at, r.status) is distinct from (o.created_at, 'picked_up')),
      jsonb_build_object('delivery_ids', delivery.made_of(v_parcel))),
    -- A warehouse received it.
    (8, 'outcome_went_on', exists (select from warehousing.receiving_orders r where r.tenant_id = o.tenant_id and r.delivery_id = d.id
      and r.created_at >= o.created_at and r.status not in ('pending', 'cancelled')), '{}'),
    -- It brought a parcel back, whose order ended with it.
    (9, 'outcome_went_on', exists (select from delivery.delivery_status_history h
      join delivery.deliveries x on x.tenant_id = h.tenant_id and x.id = h.delivery_id
      where h.tenant_id = o.tenant_id and v_goes_back in (x.id, x.parent_id) and h.to_status = 'returned' and h.created_at >= o.created_at), '{}'),
    -- Its fee was given back since.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel, v_goes_back) and p.created_at >= o.created_at), '{}'),
    -- The store's order ended, or money of it was given back.
    (11, 'outcome_went_on', exists (select from storefront.storefront_orders s where s.tenant_id = o.tenant_id and s.id = d.order_id
      and (s.status not in ('shipped', 'delivered') or exists (select from money.payments p where p.tenant_id = s.tenant_id and p.order_id = s.id
        and p.type = 'REFUND' and p.created_at >= o.created_at))), '{}'),
    (12, 'outcome_is_settled', exists (select from money.cod_collections c where c.tenant_id = o.tenant_id and c.delivery_id = v_parcel
      and c.collected_at = o.created_at and c.status <> 'collected'), '{}'),
    (13, 'outcome_is_settled', exists (select from money.driver_pay p where p.tenant_id = o.tenant_id and p.delivery_id = d.id
      and p.accrued_at = o.created_at and p.status = 'paid'), '{}')
  ) x (place, code, holds, params) where x.holds order by x.place limit 1;
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_of(p_delivery uuid)
 RETURNS delivery.outcomes
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  o delivery.outcomes;
begin
  select * into o from delivery.outcomes x where x.tenant_id = app.tenant_id() and x.delivery_id = p_delivery order by x.id desc limit 1;
  return o;
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
  perform delivery.outcome_record(d, 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs');
  perform delivery.assignment_end(a, 'returned');
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', delivery.no_cash(d),
    'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_undo(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_outcome((input ->> 'id')::uuid);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  o delivery.outcomes := delivery.outcome_of(d.id);
  v_obstacle record;
  v_cash jsonb;
begin
  if not app.has_permission('manage:operations:tenant') and o.driver_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
  perform delivery.lock_outcome_effects(o, d);
  v_obstacle := delivery.outcome_obstacle(o, d);
  if v_obstacle.code is not null then
    perform app.fail(v_obstacle.code, v_obstacle.params);
  end if;
  perform delivery.outcome_withdraw(o, d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, o.created_at, input ->> 'reason');
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id <> app.user_id();
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_undo_until(o delivery.outcomes)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return o.created_at + case when app.has_permission('manage:operations:tenant') then interval '72 hours'
    else make_interval(mins => (tenancy.attempt_settings() ->> 'undo_minutes')::integer) end;
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
  v_assignment uuid;
begin
  -- First, since by it the guard of deliveries knows that these moves are an undo.
  update delivery.outcomes x set undone_at = now(), undone_by = app.user_id(), undo_reason = reason, undone_in = pg_current_xact_id()
  where x.tenant_id = o.tenant_id and x.id = o.id;
  update delivery.deliveries r set status = 'cancelled', status_reason = 'outcome_undone', status_notes = reason
  where r.tenant_id = o.tenant_id and r.id = any (v_returns);
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
  if exists (select from delivery.assignments a where a.tenant_id = o.tenant_id and a.delivery_id = d.id and a.status in ('assigned', 'accepted')) then
    return;
  end if;
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, notes, assigned_by, responded_at,
    route_details)
  select a.tenant_id, a.delivery_id, a.driver_id, a.vehicle_id, 'accepted', a.sequence_number, a.units, a.notes, app.user_id(), clock_timestamp(),
    a.route_details
  from delivery.assignments a where a.tenant_id = o.tenant_id and a.id = o.assignment_id
  returning id into v_assignment;
  update delivery.outcomes x set new_assignment_id = v_assignment where x.tenant_id = o.tenant_id and x.id = o.id;
  perform app.events_add(jsonb_agg(jsonb_build_object('source_module', 'delivery', 'event_type', 'assignment.created', 'entity_type', 'assignment',
    'entity_id', a.id, 'event_data', jsonb_build_object('assignment_ids', array[a.id], 'driver_id', a.driver_id, 'status', a.status,
      'delivery_ids', array[a.delivery_id], 'total_units', a.units, 'actor_id', app.user_id()))))
  from delivery.assignments a where a.tenant_id = o.tenant_id and a.id = v_assignment having count(*) > 0;
end $function$;

CREATE OR REPLACE FUNCTION delivery.proof_counts(p delivery.delivery_proofs)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return not exists (
    select from delivery.outcomes o
    where o.tenant_id = p.tenant_id and o.delivery_id = p.delivery_id and o.created_at = p.created_at and o.undone_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION integration.cash_for_carrier(d delivery.deliveries, collects_cash boolean)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_pickup record := money.cash_due(v_parcel, 'pickup');
  v_door record := money.cash_due(v_parcel, 'dropoff');
  v_due numeric := case when d.delivery_flow = 'pnd_inbound' then 0 else v_door.cod + v_door.delivery_fee end;
begin
  if v_due > 0 and not collects_cash then
    perform app.fail('carrier_collects_no_cash', jsonb_build_object('amount', v_due, 'currency', v_parcel.currency));
  end if;
  if v_pickup.cod + v_pickup.delivery_fee > 0 and not exists (
      select from money.cod_collections x
      where x.tenant_id = v_parcel.tenant_id and x.delivery_id = v_parcel.id and x.collection_stage = 'pickup' and x.reversed_at is null) then
    perform app.fail('sender_cash_not_collected', jsonb_build_object('amount', v_pickup.cod + v_pickup.delivery_fee, 'currency', v_parcel.currency));
  end if;
  return v_due;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_collected(p_parcel uuid, p_stage text, p_driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_due record;
  v_row uuid;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_parcel;
  v_due := money.cash_due(d, p_stage);
  if v_due.cod + v_due.delivery_fee = 0 then
    return;
  end if;
  insert into money.cod_collections (tenant_id, delivery_id, driver_id, collection_stage, amount, cod_amount, delivery_fee_amount,
    currency, collected_at, delivery_code, delivery_number, leg_codes, external_reference_id, customer_name, delivery_address, receiver_name)
  values (d.tenant_id, d.id, p_driver, p_stage, v_due.cod + v_due.delivery_fee, v_due.cod, v_due.delivery_fee, d.currency,
    now(), d.delivery_code, d.delivery_code::text, (
      select coalesce(jsonb_agg(l.delivery_code order by l.sequence_plan), '[]') from delivery.deliveries l
      where l.tenant_id = d.tenant_id and l.parent_id = d.id),
    d.external_reference_id, money.payer_name(d), coalesce(d.dropoff_snapshot ->> 'full_address', ''), coalesce(d.recipient ->> 'name', ''))
  on conflict (tenant_id, delivery_id, collection_stage) where reversed_at is null do nothing
  returning id into v_row;
  if v_row is not null then
    perform money.cash_book(d, p_stage, 'cod_collection', v_row, money.account_of('driver_cash', 'driver', p_driver, d.currency::text));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.cash_to_take(d delivery.deliveries, stage text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_due record := money.cash_due(v_parcel, stage);
  v_to_take boolean := v_due.cod + v_due.delivery_fee > 0 and d.status <> 'cancelled'
    and not (stage = 'dropoff' and (d.delivery_flow = 'pnd_inbound' or delivery.is_transferred(d)))
    -- The leg that begins at the sender takes what is due there.
    and not (stage = 'pickup' and d.delivery_flow = 'pnd_outbound' and exists (select from delivery.deliveries a
      where a.tenant_id = app.tenant_id() and a.parent_id = v_parcel.id and a.delivery_flow = 'pnd_inbound'
        and a.status in ('draft', 'pending', 'assigned', 'accepted')))
    and not exists (select from money.cod_collections c
      where c.tenant_id = app.tenant_id() and c.delivery_id = v_parcel.id and c.collection_stage = cash_to_take.stage and c.reversed_at is null)
    and not exists (select from money.carrier_collections c
      where c.tenant_id = app.tenant_id() and c.delivery_id = v_parcel.id and stage = 'dropoff');
begin
  return jsonb_build_object('cod', case when v_to_take then v_due.cod else 0 end,
    'delivery_fee', case when v_to_take then v_due.delivery_fee else 0 end, 'currency', v_parcel.currency);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_uncollected(p_parcel uuid, p_taken_at timestamp with time zone, p_reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_kind text;
  c money.cod_collections;
begin
  update money.cod_collections x set reversed_at = now()
  where x.tenant_id = v_tenant and x.delivery_id = p_parcel and x.collected_at = p_taken_at and x.status = 'collected' and x.reversed_at is null
  returning * into c;
  if c.id is null then
    return '{"cod": 0, "delivery_fee": 0}';
  end if;
  update money.payments p set status = 'CANCELLED'
  where p.tenant_id = v_tenant and p.delivery_id = p_parcel and p.type in ('COD_COLLECTION', 'DELIVERY_FEE') and p.payment_method = 'cash'
    and p.status = 'SUCCESS' and p.processed_at = p_taken_at;
  -- All accounts of both journals in one order, as a collection books them.
  perform money.lock_balances(array(
    select distinct e.account_id from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    where t.tenant_id = v_tenant and t.reference_type = 'cod_collection' and t.reference_id = c.id));
  foreach v_kind in array case when c.cod_amount > 0 then '{cash_collected,cod_credit}' else '{cash_collected}' end::text[] loop
    perform money.reverse(v_kind, 'cod_collection', c.id, p_reason);
  end loop;
  return jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount);
end $function$;

CREATE OR REPLACE FUNCTION money.cod_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, carrier_code text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select 'driver_cash', p.driver_id, null::text, null::uuid, p.currency, p.in_hand, p.ledger, array(
      select c.id from money.cod_collections c
      where c.tenant_id = tenant and c.driver_id = p.driver_id and c.currency = p.currency and c.collected_at <= as_of
        and coalesce(c.remitted_at, c.settled_at, c.reversed_at, 'infinity') > as_of
      order by c.collected_at, c.id limit 100)
  from money.cod_positions(tenant, as_of) p where p.in_hand <> p.ledger
  union all
  select 'collection_journal', c.driver_id, null, null, c.currency, n.taken, b.amount, array[c.id]
  from money.cod_collections c
  cross join lateral (select case when c.reversed_at <= as_of then 0 else c.amount end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = c.driver_id
    where t.tenant_id = tenant and t.kind in ('cash_collected', 'cash_collected_REVERSAL') and t.reference_type = 'cod_collection'
      and t.reference_id = c.id and t.created_at <= as_of
  ) b on true
  where c.tenant_id = tenant and c.collected_at <= as_of and b.amount is distinct from n.taken
  union all
  select 'settlement_items', s.driver_id, null, null, s.currency, s.total, i.total, i.rows
  from money.cod_settlements s
  left join lateral (
    select sum(i.amount) as total, sum(i.delivery_fee_amount) as fees, count(*) as entries,
      bool_or(i.reversed_at is distinct from s.reversed_at) as torn, array_agg(i.cod_collection_id) as rows
    from money.cod_settlement_items i where i.tenant_id = tenant and i.payment_id = s.payment_id
  ) i on true
  where s.tenant_id = tenant and s.settled_at <= as_of
    and (s.total is distinct from i.total or s.fee_total is distinct from i.fees or s.collections is distinct from i.entries or i.torn)
  union all
  select 'settled_row', c.driver_id, null, null, c.currency, i.amount, c.amount, array[c.id]
  from money.cod_collections c
  left join money.cod_settlement_items i on i.tenant_id = c.tenant_id and i.cod_collection_id = c.id and i.reversed_at is null
  left join money.cod_settlements s on s.tenant_id = i.tenant_id and s.payment_id = i.payment_id
  where c.tenant_id = tenant and c.collected_at <= as_of and (
    i.payment_id is distinct from c.settlement_payment_id
    or (i.payment_id is not null and (i.amount <> c.amount or i.cod_amount <> c.cod_amount or s.driver_id <> c.driver_id
      or c.status <> case s.method when 'remit' then 'remitted' else 'settled_by_wallet' end)))
  union all
  select 'settlement_journal', s.driver_id, null, null, s.currency, n.taken, b.amount, array[s.payment_id]
  from money.cod_settlements s
  cross join lateral (select case when s.reversed_at <= as_of then 0 else -s.total end as taken) n
  left join lateral (
    select sum(e.amount) as amount from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'driver_cash' and a.owner_user_id = s.driver_id
    where t.tenant_id = tenant and t.kind in ('cod_settlement', 'cod_settlement_REVERSAL') and t.reference_type = 'payment'
      and t.reference_id = s.payment_id and t.created_at <= as_of
  ) b on true
  where s.tenant_id = tenant and s.settled_at <= as_of and not s.historical and b.amount is distinct from n.taken
  union all
  select 'driver_shortage', m.driver_id, null, null, m.currency, sum(m.open), sum(m.ledger), array_agg(m.id) filter (where m.id is not null)
  from (
    select s.driver_id, s.currency::text as currency, s.shortage as open, 0 as ledger, s.payment_id as id
    from money.cod_settlements s
    join money.cash_handovers h on h.tenant_id = s.tenant_id and h.id = s.shortage_handover_id
    where s.tenant_id = tenant and s.settled_at <= as_of and (s.reversed_at is null or s.reversed_at > as_of)
      and (h.resolved_at is null or h.resolved_at > as_of)
    union all
    select a.owner_user_id, a.currency::text, 0, e.amount, null
    from money.accounts a
    join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id and e.created_at <= as_of
    where a.tenant_id = tenant and a.kind = 'driver_shortage'
  ) m
  group by m.driver_id, m.currency having sum(m.open) <> sum(m.ledger)
  union all
  select 'cod_credit', null, null, null, r.currency, r.cod, p.paid, r.rows
  from (
    select c.currency, sum(c.cod) as cod, (array_agg(c.id order by c.collected_at desc, c.id) filter (where c.cod > 0 and not exists (
      select from money.payments q where q.tenant_id = tenant and q.delivery_id = c.delivery_id and q.type = 'COD_COLLECTION'
        and q.status = 'SUCCESS' and q.amount = c.cod_amount)))[1:100] as rows
    from (
      select x.id, x.delivery_id, x.currency::text as currency, x.cod_amount, case when x.reversed_at <= as_of then 0 else x.cod_amount end as cod,
        x.collected_at from money.cod_collections x where x.tenant_id = tenant
      union all
      select x.id, x.delivery_id, x.currency::text, x.cod_amount, x.cod_amount, x.collected_at from money.carrier_collections x
      where x.tenant_id = tenant
    ) c
    where c.cod_amount > 0 and c.collected_at <= as_of group by c.currency
  ) r
  left join lateral (
    select coalesce(sum(q.amount), 0) as paid from money.payments q
    where q.tenant_id = tenant and q.type = 'COD_COLLECTION' and q.currency = r.currency and q.processed_at <= as_of
      -- Also one that counted then and was cancelled with its row since.
      and (q.status = 'SUCCESS' or q.status = 'CANCELLED' and exists (select from money.cod_collections x
        where x.tenant_id = tenant and x.delivery_id = q.delivery_id and x.collected_at = q.processed_at and x.reversed_at > as_of))
  ) p on true
  where r.cod <> p.paid
  union all
  select d.kind, d.driver_id, null, null, d.currency, d.expected, d.found, d.rows from money.reversed_differences(tenant, as_of) d
  union all
  select 'fee_change', null, null, null, p.currency, p.amount, b.paid, array[p.id]
  from money.payments p
  left join lateral (
    select -sum(e.amount) as paid from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.account_id = p.account_id
    where t.tenant_id = tenant and t.kind = 'delivery_fee_change' and t.reference_type = 'payment' and t.reference_id = p.id
  ) b on true
  where p.tenant_id = tenant and p.type = 'DELIVERY_FEE_CHANGE' and p.processed_at <= as_of and p.amount is distinct from b.paid
  union all
  select 'ledger', a.owner_user_id, a.carrier_code, null, a.currency, e.total, a.balance, array[a.id]
  from money.accounts a
  cross join lateral (
    select coalesce(sum(e.amount), 0) as total, count(*) as entries from money.ledger_entries e
    where e.tenant_id = tenant and e.account_id = a.id
  ) e
  where a.tenant_id = tenant and (a.balance <> e.total or a.version <> e.entries)
  union all
  select d.kind, null, d.carrier_code, null, d.currency, d.expected, d.found, d.rows from money.carrier_differences(tenant, as_of) d
  union all
  select d.kind, null, null, d.user_id, d.currency, d.expected, d.found, d.rows from money.desk_differences(tenant, as_of) d
  union all
  select d.kind, d.driver_id, null, null, d.currency, d.expected, d.found, d.rows from money.driver_pay_differences(tenant, as_of) d
$function$;

CREATE OR REPLACE FUNCTION money.cod_positions(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(driver_id uuid, currency text, collected numeric, remitted numeric, settled_by_wallet numeric, in_hand numeric, ledger numeric)
 LANGUAGE sql
 STABLE SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION money.cod_summary(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_driver uuid := money.cod_driver(input ->> 'driver_id');
  v_ceiling numeric := (app.settings('delivery', 'cod') ->> 'cash_ceiling')::numeric;
  v_over jsonb;
  v_answer jsonb;
begin
  select jsonb_build_object('total_unremitted', coalesce(sum(c.amount), 0), 'pending_collections_count', count(*),
    'oldest_unremitted_date', min(c.collected_at), 'currency', (app.currency()).code, 'cash_ceiling', v_ceiling) into v_answer
  from money.cod_collections c where c.status = 'collected' and c.reversed_at is null and (v_driver is null or c.driver_id = v_driver);
  -- Drivers above the tenant's limit: the one that was asked for, or all.
  select coalesce(jsonb_agg(jsonb_build_object('driver_id', o.driver_id, 'full_name', o.full_name, 'amount', o.amount)
    order by o.amount desc, o.driver_id), '[]') into v_over
  from (
    select c.driver_id, p.full_name, sum(c.amount) as amount from money.cod_collections c
    left join tenancy.profiles p on p.id = c.driver_id
    where v_ceiling is not null and c.status = 'collected' and c.reversed_at is null and (v_driver is null or c.driver_id = v_driver)
    group by c.driver_id, p.full_name having sum(c.amount) > v_ceiling
  ) o;
  return jsonb_build_object('summary', v_answer || jsonb_build_object('over_ceiling', v_over));
end $function$;

CREATE OR REPLACE FUNCTION money.cod_sums_from_tallies(wanted jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_build_object(
      'total_collected', coalesce((t.by_status #>> '{collected,amount}')::numeric, 0),
      'total_remitted', coalesce((t.by_status #>> '{remitted,amount}')::numeric, 0),
      'total_settled_by_wallet', coalesce((t.by_status #>> '{settled_by_wallet,amount}')::numeric, 0),
      'total_pending', coalesce((t.by_status #>> '{collected,amount}')::numeric, 0),
      'total_cod_collections', coalesce((select sum((s.value ->> 'entries')::bigint) from jsonb_each(t.by_status) s), 0))
    from (select app.tally_by('cod_collections', 'status', wanted || '{"reversed_at": null}') as by_status offset 0) t);
end $function$;

CREATE OR REPLACE FUNCTION money.driver_pay_unaccrue(p_delivery uuid, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  update money.driver_pay p set status = 'reversed', reversed_at = now()
  where p.tenant_id = app.tenant_id() and p.delivery_id = p_delivery and p.status = 'accrued'
  returning p.id into v_id;
  if v_id is not null then
    perform money.reverse('driver_pay', 'driver_pay', v_id, p_reason);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_cod_collections(scope text, collection_ids uuid[], driver_id text)
 RETURNS money.cod_collections[]
 LANGUAGE plpgsql
 SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION money.reversed_differences(tenant uuid, as_of timestamp with time zone)
 RETURNS TABLE(kind text, driver_id uuid, currency text, expected numeric, found numeric, rows uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
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

REVOKE ALL ON FUNCTION "money"."reversed_differences"(uuid, timestamp with time zone) FROM "barid_caller";

CREATE OR REPLACE FUNCTION private.tally_cod_collections()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
    begin
      if tg_op = 'INSERT' then
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'cod_collections', array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      elsif tg_op = 'DELETE' then
        -- Of a tenant that is removed as a whole nothing is left to count.
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'cod_collections', array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select -1 as d, o.* from old_rows o
          where o.tenant_id is null or exists (select from tenancy.tenants t where t.id = o.tenant_id)) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      else
        insert into app.tallies (tenant_id, tally, dims, entries, amount)
      select c.tenant_id, 'cod_collections', array[coalesce(c.status::text, ''), coalesce(c.driver_id::text, ''), coalesce(c.currency::text, ''), coalesce(c.reversed_at::text, '')], sum(c.d), coalesce(sum(c.d * c.amount), 0) from (select 1 as d, n.* from new_rows n union all select -1, o.* from old_rows o) c group by 1, 3 having sum(c.d) <> 0 or coalesce(sum(c.d * c.amount), 0) <> 0;
      end if;
      return null;
    end $function$;

CREATE OR REPLACE FUNCTION storefront.order_guard()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- A shipped order that nobody brings any more may have come back, and a delivered one is on its way again by an undo.
  if new.status <> old.status and not storefront.order_move_is_legal(old.status, new.status)
      and not (old.status = 'delivered' and new.status = 'shipped' and storefront.order_is_undelivered(old.tenant_id, old.id))
      and not (new.status = 'cancelled' and old.status = 'shipped' and not exists (
        select from delivery.deliveries d where d.tenant_id = old.tenant_id and d.order_id = old.id
          and d.status not in ('returned', 'cancelled'))) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  if old.payment_status = 'paid' and new.payment_status <> 'paid'
      and not (new.status = 'shipped' and new.payment_status = 'pending' and storefront.order_is_undelivered(old.tenant_id, old.id)) then
    raise exception 'order % was paid and stays so', old.id using errcode = 'integrity_constraint_violation';
  end if;
  -- Goods, customer and price are agreed. The shop may send less than it promised, for as much less.
  if new.total_price < old.total_price and new.subtotal - old.subtotal = new.total_price - old.total_price
      and old.status in ('approved', 'confirmed', 'shipped') then
    old.subtotal := new.subtotal;
    old.total_price := new.total_price;
  end if;
  -- Less than asked may be accepted before approval; the difference is a discount.
  if new.discount_amount > old.discount_amount and new.discount_amount - old.discount_amount = old.total_price - new.total_price
      and old.status in ('pending', 'awaiting_approval') and old.payment_status <> 'paid' then
    old.discount_amount := new.discount_amount;
    old.total_price := new.total_price;
  end if;
  if (new.tenant_id, new.order_number, new.market_id, new.user_id, new.cart_id, new.payment_method, new.payment_method_type_id, new.currency,
      new.subtotal, new.tax_amount, new.shipping_cost, new.discount_amount, new.total_price, new.total_items, new.created_at)
    is distinct from (old.tenant_id, old.order_number, old.market_id, old.user_id, old.cart_id, old.payment_method, old.payment_method_type_id,
      old.currency, old.subtotal, old.tax_amount, old.shipping_cost, old.discount_amount, old.total_price, old.total_items, old.created_at) then
    raise exception 'order % is agreed and stays as it is', old.id using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION storefront.order_is_undelivered(p_tenant uuid, p_order uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from delivery.deliveries d
    join delivery.outcomes o on o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.undone_in = pg_current_xact_id()
    where d.tenant_id = p_tenant and d.order_id = p_order);
end $function$;

REVOKE ALL ON FUNCTION "storefront"."order_is_undelivered"(uuid, uuid) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.order_undelivered(o storefront.storefront_orders)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
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

REVOKE ALL ON FUNCTION "storefront"."order_undelivered"(storefront.storefront_orders) FROM "barid_caller";

CREATE OR REPLACE FUNCTION storefront.orders_after_deliveries_moved()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_moved record;
  o storefront.storefront_orders;
begin
  for v_moved in
    select n.id, n.order_id, n.status, w.status as was, n.tenant_id, n.carrier_type from new_rows n join old_rows w on w.id = n.id
    where n.order_id is not null and n.status <> w.status and n.status in ('picked_up', 'in_transit', 'delivered', 'returned', 'cancelled')
    order by n.order_id, n.id
  loop
    select * into o from storefront.storefront_orders x where x.tenant_id = v_moved.tenant_id and x.id = v_moved.order_id for no key update;
    if v_moved.status in ('picked_up', 'in_transit', 'delivered') then
      perform storefront.order_part_leaves(p, v_moved.carrier_type = 'external')
      from storefront.storefront_order_parts p where p.tenant_id = o.tenant_id and p.delivery_id = v_moved.id;
      if o.status in ('approved', 'confirmed') then
        perform storefront.order_shipped(o);
        o.status := 'shipped';
      end if;
    end if;
    if v_moved.was = 'delivered' then
      perform storefront.order_undelivered(o);
    elsif v_moved.status in ('delivered', 'returned', 'cancelled') and o.status = 'shipped' then
      perform storefront.order_after_delivery_ended(o);
    end if;
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION storefront.orders_after_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into storefront.storefront_order_history (tenant_id, order_id, status, note, updated_by)
  select n.tenant_id, n.id, n.status, n.status_note, app.user_id()
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status order by n.created_at, n.id;
  perform storefront.order_event_emit(n, n.status, jsonb_build_object('from_status', o.status))
  from new_rows n join old_rows o on o.id = n.id where n.status <> o.status;
  perform storefront.order_event_emit(n, case n.payment_status when 'paid' then 'paid' else 'payment_failed' end)
  from new_rows n join old_rows o on o.id = n.id where n.payment_status <> o.payment_status and n.payment_status <> 'pending';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION tenancy.attempt_settings()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select '{"after_last": "ask", "undo_minutes": 10}' || s.saved || jsonb_build_object('reasons', case
      when s.saved ? 'reasons' then (
        select jsonb_agg(r.reason || jsonb_build_object('needs', '{"photo": false, "note": false, "place": false}'::jsonb
          || coalesce(r.reason -> 'needs', '{}')) order by r.position)
        from jsonb_array_elements(s.saved -> 'reasons') with ordinality r (reason, position))
      else tenancy.attempt_reasons_default() end)
    -- offset 0 keeps the settings from being read again for each of their uses above.
    from (select jsonb_strip_nulls(app.settings('delivery', 'attempts')) as saved offset 0) s);
end $function$;

CREATE OR REPLACE FUNCTION warehousing.arrival_withdraw(p_delivery uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update warehousing.receiving_orders r set status = 'cancelled'
  where r.tenant_id = app.tenant_id() and r.delivery_id = p_delivery and r.status = 'pending' and r.source = 'inbound';
end $function$;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_reported_by_fkey" FOREIGN KEY (reported_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_tenant_id_assignment_id_fkey" FOREIGN KEY (tenant_id, assignment_id) REFERENCES delivery.assignments(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_tenant_id_driver_id_fkey" FOREIGN KEY (tenant_id, driver_id) REFERENCES delivery.drivers(tenant_id, user_id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_tenant_id_new_assignment_id_fkey" FOREIGN KEY (tenant_id, new_assignment_id) REFERENCES delivery.assignments(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_undone_by_fkey" FOREIGN KEY (undone_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "money"."cod_collections" ADD CONSTRAINT "reversed_cash_was_in_hand" CHECK (((reversed_at IS NULL) OR (status = 'collected'::text))) NOT VALID;

CREATE VIEW "money"."cod_collections_list" WITH (security_invoker=true) AS  SELECT c.id,
    c.delivery_id,
    c.driver_id,
    c.amount,
    c.currency,
    jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount) AS allocations,
    c.cod_amount,
    c.delivery_fee_amount,
    c.collection_stage,
    c.status,
    c.collected_at,
    c.remitted_at,
    c.settled_at,
    c.delivery_code,
    c.leg_codes,
    c.receiver_name,
    jsonb_build_object('delivery_number', c.delivery_number, 'customer_name', c.customer_name, 'delivery_address', c.delivery_address, 'receiver_name', c.receiver_name) AS delivery_details,
    jsonb_build_object('full_name', p.full_name, 'email', p.email, 'avatar', p.avatar_url) AS driver_info,
    c.remitted_to_user_id,
    c.settlement_payment_id,
    c.external_reference_id,
    c.reversed_at,
    c.customer_name,
    c.delivery_address,
    p.full_name AS driver_name
   FROM (money.cod_collections c
     LEFT JOIN tenancy.profiles p ON ((p.id = c.driver_id)));

CREATE INDEX outcomes_assignment ON delivery.outcomes USING btree (tenant_id, assignment_id) WHERE (assignment_id IS NOT NULL);

CREATE INDEX outcomes_delivery ON delivery.outcomes USING btree (tenant_id, delivery_id, id DESC);

CREATE INDEX outcomes_driver ON delivery.outcomes USING btree (tenant_id, driver_id) WHERE (driver_id IS NOT NULL);

CREATE INDEX outcomes_new_assignment ON delivery.outcomes USING btree (tenant_id, new_assignment_id) WHERE (new_assignment_id IS NOT NULL);

CREATE INDEX outcomes_reporter ON delivery.outcomes USING btree (reported_by) WHERE (reported_by IS NOT NULL);

CREATE INDEX outcomes_undoer ON delivery.outcomes USING btree (undone_by) WHERE (undone_by IS NOT NULL);

CREATE TRIGGER audit_delete AFTER DELETE ON delivery.outcomes REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON delivery.outcomes REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.outcomes REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE POLICY "tenant" ON "delivery"."outcomes" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id))))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (driver_id = ( SELECT app.user_id() AS user_id)))));

CREATE POLICY "write_delete" ON "delivery"."outcomes" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "delivery"."outcomes" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "delivery"."outcomes" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "delivery"."kept_amount_undo"(uuid, timestamp with time zone, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."kept_amount_undo"(uuid, timestamp with time zone, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."last_move"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."last_move"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."lock_outcome"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_outcome"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."lock_outcome_effects"(delivery.outcomes, delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_outcome_effects"(delivery.outcomes, delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."made_of"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."made_of"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."move_is_undone"(delivery.deliveries, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."outcome_complete"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_complete"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_obstacle"(delivery.outcomes, delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_obstacle"(delivery.outcomes, delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_of"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_of"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_record"(delivery.deliveries, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_record"(delivery.deliveries, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_undo"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_undo"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_undo_until"(delivery.outcomes) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_undo_until"(delivery.outcomes) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_withdraw"(delivery.outcomes, delivery.deliveries, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_withdraw"(delivery.outcomes, delivery.deliveries, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."proof_counts"(delivery.delivery_proofs) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."proof_counts"(delivery.delivery_proofs) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cash_uncollected"(uuid, timestamp with time zone, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cash_uncollected"(uuid, timestamp with time zone, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."driver_pay_unaccrue"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."driver_pay_unaccrue"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."reversed_differences"(uuid, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_is_undelivered"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "storefront"."order_undelivered"(storefront.storefront_orders) FROM PUBLIC;

REVOKE ALL ON FUNCTION "warehousing"."arrival_withdraw"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "warehousing"."arrival_withdraw"(uuid) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."outcomes" TO "barid_caller";

GRANT SELECT ON TABLE "money"."cod_collections_list" TO "barid_caller";

-- None is reversed yet: the kept totals need no new count.
update app.tallies set dims = dims || array[''] where tally = 'cod_collections';
update app.tally_kinds set dims = '{status,driver_id,currency,reversed_at}' where tally = 'cod_collections';

select app.counted('cod_collections', 'money.cod_collections', '{status,driver_id,currency,reversed_at}', 'amount');

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
  ('{delivery.outcome_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "result": "string", "reason": "string", "actor_id": "uuid?"}'),
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

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125125753';
end $$;

grant execute on function private.schema_version() to barid_api;
