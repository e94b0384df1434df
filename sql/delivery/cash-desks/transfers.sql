-- Cash that leaves a desk of the office or comes to one. The entrances are SECURITY DEFINER, as all
-- writers of cash: each asks for the caller's rights itself, and every statement names the caller's tenant.

-- The desk that cash is taken from: the caller's own, or one that an administrator names.
-- asked: user id or null; owner_type: staff, driver (who remitted to their own desk), tenant (its own till, which has no user).
-- Fails: forbidden, cash_desk_not_found (nobody there ever held cash in this currency).
create or replace function money.cash_desk_of(asked uuid, owner_type text, currency text) returns money.accounts
language plpgsql stable set search_path = '' as $$
#variable_conflict use_variable
declare
  v_owner uuid := case when owner_type <> 'tenant' then coalesce(asked, app.user_id()) end;
  v_desk money.accounts;
begin
  if not money.has_desk()
      or (v_owner is distinct from app.user_id() and not app.has_permission('manage:tenant')) then
    perform app.fail('forbidden');
  end if;
  select a.* into v_desk from money.accounts a
  where a.tenant_id = app.tenant_id() and a.kind = 'cash_on_hand' and a.owner_type = owner_type and a.currency = currency
    and (a.owner_user_id = v_owner or v_owner is null);
  if v_desk.id is null then
    perform app.fail('cash_desk_not_found', '{"field": "from_user_id"}');
  end if;
  return v_desk;
end $$;

-- Locks the accounts of a transfer in the order of their ids and refuses when the desk that gives holds less than the amount.
-- Fails: insufficient_desk_cash {held, currency}.
create or replace function money.lock_cash_desk(giver uuid, taker uuid, amount numeric, currency text) returns void
language plpgsql set search_path = '' as $$
declare
  v_held numeric := (money.lock_balances(array[giver, taker]) ->> giver::text)::numeric;
begin
  if v_held < amount and exists (
      select from money.accounts a where a.tenant_id = app.tenant_id() and a.id = giver and a.kind = 'cash_on_hand') then
    perform app.fail('insufficient_desk_cash', jsonb_build_object('held', v_held, 'currency', currency));
  end if;
end $$;

-- The same for cash that goes back to the driver or the carrier who brought it, with all other accounts of the journal that is reversed. The cash may
-- lie on other desks by now, or have left them: where the desk has a queue, all desks are locked, for the parts that are exchanged
-- (money.desk_parts_exchange).
create or replace function money.lock_returned_cash(giver uuid, others uuid[], amount numeric, currency text) returns void
language plpgsql set search_path = '' as $$
begin
  perform money.lock_balances(giver || others || array(
    select a.id from money.accounts a
    where a.tenant_id = app.tenant_id() and a.kind = 'cash_on_hand' and a.currency = lock_returned_cash.currency and exists (
      select from money.accounts g where g.tenant_id = a.tenant_id and g.id = giver and g.queued_since is not null)));
  perform money.lock_cash_desk(giver, giver, amount, currency);
end $$;

-- The desk that cash from outside comes to: the caller's own, or one that an administrator names.
-- asked: user id or null; owner_type: staff, or tenant for its own till. Fails: forbidden, receiver_required, invalid_receiver.
create or replace function money.cash_desk_for(asked uuid, owner_type text, currency text) returns money.accounts
language plpgsql set search_path = '' as $$
#variable_conflict use_variable
declare
  v_owner uuid;
  v_id uuid;
  v_desk money.accounts;
begin
  if not money.has_desk()
      or ((owner_type = 'tenant' or asked <> app.user_id()) and not app.has_permission('manage:tenant')) then
    perform app.fail('forbidden');
  end if;
  if owner_type = 'staff' then
    -- Operations managers do not settle for the office, but it is a driver alone who remits and has to name who took the cash.
    v_owner := case when asked is null and not money.settles_for_office() then app.user_id() else money.cod_receiver(asked, 'to_user_id') end;
  end if;
  -- A statement of its own: the one that reads has to see an account that is new.
  v_id := money.account_of('cash_on_hand', owner_type, v_owner, currency);
  select a.* into v_desk from money.accounts a where a.tenant_id = app.tenant_id() and a.id = v_id;
  return v_desk;
