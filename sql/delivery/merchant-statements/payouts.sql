-- Payouts of statements, their reversal, and what ends a statement. The entrances are SECURITY DEFINER, since nobody may write these
-- tables otherwise: every statement names the caller's tenant. The statement is locked before the wallet and the desk.

-- A statement, locked. Fails: statement_not_found.
create or replace function money.lock_statement(p_id uuid) returns money.merchant_statements
language plpgsql set search_path = '' as $$
declare
  s money.merchant_statements;
begin
  select x.* into s from money.merchant_statements x
  where x.tenant_id = app.tenant_id() and x.id = p_id and (money.sees_statements() or x.owner_user_id = app.user_id()) for no key update;
  if s.id is null then
    perform app.fail('statement_not_found');
  end if;
  return s;
end $$;

-- The desk that a payout in cash leaves: that of the one who entered it; null: they have none in this currency.
create or replace function money.merchant_payout_desk(t money.merchant_payouts) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (select a.id from money.accounts a
    where a.tenant_id = t.tenant_id and a.kind = 'cash_on_hand' and a.owner_type = 'staff' and a.owner_user_id = t.actor_id and a.currency = t.currency);
end $$;

-- True when the caller may pay otherwise than in cash.
create or replace function money.pays_by_bank() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return app.grants() && '{role:tenant_admin,role:operations_manager,role:system_admin}';
end $$;

