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
      'settlement_payment_id', h.settlement_payment_id, 'actor_id', app.user_id())
    || case event_type when 'cash_handover.resolved' then jsonb_build_object('resolution', h.resolution) else '{}' end)));
end $$;

-- Says what a driver puts on the desk. {driver_id? (office), amount, counted_amount? (office), notes?} -> handover
-- With a counted amount it is declared and counted in one step.
-- Fails: driver_not_found, driver_id_required, too_many_decimals, handover_already_declared {cash_handover_id, amount, currency}, forbidden.
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
  -- Of two at once the index refuses one, without its details.
  select h.* into v_row from money.cash_handovers h
  where h.tenant_id = app.tenant_id() and h.driver_id = v_driver and h.currency = v_currency and h.status = 'declared';
  if found then
    perform app.fail('handover_already_declared', jsonb_build_object('cash_handover_id', v_row.id, 'amount', v_row.declared_amount,
      'currency', v_row.currency, 'text_key', 'handover_waits_for_count'));
  end if;
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

-- Refuses people of the office who declared this cash themselves as a driver. Fails: own_cash.
create or replace function money.require_others_cash(h money.cash_handovers) returns void
language plpgsql stable set search_path = '' as $$
begin
  if h.driver_id = app.user_id() then
    perform app.fail('own_cash');
  end if;
end $$;

