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
      set local lock_timeout = '125ms';
      lock table tenancy.profiles in share row exclusive mode;
      lock table tenancy.tenants in share row exclusive mode;
      lock table delivery.outcomes in access exclusive mode;
      alter view money.cash_refunds_list reset (security_barrier);
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

DROP VIEW "money"."cash_refunds_list";

ALTER TABLE "delivery"."outcomes" DROP CONSTRAINT "outcomes_from_status_check";

ALTER TABLE "delivery"."outcomes" DROP CONSTRAINT "outcomes_result_check";

CREATE TABLE "delivery"."redirects" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "tenant_id" uuid NOT NULL, "delivery_id" uuid NOT NULL, "before" jsonb NOT NULL, "charged" text NOT NULL, "difference" numeric(18,3) NOT NULL, "late_at" text, "redirected_by" uuid, "redirected_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(), "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "redirects_before_check" CHECK ((jsonb_typeof(before) = 'object'::text)), CONSTRAINT "redirects_charged_check" CHECK ((charged = ANY (ARRAY['wallet'::text, 'cash'::text, 'none'::text]))), CONSTRAINT "redirects_late_at_check" CHECK ((late_at = ANY (ARRAY['pickup'::text, 'door'::text, 'undo'::text]))), CONSTRAINT "redirects_pkey" PRIMARY KEY (id), CONSTRAINT "redirects_tenant_id_id_key" UNIQUE (tenant_id, id), CONSTRAINT "texts_within_bounds" CHECK (((octet_length(charged) <= 1000) AND (octet_length(late_at) <= 1000))));

