-- Payouts of what drivers earned, and their reversal. The entrances are SECURITY DEFINER, since nobody may write these tables
-- otherwise: every statement names the caller's tenant. The desk or the wallet is locked before the driver's pay, as a completion
-- books cash before it books pay.

-- The sums of the list from the kept totals, {accrued, paid}; wanted: {driver_id?, currency?}, the tenant's currency unless it says another.
create or replace function money.driver_pay_sums(wanted jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('accrued', coalesce((t.by_status #>> '{accrued,amount}')::numeric, 0),
      'paid', coalesce((t.by_status #>> '{paid,amount}')::numeric, 0))
    from (select app.tally_by('driver_pay', 'status', jsonb_build_object('currency', (app.currency()).code) || wanted) as by_status offset 0) t);
end $$;

-- True when the caller may move money of wallets by hand.
create or replace function money.pays_into_wallets() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return app.grants() && '{role:tenant_admin,role:system_admin}';
end $$;

-- The accounts of a payout: what the driver is owed, where the pay comes from or goes to beside it, and what is outside.
--   payable  the driver's pay account
--   paid     the driver's wallet, or the desk of the one who pays; null: the payer has none
--   outside  for cash alone
create or replace function money.driver_payout_accounts(t money.driver_payouts, out payable uuid, out paid uuid, out outside uuid)
language plpgsql set search_path = '' as $$
begin
  payable := money.account_of('driver_payable', 'driver', t.driver_id, t.currency::text);
  if t.method = 'wallet' then
    paid := money.account_of('wallet', 'driver', t.driver_id, t.currency::text);
  else
    outside := money.account_of('external', 'tenant', null, t.currency::text);
    select a.id into paid from money.accounts a
    where a.tenant_id = t.tenant_id and a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id and a.currency = t.currency;
  end if;
end $$;

-- Pays a driver all that accrued until then, into the wallet or from the caller's desk; answers the payout's id, also to a repetition of
-- its key, for good. {driver_id, method, currency?, date_to?, reference?, notes?}
-- Fails: idempotency_conflict, forbidden (wallets are for administrators), driver_not_found, nothing_to_pay, insufficient_desk_cash.
create or replace function money.driver_payout_book(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_key text := app.request_setting('idempotency_key');
  v_hash bytea := sha256(convert_to(input::text, 'UTF8'));
  v_driver uuid := (input ->> 'driver_id')::uuid;
  v_currency text := coalesce(input ->> 'currency', (app.currency()).code);
  v_until timestamptz := coalesce(app.day_end(input ->> 'date_to'), 'infinity');
  v_pay uuid[];
  v_amount numeric;
  v_accounts record;
  t money.driver_payouts;
begin
  if v_key is not null then
    select x.* into t from money.driver_payouts x
    where x.tenant_id = v_tenant and x.actor_id = app.user_id() and x.idempotency_key = v_key;
    if found then
      if t.input_hash <> v_hash then
        perform app.fail('idempotency_conflict');
      end if;
      return t.id;
    end if;
  end if;
  if input ->> 'method' = 'wallet' and not money.pays_into_wallets() then
    perform app.fail('forbidden');
  end if;
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_driver) then
    perform app.fail('driver_not_found', '{"field": "driver_id"}');
  end if;
  -- Two payouts at once: the second waits here, and finds what the first one left.
  select array_agg(l.id), sum(l.amount) into v_pay, v_amount from (
    select p.id, p.amount from money.driver_pay p
    where p.tenant_id = v_tenant and p.driver_id = v_driver and p.currency = v_currency and p.status = 'accrued' and p.accrued_at < v_until
    order by p.id for no key update) l;
  if v_pay is null then
    perform app.fail('nothing_to_pay');
  end if;
  insert into money.driver_payouts (tenant_id, driver_id, method, amount, currency, accruals, reference, notes, actor_id, idempotency_key, input_hash)
  values (v_tenant, v_driver, input ->> 'method', v_amount, v_currency, cardinality(v_pay), input ->> 'reference', input ->> 'notes', app.user_id(),
    v_key, v_hash)
  returning * into t;
  update money.driver_pay p set status = 'paid', paid_at = t.paid_at, payout_id = t.id where p.tenant_id = v_tenant and p.id = any (v_pay);
  insert into money.driver_payout_items (tenant_id, payout_id, driver_pay_id, amount)
  select p.tenant_id, t.id, p.id, p.amount from money.driver_pay p where p.tenant_id = v_tenant and p.id = any (v_pay);
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'driver_pay.paid', 'source_module', 'delivery',
    'entity_type', 'driver_payout', 'entity_id', t.id, 'event_data', jsonb_build_object('payout_id', t.id, 'driver_id', v_driver, 'method', t.method,
      'amount', v_amount, 'currency', v_currency, 'count', t.accruals, 'reference', t.reference, 'actor_id', app.user_id()))));
  v_accounts := money.driver_payout_accounts(t);
  if t.method = 'wallet' then
    perform money.lock_balances(array[v_accounts.paid]);
    perform money.post_journal('driver_payout', 'driver_payout', t.id, 'Driver pay', array[v_accounts.payable, v_accounts.paid], array[-v_amount, v_amount]);
    return t.id;
  end if;
  if v_accounts.paid is null then
    perform app.fail('insufficient_desk_cash', jsonb_build_object('held', 0, 'currency', v_currency));
  end if;
  perform money.lock_cash_desk(v_accounts.paid, v_accounts.outside, v_amount, v_currency);
  perform money.post_journal('driver_payout_cash', 'driver_payout', t.id, 'Driver pay in cash',
    array[v_accounts.paid, v_accounts.outside], array[-v_amount, v_amount]);
  perform money.post_journal('driver_payout', 'driver_payout', t.id, 'Driver pay',
    array[v_accounts.payable, v_accounts.outside], array[-v_amount, v_amount]);
  return t.id;
end $$;

-- Reverses a payout by its mirror, once; its pay is accrued again. Cash comes back to the desk that paid it: for the one whose desk it is,
-- or an administrator; wallets are for administrators. {id, reason} -> its id
-- Fails: driver_payout_not_found, forbidden, driver_payout_already_reversed, insufficient_wallet_balance (the driver spent it).
create or replace function money.driver_payout_unbook(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_accounts record;
  t money.driver_payouts;
begin
  select x.* into t from money.driver_payouts x where x.tenant_id = v_tenant and x.id = (input ->> 'id')::uuid for no key update;
  if t.id is null then
    perform app.fail('driver_payout_not_found');
  elsif not money.pays_into_wallets() and (t.method = 'wallet' or t.actor_id <> app.user_id()) then
    perform app.fail('forbidden');
  elsif t.reversed_at is not null then
    perform app.fail('driver_payout_already_reversed');
  end if;
  update money.driver_payouts x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id;
  update money.driver_payout_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payout_id = t.id;
  perform from money.driver_pay p where p.tenant_id = v_tenant and p.payout_id = t.id order by p.id for no key update;
  update money.driver_pay p set status = 'accrued', paid_at = null, payout_id = null where p.tenant_id = v_tenant and p.payout_id = t.id;
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', 'driver_pay.reversed', 'source_module', 'delivery',
    'entity_type', 'driver_payout', 'entity_id', t.id, 'event_data', jsonb_build_object('payout_id', t.id, 'driver_id', t.driver_id, 'method', t.method,
      'amount', t.amount, 'currency', t.currency, 'count', t.accruals, 'reference', t.reference, 'reason', input ->> 'reason',
      'actor_id', app.user_id()))));
  v_accounts := money.driver_payout_accounts(t);
  perform money.lock_balances(array_remove(array[v_accounts.paid, v_accounts.outside], null));
  if t.method = 'cash' then
    perform money.reverse('driver_payout_cash', 'driver_payout', t.id, input ->> 'reason');
  end if;
  perform money.reverse('driver_payout', 'driver_payout', t.id, input ->> 'reason');
  return t.id;
