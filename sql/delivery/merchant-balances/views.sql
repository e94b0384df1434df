-- Money on the wallets of merchants, and where the cash of it is (money.merchant_positions). The last columns are for search and filters.
drop view if exists money.merchant_balances_list cascade;

create view money.merchant_balances_list with (security_invoker = true) as
select a.id, jsonb_build_object('id', a.owner_user_id, 'full_name', p.full_name) as owner, a.currency, a.balance, coalesce(m.held, 0) as held,
  coalesce(m.waiting, 0) as waiting, a.balance - coalesce(m.held + m.waiting + m.stated, 0) as available, coalesce(m.stated, 0) as stated,
  coalesce(m.in_hand, 0) as in_hand_of_drivers, coalesce(m.with_carriers, 0) as with_carriers, coalesce(m.at_desks, 0) as at_desks,
  money.oldest_unpaid(a.id) as oldest_unpaid_at, a.owner_user_id, p.full_name as owner_name, a.created_at
from money.accounts a
left join tenancy.profiles p on p.id = a.owner_user_id
left join money.merchant_positions() m on m.account_id = a.id
where a.kind = 'wallet' and a.owner_type in ('customer', 'institution');

grant select on money.merchant_balances_list to barid_caller;
