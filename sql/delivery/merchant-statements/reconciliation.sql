-- Reconciliation of merchants' statements: what they say of each movement, what is held and what is unstated are the wallets' balances and what
-- was paid out of them. `as_of` as in money.cod_differences; what is kept of a statement only as it is now (its state, its lines, what the next
-- one looks at) is compared as it is now.

-- The movements of the wallets that statements are made of, as of a moment: the amount, what of it is held, and what statements that are not void
-- say of it; due: what says something else than is released, the next statement looks at. A line of no movement has one of amount 0.
create or replace function money.stated_movements(tenant uuid, as_of timestamptz)
returns table (account_id uuid, movement bigint, reference_id uuid, whole numeric, held numeric, stated numeric, due boolean)
language sql stable set search_path = '' as $$
  with wallet as materialized (
    select a.id, m.opening, m.opening_movement, m.looked_to from money.accounts a
    join money.merchant_accounts m on m.tenant_id = a.tenant_id and m.account_id = a.id and m.opened_at <= as_of
    where a.tenant_id = tenant and a.kind = 'wallet' and a.owner_type in ('customer', 'institution')
  ), held as (
    select h.reference_type, h.reference_id, sum(h.amount) as held from money.wallet_holds h
    where h.tenant_id = tenant and h.created_at <= as_of and (h.counts_from <= h.created_at or h.counts_from <= least(as_of, now()))
    group by h.reference_type, h.reference_id having sum(h.amount) <> 0
  ), moved as (
    select w.id, e.version as movement, t.reference_id, e.amount as whole, coalesce(h.held, 0) as held
    from wallet w
    join money.ledger_entries e on e.tenant_id = tenant and e.account_id = w.id and e.version > w.opening_movement and e.created_at <= as_of
    join money.ledger_transactions t on t.tenant_id = tenant and t.id = e.transaction_id
      and t.kind not in ('merchant_payout', 'merchant_payout_REVERSAL')
    left join held h on t.kind = 'cod_credit' and h.reference_type = t.reference_type and h.reference_id = t.reference_id
    union all
    select w.id, 0, w.id, w.opening, 0 from wallet w where w.opening <> 0
  ), said as (
    select l.account_id, l.movement, sum(l.amount) as stated from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = tenant and s.id = l.statement_id
    where l.tenant_id = tenant and l.movement is not null and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by l.account_id, l.movement
  ), pending as (
    select distinct p.account_id, p.movement from money.merchant_pending p where p.tenant_id = tenant
  )
  select coalesce(m.id, s.account_id), coalesce(m.movement, s.movement), coalesce(m.reference_id, s.account_id), coalesce(m.whole, 0), coalesce(m.held, 0),
    coalesce(s.stated, 0), coalesce(m.movement > w.looked_to, false) or p.movement is not null
  from moved m
  full join said s on s.account_id = m.id and s.movement = m.movement
  left join wallet w on w.id = m.id
  left join pending p on p.account_id = coalesce(m.id, s.account_id) and p.movement = coalesce(m.movement, s.movement)
$$;

