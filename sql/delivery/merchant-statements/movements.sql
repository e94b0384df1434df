-- The movements of a wallet as statements see them, and how much of each the next one says.

-- The number of a statement as people read it.
create or replace function money.statement_number(number bigint) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return 'MS-' || lpad(number::text, greatest(6, length(number::text)), '0');
end $$;

-- The kind of line that a journal of this kind makes; null: none, for payouts themselves. A reversal is of the kind of what it reverses.
create or replace function money.movement_kind(journal text) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return case regexp_replace(journal, '_REVERSAL$', '')
    when 'cod_credit' then 'cod'
    when 'delivery_fee' then 'delivery_fee'
    when 'delivery_fee_change' then 'delivery_fee'
    when 'delivery_fee_refund' then 'refund'
    when 'order_refund' then 'refund'
    when 'merchant_payout' then null
    else 'adjustment' end;
end $$;

-- The text of the journal of a line that no delivery explains: why the office adjusted, or which order it was; null for others. Owners read it of
-- their wallet's movements as well.
create or replace function money.statement_line_description(l money.merchant_statement_lines) returns text
language plpgsql stable set search_path = '' as $$
begin
  if l.delivery_id is not null or coalesce(l.movement, 0) = 0 then
    return null;
  end if;
  return (
    select t.description from money.ledger_entries e
    join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id
    where e.tenant_id = l.tenant_id and e.account_id = l.account_id and e.version = l.movement);
end $$;
grant execute on function money.statement_line_description(money.merchant_statement_lines) to barid_caller;

-- The movements of a wallet that a statement made now has to look at, before a moment: those after `looked_to`, and the pending ones.
--   movement    the entry's version; 0: the opening
--   amount      what of it is released and no statement says yet; 0: nothing
--   stated      a statement that is not void says something of it
--   settled     after this there is nothing left to say of it, unless it is held again
--   early       false: it happened at or after the moment, and amount is 0
create or replace function money.statement_movements(p_tenant uuid, p_account uuid, p_looked_to bigint, p_until timestamptz)
returns table (movement bigint, kind text, amount numeric, stated boolean, settled boolean, early boolean, happened_at timestamptz,
  released_at timestamptz, delivery_id uuid)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select e.version as movement from money.ledger_entries e where e.account_id = p_account and e.version > p_looked_to
    union
    select p.movement from money.merchant_pending p where p.tenant_id = p_tenant and p.account_id = p_account
  ), moved as (
    select w.movement, money.movement_kind(t.kind) as kind, e.amount as whole, e.created_at as happened_at, t.reference_type, t.reference_id,
      t.kind = 'cod_credit' as holdable
    from wanted w
    join money.ledger_entries e on e.account_id = p_account and e.version = w.movement
    join money.ledger_transactions t on t.tenant_id = p_tenant and t.id = e.transaction_id
    where money.movement_kind(t.kind) is not null
    union all
    select 0::bigint, 'adjustment', m.opening, m.opened_at, null, null, false
    from wanted w
    join money.merchant_accounts m on m.tenant_id = p_tenant and m.account_id = p_account
    where w.movement = 0
  ), said as materialized (
    select l.movement, sum(l.amount) as said
    from money.merchant_statement_lines l
    join money.merchant_statements o on o.tenant_id = l.tenant_id and o.id = l.statement_id and o.status <> 'void'
    where l.tenant_id = p_tenant and l.account_id = p_account and l.movement in (select w.movement from wanted w)
    group by l.movement
  )
  select m.movement, m.kind, case when m.happened_at < p_until then m.whole - h.held - coalesce(s.said, 0) else 0 end, s.movement is not null,
    m.happened_at < p_until and h.held = 0, m.happened_at < p_until, m.happened_at, greatest(m.happened_at, h.released_at),
    coalesce(p.delivery_id, c.delivery_id, r.delivery_id)
  from moved m
  cross join lateral (
    select coalesce(sum(x.amount), 0) as held, max(x.counts_from) filter (where x.amount < 0) as released_at
    from money.wallet_holds x
    where m.holdable and x.tenant_id = p_tenant and x.reference_type = m.reference_type and x.reference_id = m.reference_id
      -- Not now(): a call that waited for the wallet sees steps that are later than its own transaction.
      and x.counts_from <= (select clock_timestamp())
  ) h
  left join said s on s.movement = m.movement
  left join money.payments p on m.reference_type = 'payment' and p.tenant_id = p_tenant and p.id = m.reference_id
  left join money.cod_collections c on m.reference_type = 'cod_collection' and c.tenant_id = p_tenant and c.id = m.reference_id
  left join money.carrier_collections r on m.reference_type = 'carrier_collection' and r.tenant_id = p_tenant and r.id = m.reference_id;
end $$;

-- Notes movements of wallets for the next statement.
create or replace function money.movements_pend(tenant uuid, kind text, ids uuid[]) returns void
language plpgsql set search_path = '' as $$
begin
  insert into money.merchant_pending (tenant_id, account_id, movement)
  select e.tenant_id, e.account_id, e.version
  from money.ledger_transactions t
  join money.ledger_entries e on e.tenant_id = t.tenant_id and e.transaction_id = t.id
  join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet'
  where t.tenant_id = movements_pend.tenant and t.kind = 'cod_credit' and t.reference_type = movements_pend.kind
    and t.reference_id = any (ids)
  order by e.id;
end $$;

-- The amount of a wallet that is kept by statements that are not void.
create or replace function money.kept_of(tenant uuid, account uuid) returns numeric
language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(-sum(l.amount), 0) from money.merchant_statement_lines l
    join money.merchant_statements s on s.tenant_id = l.tenant_id and s.id = l.statement_id and s.status <> 'void'
    where l.tenant_id = kept_of.tenant and l.account_id = account and l.movement is null);
end $$;

-- Nobody calls these but other functions and triggers.
revoke execute on function money.statement_movements(uuid, uuid, bigint, timestamptz), money.movements_pend(uuid, text, uuid[]),
  money.kept_of(uuid, uuid) from barid_caller;
