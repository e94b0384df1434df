drop view if exists money.wallet_transactions_list cascade;

-- What moved a wallet: one row per entry. A positive amount came in.
create view money.wallet_transactions_list with (security_invoker = true) as
select e.id, e.account_id as wallet_id, t.kind, t.description, case when e.amount > 0 then 'credit' else 'debit' end as direction,
  e.amount, e.currency, e.balance_after, t.reference_type, t.reference_id, t.actor_id, e.created_at
from money.ledger_entries e
join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id
join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet';

grant select on money.wallet_transactions_list to barid_caller;
