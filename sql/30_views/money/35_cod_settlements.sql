-- What was missing when the cash of a settlement was counted, {amount, discrepancy_id}; null: nothing.
create or replace function money.shortage_json(s money.cod_settlements) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return case when s.shortage > 0 then jsonb_build_object('amount', s.shortage, 'discrepancy_id', s.shortage_handover_id) end;
end $$;

-- Settlements as lists show them; the first column and the last four are for filters and order only.
drop view if exists money.cod_settlements_list cascade;
create view money.cod_settlements_list with (security_invoker = true) as
select s.payment_id as id, s.payment_id as settlement_payment_id, s.method, s.scope,
  jsonb_build_object('id', s.driver_id, 'full_name', d.full_name) as driver,
  case when s.receiver_id is not null then jsonb_build_object('id', s.receiver_id, 'full_name', g.full_name) end as receiver,
  jsonb_build_object('id', s.actor_id, 'full_name', p.full_name) as entered_by,
  s.currency, s.total, s.cod_total as cod, s.fee_total as delivery_fee, s.total - s.shortage as counted, money.shortage_json(s) as shortage, s.collections, s.reference, s.notes, r.status as receipt_status,
  s.settled_at, s.reversed_at,
  case when s.reversed_by is not null then jsonb_build_object('id', s.reversed_by, 'full_name', b.full_name) end as reversed_by,
  s.reversal_reason, s.driver_id, s.receiver_id, d.full_name as driver_name, g.full_name as receiver_name
from money.cod_settlements s
left join money.settlement_receipts r on r.tenant_id = s.tenant_id and r.payment_id = s.payment_id
left join tenancy.profiles d on d.id = s.driver_id
left join tenancy.profiles g on g.id = s.receiver_id
left join tenancy.profiles p on p.id = s.actor_id
left join tenancy.profiles b on b.id = s.reversed_by;
grant select on money.cod_settlements_list to barid_caller;
