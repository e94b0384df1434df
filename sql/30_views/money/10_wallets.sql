drop view if exists money.wallets_list cascade;

-- Wallets as every response shows them. The tenant's own wallet has no owner.
create view money.wallets_list with (security_invoker = true) as
select a.id, a.owner_type, a.owner_user_id as owner_id,
  case when p.id is not null then jsonb_build_object('id', p.id, 'full_name', p.full_name) end as owner,
  p.full_name as owner_name, a.currency, a.balance, a.is_active, a.created_at, a.updated_at
from money.accounts a
left join tenancy.profiles p on p.id = a.owner_user_id
where a.kind = 'wallet';

grant select on money.wallets_list to barid_caller;
