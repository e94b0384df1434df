-- The last guards against any writer.

-- A payout is committed only with journals of its amount, and no desk gives by it what it does not hold.
create or replace function money.merchant_payout_check() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  v_amount numeric := case when new.reversed_at is null then new.amount else 0 end;
  v_wallet numeric;
  v_desk numeric;
  v_short boolean;
begin
  select coalesce(sum(e.amount) filter (where a.kind = 'wallet' and a.owner_user_id = new.owner_user_id), 0),
    coalesce(sum(e.amount) filter (where a.kind = 'cash_on_hand'), 0),
    bool_or(a.kind = 'cash_on_hand' and e.amount < 0 and e.balance_after < 0) into v_wallet, v_desk, v_short
  from money.ledger_transactions j
  join money.ledger_entries e on e.tenant_id = j.tenant_id and e.transaction_id = j.id
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
  where j.tenant_id = new.tenant_id and j.reference_type = 'merchant_payout' and j.reference_id = new.id
    and j.kind in ('merchant_payout', 'merchant_payout_cash', 'merchant_payout_REVERSAL', 'merchant_payout_cash_REVERSAL');
  if v_wallet <> -v_amount or v_desk <> (case new.method when 'cash' then -v_amount else 0 end) then
    raise exception 'payout % has no journal of its amount', new.id using errcode = 'check_violation', constraint = 'merchant_payout_booked';
  elsif v_short then
    raise exception 'payout % takes more than the desk holds', new.id using errcode = 'check_violation', constraint = 'insufficient_desk_cash';
  end if;
  return null;
end $$;

drop trigger if exists merchant_payout_booked on money.merchant_payouts;
create constraint trigger merchant_payout_booked after insert or update of reversed_at, amount on money.merchant_payouts
  deferrable initially deferred for each row execute function money.merchant_payout_check();

-- A statement is the sum of its lines, and is paid by a payout of its net that was not reversed.
create or replace function money.merchant_statement_check() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  s money.merchant_statements;
  v_sums record;
begin
  select x.* into s from money.merchant_statements x where x.tenant_id = new.tenant_id and x.id = new.id;
  select count(*) as lines, coalesce(sum(l.amount) filter (where l.kind = 'cod'), 0) as cod,
    coalesce(-sum(l.amount) filter (where l.kind = 'delivery_fee'), 0) as fees, coalesce(sum(l.amount) filter (where l.kind = 'refund'), 0) as refunds,
    coalesce(sum(l.amount), 0) as net, bool_and(l.account_id = s.account_id) as own into v_sums
  from money.merchant_statement_lines l where l.tenant_id = s.tenant_id and l.statement_id = s.id;
  if (v_sums.lines, v_sums.cod, v_sums.fees, v_sums.refunds, v_sums.net, v_sums.own)
      is distinct from (s.lines::bigint, s.gross_cod, s.fees, s.refunds, s.net, true) then
    raise exception 'statement % is not the sum of its lines', s.id using errcode = 'check_violation', constraint = 'statement_is_its_lines';
  elsif s.status = 'paid' and not exists (select from money.merchant_payouts p where p.tenant_id = s.tenant_id and p.id = s.payout_id
      and p.statement_id = s.id and p.amount = s.net and p.reversed_at is null) then
    raise exception 'statement % has no payout of its net', s.id using errcode = 'check_violation', constraint = 'statement_has_payout';
  end if;
  return null;
end $$;

drop trigger if exists merchant_statement_sums on money.merchant_statements;
create constraint trigger merchant_statement_sums after insert or update on money.merchant_statements
  deferrable initially deferred for each row execute function money.merchant_statement_check();

-- Nobody calls these but other functions and triggers.
revoke execute on function money.merchant_payout_check(), money.merchant_statement_check() from barid_caller;
