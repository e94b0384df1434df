-- When the oldest money that is due to the owner of a wallet came: on an open statement, on none yet, or held; null: nothing is on the wallet.
-- A credit that a statement was paid for does not count. SECURITY DEFINER, since nobody reads what the next statement looks at.
create or replace function money.oldest_unpaid(wallet uuid) returns timestamptz
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return (
    select least(
      -- Lines are in the order of their movements.
      (select min(l.collected_at) from money.merchant_statements s
        cross join lateral (
          select x.collected_at from money.merchant_statement_lines x
          where x.tenant_id = v_tenant and x.statement_id = s.id and x.amount > 0 and x.movement is not null order by x.position limit 1) l
        where s.tenant_id = v_tenant and s.account_id = a.id and s.status = 'open'),
      (select min(e.created_at) from money.merchant_pending p
        join money.ledger_entries e on e.account_id = a.id and e.version = p.movement and e.amount > 0
        -- Movement by movement (offset 0): of a wallet without statistics the planner would read all its lines for each.
        where p.tenant_id = v_tenant and p.account_id = a.id and not exists (
          select from (
            select x.statement_id from money.merchant_statement_lines x
            where x.tenant_id = v_tenant and x.account_id = a.id and x.movement = p.movement
            offset 0) l
          join money.merchant_statements s on s.tenant_id = v_tenant and s.id = l.statement_id and s.status = 'paid')),
      (select m.opened_at where m.opening > 0 and exists (
        select from money.merchant_pending p where p.tenant_id = v_tenant and p.account_id = a.id and p.movement = 0)),
      (select e.created_at from money.ledger_entries e
        join money.ledger_transactions t on t.tenant_id = v_tenant and t.id = e.transaction_id
          and t.kind not in ('merchant_payout', 'merchant_payout_REVERSAL')
        where e.account_id = a.id and e.version > coalesce(m.looked_to, 0) and e.amount > 0 order by e.version limit 1))
    from money.accounts a
    left join money.merchant_accounts m on m.tenant_id = v_tenant and m.account_id = a.id
    where a.tenant_id = v_tenant and a.id = wallet and a.balance > 0 and (app.sees_tenant() or a.owner_user_id = app.user_id()));
end $$;

grant execute on function money.oldest_unpaid(uuid) to barid_caller;
