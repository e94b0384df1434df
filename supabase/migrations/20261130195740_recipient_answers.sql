-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table delivery.deliveries in share row exclusive mode;
      set local lock_timeout = '500ms';
      lock table tenancy.tenants in share row exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE TABLE "delivery"."recipient_answers" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "wanted_day" date, "note" text, "latitude" double precision, "longitude" double precision, "answered_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(), "times" integer NOT NULL DEFAULT 1, CONSTRAINT "answered_place_whole" CHECK (((latitude IS NULL) = (longitude IS NULL))), CONSTRAINT "delivery_answered_once" UNIQUE (tenant_id, delivery_id), CONSTRAINT "recipient_answers_latitude_check" CHECK (((latitude >= ('-90'::integer)::double precision) AND (latitude <= (90)::double precision))), CONSTRAINT "recipient_answers_longitude_check" CHECK (((longitude >= ('-180'::integer)::double precision) AND (longitude <= (180)::double precision))), CONSTRAINT "recipient_answers_note_check" CHECK (((char_length(note) >= 1) AND (char_length(note) <= 300))), CONSTRAINT "recipient_answers_pkey" PRIMARY KEY (id), CONSTRAINT "recipient_answers_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "recipient_answers_times_check" CHECK (((times >= 1) AND (times <= 20))), CONSTRAINT "texts_within_bounds" CHECK ((octet_length(note) <= 4000)));

