-- Cash put on the desk before it is remitted: declared by the driver, counted by the office. SECURITY DEFINER functions with
-- a tenant clause of their own, as all writers of cash.

-- A handover as it is answered.
create or replace function money.handover_to_json(h money.cash_handovers) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('id', h.id, 'driver', money.person(h.driver_id), 'currency', h.currency, 'status', h.status,
    'declared_amount', h.declared_amount, 'counted_amount', h.counted_amount,
    'difference', h.counted_amount - h.declared_amount, 'resolution', h.resolution, 'notes', h.notes,
    'counted_by', money.person(h.counted_by), 'counted_at', h.counted_at, 'resolved_by', money.person(h.resolved_by),
    'resolved_at', h.resolved_at, 'settlement_payment_id', h.settlement_payment_id, 'created_at', h.created_at);
end $$;

-- Emits the system event of a handover's new state.
create or replace function money.handover_event_emit(event_type text, h money.cash_handovers) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'delivery',
    'entity_type', 'cash_handover', 'entity_id', h.id, 'event_data', jsonb_build_object('cash_handover_id', h.id,
      'driver_id', h.driver_id, 'declared_amount', h.declared_amount, 'counted_amount', h.counted_amount, 'currency', h.currency,
      'settlement_payment_id', h.settlement_payment_id, 'actor_id', app.user_id()))));
end $$;