end $$;

-- A payout as lists show it; null for one that the caller does not see.
create or replace function money.driver_payout_to_json(p_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (select to_jsonb(r) - '{driver_id,driver_name}'::text[] from money.driver_payouts_list r where r.id = p_id);
end $$;

-- {id} -> {payout}. Fails: driver_payout_not_found.
create or replace function money.driver_payout_get(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('payout', app.found(money.driver_payout_to_json((input ->> 'id')::uuid), 'driver_payout_not_found'));
end $$;

-- Pays out what a driver earned. See money.driver_payout_book. -> {payout}
create or replace function money.driver_payout(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.driver_payout_book(input);
begin
  return jsonb_build_object('payout', money.driver_payout_to_json(v_id));
end $$;

-- Reverses a payout. See money.driver_payout_unbook. -> {payout}
create or replace function money.driver_payout_reverse(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.driver_payout_unbook(input);
begin
  return jsonb_build_object('payout', money.driver_payout_to_json(v_id));
end $$;

-- The last guard against any writer: a payout is committed only with journals of its amount, and no desk gives by it what it does not hold.
create or replace function money.driver_payout_check() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_owed numeric;
  v_got numeric;
  v_short boolean;
  v_amount numeric := case when new.reversed_at is null then new.amount else 0 end;
begin
  select coalesce(sum(e.amount) filter (where a.kind = 'driver_payable'), 0),
    coalesce(sum(case a.kind when 'wallet' then e.amount else -e.amount end) filter (where a.kind in ('wallet', 'cash_on_hand')), 0),
    bool_or(a.kind = 'cash_on_hand' and e.amount < 0 and e.balance_after < 0) into v_owed, v_got, v_short
  from money.ledger_transactions j
  join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
  where j.tenant_id = new.tenant_id and j.reference_type = 'driver_payout' and j.reference_id = new.id
    and j.kind in ('driver_payout', 'driver_payout_cash', 'driver_payout_REVERSAL', 'driver_payout_cash_REVERSAL');
  if v_owed <> -v_amount or v_got <> v_amount then
    raise exception 'payout % has no journal of its amount', new.id using errcode = 'check_violation', constraint = 'driver_payout_booked';
  elsif v_short then
    raise exception 'payout % takes more than the desk holds', new.id using errcode = 'check_violation', constraint = 'insufficient_desk_cash';
  end if;
  return null;
end $$;

drop trigger if exists driver_payout_booked on money.driver_payouts;
create constraint trigger driver_payout_booked after insert or update of reversed_at, amount on money.driver_payouts
  deferrable initially deferred for each row execute function money.driver_payout_check();

-- Nobody calls these but other functions and triggers.
revoke execute on function money.driver_payout_check() from barid_caller;