ALTER TABLE "delivery"."redirects" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "delivery"."redirects" FORCE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION delivery.delivery_complete(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_parcel delivery.deliveries := delivery.parcel_terms(d);
  v_transferred boolean := delivery.is_transferred(d);
  -- At the receiver's door; a leg or a transfer into a warehouse ends before it.
  v_door boolean := d.delivery_flow <> 'pnd_inbound' and not v_transferred;
  v_warehouse uuid := case when v_transferred then d.dropoff_warehouse_id else delivery.ends_in(d) end;
  v_due record;
  v_cash jsonb;
  v_change uuid := (input ->> 'amount_change_id')::uuid;
  v_shipment uuid;
  v_carrier text;
begin
  if d.status = 'failed' then
    perform app.fail('invalid_status_transition', '{"from": "failed", "to": "delivered", "text_key": "delivery_failed_before"}');
  end if;
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_off_waybill(d, a, 'delivered');
  if v_door and delivery.redirect_at_door(v_parcel, input) is not null then
    d := delivery.lock_delivery(d.id);
    v_parcel := delivery.parcel_terms(d);
    v_warehouse := delivery.ends_in(d);
  end if;
  v_cash := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  if v_transferred and not warehousing.transfer_ends(d) then
    perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
    perform warehousing.transfer_arrives(d.id);
    perform delivery.assignment_end(a, 'completed');
    return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
  end if;
  if v_door then
    if input ->> 'result' is distinct from 'partial' then
      v_change := delivery.amount_at_door(v_parcel, input);
      if v_change is not null then
        v_parcel := delivery.parcel_terms(d);
        v_cash := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
      end if;
      perform delivery.require_amount_for_whole(v_parcel);
    end if;
    v_due := money.cash_due(v_parcel, 'dropoff');
    perform delivery.require_cash(d, 'dropoff', input -> 'cash_collected');
    if a.driver_id is null and v_due.cod + v_due.delivery_fee > 0 then
      select s.id, s.carrier_code into v_shipment, v_carrier from integration.carrier_shipments s
      where s.tenant_id = d.tenant_id and s.delivery_id = d.id and s.status in ('booked', 'cancelling') and s.cash_due > 0;
      -- No booking asked the carrier to collect it: then operations have to say that it did.
      if not found and d.carrier_type = 'external' and coalesce(jsonb_typeof(input -> 'cash_collected'), 'null') <> 'null' then
        select c.code into v_carrier from integration.carriers c where c.code = d.carrier_code and not c.is_internal;
      end if;
      if v_carrier is null then
        perform app.fail('delivery_has_no_driver', case when d.carrier_type <> 'external' then '{}'
          when exists (select from integration.carriers c where c.code = d.carrier_code)
            then '{"text_key": "carrier_not_asked_for_cash", "field": "cash_collected"}'::jsonb
          else jsonb_build_object('text_key', 'carrier_without_account', 'field', 'cash_collected', 'carrier_code', d.carrier_code) end);
      end if;
    end if;
  end if;
  update delivery.deliveries x set status = 'delivered', delivered_at = clock_timestamp(), status_reason = null, status_notes = null,
    recipient = x.recipient || jsonb_strip_nulls(jsonb_build_object('received_by', input ->> 'recipient_name')),
    dropoff_warehouse_id = v_warehouse, transfer_kind = null, ordered_to_warehouse_id = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- The numbers of receipts come after its order, and before the wallets that its cash moves.
  if v_warehouse is not null then
    perform app.lock_numbers('receiving_order', true);
  elsif d.order_id is not null then
    perform storefront.lock_receipt_numbers(d.id);
  end if;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.assignment_end(a, 'completed');
  if v_door then
    perform delivery.redirect_settle(v_parcel.id, a.driver_id);
  end if;
  if v_carrier is not null then
    perform money.carrier_cash_collected(v_parcel.id, v_shipment, v_carrier);
  elsif v_door then
    perform money.cash_collected(v_parcel.id, 'dropoff', a.driver_id);
  end if;
  if v_warehouse is not null then
    perform warehousing.parcel_arrives(d.id, v_warehouse);
  end if;
  perform delivery.returned_fees_refund(array[d.id]);
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), v_change);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_exception_open(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.lock_delivery((input ->> 'id')::uuid);
  v_items jsonb := coalesce(nullif(input -> 'items', 'null'), '[]');
  v_id uuid;
  v_place bigint;
  v_receipt uuid;
  v_moving uuid;
  v_same uuid;
begin
  if not app.has_permission('manage:module:warehouse') then
    perform delivery.require_carrier(d);
  end if;
  if d.status in ('delivered', 'cancelled') then
    perform app.fail('delivery_ended', jsonb_build_object('status', d.status));
  end if;
  select n.position - 1 into v_place
  from rows from (jsonb_to_recordset(v_items) as (delivery_item_id uuid)) with ordinality n (delivery_item_id, position)
  where not exists (select from delivery.delivery_items i
    where i.tenant_id = d.tenant_id and i.id = n.delivery_item_id and i.delivery_id = delivery.parcel_of(d))
  order by n.position limit 1;
  if found then
    perform app.fail('delivery_item_not_found', jsonb_build_object('field', format('items.%s.delivery_item_id', v_place)));
  end if;
  -- Noted of a staged parcel, it concerns the leg that is on the road.
  select l.id into v_moving from delivery.deliveries l
  where l.tenant_id = d.tenant_id and (l.id = d.id or l.parent_id = d.id) and delivery.leaves_warehouse(l)
    and l.status in ('picked_up', 'in_transit', 'failed', 'returned') and l.current_warehouse_id is null;
  select e.id into v_same from delivery.delivery_exceptions e
  where e.tenant_id = d.tenant_id and e.delivery_id = d.id and e.status = 'open' and e.created_by = app.user_id() and e.type = input ->> 'type'
    and e.notes is not distinct from input ->> 'notes' and e.items = v_items and e.created_at > now() - interval '15 minutes'
  order by e.created_at desc limit 1;
  if found then
    return jsonb_build_object('exception', (select to_jsonb(e) from delivery.delivery_exceptions_list e where e.id = v_same),
      'receiving_order_id', case when v_moving is not null then warehousing.receipt_of(v_moving) end);
  end if;
  insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items, notes, created_by)
  values (d.tenant_id, d.id, input ->> 'type', v_items, input ->> 'notes', app.user_id())
  returning id into v_id;
  if v_moving is not null then
    v_receipt := warehousing.receipt_expect(v_moving, null, true);
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'delivery_exception.opened', 'source_module', 'delivery',
    'entity_type', 'delivery_exception', 'entity_id', v_id, 'event_data', jsonb_build_object('exception_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'type', input ->> 'type', 'receiving_order_id', v_receipt, 'actor_id', app.user_id()))));
  if not (app.has_permission('manage:operations:tenant') or app.has_permission('manage:module:warehouse')) then
    perform delivery.office_notify('delivery_exception_opened', jsonb_build_object('exception_id', v_id, 'delivery_id', d.id,
      'delivery_code', d.delivery_code, 'type', input ->> 'type'));
  end if;
  return jsonb_build_object('receiving_order_id', v_receipt,
    'exception', (select to_jsonb(e) from delivery.delivery_exceptions_list e where e.id = v_id));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_redirect(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_id uuid := (input ->> 'id')::uuid;
  v_dry_run boolean := coalesce((input ->> 'dry_run')::boolean, false);
  v_office boolean := app.has_permission('manage:operations:tenant');
  d delivery.deliveries;
  p delivery.deliveries;
  v_to delivery.addresses;
  v_terms record;
  v_difference numeric;
  v_unassigned uuid[];
begin
  if not v_dry_run then
    perform delivery.lock_manifest_item(v_id);
    d := delivery.lock_delivery(v_id);
  else
    select * into d from delivery.deliveries x where x.id = v_id;
    if not found then
      perform app.fail('delivery_not_found');
    end if;
  end if;
  p := delivery.parcel_terms(d);
  perform delivery.require_owner(p);
  if input ->> 'charge' is not null and not v_office then
    perform app.fail('forbidden');
  end if;
  perform delivery.require_changeable(p);
  if not v_office and delivery.was_picked_up(p) then
    perform app.fail('delivery_already_picked_up');
  end if;
  perform delivery.require_no_return(p);
  v_to := delivery.redirect_place(p, input, v_dry_run);
  if p.delivery_flow = 'customer_return' and not p.made_at_door and v_to.id = (delivery.ordered_from(p)).address_id then
    perform app.fail('redirect_to_customer', jsonb_build_object('field', 'dropoff_address_id'));
  end if;
  v_terms := delivery.redirect_terms(p, v_to, input ->> 'charge' is not null);
  v_difference := (v_terms.priced).delivery_fee - p.delivery_fee;
  if exists (select from delivery.redirect_misfits(p.id, v_to.zone_id) m where m.in_hand) then
    perform app.fail('redirect_needs_other_driver', jsonb_build_object('field', 'dropoff_address_id'));
  end if;
  v_unassigned := array(select m.assignment_id from delivery.redirect_misfits(p.id, v_to.zone_id) m);
  if not v_dry_run then
    perform delivery.redirect_record(p, v_terms.charged, v_difference);
    perform delivery.redirect_write(p, v_to.id, v_terms.priced, input -> 'recipient', v_unassigned);
  end if;
  if v_terms.charged = 'wallet' then
    perform money.delivery_fee_change(p.id, v_difference, v_dry_run);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'dry_run', v_dry_run, 'driver_unassigned', v_unassigned <> '{}',
    'price', jsonb_build_object('before', p.delivery_fee, 'after', (v_terms.priced).delivery_fee, 'difference', v_difference,
      'currency', p.currency, 'charged', v_terms.charged));
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_reported(input jsonb)
 RETURNS delivery.deliveries
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
begin
  if input ->> 'occurred_at' is not null then
    perform delivery.lock_redirected((input ->> 'id')::uuid, app.instant(input ->> 'occurred_at'));
  end if;
  d := delivery.delivery_to_move((input ->> 'id')::uuid);
  perform delivery.require_first_report(d, input);
  return d;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_return(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries := delivery.delivery_reported(input);
  a delivery.assignments := delivery.require_carrier(d);
  v_warehouse uuid := (input ->> 'warehouse_id')::uuid;
  v_completed jsonb;
  v_awaited boolean;
  v_receipt uuid;
  v_refund jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit,failed}', 'returned');
  perform delivery.require_off_waybill(d, a, 'returned');
  if v_warehouse is not null and not exists (select from warehousing.warehouses w where w.id = v_warehouse and w.deleted_at is null) then
    perform app.fail('warehouse_not_found', '{"field": "warehouse_id"}');
  end if;
  if d.delivery_flow = 'customer_return' and not delivery.is_transferred(d) and v_warehouse = delivery.ends_in(d)
      or d.delivery_flow = 'pnd_inbound' and v_warehouse is not null
        and v_warehouse is distinct from (delivery.ordered_from(delivery.parcel_terms(d))).warehouse_id then
    if d.delivery_flow = 'pnd_inbound' and v_warehouse is distinct from delivery.ends_in(d) then
      perform delivery.staged_through(d.id, v_warehouse);
    end if;
    update delivery.deliveries x set status = 'in_transit' where x.tenant_id = d.tenant_id and x.id = d.id and x.status = 'failed';
    v_completed := delivery.delivery_complete(input);
    return jsonb_build_object('delivery', v_completed -> 'delivery', 'receiving_order_id', warehousing.receipt_of(d.id),
      'refunded', false, 'refund_due', null);
  end if;
  perform delivery.move_reported(d, input, case when v_warehouse is null then delivery.fetched_at(d)
    else delivery.warehouse_place(d.tenant_id, v_warehouse, d.pickup_snapshot) end);
  if v_warehouse is null and delivery.returns_from_door(d) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', d.status, 'to', 'returned', 'text_key', 'reason_is_a_return'));
  end if;
  v_awaited := v_warehouse is not null and d.order_id is null and not delivery.leaves_warehouse(d);
  -- Expected by another warehouse, such as the one it left with an open exception, it does not come there.
  perform warehousing.receipts_withdraw(d.id, coalesce(v_warehouse, case when delivery.leaves_warehouse(d) then d.pickup_warehouse_id end));
  update delivery.deliveries x set
    status = case when v_awaited then 'in_transit' else 'returned' end, status_reason = coalesce(input ->> 'reason', x.status_reason),
    status_notes = input ->> 'notes'
  where x.tenant_id = d.tenant_id and x.id = d.id;
  if v_awaited and d.status = 'in_transit' then
    perform delivery.stop_recorded(d.id);
  end if;
  if not (v_awaited or delivery.leaves_warehouse(d)) then
    perform delivery.delivery_returned_for_good(d.id);
  end if;
  -- A carrier reports on after its returns.
  if not v_awaited and d.carrier_type = 'internal' then
    perform delivery.outcome_record(d, 'returned');
  end if;
  if not (delivery.returns_to_warehouse(d) or v_warehouse is not null) then
    perform delivery.assignment_end(a, 'returned');
  end if;
  if delivery.returns_to_warehouse(d) or v_warehouse is not null then
    v_receipt := warehousing.receipt_expect(d.id, v_warehouse, d.status = 'failed');
  end if;
  v_refund := case when v_awaited then '{"refunded": false, "refund_due": null}'
    else delivery.returned_fee_refund(d, delivery.refund_due_event()) end;
  perform storefront.orders_settle();
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'receiving_order_id', v_receipt) || v_refund;
end $function$;