-- Counts what lies on the desk; office only, and somebody else than the driver. A difference makes a discrepancy and moves no balance.
-- {id, counted_amount, notes?} -> handover. Fails: handover_not_found, handover_not_declared, own_cash, too_many_decimals, forbidden.
create or replace function money.handover_count(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_counted numeric := (input ->> 'counted_amount')::numeric;
  v_row money.cash_handovers := money.lock_handover((input ->> 'id')::uuid, '{declared}', 'handover_not_declared');
begin
  perform money.require_others_cash(v_row);
  perform money.decimals_checked(v_counted, v_row.currency, 'counted_amount');
  update money.cash_handovers h set counted_amount = v_counted, counted_by = app.user_id(), counted_at = now(),
    status = case when v_counted = h.declared_amount then 'counted' else 'discrepancy' end,
    notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  perform money.handover_event_emit(case v_row.status when 'counted' then 'cash_handover.counted' else 'cash_handover.discrepancy' end, v_row);
  return money.handover_to_json(v_row);
end $$;

-- Ends a discrepancy; office only, and somebody else than the driver. {id, resolution, counted_amount? (recounted), notes?} -> handover
--   recounted    counted again; must now be what was declared
--   driver_owes  a shortage taken from the driver's wallet for the tenant's
--   written_off  a shortage the tenant bears
--   returned     too much on the desk, given back
-- Before the remittance nothing is booked: who bears the shortage is booked with the remittance (money.cod_book), where the cash is. A shortage
-- that was remitted meanwhile stands on the driver's shortage, and is taken from there; found after all, it comes to the desk that received the
-- rest.
-- Fails: handover_not_found, handover_not_in_discrepancy, invalid_resolution (also where the driver does not have the declared cash: it was
-- declared wrongly, and is cancelled), insufficient_wallet_balance, own_cash, forbidden.
create or replace function money.handover_resolve(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  v_row money.cash_handovers := money.lock_handover((input ->> 'id')::uuid, '{discrepancy}', 'handover_not_in_discrepancy');
  v_way text := input ->> 'resolution';
  v_counted numeric := coalesce((input ->> 'counted_amount')::numeric, v_row.counted_amount);
  v_short numeric := v_row.declared_amount - v_row.counted_amount;
  v_wallet money.accounts;
  s money.cod_settlements;
begin
  perform money.require_others_cash(v_row);
  if v_way = 'recounted' and v_counted <> v_row.declared_amount
    or v_way in ('driver_owes', 'written_off') and v_short <= 0
    or v_way = 'returned' and v_short >= 0 then
    perform app.fail('invalid_resolution', '{"field": "resolution"}');
  end if;
  select x.* into s from money.cod_settlements x where x.tenant_id = v_row.tenant_id and x.payment_id = v_row.settlement_payment_id;
  if v_way in ('driver_owes', 'written_off') and s.payment_id is null then
    if v_row.declared_amount > money.cash_in_hand(v_row.driver_id, v_row.currency) then
      perform app.fail('invalid_resolution', '{"field": "resolution", "text_key": "reason_declared_too_much"}');
    elsif v_way = 'driver_owes' then
      select a.* into v_wallet from money.accounts a where a.tenant_id = v_row.tenant_id and a.id = money.cod_wallet(v_row.driver_id, v_row.currency);
      if v_wallet.balance < v_short then
        perform money.wallet_short(v_wallet, -v_short);
      end if;
    end if;
  end if;
  update money.cash_handovers h set status = 'resolved', resolution = v_way, resolved_by = app.user_id(), resolved_at = now(),
    counted_amount = case v_way when 'recounted' then v_counted else h.counted_amount end,
    notes = coalesce(input ->> 'notes', h.notes)
  where h.tenant_id = v_row.tenant_id and h.id = v_row.id
  returning * into v_row;
  if s.shortage > 0 then
    perform money.post_journal('cash_shortage', 'cash_handover', v_row.id, 'Shortage of a cash handover',
      p.accounts, p.amounts)
    from money.shortage_borne(s, v_way) p;
  end if;
  perform money.handover_event_emit('cash_handover.resolved', v_row);
  return money.handover_to_json(v_row);
end $$;

-- The entries by which a shortage that stands on a driver ends.
--   recounted    it comes to the desk that received the rest
--   written_off  nobody has it
--   driver_owes  nobody has it, and the driver's wallet pays the tenant's for it
create or replace function money.shortage_borne(s money.cod_settlements, way text, out accounts uuid[], out amounts numeric[])
language plpgsql set search_path = '' as $$
begin
  accounts := array[money.account_of('driver_shortage', 'driver', s.driver_id, s.currency::text), case way
    when 'recounted' then money.desk_of(s.driver_id, s.receiver_id, s.currency::text)
    else money.account_of('external', 'tenant', null, s.currency::text) end];
  amounts := array[-s.shortage, s.shortage];
  if way = 'driver_owes' then
    accounts := accounts || money.cod_wallet(s.driver_id, s.currency::text) || money.account_of('wallet', 'tenant', null, s.currency::text);
    amounts := amounts || -s.shortage || s.shortage;
  end if;
end $$;

-- Cancels a handover that was declared or counted wrongly, before it is remitted; no balance moves and the cash may be
-- declared anew. Drivers cancel their own until it is counted, the office also after the count and after a discrepancy is resolved.
-- {id, notes?} -> handover
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
      or money.settles_for_office() and v_row.status in ('counted', 'discrepancy', 'resolved')) then
    perform app.fail('handover_not_cancellable', jsonb_build_object('from', v_row.status));
  end if;
  return money.handover_to_json(money.handover_end(v_row, null, input ->> 'notes'));
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

-- The handover whose cash a remittance of this total is, of those of its driver that wait (money.lock_open_handovers): the oldest that was counted
-- or resolved, else one with a shortage that nobody has resolved yet, else, where the office remits, one that nobody has counted; null: none.
-- Where the tenant requires a handover (setting delivery.cod.require_handover), only the first will do. Fails: cash_handover_required, which says
-- so when this cash was counted with a difference that is open.
create or replace function money.handover_of(driver uuid, open money.cash_handovers[], total numeric, p_currency text) returns money.cash_handovers
language plpgsql stable set search_path = '' as $$
declare
  v_required boolean := app.boolean_or(app.settings('delivery', 'cod') -> 'require_handover', false);
  v_row money.cash_handovers;
begin
  -- Most remittances have none.
  if open <> '{}' then
    select h.* into v_row from unnest(open) h
    where h.declared_amount = total
      and (h.status in ('counted', 'resolved') or not v_required
        and (h.status = 'discrepancy' or money.settles_for_office() and handover_of.driver is distinct from app.user_id()))
    order by h.status = 'declared', h.status = 'discrepancy', h.created_at limit 1;
  end if;
  if v_row.id is null and v_required then
    perform app.fail('cash_handover_required', jsonb_build_object('amount', total, 'currency', p_currency) || case when exists (
        select from money.cash_handovers h
        where h.tenant_id = app.tenant_id() and h.driver_id = driver and h.currency = p_currency and h.declared_amount = total and h.status = 'discrepancy')
      then '{"text_key": "reason_handover_differs"}' else '{}' end::jsonb);
  end if;
  return v_row;
end $$;

-- Ends what a settlement leaves no cash for. The handover that it used, null: none, is this settlement's; somebody of the office who
-- remits one that was only declared has counted it. Others of the driver are cancelled if they are this cash, or more than what the driver
-- still has: nothing is left to count or to remit, and the driver could declare nothing else. A settlement that used none is named by the
-- oldest of these. `open` are those that waited when the settlement looked for its handover: one that is declared from then on comes after it.
create or replace function money.handovers_settle(s money.cod_settlements, used money.cash_handovers, open money.cash_handovers[]) returns void
language plpgsql set search_path = '' as $$
declare
  v_ended money.cash_handovers[];
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
    end if;
  end if;
  v_ended := money.handovers_uncovered(array(select h from unnest(open) h where h.id is distinct from used.id),
    case when used.id is null and s.method = 'remit' then s.total end);
  foreach v_row in array v_ended loop
    perform money.handover_end(v_row, case when used.id is null and v_row.id = v_ended[1].id then s.payment_id end, null);
  end loop;
end $$;

-- The handovers of a driver that wait for their remittance, locked, the oldest first. One that another transaction counts, resolves or cancels is
-- waited for: a shortage is booked once, and one that was skipped would be remitted by nobody. What lies too much on the desk is given back whatever
-- became of the rest, so such a discrepancy is none of them.
create or replace function money.lock_open_handovers(driver uuid, p_currency text) returns money.cash_handovers[]
language plpgsql set search_path = '' as $$
declare
  v_open money.cash_handovers[];
begin
  select array_agg(o order by o.created_at, o.id) into v_open from (
    select x.* from money.cash_handovers x
    where x.tenant_id = app.tenant_id() and x.driver_id = driver and x.currency = p_currency and x.settlement_payment_id is null
      and (x.status in ('declared', 'counted', 'resolved') or x.status = 'discrepancy' and x.counted_amount < x.declared_amount)
    order by x.id for no key update) o;
  return coalesce(v_open, '{}');
end $$;

-- Of these handovers, which are locked, those that their driver's cash does not cover: it is given to the older ones first. Also one that is only
-- declared and for the amount `declared`, null: none.
create or replace function money.handovers_uncovered(open money.cash_handovers[], declared numeric) returns money.cash_handovers[]
language plpgsql set search_path = '' as $$
declare
  v_uncovered money.cash_handovers[] := '{}';
  v_left numeric;
  h money.cash_handovers;
begin
  if open = '{}' then
    return v_uncovered;
  end if;
  v_left := money.cash_in_hand(open[1].driver_id, open[1].currency);
  foreach h in array open loop
    if h.declared_amount > v_left or h.status = 'declared' and h.declared_amount = declared then
      v_uncovered := v_uncovered || h;
    else
      v_left := v_left - h.declared_amount;
    end if;
  end loop;
  return v_uncovered;
end $$;

-- Cancels what the driver declared where they have less cash than that since an outcome was undone. What was counted lies on a desk, in
-- nobody's books before it is remitted: it has to be remitted, or its handover cancelled, before the undo. Called last,
-- when accounts are held already; so are the handovers, by delivery.lock_outcome_effects. SECURITY DEFINER: operations undo outcomes, and see no
-- cash. Fails: outcome_is_settled.
create or replace function money.handover_uncovered(driver uuid, p_currency text) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_row money.cash_handovers;
begin
  for v_row in select h.* from unnest(money.handovers_uncovered(money.lock_open_handovers(driver, p_currency), null)) h loop
    if v_row.status <> 'declared' then
      perform app.fail('outcome_is_settled', '{"text_key": "reason_cash_is_counted"}');
    end if;
    perform money.handover_end(v_row, null, null);
  end loop;
end $$;

-- The cash of the caller's tenant that a driver took and has not settled.
create or replace function money.cash_in_hand(driver uuid, p_currency text) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(sum(c.amount), 0) from money.cod_collections c
    where c.tenant_id = app.tenant_id() and c.driver_id = driver and c.currency = p_currency and c.status = 'collected' and c.reversed_at is null);
