-- Pay as lists show it; the last column is for filters only.
drop view if exists money.driver_pay_list cascade;

create view money.driver_pay_list with (security_invoker = true) as
select p.id, jsonb_build_object('id', p.driver_id, 'full_name', f.full_name) as driver,
  jsonb_build_object('id', p.delivery_id, 'delivery_code', p.delivery_code) as delivery,
  jsonb_build_object('mode', p.mode, 'percentage', p.percentage, 'base_amount', p.base_amount, 'delivery_fee', p.delivery_fee) as rule,
  p.amount, p.currency, p.status, p.accrued_at, p.paid_at, p.payout_id, p.driver_id
from money.driver_pay p
left join tenancy.profiles f on f.id = p.driver_id;

grant select on money.driver_pay_list to barid_caller;

-- Payouts as lists show them; the last two columns are for search and filters only.
drop view if exists money.driver_payouts_list cascade;

create view money.driver_payouts_list with (security_invoker = true) as
select t.id, jsonb_build_object('id', t.driver_id, 'full_name', d.full_name) as driver, t.amount, t.currency, t.method, t.accruals as count,
  t.reference, t.notes, jsonb_build_object('id', t.actor_id, 'full_name', a.full_name) as paid_by, t.paid_at, t.reversed_at,
  case when t.reversed_by is not null then jsonb_build_object('id', t.reversed_by, 'full_name', r.full_name) end as reversed_by,
  t.reversal_reason, t.driver_id, d.full_name as driver_name
from money.driver_payouts t
left join tenancy.profiles d on d.id = t.driver_id
left join tenancy.profiles a on a.id = t.actor_id
left join tenancy.profiles r on r.id = t.reversed_by;

grant select on money.driver_payouts_list to barid_caller;
