-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.amount_at_door(p delivery.deliveries, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_changes delivery.amount_changes[];
  v_kept jsonb;
  v_id uuid;
begin
  perform app.require_tenant(p.tenant_id);
  -- Its amount is as it was ordered, as that of most parcels; what a carrier reports is for the amount that it was booked with.
  if p.ordered_cod_amount is null or input ->> 'occurred_at' is null or delivery.shipment_lives(p.id) then
    return null;
  end if;
  v_changes := array(select c from delivery.amount_changes_unheard(p.id, app.instant(input ->> 'occurred_at'), app.user_id()) c);
  v_kept := (delivery.amount_agreed(p.id, v_changes[1].decided_at)).kept_items;
  if v_changes = '{}' or (input #>> '{cash_collected,cod}')::numeric = p.cod_amount
      or v_changes[1].old_cod_amount = p.cod_amount and v_kept is not distinct from delivery.kept_items_agreed(p.id) then
    return null;
  end if;
  v_id := delivery.amount_write(p, v_changes[1].old_cod_amount, v_kept, 'as_at_door');
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select p.tenant_id, c.decided_by, 'amount_change_late', jsonb_build_object('delivery_id', p.id, 'delivery_code', p.delivery_code,
    'amount_change_id', v_id, 'amount', v_changes[1].old_cod_amount, 'currency', p.currency)
  from (select distinct x.decided_by from unnest(v_changes) x where x.decided_by <> app.user_id()) c;
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_changes_unheard(parcel uuid, since timestamp with time zone, reporter uuid)
 RETURNS SETOF delivery.amount_changes
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
  select c.* from delivery.amount_changes c
  where c.tenant_id = app.tenant_id() and c.delivery_id = parcel and c.status = 'approved' and c.decided_at > since
    and not exists (select from delivery.amount_changes x
      where x.tenant_id = c.tenant_id and x.delivery_id = parcel and x.status = 'approved' and x.decided_at > since and x.requested_by = reporter)
  order by c.decided_at, c.id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.amount_write(p delivery.deliveries, amount numeric, kept jsonb, p_reason text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_id uuid;
begin
  insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status, requested_by,
    decided_by, decided_at)
  values (app.tenant_id(), p.id, p.cod_amount, amount, p.currency, p_reason, kept, 'approved', app.user_id(), app.user_id(), clock_timestamp())
  returning id into v_id;
  perform delivery.amount_change_apply(v_id);
  return v_id;
end $function$;

CREATE OR REPLACE FUNCTION delivery.cod_of_kept(p delivery.deliveries, kept jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_amount numeric;
begin
  if delivery.is_agreed_for(p.id, kept) or p.cod_amount = 0 then
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
  v_cash jsonb := delivery.cash_summary(money.cash_to_take(d, 'dropoff'));
  v_change uuid := (input ->> 'amount_change_id')::uuid;
  v_shipment uuid;
begin
  perform delivery.require_move(d, '{picked_up,in_transit}', 'delivered');
  perform delivery.require_off_waybill(d, a, 'delivered');
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
  -- The numbers of receipts come after its order, and before the wallets that its cash moves.
  if v_warehouse is not null then
    perform app.lock_numbers('receiving_order', true);
  elsif d.order_id is not null then
    perform storefront.lock_receipt_numbers(d.id);
  end if;
  perform delivery.delivery_proofs_keep(d, 'delivery', input -> 'proof', coalesce(input ->> 'proof_field', 'proof'));
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
  perform delivery.outcome_record(d, coalesce(input ->> 'result', 'delivered'), v_change);
  perform storefront.orders_settle();
  perform money.driver_pay_accrue(d.id, a.driver_id);
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id), 'cash', v_cash);
end $function$;

CREATE OR REPLACE FUNCTION delivery.is_agreed_for(parcel uuid, kept jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_agreed jsonb := delivery.kept_items_agreed(parcel);
begin
  return v_agreed @> kept and kept @> v_agreed;
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_undo(parcel uuid, o delivery.outcomes, p_reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  p delivery.deliveries;
  c delivery.amount_changes;
begin
  select * into c from delivery.amount_changes x
  where x.tenant_id = app.tenant_id() and x.delivery_id = kept_amount_undo.parcel and x.status = 'approved'
    -- Outcomes that do not name their change are older than the naming: it is the first one since.
    and case when o.before ? 'amount_change_id' then x.id = (o.before ->> 'amount_change_id')::uuid else x.decided_at >= o.created_at end
  order by x.decided_at limit 1;
  if found then
    select * into strict p from delivery.deliveries x where x.tenant_id = app.tenant_id() and x.id = kept_amount_undo.parcel;
    perform delivery.amount_write(p, c.old_cod_amount, (delivery.amount_agreed(p.id, c.decided_at)).kept_items, p_reason);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION delivery.kept_amount_write(p delivery.deliveries, amount numeric, kept jsonb, p_reason text)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if amount = p.cod_amount then
    return null;
  end if;
  return delivery.amount_write(p, amount, kept, p_reason);
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
end $function$;

REVOKE ALL ON FUNCTION "delivery"."amount_at_door"(delivery.deliveries, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_at_door"(delivery.deliveries, jsonb) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_changes_unheard"(uuid, timestamp with time zone, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_changes_unheard"(uuid, timestamp with time zone, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."amount_write"(delivery.deliveries, numeric, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."amount_write"(delivery.deliveries, numeric, jsonb, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."is_agreed_for"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."is_agreed_for"(uuid, jsonb) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261128093415';
end $$;

grant execute on function private.schema_version() to barid_api;
