drop view if exists money.wallets_list cascade;

-- Wallets as every response shows them. The tenant's own wallet has no owner. What is held or stated cannot be spent (money.wallet_held, money.wallet_stated).
create view money.wallets_list with (security_invoker = true) as
select a.id, a.owner_type, a.owner_user_id as owner_id,
  case when p.id is not null then jsonb_build_object('id', p.id, 'full_name', p.full_name) end as owner,
  p.full_name as owner_name, a.currency, a.balance, a.is_active, a.created_at, a.updated_at,
  case when a.owner_type in ('customer', 'institution') then money.wallet_held(a.id) else 0 end as held_balance,
  a.balance - case when a.owner_type in ('customer', 'institution') then money.wallet_held(a.id) + money.wallet_stated(a.id) else 0 end as available_balance,
  case when a.owner_type in ('customer', 'institution') then money.wallet_stated(a.id) else 0 end as stated_balance
from money.accounts a
left join tenancy.profiles p on p.id = a.owner_user_id
where a.kind = 'wallet';

grant select on money.wallets_list to barid_caller;

drop view if exists money.wallet_transactions_list cascade;

-- The movements of a wallet: one row per entry. A positive amount came in. Of COD it says whether it is held.
create view money.wallet_transactions_list with (security_invoker = true) as
select e.id, e.account_id as wallet_id, t.kind, t.description, case when e.amount > 0 then 'credit' else 'debit' end as direction,
  e.amount, e.currency, e.balance_after, t.reference_type, t.reference_id, t.actor_id, e.created_at,
  t.kind = 'cod_credit' and (select money.holds_cod()) and money.cod_is_held(t.reference_type, t.reference_id) as held,
  case when t.kind = 'cod_credit' then case when (select money.holds_cod()) then money.cod_released_at(t.reference_type, t.reference_id, e.created_at)
    else e.created_at end end as released_at
from money.ledger_entries e
join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id
join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id and a.kind = 'wallet';

grant select on money.wallet_transactions_list to barid_caller;
