-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
-- The functions that go are dropped by calls_end_first, when the calls that may look for them have ended.
-- Before: b26bd52bd95ca80df097a98ad558a57a25b8b1863df537bd9fdbeabcdd4898ef
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION app.currency(OUT code text, OUT decimals integer)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_chosen jsonb := app.settings('general', 'currency');
begin
  code := coalesce(v_chosen ->> 'currency_code', 'IQD');
  decimals := coalesce((v_chosen ->> 'decimals')::integer, case when code = 'IQD' then 0 end,
    (select c.exponent from tenancy.currencies c where c.code = currency.code), 2);
end $function$;

CREATE OR REPLACE FUNCTION delivery.lock_for_undo(p_delivery uuid)
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
 SECURITY DEFINER
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
  perform app.events_add(jsonb_build_array(jsonb_build_object('source_module', 'delivery', 'event_type', 'delivery.outcome_undone',
    'entity_type', 'delivery', 'entity_id', v_parcel.id, 'event_data', jsonb_build_object('delivery_id', v_parcel.id,
      'delivery_code', v_parcel.delivery_code, 'result', o.result, 'reason', input ->> 'reason', 'actor_id', app.user_id()))));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, o.driver_id, 'outcome_undone', jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'result', o.result)
  where o.driver_id <> app.user_id();
  -- Last: it locks accounts, as the accrual does.
  perform money.driver_pay_unaccrue(d.id, input ->> 'reason');
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
begin
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

CREATE OR REPLACE FUNCTION money.carrier_remittance_reverse(input jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_rows uuid[];
  r money.carrier_remittances;
begin
  if not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  end if;
  select x.* into r from money.carrier_remittances x
  where x.tenant_id = v_tenant and x.id = (input ->> 'remittance_id')::uuid and x.carrier_code = input ->> 'carrier_code'
  for no key update;
  if r.id is null then
    perform app.fail('remittance_not_found');
  elsif r.reversed_at is not null then
    perform app.fail('remittance_already_reversed');
  end if;
  -- In the order of their ids, as whoever enters a payment holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.carrier_collections c where c.tenant_id = v_tenant and c.remittance_id = r.id order by c.id for no key update) l;
  update money.carrier_collections c set status = 'owed', remitted_at = null, remittance_id = null
  where c.tenant_id = v_tenant and c.remittance_id = r.id;
  update money.carrier_remittances x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = r.id
  returning * into r;
  perform money.carrier_remittance_event_emit('carrier_remittance.reversed', r);
  perform money.lock_returned_cash(money.account_of('cash_on_hand', 'tenant', null, r.currency::text),
    money.account_of('carrier_cash', 'carrier', null, r.currency::text, r.carrier_code), r.amount, r.currency::text);
  perform money.reverse('carrier_remittance', 'carrier_remittance', r.id, input ->> 'reason');
  perform money.cod_holds_again('carrier_collection', v_rows);
  return money.carrier_remittance_left(r);
end $function$;

CREATE OR REPLACE FUNCTION money.cash_in(tenant uuid, kind text, ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION money.cod_hold(kind text, row_id uuid, wallet uuid, amount numeric)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION money.cod_hold_end(row_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
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
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform money.cod_holds_follow(app.tenant_id(), kind, ids);
end $function$;

REVOKE ALL ON FUNCTION "money"."cod_holds_again"(text, uuid[]) FROM "barid_caller";

CREATE OR REPLACE FUNCTION money.cod_holds_follow(tenant uuid, kind text, ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION money.cod_unsettle(input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_tenant uuid := app.tenant_id();
  v_short numeric;
  v_rows uuid[];
  s money.cod_settlements;
begin
  if not money.settles_for_office() then
    perform app.fail('forbidden');
  end if;
  -- Of two reversals the later one waits for the driver, and finds it done; and whoever settles all of his cash does so
  -- before this or after it.
  perform from delivery.drivers d
  where d.tenant_id = v_tenant and d.user_id = (select x.driver_id from money.cod_settlements x
    where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid) for no key update;
  select x.* into s from money.cod_settlements x
  where x.tenant_id = v_tenant and x.payment_id = (input ->> 'settlement_payment_id')::uuid;
  if s.payment_id is null then
    perform app.fail('settlement_not_found');
  elsif s.actor_id <> app.user_id() and s.receiver_id is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif s.reversed_at is not null then
    perform app.fail('settlement_already_reversed');
  elsif s.historical then
    perform app.fail('settlement_not_reversible');
  end if;
  -- In the order of their ids, as whoever settles holds them.
  select array_agg(l.id) into v_rows from (
    select c.id from money.cod_collections c
    where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id order by c.id for no key update) l;
  update money.cod_collections c set status = 'collected', remitted_at = null, settled_at = null, remitted_to_user_id = null,
    settlement_payment_id = null
  where c.tenant_id = v_tenant and c.settlement_payment_id = s.payment_id;
  update money.cod_settlement_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payment_id = s.payment_id;
  update money.cod_settlements x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.payment_id = s.payment_id
  returning * into s;
  update money.payments p set status = 'CANCELLED' where p.tenant_id = v_tenant and p.id = s.payment_id;
  v_short := money.handover_free(s);
  perform money.receipt_reissue(s.payment_id);
  perform money.cod_reversal_event_emit(s);
  if s.method = 'remit' then
    perform money.lock_returned_cash(money.desk_of(s.driver_id, s.receiver_id, s.currency::text),
      money.account_of('driver_cash', 'driver', s.driver_id, s.currency::text), s.total - s.shortage - v_short, s.currency::text);
  end if;
  perform money.reverse('cod_settlement', 'payment', s.payment_id, input ->> 'reason');
  if s.method = 'remit' then
    perform money.cod_holds_again('cod_collection', v_rows);
  end if;
  return s.payment_id;
end $function$;

REVOKE ALL ON FUNCTION "delivery"."lock_for_undo"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."lock_for_undo"(uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "delivery"."outcome_reassign"(delivery.outcomes, delivery.deliveries) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."outcome_reassign"(delivery.outcomes, delivery.deliveries) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."cod_holds_again"(text, uuid[]) FROM PUBLIC;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261125205029';
end $$;

grant execute on function private.schema_version() to barid_api;
