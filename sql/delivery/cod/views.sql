-- Collected cash as lists show it; the three columns after `reversed_at` are for filters and order only. What is only shown is json: it
-- is written down once, where jsonb would take it apart first. A driver sees no holds, which are of the owner's wallet.
drop view if exists money.cod_collections_list cascade;

create view money.cod_collections_list with (security_invoker = true) as
select c.id, c.delivery_id, c.driver_id, c.amount, c.currency,
  json_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount) as allocations,
  c.cod_amount, c.delivery_fee_amount, c.collection_stage, c.status, c.collected_at, c.remitted_at, c.settled_at, c.delivery_code, c.leg_codes,
  c.receiver_name,
  json_build_object('delivery_number', c.delivery_number, 'customer_name', c.customer_name, 'delivery_address', c.delivery_address,
    'receiver_name', c.receiver_name)
    as delivery_details,
  json_build_object('full_name', p.full_name, 'email', p.email, 'avatar', p.avatar_url) as driver_info,
  c.remitted_to_user_id, c.settlement_payment_id, c.external_reference_id, c.reversed_at,
  c.customer_name, c.delivery_address, p.full_name as driver_name,
  case when (select app.sees_tenant()) then (select money.holds_cod()) and money.cod_is_held('cod_collection', c.id) end as held,
  case when (select app.sees_tenant()) and c.cod_amount > 0 and c.reversed_at is null
    then case when (select money.holds_cod()) then money.cod_released_at('cod_collection', c.id, c.collected_at) else c.collected_at end end as released_at
from money.cod_collections c
left join tenancy.people p on p.id = c.driver_id;

grant select on money.cod_collections_list to barid_caller;

-- Settlements as lists show them; the first column and the last four are for filters and order only.
drop view if exists money.cod_settlements_list cascade;

create view money.cod_settlements_list with (security_invoker = true) as
select s.payment_id as id, s.payment_id as settlement_payment_id, s.method, s.scope,
  jsonb_build_object('id', s.driver_id, 'full_name', d.full_name) as driver,
  case when s.receiver_id is not null then jsonb_build_object('id', s.receiver_id, 'full_name', g.full_name) end as receiver,
  jsonb_build_object('id', s.actor_id, 'full_name', p.full_name) as entered_by,
  s.currency, s.total, s.cod_total as cod, s.fee_total as delivery_fee, s.total - s.shortage as counted, money.shortage_to_json(s) as shortage,
  s.collections, s.reference, s.notes, r.status as receipt_status,
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
