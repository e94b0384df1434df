-- Cash of the office by holder: the desks of staff, those of drivers who remitted to themselves, and the
-- tenant's own till; for operations managers their own. The columns after `last_moved_at` are for search, order and reading the whole list.
drop view if exists money.cash_desks_list cascade;

create view money.cash_desks_list with (security_invoker = true) as
select a.id, a.owner_type, case when p.id is not null then jsonb_build_object('id', p.id, 'full_name', p.full_name) end as user,
  a.currency, a.balance, (
    select e.created_at from money.ledger_entries e
    where e.tenant_id = a.tenant_id and e.account_id = a.id order by e.id desc nulls last limit 1) as last_moved_at,
  p.full_name, a.owner_user_id as user_id, a.created_at
from money.accounts a
left join tenancy.profiles p on p.id = a.owner_user_id
where a.kind = 'cash_on_hand' and ((select money.settles_for_office()) or a.owner_user_id = (select app.user_id()));

grant select on money.cash_desks_list to barid_caller;

-- Cash that left desks or came to them; operations managers find what left their own, or came to it. The ids and names of both people are for
-- filters and order.
drop view if exists money.cash_transfers_list cascade;

create view money.cash_transfers_list with (security_invoker = true) as
select t.id, t.kind, t.from_owner_type,
  case when f.id is not null then jsonb_build_object('id', f.id, 'full_name', f.full_name) end as from_user,
  case when g.id is not null then jsonb_build_object('id', g.id, 'full_name', g.full_name) end as to_user,
  t.to_owner_type, t.refund_id, case when w.id is not null then jsonb_build_object('id', w.id, 'owner_type', w.owner_type,
    'owner', case when o.id is not null then jsonb_build_object('id', o.id, 'full_name', o.full_name) end) end as wallet,
  t.amount, t.currency, t.reference, t.notes, jsonb_build_object('id', t.actor_id, 'full_name', p.full_name) as entered_by, t.created_at,
  t.reversed_at, case when t.reversed_by is not null then jsonb_build_object('id', t.reversed_by, 'full_name', r.full_name) end as reversed_by,
  t.reversal_reason, t.from_user_id, t.to_user_id, f.full_name as from_user_name, g.full_name as to_user_name, w.id as wallet_id,
  o.full_name as wallet_owner_name
from money.cash_transfers t
left join money.payments m on m.tenant_id = t.tenant_id and m.id = t.payment_id
left join money.accounts w on w.tenant_id = m.tenant_id and w.id = m.account_id
left join tenancy.profiles o on o.id = w.owner_user_id
left join tenancy.profiles f on f.id = t.from_user_id
left join tenancy.profiles g on g.id = t.to_user_id
left join tenancy.profiles p on p.id = t.actor_id
left join tenancy.profiles r on r.id = t.reversed_by
where (select money.settles_for_office()) or (select app.user_id()) in (t.from_user_id, t.to_user_id);

grant select on money.cash_transfers_list to barid_caller;

-- Fees that are due back in cash, to payers without a wallet; paid by a transfer that was not reversed.
drop view if exists money.cash_refunds_list cascade;

create view money.cash_refunds_list with (security_invoker = true) as
select p.id, p.delivery_id, d.delivery_code, p.amount, p.currency, case p.status when 'SUCCESS' then 'paid' else 'open' end as status,
  money.payer_contact(d) as payer, p.created_at, t.id as cash_transfer_id, t.reference, t.created_at as paid_at
from money.payments p
join delivery.deliveries d on d.tenant_id = p.tenant_id and d.id = p.delivery_id
left join money.cash_transfers t on t.tenant_id = p.tenant_id and t.refund_id = p.id and t.reversed_at is null
where p.category = 'DELIVERY' and p.type = 'REFUND' and p.payment_method = 'cash'
  -- Of a return that was undone nothing is due.
  and p.status <> 'CANCELLED';

grant select on money.cash_refunds_list to barid_caller;

-- Every movement of every desk, by the ledger: a row for each entry, so that the rows of a desk add up to what it holds; operations managers find
-- those of their own. `details` are made for the rows that are shown alone; the columns after it are for filters. Journal and transfer are joined
-- and not selected, so that what asks for none of their columns reads neither.
drop view if exists money.cash_desk_movements_list cascade;

create view money.cash_desk_movements_list with (security_invoker = true) as
select e.id, case
    when t.reference_type = 'cash_transfer' then c.kind
    else case replace(t.kind, '_REVERSAL', '') when 'cod_settlement' then 'remittance' when 'cash_shortage' then 'shortage'
      when 'driver_payout_cash' then 'driver_payout' when 'merchant_payout_cash' then 'merchant_payout' else replace(t.kind, '_REVERSAL', '') end
    end as kind,
  e.amount, e.currency, e.balance_after, t.reference_id, t.description, e.created_at,
  money.desk_movement_details(a, e, t) as details, a.id as desk_id, a.owner_type, a.owner_user_id as user_id
from money.accounts a
join money.ledger_entries e on e.tenant_id = a.tenant_id and e.account_id = a.id
left join money.ledger_transactions t on t.tenant_id = e.tenant_id and t.id = e.transaction_id
left join money.cash_transfers c on c.tenant_id = t.tenant_id and c.id = t.reference_id and t.reference_type = 'cash_transfer'
where a.kind = 'cash_on_hand' and ((select money.settles_for_office()) or a.owner_user_id = (select app.user_id()));

grant select on money.cash_desk_movements_list to barid_caller;