end $$;

-- The two accounts between which a transfer moved its cash: a desk, and another or what is outside.
create or replace function money.cash_transfer_accounts(t money.cash_transfers, out giver uuid, out taker uuid)
language plpgsql set search_path = '' as $$
declare
  v_outside uuid := money.account_of('external', 'tenant', null, t.currency::text);
begin
  giver := case when t.from_owner_type is null then v_outside
    else money.account_of('cash_on_hand', t.from_owner_type, t.from_user_id, t.currency::text) end;
  taker := case when t.kind = 'handover' or t.to_owner_type is not null
    then money.account_of('cash_on_hand', coalesce(t.to_owner_type, 'staff'), t.to_user_id, t.currency::text) else v_outside end;
end $$;

-- Emits the system event of a transfer, and notifies the person whose desk got the cash, or gives it back, if somebody else entered it.
create or replace function money.cash_transfer_event_emit(event_type text, t money.cash_transfers) returns void
language plpgsql set search_path = '' as $$
begin
  perform app.events_add(jsonb_build_array(jsonb_build_object('event_type', event_type, 'source_module', 'delivery',
    'entity_type', 'cash_transfer', 'entity_id', t.id, 'event_data', jsonb_build_object('cash_transfer_id', t.id, 'kind', t.kind,
      'from_owner_type', t.from_owner_type, 'from_user_id', t.from_user_id, 'to_owner_type', t.to_owner_type, 'to_user_id', t.to_user_id,
      'wallet_id', money.wallet_of_payment(t.payment_id), 'currency', t.currency, 'amount', t.amount, 'reference', t.reference,
      'actor_id', app.user_id()))));
  if t.to_user_id <> app.user_id() then
    insert into tenancy.notifications (tenant_id, user_id, type, payload)
    values (app.tenant_id(), t.to_user_id, case when t.reversed_at is null then 'cash_handed_over' else 'cash_handover_reversed' end,
      jsonb_build_object('cash_transfer_id', t.id, 'from_user_id', t.from_user_id, 'amount', t.amount, 'currency', t.currency));
  end if;
end $$;