-- Says what a driver puts on the desk. {driver_id? (office), amount, counted_amount? (office), notes?} -> handover
-- With a counted amount it is declared and counted in one step.
-- Fails: driver_not_found, driver_id_required, too_many_decimals, handover_already_declared, forbidden.
create or replace function money.handover_declare(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_driver uuid := money.cod_driver(input ->> 'driver_id');
  v_currency text := (app.currency()).code;
  v_row money.cash_handovers;
begin
  if v_driver is null then
    perform app.fail('driver_id_required', '{"field": "driver_id"}');
  end if;
  perform money.decimals_checked((input ->> 'amount')::numeric, v_currency, 'amount');
  insert into money.cash_handovers (tenant_id, driver_id, currency, declared_amount, notes, declared_by)
  values (app.tenant_id(), v_driver, v_currency, (input ->> 'amount')::numeric, input ->> 'notes', app.user_id())
  returning * into v_row;
  if input ->> 'counted_amount' is not null then
    return money.handover_count(jsonb_build_object('id', v_row.id, 'counted_amount', input -> 'counted_amount'));
  end if;
  return money.handover_to_json(v_row);
end $$;

-- Fails: too_many_decimals.
create or replace function money.decimals_checked(amount numeric, currency text, field text) returns void
language plpgsql stable set search_path = '' as $$
declare
  v_decimals integer := money.decimals_of(currency);
begin
  if amount <> round(amount, v_decimals) then
    perform app.fail('too_many_decimals', jsonb_build_object('field', field, 'currency', currency, 'decimals', v_decimals));
  end if;
end $$;

-- Counts what lies on the desk; office only. A difference makes a discrepancy and moves no balance.
-- {id, counted_amount, notes?} -> handover. Fails: handover_not_found, handover_not_declared, too_many_decimals, forbidden.
create or replace function money.handover_count(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_counted numeric := (input ->> 'counted_amount')::numeric;
  v_row money.cash_handovers := money.lock_handover((input ->> 'id')::uuid, '{declared}', 'handover_not_declared');
begin
  perform money.decimals_checked(v_counted, v_row.currency, 'counted_amount');
  update money.cash_handovers h set counted_amount = v_counted, counted_by = app.user_id(), counted_at = now(),
    status = case when v_counted = h.declared_amount then 'counted' else 'discrepancy' end,
    notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  perform money.handover_event_emit(case v_row.status when 'counted' then 'cash_handover.counted' else 'cash_handover.discrepancy' end, v_row);
  return money.handover_to_json(v_row);
end $$;

-- Ends a discrepancy; office only. {id, resolution, counted_amount? (recounted), notes?} -> handover
--   recounted    counted again; must now be what was declared
--   driver_owes  a shortage taken from the driver's wallet for the tenant's
--   written_off  a shortage the tenant bears
--   returned     too much on the desk, given back
-- A shortage never reached the desk: the counter's cash is lowered by it, or the tenant's own till where the counter is no
-- member of the tenant. Then the declared sum is covered. One that was remitted meanwhile stands on the driver's shortage, and
-- is taken from there; found after all, it comes to the desk that received the rest.
-- Fails: handover_not_found, handover_not_in_discrepancy, invalid_resolution, insufficient_wallet_balance, forbidden.
create or replace function money.handover_resolve(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_row money.cash_handovers := money.lock_handover((input ->> 'id')::uuid, '{discrepancy}', 'handover_not_in_discrepancy');
  v_way text := input ->> 'resolution';
  v_counted numeric := coalesce((input ->> 'counted_amount')::numeric, v_row.counted_amount);
  v_short numeric := v_row.declared_amount - v_row.counted_amount;
  v_line jsonb;
  v_from uuid;
  s money.cod_settlements;
begin
  if v_way = 'recounted' and v_counted <> v_row.declared_amount
    or v_way in ('driver_owes', 'written_off') and v_short <= 0
    or v_way = 'returned' and v_short >= 0 then
    perform app.fail('invalid_resolution', '{"field": "resolution"}');
  end if;
  update money.cash_handovers h set status = 'resolved', resolution = v_way, resolved_by = app.user_id(), resolved_at = now(),
    counted_amount = case v_way when 'recounted' then v_counted else h.counted_amount end,
    notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  select x.* into s from money.cod_settlements x where x.tenant_id = v_row.tenant_id and x.payment_id = v_row.settlement_payment_id;
  if v_way in ('driver_owes', 'written_off') or s.shortage > 0 then
    v_line := jsonb_build_object('journal', v_row.id, 'kind', 'cash_shortage', 'reference_type', 'cash_handover', 'reference_id', v_row.id,
      'description', 'Shortage of a cash handover');
    v_from := case
      when s.shortage > 0 then money.account_of('driver_shortage', 'driver', v_row.driver_id, v_row.currency)
      when exists (select from tenancy.tenant_users u where u.tenant_id = v_row.tenant_id and u.user_id = v_row.counted_by)
        then money.account_of('cash_on_hand', 'staff', v_row.counted_by, v_row.currency)
      else money.account_of('cash_on_hand', 'tenant', null, v_row.currency) end;
    perform money.post(jsonb_build_array(
        v_line || jsonb_build_object('amount', -v_short, 'account_id', v_from),
        v_line || jsonb_build_object('amount', v_short, 'account_id', case v_way
          when 'recounted' then money.desk_of(s.driver_id, s.receiver_id, v_row.currency::text)
          else money.account_of('external', 'tenant', null, v_row.currency) end))
      || case v_way when 'driver_owes' then jsonb_build_array(
        v_line || jsonb_build_object('amount', -v_short, 'account_id', money.cod_wallet(v_row.driver_id, v_row.currency)),
        v_line || jsonb_build_object('amount', v_short, 'account_id', money.account_of('wallet', 'tenant', null, v_row.currency)))
        else '[]' end);
  end if;
  return money.handover_to_json(v_row);
end $$;

-- Cancels a handover that was declared or counted wrongly, before it is remitted; no balance moves and the cash may be
-- declared anew. Drivers cancel their own until it is counted, the office also after the count. {id, notes?} -> handover
-- Fails: handover_not_found, handover_not_cancellable.
create or replace function money.handover_cancel(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_row money.cash_handovers;
begin
  select h.* into v_row from money.cash_handovers h
  where h.tenant_id = app.tenant_id() and h.id = (input ->> 'id')::uuid and (money.settles_for_office() or h.driver_id = app.user_id())
  for no key update;
  if v_row.id is null then
    perform app.fail('handover_not_found');
  elsif v_row.settlement_payment_id is not null or not (v_row.status = 'declared'
      or money.settles_for_office() and v_row.status in ('counted', 'discrepancy')) then
    perform app.fail('handover_not_cancellable', jsonb_build_object('from', v_row.status));
  end if;
  update money.cash_handovers h set status = 'cancelled', notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  perform money.handover_event_emit('cash_handover.cancelled', v_row);
  return money.handover_to_json(v_row);
end $$;

-- The handover, locked, for the office. Fails: forbidden, handover_not_found, or the code that is given.
create or replace function money.lock_handover(id uuid, states text[], otherwise text) returns money.cash_handovers
language plpgsql set search_path = '' as $$
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
end $$;

-- The handover whose cash a remittance is, locked: one that was counted or resolved, else one with a shortage that nobody has
-- resolved yet, else, where the office remits, one that nobody has counted; null: none. Where the tenant requires a handover
-- (setting delivery.cod.require_handover), only the first will do.
-- Fails: cash_handover_required.
create or replace function money.handover_of(driver uuid, currency text, total numeric) returns money.cash_handovers
language plpgsql set search_path = '' as $$
#variable_conflict use_column
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_office boolean := money.settles_for_office();
  v_row money.cash_handovers;
begin
  select u.* into v_row from money.cash_handovers u
  where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
    and u.status in ('counted', 'resolved') and u.settlement_payment_id is null and u.declared_amount = total
  -- A row that another transaction has locked is waited for: one that was skipped would be remitted by nobody.
  order by u.created_at limit 1 for no key update;
  if v_row.id is null and not v_required then
    -- A transaction that counts, resolves or cancels it is waited for as well: a shortage is booked once, and one that was
    -- counted in full meanwhile is this remittance's all the same.
    select u.* into v_row from money.cash_handovers u
    where u.tenant_id = app.tenant_id() and u.driver_id = driver and u.currency = handover_of.currency
      and (u.status = 'discrepancy' and u.counted_amount < u.declared_amount or u.status in ('counted', 'resolved')
        or u.status = 'declared' and v_office)
      and u.settlement_payment_id is null and u.declared_amount = total
    order by u.status = 'declared', u.created_at limit 1 for no key update;
  elsif v_row.id is null then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', handover_of.currency));
  end if;
  return v_row;
end $$;

-- Ends what a settlement leaves no cash for. The handover that it used, null: none, is this settlement's; somebody of the office who
-- remits one that was only declared has counted it. Another one of the driver that is only declared is cancelled if it is this
-- cash, or more than what the driver still has: nothing is left to count, and the driver could declare nothing else.
create or replace function money.handovers_settle(s money.cod_settlements, used money.cash_handovers) returns void
language plpgsql set search_path = '' as $$
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
end $$;

-- Cancels what the driver declared and nobody has counted where the driver has less cash than that since an outcome was undone. Called last,
-- as by settlements: accounts are held already. SECURITY DEFINER: operations undo outcomes, and see no cash.
create or replace function money.handover_uncovered(driver uuid, p_currency text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_row money.cash_handovers := money.lock_declared(driver, p_currency);
begin
  if v_row.declared_amount > money.cash_in_hand(driver, p_currency) then
    perform money.handover_end(v_row, null);
  end if;
end $$;

-- Locks the handover that a driver of the caller's tenant declared and nobody has counted. -> null where there is none.
create or replace function money.lock_declared(driver uuid, p_currency text) returns money.cash_handovers
language plpgsql set search_path = '' as $$
declare
  v_row money.cash_handovers;
begin
  select h.* into v_row from money.cash_handovers h
  where h.tenant_id = app.tenant_id() and h.driver_id = driver and h.currency = p_currency and h.status = 'declared'
  for no key update;
  return v_row;
end $$;

-- The cash of the caller's tenant that a driver took and has not settled.
create or replace function money.cash_in_hand(driver uuid, p_currency text) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(sum(c.amount), 0) from money.cod_collections c
    where c.tenant_id = app.tenant_id() and c.driver_id = driver and c.currency = p_currency and c.status = 'collected' and c.reversed_at is null);
end $$;

-- Cancels a handover that is locked; `settlement` is what took its cash, null: nothing did.
create or replace function money.handover_end(h money.cash_handovers, settlement uuid) returns void
language plpgsql set search_path = '' as $$
declare
  v_row money.cash_handovers;
begin
  update money.cash_handovers x set status = 'cancelled', settlement_payment_id = settlement
  where x.tenant_id = h.tenant_id and x.id = h.id
  returning * into v_row;
  perform money.handover_event_emit('cash_handover.cancelled', v_row);
end $$;
