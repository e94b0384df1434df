-- Statements as lists show them; the last three columns are for search and filters only.
drop view if exists money.merchant_statements_list cascade;

create view money.merchant_statements_list with (security_invoker = true) as
select s.id, money.statement_number(s.number) as number, jsonb_build_object('id', s.owner_user_id, 'full_name', o.full_name) as owner,
  s.currency, s.opened_at, jsonb_build_object('from', s.period_from, 'to', s.period_to) as period, s.gross_cod, s.fees, s.refunds, s.adjustments,
  s.net, s.lines as count, s.status, s.payout_id, s.confirmed_at, s.voided_at, s.void_reason,
  case when p.id is not null then jsonb_build_object('id', p.id, 'method', p.method, 'amount', p.amount, 'reference', p.reference, 'proof', p.proof,
    'paid_at', p.paid_at, 'paid_by', jsonb_build_object('id', p.actor_id, 'full_name', a.full_name)) end as payout,
  s.owner_user_id, o.full_name as owner_name, s.number as sequence
from money.merchant_statements s
left join tenancy.profiles o on o.id = s.owner_user_id
left join money.merchant_payouts p on p.tenant_id = s.tenant_id and p.id = s.payout_id
left join tenancy.profiles a on a.id = p.actor_id;

grant select on money.merchant_statements_list to barid_caller;

-- The same with all payouts, for functions from 1.8.0 on; the columns after `payouts` are for search, order and filters only. Those of before say of a
-- statement what they know of it, hence two views.
drop view if exists money.statements_with_payouts cascade;

create view money.statements_with_payouts with (security_invoker = true) as
select s.*, money.statement_payouts(s.id) as payouts, p.paid_at, p.method, money.statement_references(s.id) as payout_references
from money.merchant_statements_list s
left join money.merchant_payouts p on p.tenant_id = (select app.tenant_id()) and p.id = s.payout_id;

grant select on money.statements_with_payouts to barid_caller;