-- The wallets that statements are made of, as of a moment. lines + held + unstated = balance + paid, where
--   lines     what statements that are not void say
--   held      what is held, for its cash or its day
--   unstated  what is released and on no statement, with what is kept in the wallet
--   paid      the net of statements that are paid; open: of those that are neither paid nor void
create or replace function money.statement_positions(tenant uuid, as_of timestamptz)
returns table (account_id uuid, lines numeric, held numeric, unstated numeric, balance numeric, paid numeric, open numeric)
language sql stable set search_path = '' as $$
  with moved as materialized (
    select m.account_id, sum(m.whole - m.held - m.stated) as unstated, sum(m.stated) as stated
    from (
      select x.account_id, x.whole, x.held, x.stated from money.stated_movements(tenant, as_of) x
      union all
      select x.account_id, 0, 0, 0 from money.merchant_accounts x where x.tenant_id = tenant and x.opened_at <= as_of
    ) m
    group by m.account_id
  ), kept as (
    select s.account_id, sum(l.amount) as kept from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = tenant and s.id = l.statement_id
    where l.tenant_id = tenant and l.movement is null and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by s.account_id
  ), held as (
    select h.account_id, sum(h.amount) as held from money.wallet_holds h
    where h.tenant_id = tenant and h.created_at <= as_of and (h.counts_from <= h.created_at or h.counts_from <= least(as_of, now()))
    group by h.account_id
  ), net as (
    select s.account_id, coalesce(sum(s.net) filter (where p.id is not null), 0) as paid, coalesce(sum(s.net) filter (where p.id is null), 0) as open
    from money.merchant_statements s
    left join money.merchant_payouts p on p.tenant_id = tenant and p.statement_id = s.id and p.paid_at <= as_of
      and (p.reversed_at is null or p.reversed_at > as_of)
    where s.tenant_id = tenant and s.opened_at <= as_of and (s.voided_at is null or s.voided_at > as_of)
    group by s.account_id
  ), was as (
    select e.account_id, sum(e.amount) as balance from money.ledger_entries e
    where as_of < now() and e.tenant_id = tenant and e.created_at <= as_of and e.account_id in (select m.account_id from moved m)
    group by e.account_id
  )
  select m.account_id, m.stated + coalesce(k.kept, 0), coalesce(h.held, 0), m.unstated - coalesce(k.kept, 0),
    case when as_of < now() then coalesce(b.balance, 0) else a.balance end, coalesce(n.paid, 0), coalesce(n.open, 0)
  from moved m
  join money.accounts a on a.tenant_id = tenant and a.id = m.account_id
  left join kept k on k.account_id = m.account_id
  left join held h on h.account_id = m.account_id
  left join net n on n.account_id = m.account_id
  left join was b on b.account_id = m.account_id
$$;