end $$;

-- Cancels a handover that is locked; `settlement` is what took its cash, null: nothing did. Who counted it is notified unless they do it
-- themselves: the cash that they counted is not what a remittance says. -> it
create or replace function money.handover_end(h money.cash_handovers, settlement uuid, p_notes text) returns money.cash_handovers
language plpgsql set search_path = '' as $$
declare
  v_row money.cash_handovers;
begin
  if money.shortage_is_booked(h) then
    perform money.reverse('cash_shortage', 'cash_handover', h.id, 'Shortage of a cash handover');
  end if;
  update money.cash_handovers x set status = 'cancelled', settlement_payment_id = settlement, notes = coalesce(p_notes, x.notes)
  where x.tenant_id = h.tenant_id and x.id = h.id
  returning * into v_row;
  perform money.handover_event_emit('cash_handover.cancelled', v_row);
  if v_row.counted_by <> app.user_id() then
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    select u.tenant_id, u.user_id, 'cash_count_cancelled', jsonb_build_object('cash_handover_id', v_row.id,
      'driver_id', v_row.driver_id, 'amount', v_row.counted_amount, 'currency', v_row.currency)
    -- An administrator of the system counts where they are no member.
    from tenancy.tenant_users u where u.tenant_id = v_row.tenant_id and u.user_id = v_row.counted_by;
  end if;
  return v_row;
end $$;

-- True when the shortage of a handover is in the books already: it was resolved after its remittance, or, up to 1.6.0, before that.
create or replace function money.shortage_is_booked(h money.cash_handovers) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from money.ledger_transactions t
    where t.tenant_id = h.tenant_id and t.kind = 'cash_shortage' and t.reference_type = 'cash_handover' and t.reference_id = h.id);
end $$;
