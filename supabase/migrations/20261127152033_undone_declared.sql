-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

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
  if v_cash <> '{"cod": 0, "delivery_fee": 0}' then
    perform money.handover_uncovered(o.driver_id, v_parcel.currency);
  end if;
  return jsonb_build_object('delivery', delivery.delivery_to_json(d.id),
    'cash', v_cash || jsonb_build_object('currency', v_parcel.currency));
end $function$;

CREATE OR REPLACE FUNCTION money.cash_in_hand(driver uuid, p_currency text)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select coalesce(sum(c.amount), 0) from money.cod_collections c
    where c.tenant_id = app.tenant_id() and c.driver_id = driver and c.currency = p_currency and c.status = 'collected' and c.reversed_at is null);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_end(h money.cash_handovers, settlement uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  update money.cash_handovers x set status = 'cancelled', settlement_payment_id = settlement
  where x.tenant_id = h.tenant_id and x.id = h.id
  returning * into v_row;
  perform money.handover_event_emit('cash_handover.cancelled', v_row);
end $function$;

CREATE OR REPLACE FUNCTION money.handover_uncovered(driver uuid, p_currency text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers := money.lock_declared(driver, p_currency);
begin
  if v_row.declared_amount > money.cash_in_hand(driver, p_currency) then
    perform money.handover_end(v_row, null);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.handovers_settle(s money.cod_settlements, used money.cash_handovers)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  if used.id is not null then
    update money.cash_handovers h set settlement_payment_id = s.payment_id,
      status = case h.status when 'declared' then 'counted' else h.status end,
      counted_amount = coalesce(h.counted_amount, h.declared_amount),
      counted_by = case h.status when 'declared' then s.actor_id else h.counted_by end, counted_at = coalesce(h.counted_at, now())
    where h.tenant_id = s.tenant_id and h.id = used.id
    returning * into v_row;
    if used.status = 'declared' then
      perform money.handover_event_emit('cash_handover.counted', v_row);
      return;
    end if;
  end if;
  -- Of two settlements the later one waits here, and its next statement reads what the earlier one left.
  v_row := money.lock_declared(s.driver_id, s.currency);
  if v_row.id is null then
    return;
  end if;
  if v_row.declared_amount > money.cash_in_hand(s.driver_id, s.currency)
    or v_row.declared_amount = s.total and s.method = 'remit' and used.id is null then
    perform money.handover_end(v_row, case when used.id is null then s.payment_id end);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION money.lock_declared(driver uuid, p_currency text)
 RETURNS money.cash_handovers
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  v_row money.cash_handovers;
begin
  select h.* into v_row from money.cash_handovers h
  where h.tenant_id = app.tenant_id() and h.driver_id = driver and h.currency = p_currency and h.status = 'declared'
  for no key update;
  return v_row;
end $function$;

REVOKE ALL ON FUNCTION "money"."cash_in_hand"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."cash_in_hand"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."handover_end"(money.cash_handovers, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handover_end"(money.cash_handovers, uuid) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."handover_uncovered"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."handover_uncovered"(uuid, text) TO "barid_caller";

REVOKE ALL ON FUNCTION "money"."lock_declared"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "money"."lock_declared"(uuid, text) TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127152033';
end $$;

grant execute on function private.schema_version() to barid_api;