-- Every difference in a tenant's statements as of a moment; user_id is whose wallet it is.
--   statement_balance   the lines of a wallet, what is held and what is unstated are not its balance and what was paid out
--   statement_lines     a statement is not the sum of its lines, or has lines of another wallet
--   stated_movement     statements say of a movement neither all of it nor nothing, or of one that is not there
--   unstated_movement   statements say of a movement something else than is released, and the next one will not look at it
--   stated_balance      the stated part of a wallet is not the lines of its open statements
--   statement_payout    a statement is paid without a payout of its net, or has one and is not paid
--   payout_journal      a payout took another amount from the wallet or the desk in the ledger; a reversed one has to leave nothing
--   statement_number    the numbers have a gap
create or replace function money.statement_differences(tenant uuid, as_of timestamptz)
returns table (kind text, user_id uuid, currency text, expected numeric, found numeric, rows uuid[])
language sql stable set search_path = '' as $$
  select 'statement_balance', a.owner_user_id, a.currency::text, p.balance + p.paid, p.lines + p.held + p.unstated, array[a.id]
  from money.statement_positions(tenant, as_of) p
  join money.accounts a on a.tenant_id = tenant and a.id = p.account_id
  where p.lines + p.held + p.unstated <> p.balance + p.paid
  union all
  select 'statement_lines', s.owner_user_id, s.currency, s.net, l.net, array[s.id]
  from money.merchant_statements s
  left join lateral (
    select count(*) as lines, coalesce(sum(x.amount) filter (where x.kind = 'cod'), 0) as cod,
      coalesce(-sum(x.amount) filter (where x.kind = 'delivery_fee'), 0) as fees, coalesce(sum(x.amount) filter (where x.kind = 'refund'), 0) as refunds,
      coalesce(sum(x.amount), 0) as net, bool_and(x.account_id = s.account_id) as own
    from money.merchant_statement_lines x where x.tenant_id = tenant and x.statement_id = s.id
  ) l on true
  where s.tenant_id = tenant and s.opened_at <= as_of and (l.lines, l.cod, l.fees, l.refunds, l.net, l.own)
    is distinct from (s.lines::bigint, s.gross_cod, s.fees, s.refunds, s.net, true)
  union all
  select m.kind, a.owner_user_id, a.currency, sum(m.expected), sum(m.stated), (array_agg(m.reference_id order by m.movement))[1:100]
  from (
    select k.kind, x.account_id, x.movement, x.reference_id, k.expected, x.stated
    from money.stated_movements(tenant, as_of) x
    cross join lateral (values ('stated_movement', x.whole, x.stated not in (0, x.whole)),
      ('unstated_movement', x.whole - x.held, as_of >= now() and x.stated <> x.whole - x.held and not x.due)) k (kind, expected, differs)
    where k.differs
  ) m
  join money.accounts a on a.tenant_id = tenant and a.id = m.account_id
  group by m.kind, a.id, a.owner_user_id, a.currency
  union all
  select 'stated_balance', a.owner_user_id, a.currency, s.lines, s.stated, array[a.id]
  from money.accounts a
  cross join lateral (
    select money.stated_of(tenant, a.id) as stated, coalesce(sum(l.amount), 0) as lines
    from money.merchant_statements s
    join money.merchant_statement_lines l on l.tenant_id = tenant and l.statement_id = s.id
    where s.tenant_id = tenant and s.account_id = a.id and s.voided_at is null and not exists (
      select from money.merchant_payouts p where p.tenant_id = tenant and p.statement_id = s.id and p.reversed_at is null)
  ) s
  where a.tenant_id = tenant and a.id in (select x.account_id from money.merchant_statements x where x.tenant_id = tenant) and s.lines <> s.stated
  union all
  select 'statement_payout', s.owner_user_id, s.currency, case s.status when 'paid' then s.net else 0 end, coalesce(p.amount, 0), array[s.id]
  from money.merchant_statements s
  left join money.merchant_payouts p on p.tenant_id = tenant and p.statement_id = s.id and p.reversed_at is null
  where s.tenant_id = tenant and (s.payout_id is distinct from p.id or (s.status = 'paid') <> (p.id is not null) or p.amount <> s.net)
  union all
  select 'payout_journal', p.owner_user_id, p.currency, n.taken, case when j.wallet <> n.taken then j.wallet else j.desk end, array[p.id]
  from money.merchant_payouts p
  join money.merchant_statements s on s.tenant_id = tenant and s.id = p.statement_id
  cross join lateral (select case when p.reversed_at <= as_of then 0 else -p.amount end as taken) n
  cross join lateral (
    select coalesce(sum(e.amount) filter (where e.account_id = s.account_id), 0) as wallet,
      coalesce(sum(e.amount) filter (where a.kind = 'cash_on_hand' and a.owner_user_id = p.actor_id), 0) as desk
    from money.ledger_transactions t
    join money.ledger_entries e on e.tenant_id = tenant and e.transaction_id = t.id
    join money.accounts a on a.tenant_id = tenant and a.id = e.account_id
    where t.tenant_id = tenant and t.reference_type = 'merchant_payout' and t.reference_id = p.id and t.created_at <= as_of
  ) j
  where p.tenant_id = tenant and p.paid_at <= as_of and (j.wallet <> n.taken or j.desk <> case p.method when 'cash' then n.taken else 0 end)
  union all
  select 'statement_number', null, c.currency, c.last, c.statements, null
  from (
    select min(s.currency::text) as currency, max(s.number) as highest, count(*)::numeric as statements,
      (select max(n.last)::numeric from money.merchant_statement_numbers n where n.tenant_id = tenant) as last
    from money.merchant_statements s where s.tenant_id = tenant
  ) c
  where c.statements > 0 and (c.highest, c.statements) is distinct from (c.last::bigint, c.last)
$$;

-- The wallets of the caller's tenant with statements as of a moment, [{wallet_id, user_id, user_name, currency, lines, held, unstated, balance,
-- paid, open}], as money.statement_positions has them.
create or replace function money.statements_reconciled(as_of timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(to_jsonb(w) order by w.user_name, w.user_id, w.currency), '[]')
    from (
      select a.id as wallet_id, a.owner_user_id as user_id, q.full_name as user_name, a.currency, p.lines, p.held, p.unstated, p.balance, p.paid, p.open
      from money.statement_positions(app.tenant_id(), as_of) p
      join money.accounts a on a.tenant_id = app.tenant_id() and a.id = p.account_id
      left join tenancy.profiles q on q.id = a.owner_user_id
      where (p.lines, p.held, p.unstated, p.balance, p.paid) <> (0, 0, 0, 0, 0)
    ) w);
end $$;

revoke execute on function money.stated_movements(uuid, timestamptz), money.statement_positions(uuid, timestamptz),
  money.statement_differences(uuid, timestamptz), money.statements_reconciled(timestamptz) from barid_caller;