ALTER TABLE "delivery"."recipient_answers" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."recipient_answers" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.postponement_days(seen_from timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_today date := (seen_from at time zone app.timezone())::date;
begin
  return jsonb_build_object('first', v_today + 1, 'last', v_today + 30);
end $function$;

CREATE OR REPLACE FUNCTION delivery.recipient_answer_announce(p delivery.deliveries, a delivery.recipient_answers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, n.user_id, 'recipient_answered', jsonb_build_object('delivery_id', n.delivery_id, 'delivery_code', p.delivery_code,
    'wanted_day', a.wanted_day)
  from (
    select u.user_id, p.id as delivery_id
    from tenancy.tenant_users u
    join tenancy.tenant_user_roles r on r.tenant_id = u.tenant_id and r.user_id = u.user_id
      and r.role_key in ('tenant_admin', 'operations_manager', 'dispatcher')
    where u.tenant_id = p.tenant_id and u.is_active
    union
    select o.driver_id, o.delivery_id
    from delivery.deliveries d
    join delivery.open_assignments o on o.tenant_id = d.tenant_id and o.delivery_id = d.id and o.status <> 'pending'
    where d.tenant_id = p.tenant_id and (d.id = p.id or d.parent_id = p.id)) n;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.recipient_answered',
    'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'wanted_day', a.wanted_day, 'note_given', a.note is not null, 'location_given', a.latitude is not null))));
end $function$;

REVOKE ALL ON FUNCTION "delivery"."recipient_answer_announce"(delivery.deliveries, delivery.recipient_answers) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.require_postponed_to(input jsonb)
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_day date := (input ->> 'postponed_to')::date;
  v_days jsonb := delivery.postponement_days(coalesce(app.instant(input ->> 'occurred_at'), now()));
begin
  if v_day is null or v_day not between (v_days ->> 'first')::date and (v_days ->> 'last')::date then
    perform app.fail('invalid_postponed_to', v_days || '{"field": "postponed_to"}');
  end if;
  return v_day;
end $function$;

CREATE OR REPLACE FUNCTION delivery.takes_answers(p delivery.deliveries)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return not delivery.has_ended(p) and not delivery.shipment_lives(p.id);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."takes_answers"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.trackable_until(d delivery.deliveries)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when delivery.has_ended(d) then (
    select h.created_at + interval '30 days' from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id order by h.id desc limit 1) end;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."trackable_until"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.tracked_by(token text)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_language text;
begin
  select x.* into d from delivery.tracking_links l
  join tenancy.tenants t on t.id = l.tenant_id and app.is_effective(t)
  join delivery.deliveries x on x.tenant_id = l.tenant_id and x.id = l.delivery_id
  where l.token = tracked_by.token;
  if not found then
    perform app.fail('tracking_not_found');
  end if;
  perform set_config('app.tenant_id', d.tenant_id::text, true);
  if not delivery.is_trackable(d) or delivery.trackable_until(d) < now() then
    perform app.fail('tracking_not_found');
  end if;
  v_language := app.settings('general', 'language') ->> 'default';
  if v_language is not null and app.request_setting('language_asked') is null then
    perform set_config('app.language', v_language, true);
  end if;
  return d;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."tracked_by"(text) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.tracking_answer(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_caller text := coalesce(app.tenant_id()::text, '');
  p delivery.deliveries := delivery.tracked_by(input ->> 'token');
  a delivery.recipient_answers;
  n delivery.recipient_answers;
  v_days jsonb := delivery.postponement_days(now());
  v_answer jsonb;
begin
  p := delivery.lock_delivery(p.id);
  if not delivery.takes_answers(p) then
    perform app.fail('tracking_answers_closed', jsonb_build_object('status', p.status));
  end if;
  select * into a from delivery.recipient_answers x where x.tenant_id = p.tenant_id and x.delivery_id = p.id;
  n.wanted_day := case when input ? 'wanted_day' then (input ->> 'wanted_day')::date else a.wanted_day end;
  n.note := case when input ? 'note' then input ->> 'note' else a.note end;
  n.latitude := case when input ? 'location' then (input #>> '{location,latitude}')::double precision else a.latitude end;
  n.longitude := case when input ? 'location' then (input #>> '{location,longitude}')::double precision else a.longitude end;
  if (n.wanted_day, n.note, n.latitude, n.longitude) is distinct from (a.wanted_day, a.note, a.latitude, a.longitude) then
    if n.wanted_day is distinct from a.wanted_day
        and n.wanted_day not between (v_days ->> 'first')::date and (v_days ->> 'last')::date then
      perform app.fail('invalid_wanted_day', v_days || '{"field": "wanted_day"}');
    elsif a.times = 20 then
      perform app.fail('tracking_answers_used_up');
    end if;
    insert into delivery.recipient_answers as x (tenant_id, delivery_id, wanted_day, note, latitude, longitude)
    values (p.tenant_id, p.id, n.wanted_day, n.note, n.latitude, n.longitude)
    on conflict (tenant_id, delivery_id) do update set wanted_day = excluded.wanted_day, note = excluded.note, latitude = excluded.latitude,
      longitude = excluded.longitude, answered_at = excluded.answered_at, times = x.times + 1
    returning x.* into n;
    perform delivery.recipient_answer_announce(p, n);
  end if;
  v_answer := delivery.tracking_answer_to_json(p);
  perform set_config('app.tenant_id', v_caller, true);
  return v_answer;
end $function$;

CREATE OR REPLACE FUNCTION delivery.tracking_answer_to_json(p delivery.deliveries)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object(
    'answer', (
      select jsonb_build_object('wanted_day', a.wanted_day, 'note_given', a.note is not null, 'location_given', a.latitude is not null,
        'answered_at', a.answered_at)
      from delivery.recipient_answers a where a.tenant_id = p.tenant_id and a.delivery_id = p.id),
    'wanted_days', case when delivery.takes_answers(p) then delivery.postponement_days(now()) end);
end $function$;

REVOKE ALL ON FUNCTION "delivery"."tracking_answer_to_json"(delivery.deliveries) FROM "barid_caller";

CREATE OR REPLACE FUNCTION delivery.tracking_read(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_caller text := coalesce(app.tenant_id()::text, '');
  d delivery.deliveries := delivery.tracked_by(input ->> 'token');
  t tenancy.tenants;
  v_answer jsonb;
begin
  select * into strict t from tenancy.tenants x where x.id = d.tenant_id;
  v_answer := delivery.tracking_to_json(d, t, delivery.trackable_until(d)) || delivery.tracking_answer_to_json(d);
  perform set_config('app.tenant_id', v_caller, true);
  return v_answer;
end $function$;

ALTER TABLE "delivery"."recipient_answers" ADD CONSTRAINT "recipient_answers_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."recipient_answers" ADD CONSTRAINT "recipient_answers_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

CREATE VIEW "delivery"."recipient_answers_list" WITH (security_invoker=true) AS  SELECT id,
    tenant_id,
    delivery_id,
    ( SELECT (delivery.parcel_terms(d.*)).delivery_code AS delivery_code
           FROM delivery.deliveries d
          WHERE ((d.tenant_id = r.tenant_id) AND ((d.id = r.delivery_id) OR (d.parent_id = r.delivery_id)))
         LIMIT 1) AS delivery_code,
    ( SELECT (delivery.parcel_terms(d.*)).status AS status
           FROM delivery.deliveries d
          WHERE ((d.tenant_id = r.tenant_id) AND ((d.id = r.delivery_id) OR (d.parent_id = r.delivery_id)))
         LIMIT 1) AS delivery_status,
    wanted_day,
    note,
    latitude,
    longitude,
    answered_at,
    times
   FROM delivery.recipient_answers r;

CREATE INDEX recipient_answers_newest ON delivery.recipient_answers USING btree (tenant_id, answered_at DESC NULLS LAST, id DESC);

CREATE TRIGGER audit_delete AFTER DELETE ON delivery.recipient_answers REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('note,latitude,longitude');

CREATE TRIGGER audit_insert AFTER INSERT ON delivery.recipient_answers REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('note,latitude,longitude');

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.recipient_answers REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('note,latitude,longitude');

CREATE POLICY "tenant" ON "delivery"."recipient_answers" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND (( SELECT app.sees_tenant() AS sees_tenant) OR (EXISTS ( SELECT
   FROM delivery.deliveries d
  WHERE ((d.tenant_id = recipient_answers.tenant_id) AND (d.id = recipient_answers.delivery_id)))) OR (EXISTS ( SELECT
   FROM delivery.deliveries d
  WHERE ((d.tenant_id = recipient_answers.tenant_id) AND (d.parent_id = recipient_answers.delivery_id)))))));

CREATE POLICY "write_delete" ON "delivery"."recipient_answers" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "delivery"."recipient_answers" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "delivery"."recipient_answers" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "delivery"."postponement_days"(timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."postponement_days"(timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."recipient_answer_announce"(delivery.deliveries, delivery.recipient_answers) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."takes_answers"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."trackable_until"(delivery.deliveries) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."tracked_by"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "delivery"."tracking_answer"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."tracking_answer"(jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."tracking_answer_to_json"(delivery.deliveries) FROM PUBLIC;

GRANT SELECT ON TABLE "delivery"."recipient_answers" TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."recipient_answers_list" TO "barid_caller";

insert into integration.event_types (event_type, source_module, entity_type, event_data, merchant_fields)
select t.event_type, e.source_module, e.entity_type, e.event_data::jsonb, m.merchant_fields::jsonb
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
  ('{delivery.pickup_undone}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "reason": "string", "actor_id": "uuid?"}'),
  ('{delivery.amount_changed}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number",
      "currency": "string", "reason": "string", "requested_by": "uuid?", "actor_id": "uuid?"}'),
  ('{delivery.refund_due}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "amount": "number", "currency": "string", "actor_id": "uuid?"}'),
  ('{delivery.redirected}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "previous_address_id": "uuid", "dropoff_address_id": "uuid",
      "dropoff_zone_id": "uuid?", "delivery_fee": "number", "price_difference": "number", "currency": "string",
      "driver_unassigned": "boolean", "actor_id": "uuid?"}'),
  ('{delivery.recipient_answered}', 'delivery', 'delivery',
    '{"delivery_id": "uuid", "delivery_code": "integer", "wanted_day": "string?", "note_given": "boolean", "location_given": "boolean"}'),
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
      "total": "number", "shortage": "number", "collections": "integer", "actor_id": "uuid"}'),
  ('{cash_handover.counted,cash_handover.discrepancy}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_handover.resolved}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number", "currency": "string",
      "settlement_payment_id": "uuid?", "resolution": "string", "actor_id": "uuid?"}'),
  ('{cash_handover.cancelled}', 'delivery', 'cash_handover',
    '{"cash_handover_id": "uuid", "driver_id": "uuid", "declared_amount": "number", "counted_amount": "number?", "currency": "string",
      "settlement_payment_id": "uuid?", "actor_id": "uuid?"}'),
  ('{cash_transfer.created,cash_transfer.reversed}', 'delivery', 'cash_transfer',
    '{"cash_transfer_id": "uuid", "kind": "string", "from_owner_type": "string?", "from_user_id": "uuid?", "to_owner_type": "string?",
      "to_user_id": "uuid?", "wallet_id": "uuid?", "currency": "string", "amount": "number", "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.accrued}', 'delivery', 'driver_pay',
    '{"driver_pay_id": "uuid", "delivery_id": "uuid", "delivery_code": "integer", "driver_id": "uuid", "amount": "number",
      "currency": "string", "actor_id": "uuid?"}'),
  ('{driver_pay.paid}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "actor_id": "uuid"}'),
  ('{driver_pay.reversed}', 'delivery', 'driver_payout',
    '{"payout_id": "uuid", "driver_id": "uuid", "method": "string", "amount": "number", "currency": "string", "count": "integer",
      "reference": "string?", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.opened}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "actor_id": "uuid?"}'),
  ('{merchant_statement.paid}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reference": "string?", "actor_id": "uuid"}'),
  ('{merchant_statement.reversed}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "payout_id": "uuid", "method": "string", "reason": "string", "actor_id": "uuid"}'),
  ('{merchant_statement.voided}', 'delivery', 'merchant_statement',
    '{"statement_id": "uuid", "number": "string", "owner_user_id": "uuid", "net": "number", "currency": "string", "count": "integer",
      "reason": "string?", "actor_id": "uuid"}'),
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
      "missing": "integer", "damaged": "integer", "actor_id": "uuid?"}'),
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
  ('{waybill_return.refund_due}', 'warehousing', 'delivery',
    '{"delivery_id": "uuid", "waybill_id": "uuid", "amount": "number", "currency": "string"}'),
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
  ('{carrier_return.refund_due}', 'carriers', 'delivery',
    '{"delivery_id": "uuid", "carrier_code": "string", "amount": "number", "currency": "string"}'),
  ('{carrier_remittance.created,carrier_remittance.reversed}', 'carriers', 'carrier_remittance',
    '{"carrier_remittance_id": "uuid", "kind": "string", "carrier_code": "string", "currency": "string", "amount": "number", "collections": "integer",
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
  ('{order.shortened,order.refund_due,order.fee_not_collected}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "actor_id": "uuid?"}'),
  ('{order.refunded}', 'storefront', 'order',
    '{"order_id": "uuid", "order_number": "string", "market_id": "uuid", "user_id": "uuid", "status": "string", "payment_status": "string",
      "payment_method": "string", "total_price": "number", "currency": "string", "delivery_id": "uuid?", "reason": "string?",
      "amount": "number", "payment_id": "uuid", "refund_method": "string", "actor_id": "uuid?"}'),
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
  ('{tenant.deleted}', 'tenants', 'tenant', '{"tenant_id": "uuid", "files": "integer", "people": "integer", "actor_id": "uuid?"}'),
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
-- The types that merchants hear of, and the fields that they are sent: what they see of their own parcels and statements in the API, and nothing of the
-- people who did it. Of a parcel's event its id, code, barcode and the merchant's own reference are among them, whether its data has them or not.
left join (values
  ('{delivery.created}'::text[],
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "status": "string",
      "delivery_flow": "string", "reason": "string?"}'),
  ('{delivery.pending,delivery.assigned,delivery.accepted,delivery.picked_up,delivery.in_transit,delivery.delivered,delivery.failed,
      delivery.returned,delivery.cancelled}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "status": "string",
      "from_status": "string", "delivery_flow": "string", "reason": "string?"}'),
  ('{delivery.outcome}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "result": "string",
      "reason_code": "string?"}'),
  ('{delivery.postponed}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?",
      "postponed_to": "string", "reason_code": "string"}'),
  ('{delivery.outcome_undone}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "result": "string"}'),
  ('{delivery.pickup_undone}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?"}'),
  ('{delivery.amount_changed}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?",
      "amount_change_id": "uuid", "old_cod_amount": "number", "new_cod_amount": "number", "currency": "string", "reason": "string"}'),
  ('{delivery.redirected}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?",
      "previous_address_id": "uuid", "dropoff_address_id": "uuid", "delivery_fee": "number", "price_difference": "number",
      "currency": "string"}'),
  ('{delivery.recipient_answered}',
    '{"delivery_id": "uuid", "delivery_code": "integer", "barcode": "string", "external_reference_id": "string?", "wanted_day": "string?",
      "note_given": "boolean", "location_given": "boolean"}'),
  ('{merchant_statement.opened}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer"}'),
  ('{merchant_statement.paid}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer", "payout_id": "uuid",
      "method": "string", "reference": "string?"}'),
  ('{merchant_statement.reversed}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer", "payout_id": "uuid",
      "method": "string", "reason": "string"}'),
  ('{merchant_statement.voided}',
    '{"statement_id": "uuid", "number": "string", "net": "number", "currency": "string", "count": "integer", "reason": "string?"}'),
  ('{webhook.test}', '{"test": "boolean"}')
) m (event_types, merchant_fields) on t.event_type = any (m.event_types)
on conflict (event_type) do update set source_module = excluded.source_module, entity_type = excluded.entity_type,
  event_data = excluded.event_data, merchant_fields = excluded.merchant_fields;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261130195740';
end $$;

grant execute on function private.schema_version() to barid_api;