CREATE OR REPLACE FUNCTION delivery.delivery_taken(d delivery.deliveries, input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  a delivery.assignments := delivery.require_carrier(d);
  v_due jsonb;
begin
  perform delivery.require_move(d, '{assigned,accepted}', 'picked_up');
  if a.status is distinct from 'assigned' and a.status is distinct from 'accepted' then
    perform app.fail('assignment_not_accepted', delivery.unanswered_to_json(a));
  end if;
  perform delivery.move_reported(d, input, delivery.fetched_at(d));
  perform delivery.redirect_at_pickup(delivery.parcel_terms(d), input);
  v_due := money.cash_to_take(d, 'pickup');
  update delivery.deliveries x set status = 'picked_up', picked_up_at = clock_timestamp(), status_reason = null, status_notes = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.moving_exception_expect(d);
  perform delivery.delivery_proofs_keep(d, 'pickup', input -> 'proof');
  perform delivery.require_cash(d, 'pickup', input -> 'cash_collected');
  perform money.cash_collected(delivery.parcel_of(d), 'pickup', a.driver_id);
  return delivery.cash_summary(v_due);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_manifest(manifest_id uuid)
 RETURNS delivery.transfer_manifests
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  m delivery.transfer_manifests;
begin
  select * into m from delivery.lock_manifests(array[manifest_id]);
  if m.id is null or not (app.has_permission('manage:operations:tenant') or app.has_permission('manage:module:warehouse')
      or coalesce(m.driver_id = app.user_id(), false)) then
    if delivery.manifest_was_callers(lock_manifest.manifest_id) then
      perform app.fail('assignment_ended', '{"text_key": "manifest_withdrawn"}');
    end if;
    perform app.fail('manifest_not_found');
  end if;
  return m;
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_redirected(p_delivery uuid, since timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (
      select from delivery.deliveries d
      join delivery.redirects r on r.tenant_id = d.tenant_id and r.delivery_id = coalesce(d.parent_id, d.id) and r.redirected_at > since
      where d.tenant_id = app.tenant_id() and d.id = p_delivery) then
    perform delivery.lock_manifest_item(p_delivery);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.manifest_was_callers(p_manifest uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.has_role('driver') and exists (
    select from delivery.transfer_manifest_events e
    where e.tenant_id = app.tenant_id() and e.manifest_id = p_manifest and e.event_type = 'driver_changed'
      and e.payload ->> 'from' = app.user_id()::text);
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
      and o.undone_in = pg_current_xact_id() and o.created_at = d.created_at))
  or (p_from in ('picked_up', 'in_transit') and d.status in ('assigned', 'accepted') and d.picked_up_at is null
    and d.status_reason is not distinct from 'pickup_undone')
  -- The leg that was to follow one whose return is undone.
  or (p_from = 'cancelled' and d.status = 'draft' and d.leg = 'B' and exists (
    select from delivery.deliveries a
    join delivery.outcomes o on o.tenant_id = a.tenant_id and o.delivery_id = a.id
    where a.tenant_id = d.tenant_id and a.parent_id = d.parent_id and a.leg = 'A' and o.result = 'returned' and o.undone_in = pg_current_xact_id()));
end $function$;

CREATE OR REPLACE FUNCTION delivery.move_refused(from_status text, to_status text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('from', from_status, 'to', to_status)
    || case when from_status = to_status then '{"text_key": "status_reached_already"}' else '{}' end::jsonb;
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
  if delivery.redirect_at_door(delivery.parcel_terms(d), input) is not null then
    d := delivery.lock_delivery(d.id);
  end if;
  v_return := delivery.return_from_door(d, 'customer_return', input -> 'taken_back', jsonb_build_object('notes', input -> 'note',
    -- Without such a service, that of the parcel.
    'delivery_service_id', (select s.id from delivery.delivery_services s where s.tenant_id = d.tenant_id and s.deleted_at is null
      and s.id::text = lower(app.settings('general', 'delivery') #>> '{return_requests,default_delivery_service_id}'))));
  return delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs'))
    || jsonb_build_object('returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
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
    -- It came back to the customer who sends it, and they have ordered another return since.
    (9, 'outcome_went_on', o.result = 'returned' and d.delivery_flow = 'customer_return' and exists (select from delivery.deliveries r
      where r.tenant_id = o.tenant_id and r.original_delivery_id = d.original_delivery_id and r.id <> d.id and r.created_at >= o.created_at
        and r.status <> 'cancelled'), '{}'),
    -- Its fee was given back since; by its return alone, that is reversed, unless a desk has paid it.
    (10, 'outcome_went_on', exists (select from money.payments p where p.tenant_id = o.tenant_id and p.type = 'REFUND'
      and p.delivery_id in (v_parcel_id, v_brought_back) and p.created_at >= o.created_at and p.status <> 'CANCELLED'
      and not (o.result = 'returned' and p.created_at = o.created_at and (p.payment_method = 'wallet' or p.status = 'pending'))), '{}'),
    -- The goods of a store's order are its stock again.
    (11, 'outcome_went_on', o.result = 'returned' and d.order_id is not null, '{}'),
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
  v_change uuid;
  v_put_back uuid;
  v_answer jsonb;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_at_door(d);
  if p.order_id is not null then
    perform app.fail('order_amount_fixed');
  end if;
  if delivery.redirect_at_door(p, input) is not null then
    d := delivery.lock_delivery(d.id);
    p := delivery.parcel_terms(d);
  end if;
  v_kept := delivery.kept_items_of(p.id, input -> 'items', 'items');
  -- Agreed for just this part, it is what was talked about at the door.
  if not coalesce(delivery.is_agreed_for(p.id, v_kept), false) then
    v_put_back := delivery.amount_at_door(p, input - 'cash_collected');
    p := delivery.parcel_terms(d);
  end if;
  v_amount := delivery.cod_of_kept(p, v_kept);
  v_return := delivery.return_from_door(d, 'operational_return', delivery.contents_left(p, v_kept), jsonb_build_object('notes', input -> 'note'));
  v_change := delivery.kept_amount_write(p, v_amount, v_kept, coalesce(input ->> 'note', 'partial'));
  v_answer := delivery.delivery_complete(input || jsonb_build_object('proof', input -> 'proofs', 'proof_field', 'proofs',
    'amount_change_id', coalesce(v_put_back, v_change)));
  perform delivery.delivered_in_part_mark(d);
  return v_answer || jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'returns', jsonb_build_array(delivery.delivery_to_json(v_return)));
end $function$;

CREATE OR REPLACE FUNCTION delivery.outcome_record(d delivery.deliveries, p_result text, amount_change uuid DEFAULT NULL::uuid)
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
      'postponed_to', d.postponed_to, 'amount_change_id', amount_change)
    || coalesce((select jsonb_build_object('redirect_id', r.id) from delivery.redirects r
      where r.tenant_id = d.tenant_id and r.delivery_id = delivery.parcel_of(d) and r.created_at = now() and r.late_at = 'door'), '{}'),
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
  perform delivery.require_off_waybill(d, a, 'returned');
  if delivery.redirect_at_door(delivery.parcel_terms(d), input) is not null then
    d := delivery.lock_delivery(d.id);
  end if;
  perform delivery.move_reported(d, input, delivery.brought_to(d));
  v_return := delivery.return_from_door(d, 'operational_return', null, jsonb_build_object('reason', reason -> 'value', 'notes', input -> 'note'));
  update delivery.deliveries x set status = 'returned', status_reason = reason ->> 'value', status_notes = input ->> 'note',
    attempts_used = x.attempts_used + case when (reason ->> 'counts')::boolean then 1 else 0 end, postponed_to = null, overnight_notice_at = null
  where x.tenant_id = d.tenant_id and x.id = d.id;
  -- A warehouse that expected it gets its return, if anything.
  perform warehousing.receipts_withdraw(d.id);
  perform delivery.outcome_record(d, 'refused');
  perform delivery.delivery_proofs_keep(d, 'attempt', input -> 'proofs', 'proofs');
  perform delivery.assignment_end(a, 'returned');
  perform delivery.redirect_settle(delivery.parcel_of(d), null);
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
  d delivery.deliveries;
  o delivery.outcomes;
  v_parcel delivery.deliveries;
  v_obstacle record;
  v_cash jsonb;
begin
  -- The outcome is read under the lock of its delivery.
  d := delivery.lock_for_undo((input ->> 'id')::uuid);
  o := delivery.outcome_of(d.id);
  v_parcel := delivery.parcel_terms(d);
  if not app.has_permission('manage:operations:tenant') and o.id is not null and o.driver_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  end if;
  perform delivery.lock_outcome_effects(o, d);
  v_obstacle := delivery.outcome_obstacle(o, d);
  if v_obstacle.code is not null then
    perform app.fail(v_obstacle.code, v_obstacle.params);
  end if;
  perform delivery.outcome_withdraw(o, d, input ->> 'reason');
  v_cash := money.cash_uncollected(v_parcel.id, o.created_at, input ->> 'reason');
  if o.result = 'returned' then
    perform money.delivery_fee_unrefund(v_parcel.id, o.created_at, input ->> 'reason');
  end if;
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id <> app.user_id();
  -- Last: it locks accounts, as the accrual does.
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
  if o.driver_id is not null and v_cash <> '{"cod": 0, "delivery_fee": 0}' then
    perform money.handover_uncovered(o.driver_id, v_parcel.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
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
  -- An attempt that did not deliver changed no place: one that is another by now was redirected since, and stays.
  v_places jsonb := case when o.result in ('delivered', 'partial', 'exchanged') then o.before else to_jsonb(d) end;
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
  if o.result = 'returned' then
    perform delivery.return_withdraw(d);
  end if;
  update delivery.deliveries x set delivered_in_part = false
  where x.tenant_id = o.tenant_id and x.id in (d.id, delivery.parcel_of(d)) and x.delivered_in_part;
  update delivery.deliveries x set status = o.from_status, status_reason = 'outcome_undone', status_notes = reason, delivered_at = null,
    attempts_used = (o.before ->> 'attempts_used')::integer, attempts_exhausted = (o.before ->> 'attempts_exhausted')::boolean,
    recipient = x.recipient - 'received_by' || jsonb_strip_nulls(jsonb_build_object('received_by', o.before -> 'received_by')),
    transfer_kind = v_places ->> 'transfer_kind', dropoff_warehouse_id = (v_places ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (v_places ->> 'ordered_to_warehouse_id')::uuid, postponed_to = (o.before ->> 'postponed_to')::date,
    overnight_notice_at = null
  where x.tenant_id = o.tenant_id and x.id = d.id;
  if o.result = 'partial' or o.before ->> 'amount_change_id' is not null then
    perform delivery.kept_amount_undo(delivery.parcel_of(d), o, reason);
  end if;
  perform delivery.outcome_reassign(o, d);
  perform delivery.redirect_again(delivery.parcel_of(d), (o.before ->> 'redirect_id')::uuid);
end $function$;

CREATE OR REPLACE FUNCTION delivery.pickup_withdraw(d delivery.deliveries, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.require_tenant(d.tenant_id);
  -- First: a parcel keeps the time of its first pickup.
  update delivery.deliveries p set picked_up_at = null where p.tenant_id = d.tenant_id and p.id = d.parent_id;
  -- By both fields together the guard of deliveries knows that this move is an undo (delivery.move_is_undone).
  update delivery.deliveries x set status = a.status, picked_up_at = null, status_reason = 'pickup_undone', status_notes = reason
  from delivery.assignments a
  where x.tenant_id = d.tenant_id and x.id = d.id and a.tenant_id = x.tenant_id and a.delivery_id = x.id and a.status in ('assigned', 'accepted');
  perform delivery.redirect_fee_again(delivery.parcel_of(d));
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_again(parcel uuid, put_back uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  r delivery.redirects;
begin
  select * into r from delivery.redirects x where x.tenant_id = app.tenant_id() and x.id = put_back;
  if not found then
    return;
  end if;
  select * into strict p from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = parcel;
  perform delivery.redirect_record(p, r.charged, -r.difference, 'undo');
  perform delivery.redirect_restore(p, r.before, p.delivery_fee - r.difference,
    delivery.redirect_differences(p, r.before, p.delivery_fee - r.difference));
  perform delivery.routes_remeasure(p.id || array(select l.id from delivery.deliveries l where l.tenant_id = p.tenant_id and l.parent_id = p.id));
  if r.charged = 'wallet' then
    -- All accounts in one order, with those of the cash that is reversed after this.
    perform money.lock_balances(array[money.owner_wallet(p), money.account_of('wallet', 'tenant', null, p.currency::text)] || array(
      select e.account_id from money.cod_collections c
      join money.ledger_transactions t on t.tenant_id = c.tenant_id and t.reference_type = 'cod_collection' and t.reference_id = c.id
      join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
      where c.tenant_id = p.tenant_id and c.delivery_id = p.id and c.collected_at = r.created_at));
    perform money.delivery_fee_change(parcel, -r.difference, false);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_at_door(p delivery.deliveries, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_redirects delivery.redirects[];
  v_kept jsonb;
  v_by_wallet numeric;
  v_in_cash numeric;
  v_id uuid;
  v_what text[];
begin
  perform app.require_tenant(p.tenant_id);
  if input ->> 'occurred_at' is null or delivery.shipment_lives(p.id) then
    return null;
  end if;
  v_redirects := array(select r from delivery.redirects_unheard(p.id, app.instant(input ->> 'occurred_at'), app.user_id()) r);
  if v_redirects = '{}' then
    return null;
  end if;
  v_kept := v_redirects[1].before;
  select coalesce(sum(r.difference) filter (where r.charged = 'wallet'), 0), coalesce(sum(r.difference) filter (where r.charged = 'cash'), 0)
  into v_by_wallet, v_in_cash from unnest(v_redirects) r;
  v_in_cash := case when money.delivery_fee_taken(p.id) then 0 else v_in_cash end;
  v_what := delivery.redirect_differences(p, v_kept, p.delivery_fee - v_by_wallet - v_in_cash);
  if v_what = '{}' or v_in_cash <> 0 and (input #>> '{cash_collected,delivery_fee}')::numeric = p.delivery_fee then
    return null;
  end if;
  v_id := delivery.redirect_record(p, case when v_by_wallet <> 0 then 'wallet' when v_in_cash <> 0 then 'cash' else 'none' end,
    -v_by_wallet - v_in_cash, 'door');
  perform delivery.redirect_restore(p, v_kept, p.delivery_fee - v_by_wallet - v_in_cash, v_what);
  perform delivery.redirects_late(p, v_redirects, 'redirect_late', p.delivery_fee - v_by_wallet - v_in_cash);
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_at_pickup(p delivery.deliveries, input jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_redirects delivery.redirects[];
  v_difference numeric;
begin
  perform app.require_tenant(p.tenant_id);
  if input ->> 'occurred_at' is null or p.payer_type <> 'sender' or p.payment_method = 'wallet' or p.order_id is not null
      or money.delivery_fee_taken(p.id) then
    return;
  end if;
  v_redirects := array(select r from delivery.redirects_unheard(p.id, app.instant(input ->> 'occurred_at'), app.user_id()) r);
  v_difference := (select sum(r.difference) from unnest(v_redirects) r where r.charged = 'cash');
  if coalesce(v_difference, 0) = 0 or (input #>> '{cash_collected,delivery_fee}')::numeric = p.delivery_fee then
    return;
  end if;
  perform delivery.redirect_record(p, 'cash', -v_difference, 'pickup');
  update delivery.deliveries x set delivery_fee = x.delivery_fee - v_difference, service_snapshot = v_redirects[1].before -> 'service_snapshot',
    label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  perform delivery.change_announce(array[p.id], '{amount}');
  perform delivery.redirects_late(p, v_redirects, 'redirect_fee_late', p.delivery_fee - v_difference);
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_differences(p delivery.deliveries, kept jsonb, fee numeric)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array_remove(array[
    case when p.dropoff_address_id <> (kept ->> 'dropoff_address_id')::uuid then 'place' end,
    case when p.recipient <> kept -> 'recipient' then 'recipient' end,
    case when p.delivery_fee <> fee then 'amount' end], null);
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_fee_again(parcel uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  r delivery.redirects;
begin
  select * into r from delivery.redirects x
  where x.tenant_id = app.tenant_id() and x.delivery_id = parcel and x.late_at in ('pickup', 'undo') order by x.redirected_at desc limit 1;
  if r.late_at is distinct from 'pickup' then
    return;
  end if;
  select * into strict p from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = parcel;
  perform delivery.redirect_record(p, 'cash', -r.difference, 'undo');
  update delivery.deliveries x set delivery_fee = x.delivery_fee - r.difference, service_snapshot = r.before -> 'service_snapshot', label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  perform delivery.change_announce(array[p.id], '{amount}');
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_record(p delivery.deliveries, charged text, difference numeric, late text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  insert into delivery.redirects (tenant_id, delivery_id, before, charged, difference, late_at, redirected_by)
  values (p.tenant_id, p.id, jsonb_build_object('dropoff_address_id', p.dropoff_address_id, 'dropoff_snapshot', p.dropoff_snapshot,
    'dropoff_zone_id', p.dropoff_zone_id, 'recipient', p.recipient, 'delivery_fee', p.delivery_fee, 'service_snapshot', p.service_snapshot,
    'distance_km', p.distance_km, 'dropoff_warehouse_id', p.dropoff_warehouse_id, 'ordered_to_warehouse_id', p.ordered_to_warehouse_id, 'item', (
      select jsonb_build_object('destination_branch_id', i.destination_branch_id, 'destination_address_id', i.destination_address_id)
      from delivery.transfer_manifest_items i where i.tenant_id = p.tenant_id and i.id = p.manifest_item_id)),
    redirect_record.charged, redirect_record.difference, late, app.user_id())
  returning id into v_id;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_restore(p delivery.deliveries, kept jsonb, fee numeric, what text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update delivery.deliveries x set
    dropoff_address_id = (kept ->> 'dropoff_address_id')::uuid,
    dropoff_snapshot = kept -> 'dropoff_snapshot',
    dropoff_zone_id = (kept ->> 'dropoff_zone_id')::uuid,
    recipient = kept -> 'recipient',
    delivery_fee = fee,
    service_snapshot = kept -> 'service_snapshot',
    distance_km = (kept ->> 'distance_km')::numeric,
    dropoff_warehouse_id = (kept ->> 'dropoff_warehouse_id')::uuid,
    ordered_to_warehouse_id = (kept ->> 'ordered_to_warehouse_id')::uuid,
    label_outdated = true
  where x.tenant_id = p.tenant_id and x.id = p.id;
  perform delivery.legs_take_destination(array[p.id]);
  update delivery.transfer_manifest_items i set destination_branch_id = (kept #>> '{item,destination_branch_id}')::uuid,
    destination_address_id = (kept #>> '{item,destination_address_id}')::uuid
  where i.tenant_id = p.tenant_id and i.id = p.manifest_item_id and jsonb_typeof(kept -> 'item') = 'object';
  perform delivery.change_announce(array[p.id], what);
  if 'place' = any (what) then
    perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.redirected',
      'entity_type', 'delivery', 'entity_id', p.id, 'event_data', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
        'previous_address_id', p.dropoff_address_id, 'dropoff_address_id', kept -> 'dropoff_address_id', 'dropoff_zone_id', kept -> 'dropoff_zone_id',
        'delivery_fee', fee, 'price_difference', fee - p.delivery_fee, 'currency', p.currency, 'driver_unassigned', false,
        'actor_id', app.user_id()))));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirect_settle(parcel uuid, driver uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  r delivery.redirects;
  v_cash record;
begin
  select * into r from delivery.redirects x
  where x.tenant_id = app.tenant_id() and x.delivery_id = parcel and x.created_at = now() and x.late_at = 'door' and x.charged = 'wallet';
  if not found then
    return;
  end if;
  select * into strict p from delivery.deliveries x where x.tenant_id = r.tenant_id and x.id = parcel;
  v_cash := money.cash_due(p, 'dropoff');
  perform money.lock_balances(array[money.owner_wallet(p), money.account_of('wallet', 'tenant', null, p.currency::text)]
    || case when driver is not null and v_cash.cod + v_cash.delivery_fee > 0 then array[
      money.account_of('external', 'tenant', null, p.currency::text), money.account_of('driver_cash', 'driver', driver, p.currency::text),
      money.account_of('cod_clearing', 'tenant', null, p.currency::text)] end);
  begin
    perform money.delivery_fee_change(parcel, r.difference, false);
  exception when sqlstate 'RULE0' then
    if sqlerrm <> 'insufficient_wallet_balance' then
      raise;
    end if;
    update delivery.deliveries x set delivery_fee = x.delivery_fee - r.difference where x.tenant_id = r.tenant_id and x.id = parcel;
    update delivery.redirects x set charged = 'none', difference = 0 where x.tenant_id = r.tenant_id and x.id = r.id;
    perform tenancy.notify_tenant_admins('redirect_fee_due', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
      'amount', -r.difference, 'currency', p.currency));
  end;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirects_late(p delivery.deliveries, redirects delivery.redirects[], type text, amount numeric)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, r.redirected_by, redirects_late.type, jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
    'amount', redirects_late.amount, 'currency', p.currency)
  from (select distinct x.redirected_by from unnest(redirects) x where x.late_at is null and x.redirected_by <> app.user_id()) r;
end $function$;

CREATE OR REPLACE FUNCTION delivery.redirects_unheard(parcel uuid, since timestamp with time zone, reporter uuid)
 RETURNS SETOF delivery.redirects
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select r.* from delivery.redirects r
  where r.tenant_id = app.tenant_id() and r.delivery_id = parcel and r.redirected_at > since
    and not exists (select from delivery.redirects x where x.tenant_id = r.tenant_id and x.delivery_id = parcel and x.redirected_at > since
      and x.late_at is null and x.redirected_by = reporter)
  order by r.redirected_at, r.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_manifest_move(m delivery.transfer_manifests, from_any text[], next_status text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if m.status <> all (from_any) then
    perform app.fail('invalid_status_transition',
      delivery.manifest_label_to_json(m) || delivery.move_refused(m.status, next_status));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.require_move(d delivery.deliveries, allowed text[], target text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if d.status <> all (allowed) then
    perform app.fail('invalid_status_transition', delivery.move_refused(d.status, target));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.return_withdraw(d delivery.deliveries)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform warehousing.receipts_withdraw(d.id);
  update delivery.deliveries l set status = 'draft', status_reason = null
  where l.tenant_id = d.tenant_id and l.parent_id = d.parent_id and d.leg = 'A' and l.leg = 'B' and l.status = 'cancelled';
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_refund(p_delivery uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  d delivery.deliveries;
  v_paid money.payments;
  v_change money.payments;
  v_total numeric;
  v_in_cash numeric;
  v_wallet uuid;
  v_payment uuid;
  v_reference uuid;
  v_line jsonb;
  v_cash boolean;
begin
  select * into strict d from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = p_delivery;
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'pending';
  perform from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS'
  order by p.id for no key update;
  if exists (select from money.payments r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.type = 'REFUND'
      and r.status <> 'CANCELLED') then
    return '{"refunded": false, "refund_due": null}';
  end if;
  select * into v_paid from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE' and p.status = 'SUCCESS'
    and (p.payment_method <> 'cash' or d.order_id is null) and p.amount > 0;
  select * into v_change from money.payments p
  where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'
  order by p.created_at, p.id limit 1;
  v_total := coalesce(v_paid.amount, 0) + coalesce((
    select sum(p.amount) from money.payments p
    where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.type = 'DELIVERY_FEE_CHANGE' and p.status = 'SUCCESS'), 0);
  v_cash := coalesce(v_paid.payment_method = 'cash', false);
  v_in_cash := case when v_cash then v_paid.amount else 0 end;
  v_wallet := coalesce(v_paid.account_id, v_change.account_id, case when not (v_cash and d.payer_type = 'receiver') then money.owner_wallet(d) end);
  if v_total = 0 or v_wallet is null and not v_cash then
    return '{"refunded": false, "refund_due": null}';
  elsif v_wallet is null then
    insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, delivery_id, reference, actor_id)
    values (d.tenant_id, 'DELIVERY', 'REFUND', 'pending', 'cash', v_total, d.currency, d.id, v_paid.id::text, app.user_id())
    returning id into v_payment;
    return jsonb_build_object('refunded', false, 'refund_due', jsonb_build_object('id', v_payment, 'amount', v_total,
      'currency', d.currency, 'payer', money.payer_contact(d)));
  end if;
  insert into money.payments (tenant_id, category, type, status, payment_method, amount, currency, account_id, delivery_id, reference,
    actor_id, processed_at)
  values (d.tenant_id, 'DELIVERY', 'REFUND', 'SUCCESS', 'wallet', v_total, d.currency, v_wallet, d.id,
    coalesce(v_paid.id, v_change.id)::text, app.user_id(), now())
  returning id into v_payment;
  -- Once: after one that was reversed, the journal names the refund itself.
  v_reference := case when exists (select from money.payments r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.type = 'REFUND'
    and r.status = 'CANCELLED') then v_payment else coalesce(v_paid.id, v_change.id) end;
  v_line := jsonb_build_object('journal', 'refund', 'kind', 'delivery_fee_refund', 'reference_type', 'payment',
    'reference_id', v_reference, 'description', 'Delivery ' || d.delivery_code);
  -- Cash came from outside, the rest out of the tenant's wallet; where less than the cash is left, the tenant gets that back.
  perform money.post((
    select jsonb_agg(v_line || jsonb_build_object('account_id', e.account, 'amount', e.amount) order by e.position)
    from (values
      (1, case when v_cash then money.account_of('external', 'tenant', null, d.currency::text) end, -v_in_cash),
      (2, case when v_total <> v_in_cash then money.account_of('wallet', 'tenant', null, d.currency::text) end, v_in_cash - v_total),
      (3, v_wallet, v_total)) e (position, account, amount)
    where e.amount <> 0));
  return '{"refunded": true, "refund_due": null}';
end $function$;

CREATE OR REPLACE FUNCTION money.delivery_fee_unrefund(p_parcel uuid, p_refunded_at timestamp with time zone, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  r money.payments;
begin
  update money.payments p set status = 'CANCELLED', processed_at = now()
  where p.tenant_id = app.tenant_id() and p.delivery_id = p_parcel and p.type = 'REFUND' and p.created_at = p_refunded_at
    and p.status <> 'CANCELLED' and (p.payment_method = 'wallet' or p.status = 'pending')
  returning * into r;
  -- A desk may have paid it while this waited.
  if exists (select from money.payments p where p.tenant_id = app.tenant_id() and p.delivery_id = p_parcel and p.type = 'REFUND'
      and p.created_at = p_refunded_at and p.status <> 'CANCELLED') then
    perform app.fail('outcome_went_on');
  end if;
  if r.payment_method = 'wallet' then
    perform money.reverse('delivery_fee_refund', 'payment', case when exists (select from money.ledger_transactions t
      where t.tenant_id = r.tenant_id and t.kind = 'delivery_fee_refund' and t.reference_type = 'payment' and t.reference_id = r.id)
      then r.id else r.reference::uuid end, p_reason);
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
    and x.status <> 'CANCELLED'
  for no key update;
  if p.id is null then
    perform app.fail('cash_refund_not_found');
  elsif p.status <> 'pending' then
    perform app.fail('cash_refund_already_paid');
  end if;
  return p;
end $function$;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_from_status_check" CHECK ((from_status = ANY (ARRAY['picked_up'::text, 'in_transit'::text, 'failed'::text]))) NOT VALID;

ALTER TABLE "delivery"."outcomes" ADD CONSTRAINT "outcomes_result_check" CHECK ((result = ANY (ARRAY['delivered'::text, 'partial'::text, 'exchanged'::text, 'postponed'::text, 'refused'::text, 'failed'::text, 'returned'::text]))) NOT VALID;

ALTER TABLE "delivery"."redirects" ADD CONSTRAINT "redirects_redirected_by_fkey" FOREIGN KEY (redirected_by) REFERENCES tenancy.profiles(id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."redirects" ADD CONSTRAINT "redirects_tenant_id_delivery_id_fkey" FOREIGN KEY (tenant_id, delivery_id) REFERENCES delivery.deliveries(tenant_id, id) ON DELETE RESTRICT;

ALTER TABLE "delivery"."redirects" ADD CONSTRAINT "redirects_tenant_id_fkey" FOREIGN KEY (tenant_id) REFERENCES tenancy.tenants(id) ON DELETE RESTRICT;

CREATE VIEW "money"."cash_refunds_list" WITH (security_invoker=true) AS  SELECT p.id,
    p.delivery_id,
    d.delivery_code,
    p.amount,
    p.currency,
        CASE p.status
            WHEN 'SUCCESS'::text THEN 'paid'::text
            ELSE 'open'::text
        END AS status,
    money.payer_contact(d.*) AS payer,
    p.created_at,
    t.id AS cash_transfer_id,
    t.reference,
    t.created_at AS paid_at
   FROM ((money.payments p
     JOIN delivery.deliveries d ON (((d.tenant_id = p.tenant_id) AND (d.id = p.delivery_id))))
     LEFT JOIN money.cash_transfers t ON (((t.tenant_id = p.tenant_id) AND (t.refund_id = p.id) AND (t.reversed_at IS NULL))))
  WHERE ((p.category = 'DELIVERY'::text) AND (p.type = 'REFUND'::text) AND (p.payment_method = 'cash'::text) AND (p.status <> 'CANCELLED'::text));

CREATE INDEX redirects_by ON delivery.redirects USING btree (redirected_by) WHERE (redirected_by IS NOT NULL);

CREATE INDEX redirects_delivery ON delivery.redirects USING btree (tenant_id, delivery_id, redirected_at);

CREATE TRIGGER audit_delete AFTER DELETE ON delivery.redirects REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_insert AFTER INSERT ON delivery.redirects REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE TRIGGER audit_update AFTER UPDATE ON delivery.redirects REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION private.audit('');

CREATE POLICY "tenant" ON "delivery"."redirects" FOR ALL TO "barid_caller" USING (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant))) WITH CHECK (((tenant_id = ( SELECT app.tenant_id() AS tenant_id)) AND ( SELECT app.sees_tenant() AS sees_tenant)));

CREATE POLICY "write_delete" ON "delivery"."redirects" AS RESTRICTIVE FOR DELETE TO "barid_caller" USING (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_insert" ON "delivery"."redirects" AS RESTRICTIVE FOR INSERT TO "barid_caller" WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

CREATE POLICY "write_update" ON "delivery"."redirects" AS RESTRICTIVE FOR UPDATE TO "barid_caller" USING (true) WITH CHECK (( SELECT app.sees_tenant() AS sees_tenant));

REVOKE ALL ON FUNCTION "delivery"."lock_redirected"(uuid, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_redirected"(uuid, timestamp with time zone) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."manifest_was_callers"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."manifest_was_callers"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."move_refused"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."move_refused"(text, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_again"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_again"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_at_door"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_at_door"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_at_pickup"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_at_pickup"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_differences"(delivery.deliveries, jsonb, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_differences"(delivery.deliveries, jsonb, numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_fee_again"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_fee_again"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_record"(delivery.deliveries, text, numeric, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_record"(delivery.deliveries, text, numeric, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_restore"(delivery.deliveries, jsonb, numeric, text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_restore"(delivery.deliveries, jsonb, numeric, text[]) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirect_settle"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirect_settle"(uuid, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirects_late"(delivery.deliveries, delivery.redirects[], text, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirects_late"(delivery.deliveries, delivery.redirects[], text, numeric) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."redirects_unheard"(uuid, timestamp with time zone, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."redirects_unheard"(uuid, timestamp with time zone, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."return_withdraw"(delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."return_withdraw"(delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."delivery_fee_unrefund"(uuid, timestamp with time zone, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."delivery_fee_unrefund"(uuid, timestamp with time zone, text) TO "barid_caller";

GRANT SELECT ON TABLE "delivery"."redirects" TO "barid_caller";

GRANT SELECT ON TABLE "money"."cash_refunds_list" TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261129163830';
end $$;

grant execute on function private.schema_version() to barid_api;
