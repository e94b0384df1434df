-- Cash handovers as lists show them; driver_id is for the filter.
drop view if exists money.cash_handovers_list cascade;
create view money.cash_handovers_list with (security_invoker = true) as
select h.id, h.driver_id, jsonb_build_object('id', d.id, 'full_name', d.full_name) as driver, h.currency, h.status, h.declared_amount,
  h.counted_amount, h.counted_amount - h.declared_amount as difference, h.resolution, h.notes,
  case when c.id is not null then jsonb_build_object('id', c.id, 'full_name', c.full_name) end as counted_by, h.counted_at,
  case when r.id is not null then jsonb_build_object('id', r.id, 'full_name', r.full_name) end as resolved_by, h.resolved_at,
  h.settlement_payment_id, h.created_at
from money.cash_handovers h
left join tenancy.profiles d on d.id = h.driver_id
left join tenancy.profiles c on c.id = h.counted_by
left join tenancy.profiles r on r.id = h.resolved_by;
grant select on money.cash_handovers_list to barid_caller;
