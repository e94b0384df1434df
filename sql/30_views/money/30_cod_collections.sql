-- Collected cash as lists show it; the columns after `external_reference_id` are for filters and order only.
drop view if exists money.cod_collections_list cascade;
create view money.cod_collections_list with (security_invoker = true) as
select c.id, c.delivery_id, c.driver_id, c.amount, c.currency,
  jsonb_build_object('cod', c.cod_amount, 'delivery_fee', c.delivery_fee_amount) as allocations,
  c.cod_amount, c.delivery_fee_amount, c.collection_stage, c.status, c.collected_at, c.remitted_at, c.settled_at, c.delivery_code, c.leg_codes,
  c.receiver_name,
  jsonb_build_object('delivery_number', c.delivery_number, 'customer_name', c.customer_name, 'delivery_address', c.delivery_address,
    'receiver_name', c.receiver_name)
    as delivery_details,
  jsonb_build_object('full_name', p.full_name, 'email', p.email, 'avatar', p.avatar_url) as driver_info,
  c.remitted_to_user_id, c.settlement_payment_id, c.external_reference_id,
  c.customer_name, c.delivery_address, p.full_name as driver_name
from money.cod_collections c
left join tenancy.profiles p on p.id = c.driver_id;
grant select on money.cod_collections_list to barid_caller;