-- Pays an open statement; answers its id, also to a repetition of the key, for good. {id, method, reference?, proof?}
-- Fails: idempotency_conflict, statement_not_found, forbidden (by bank and transfer pay administrators and operations managers),
-- statement_already_paid, statement_not_open, insufficient_desk_cash, wallet_refund_open (a gateway gave a top-up back, and nobody has decided
-- on it), statement_not_covered.
create or replace function money.statement_pay_book(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_key text := app.request_setting('idempotency_key');
  v_hash bytea := sha256(convert_to(input::text, 'UTF8'));
  v_desk uuid;
  v_outside uuid;
  v_wallet money.accounts;
  t money.merchant_payouts;
  s money.merchant_statements;
begin
  if v_key is not null then
    select x.* into t from money.merchant_payouts x where x.tenant_id = v_tenant and x.actor_id = app.user_id() and x.idempotency_key = v_key;
    if found then
      if t.input_hash <> v_hash then
        perform app.fail('idempotency_conflict');
      end if;
      return t.statement_id;
    end if;
  end if;
  if input ->> 'method' <> 'cash' and not money.pays_by_bank() then
    perform app.fail('forbidden');
  end if;
  s := money.lock_statement((input ->> 'id')::uuid);
  if s.status = 'paid' then
    perform app.fail('statement_already_paid');
  elsif s.status <> 'open' then
    perform app.fail('statement_not_open', jsonb_build_object('from', s.status));
  end if;
  insert into money.merchant_payouts (tenant_id, statement_id, owner_user_id, method, amount, currency, reference, proof, actor_id, idempotency_key, input_hash)
  values (v_tenant, s.id, s.owner_user_id, input ->> 'method', s.net, s.currency, input ->> 'reference', input ->> 'proof', app.user_id(), v_key, v_hash)
  returning * into t;
  update money.merchant_statements x set status = 'paid', payout_id = t.id where x.tenant_id = v_tenant and x.id = s.id;
  perform money.statement_event_emit('merchant_statement.paid', s,
    jsonb_build_object('payout_id', t.id, 'method', t.method, 'reference', t.reference));
  v_outside := money.account_of('external', 'tenant', null, s.currency::text);
  if t.method = 'cash' then
    v_desk := money.merchant_payout_desk(t);
    if v_desk is null then
      perform app.fail('insufficient_desk_cash', jsonb_build_object('held', 0, 'currency', s.currency));
    end if;
  end if;
  -- All accounts at once, in the order of their ids.
  perform from money.accounts a where a.tenant_id = v_tenant and a.id in (s.account_id, v_desk, v_outside) order by a.id for no key update;
  select a.* into v_wallet from money.accounts a where a.tenant_id = v_tenant and a.id = s.account_id;
  if money.wallet_refunds_open(v_wallet.id) > 0 then
    perform app.fail('wallet_refund_open', jsonb_build_object('amount', money.wallet_refunds_open(v_wallet.id), 'currency', s.currency));
  elsif v_wallet.balance - money.held_of(v_tenant, v_wallet.id) < s.net then
    perform app.fail('statement_not_covered', jsonb_build_object('balance', v_wallet.balance, 'held', money.held_of(v_tenant, v_wallet.id),
      'required', s.net, 'currency', s.currency));
  end if;
  if t.method = 'cash' then
    perform money.lock_cash_desk(v_desk, v_outside, s.net, s.currency::text);
    perform money.post_journal('merchant_payout_cash', 'merchant_payout', t.id, 'Statement ' || money.statement_number(s.number) || ' in cash',
      array[v_desk, v_outside], array[-s.net, s.net]);
  end if;
  perform money.post_journal('merchant_payout', 'merchant_payout', t.id, 'Statement ' || money.statement_number(s.number),
    array[s.account_id, v_outside], array[-s.net, s.net]);
  return s.id;
end $$;

-- Reverses the payout of a statement by its mirror, once: the statement is open again. Cash comes back to the desk that paid it: by the one
-- whose desk it is, or an administrator; a payout that the owner confirmed by an administrator alone. {id, reason} -> its id
-- Fails: statement_not_found, statement_not_paid, forbidden.
create or replace function money.statement_reverse_book(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
  v_text text := 'Statement ' || money.statement_number(s.number) || ': ' || (input ->> 'reason');
  v_accounts uuid[];
  t money.merchant_payouts;
begin
  if s.status <> 'paid' then
    perform app.fail('statement_not_paid', jsonb_build_object('from', s.status));
  end if;
  select x.* into t from money.merchant_payouts x where x.tenant_id = v_tenant and x.id = s.payout_id;
  if not money.pays_into_wallets() and (s.confirmed_at is not null
      or case t.method when 'cash' then t.actor_id <> app.user_id() else not money.pays_by_bank() end) then
    perform app.fail('forbidden');
  end if;
  update money.merchant_statements x set status = 'open', payout_id = null, confirmed_at = null where x.tenant_id = v_tenant and x.id = s.id;
  update money.merchant_payouts x set reversed_at = now(), reversed_by = app.user_id(), reversal_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = t.id;
  perform money.statement_event_emit('merchant_statement.reversed', s,
    jsonb_build_object('payout_id', t.id, 'method', t.method, 'reason', input ->> 'reason'));
  -- Asked for before the query, which would do so at each account.
  v_accounts := array[s.account_id, money.account_of('external', 'tenant', null, s.currency::text),
    case when t.method = 'cash' then money.merchant_payout_desk(t) end];
  perform from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts) order by a.id for no key update;
  if t.method = 'cash' then
    perform money.reverse('merchant_payout_cash', 'merchant_payout', t.id, v_text);
  end if;
  perform money.reverse('merchant_payout', 'merchant_payout', t.id, v_text);
  return s.id;
end $$;

-- Voids an open statement: its lines are free again for the next one, which is made before this or after it. {id, reason?} -> its id
-- Fails: statement_not_found, statement_not_open.
create or replace function money.statement_void_book(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
begin
  if s.status <> 'open' then
    perform app.fail('statement_not_open', jsonb_build_object('from', s.status));
  end if;
  perform from money.accounts a where a.tenant_id = v_tenant and a.id = s.account_id for no key update;
  update money.merchant_statements x set status = 'void', voided_at = now(), voided_by = app.user_id(), void_reason = input ->> 'reason'
  where x.tenant_id = v_tenant and x.id = s.id;
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select l.tenant_id, l.account_id, l.movement from money.merchant_statement_lines l
  where l.tenant_id = v_tenant and l.statement_id = s.id and l.movement is not null;
  perform money.statement_event_emit('merchant_statement.voided', s, jsonb_build_object('reason', input ->> 'reason'));
  return s.id;
end $$;

-- Marks a payout as received; its owner does it, and once is enough. {id} -> its id
-- Fails: statement_not_found, forbidden, statement_not_paid.
create or replace function money.statement_confirm_book(input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  s money.merchant_statements := money.lock_statement((input ->> 'id')::uuid);
begin
  if s.owner_user_id is distinct from app.user_id() then
    perform app.fail('forbidden');
  elsif s.status <> 'paid' then
    perform app.fail('statement_not_paid', jsonb_build_object('from', s.status));
  end if;
  update money.merchant_statements x set confirmed_at = now() where x.tenant_id = s.tenant_id and x.id = s.id and x.confirmed_at is null;
  return s.id;
end $$;

-- Pays a statement. See money.statement_pay_book. -> {statement}
create or replace function money.statement_pay(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_pay_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $$;

-- Reverses a payout. See money.statement_reverse_book. -> {statement}
create or replace function money.statement_reverse(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_reverse_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $$;

-- Voids a statement. See money.statement_void_book. -> {statement}
create or replace function money.statement_void(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_void_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $$;

-- Confirms a payout. See money.statement_confirm_book. -> {statement}
create or replace function money.statement_confirm(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  -- A statement of its own: the one that reads has to see what this one wrote.
  v_id uuid := money.statement_confirm_book(input);
begin
  return jsonb_build_object('statement', money.statement_to_json(v_id));
end $$;

-- All payouts of a statement, the newest first: what was reversed has `reversed_at`, who did it, and why.
create or replace function money.statement_payouts(statement uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'method', p.method, 'amount', p.amount, 'reference', p.reference, 'proof', p.proof,
      'paid_at', p.paid_at, 'paid_by', jsonb_build_object('id', p.actor_id, 'full_name', a.full_name), 'reversed_at', p.reversed_at,
      'reversed_by', case when p.reversed_by is not null then jsonb_build_object('id', p.reversed_by, 'full_name', b.full_name) end,
      'reversal_reason', p.reversal_reason) order by p.paid_at desc, p.id desc), '[]')
    from money.merchant_payouts p
    left join tenancy.profiles a on a.id = p.actor_id
    left join tenancy.profiles b on b.id = p.reversed_by
    where p.tenant_id = app.tenant_id() and p.statement_id = statement);
end $$;

-- The references of all payouts of a statement, reversed ones too, to be searched.
create or replace function money.statement_references(statement uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
  return (select string_agg(p.reference, E'\n') from money.merchant_payouts p where p.tenant_id = app.tenant_id() and p.statement_id = statement);
end $$;