-- Moves cash of a desk by one journal, and of a wallet kind the wallet by another; answers the transfer's id, also to a repetition of its key, for good.
-- {kind, from_owner_type?, from_user_id?, to_owner_type?, to_user_id?, wallet_id?, amount, currency?, reference?, notes?}; a wallet says in which
-- currency; of a refund its refund_id says how much, too: {kind: 'refund', refund_id, from_owner_type?, from_user_id?, reference, notes?}
-- Fails: cash_refund_not_found, cash_refund_already_paid, forbidden, idempotency_conflict, cash_desk_not_found, wallet_not_found,
-- receiver_required, invalid_receiver, too_many_decimals, insufficient_desk_cash, insufficient_wallet_balance.
create or replace function money.cash_transfer_book(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_key text := app.request_setting('idempotency_key');
  v_hash bytea := sha256(convert_to(input::text, 'UTF8'));
  v_currency text := coalesce(input ->> 'currency', (app.currency()).code);
  v_amount numeric := (input ->> 'amount')::numeric;
  v_comes boolean := input ->> 'kind' in ('bank_withdrawal', 'wallet_deposit');
  v_desk money.accounts;
  v_wallet money.accounts;
  v_receiver uuid;
  v_accounts record;
  t money.cash_transfers;
  p money.payments;
begin
  if v_key is not null then
    select x.* into t from money.cash_transfers x
    where x.tenant_id = v_tenant and x.actor_id = app.user_id() and x.idempotency_key = v_key;
    if found then
      if t.input_hash <> v_hash then
        perform app.fail('idempotency_conflict');
      end if;
      return t.id;
    end if;
  end if;
  if input ->> 'kind' = 'refund' then
    p := money.lock_cash_refund((input ->> 'refund_id')::uuid);
    v_amount := p.amount;
    v_currency := p.currency;
  elsif input ? 'wallet_id' then
    v_wallet := money.counter_wallet((input ->> 'wallet_id')::uuid);
    v_currency := v_wallet.currency;
  end if;
  if v_comes then
    v_desk := money.cash_desk_for((input ->> 'to_user_id')::uuid, coalesce(input ->> 'to_owner_type', 'staff'), v_currency);
    v_receiver := v_desk.owner_user_id;
  else
    v_desk := money.cash_desk_of((input ->> 'from_user_id')::uuid, coalesce(input ->> 'from_owner_type', 'staff'), v_currency);
  end if;
  perform money.decimals_checked(v_amount, v_currency, 'amount');
  if input ->> 'kind' = 'handover' then
    v_receiver := money.cod_receiver((input ->> 'to_user_id')::uuid, 'to_user_id');
    if v_desk.owner_type = 'staff' and v_desk.owner_user_id = v_receiver then
      perform app.fail('invalid_receiver', '{"field": "to_user_id"}');
    end if;
  end if;
  insert into money.cash_transfers (tenant_id, kind, from_owner_type, from_user_id, to_owner_type, to_user_id, refund_id, payment_id, amount,
    currency, reference, notes, actor_id, idempotency_key, input_hash)
  values (v_tenant, input ->> 'kind', case when not v_comes then v_desk.owner_type end, case when not v_comes then v_desk.owner_user_id end,
    case when v_comes then v_desk.owner_type end, v_receiver, p.id, money.counter_payment_add(v_wallet.id, v_amount, input), v_amount,
    v_currency, input ->> 'reference', input ->> 'notes', app.user_id(), v_key, v_hash)
  returning * into t;
  update money.payments x set status = 'SUCCESS', processed_at = now() where x.tenant_id = v_tenant and x.id = p.id;
  perform money.cash_transfer_event_emit('cash_transfer.created', t);
  -- Last, because everybody who hands cash to the same desk waits for its account from here to the commit.
  v_accounts := money.cash_transfer_accounts(t);
  if v_wallet.id is not null then
    perform money.lock_balances(array[v_accounts.giver, v_accounts.taker, v_wallet.id]);
  end if;
  perform money.lock_cash_desk(v_accounts.giver, v_accounts.taker, v_amount, v_currency);
  perform money.post_journal('cash_transfer', 'cash_transfer', t.id,
    case t.kind when 'handover' then 'Cash handed over' when 'refund' then 'Delivery fee paid back' when 'bank_deposit' then 'Cash brought to the bank'
      when 'bank_withdrawal' then 'Cash fetched from the bank' when 'wallet_deposit' then 'Cash paid into a wallet'
      when 'wallet_payout' then 'Cash paid out of a wallet' else 'Expense' end,
    array[v_accounts.giver, v_accounts.taker], array[-v_amount, v_amount]);
  perform money.counter_payment_post(t);
  return t.id;
end $$;

-- A fee that is due back in cash, locked. Fails: cash_refund_not_found, cash_refund_already_paid.
create or replace function money.lock_cash_refund(refund uuid) returns money.payments
language plpgsql set search_path = '' as $$
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
end $$;

-- Reverses a transfer by a reversing entry, once; the one whose desk it left, or came to from outside, or an administrator. {id, reason} -> its id
-- Fails: forbidden, cash_transfer_not_found, cash_transfer_already_reversed, insufficient_desk_cash (the desk that it came to
-- holds less by now), insufficient_wallet_balance (what was paid in has been spent).
create or replace function money.cash_transfer_unbook(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_owner uuid;
  v_accounts record;
  t money.cash_transfers;
begin
  if not money.has_desk() then
    perform app.fail('forbidden');
  end if;
  select x.* into t from money.cash_transfers x where x.tenant_id = v_tenant and x.id = (input ->> 'id')::uuid for no key update;
  v_owner := case when t.from_owner_type is null then t.to_user_id else t.from_user_id end;
  if t.id is null then
    perform app.fail('cash_transfer_not_found');
  elsif v_owner is distinct from app.user_id() and not app.has_permission('manage:tenant') then
    perform app.fail('forbidden');
  elsif t.reversed_at is not null then
    perform app.fail('cash_transfer_already_reversed');
  end if;
  update money.cash_transfers x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id
  returning * into t;
  update money.payments x set status = 'pending', processed_at = null where x.tenant_id = v_tenant and x.id = t.refund_id;
  perform money.cash_transfer_event_emit('cash_transfer.reversed', t);
  v_accounts := money.cash_transfer_accounts(t);
  if t.payment_id is not null then
    perform money.lock_balances(array[v_accounts.giver, v_accounts.taker, money.wallet_of_payment(t.payment_id)]);
  end if;
  perform money.lock_cash_desk(v_accounts.taker, v_accounts.giver, t.amount, t.currency::text);
  perform money.reverse('cash_transfer', 'cash_transfer', t.id, input ->> 'reason');
  perform money.counter_payment_reverse(t);
  return t.id;
end $$;

-- A transfer as lists show it; null for one that the caller does not see.
create or replace function money.cash_transfer_to_json(p_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select to_jsonb(r) - '{from_user_id,to_user_id,from_user_name,to_user_name,wallet_id,wallet_owner_name}'::text[]
    from money.cash_transfers_list r where r.id = p_id);
end $$;

-- A transfer with what its receipt says beside it; `payer`: who gets a refund. {id}
-- -> {transfer, payer, tenant_name, brand, timezone, decimals}. Fails: cash_transfer_not_found.
create or replace function money.cash_transfer_receipt(input jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  v_transfer jsonb := app.found(money.cash_transfer_to_json((input ->> 'id')::uuid), 'cash_transfer_not_found');
begin
  return jsonb_build_object('transfer', v_transfer, 'payer', (
      select money.payer_contact(d) ->> 'name' from money.payments p
      join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
      where p.tenant_id = app.tenant_id() and p.id = (v_transfer ->> 'refund_id')::uuid),
    'tenant_name', (select t.name from tenancy.tenants t where t.id = app.tenant_id()),
    'brand', app.settings('general', 'brand_settings'), 'timezone', app.timezone(), 'decimals', money.decimals_of(v_transfer ->> 'currency'));
end $$;

-- Moves cash of a desk. See money.cash_transfer_book. -> the transfer
create or replace function money.cash_transfer(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.cash_transfer_book(input);
begin
  return money.cash_transfer_to_json(v_id);
end $$;

-- Takes a transfer back. See money.cash_transfer_unbook. -> the transfer
create or replace function money.cash_transfer_reverse(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.cash_transfer_unbook(input);
begin
  return money.cash_transfer_to_json(v_id);
end $$;

-- The last guard, whoever writes: a transfer is committed only with a journal of its amount, and one of a wallet with that of the wallet; and no desk
-- gives by it, or gives back, what it does not hold. Desks have no floor otherwise: a shortage may be booked before the cash it is part of.
create or replace function money.cash_transfer_check() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_kind text := case when new.reversed_at is null then 'cash_transfer' else 'cash_transfer_REVERSAL' end;
  v_moved numeric := case when new.reversed_at is not null then 0 when new.kind = 'wallet_deposit' then new.amount else -new.amount end;
  v_given numeric;
  v_short boolean;
begin
  select sum(e.amount), bool_or(a.kind = 'cash_on_hand' and e.balance_after < 0) into v_given, v_short
  from money.ledger_transactions t
  join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id and e.amount < 0
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
  where t.tenant_id = new.tenant_id and t.kind = v_kind and t.reference_type = 'cash_transfer' and t.reference_id = new.id;
  if v_given is distinct from -new.amount then
    raise exception 'transfer % has no journal of its amount', new.id using errcode = 'check_violation',
      constraint = 'cash_transfer_booked';
  elsif new.payment_id is not null and money.counter_payment_moved(new, 'infinity') is distinct from v_moved then
    raise exception 'transfer % moved another amount of its wallet', new.id using errcode = 'check_violation',
      constraint = 'cash_transfer_booked';
  elsif v_short then
    raise exception 'transfer % takes more than the desk holds', new.id using errcode = 'check_violation',
      constraint = 'insufficient_desk_cash';
  end if;
  return null;
end $$;

drop trigger if exists cash_transfer_booked on money.cash_transfers;
create constraint trigger cash_transfer_booked after insert or update of reversed_at, amount on money.cash_transfers
  deferrable initially deferred for each row execute function money.cash_transfer_check();

-- Nobody calls these but other functions and triggers.
revoke execute on function money.cash_transfer_check() from barid_caller;
