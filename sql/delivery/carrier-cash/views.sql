-- Cash that carriers took, as its list shows it.
drop view if exists money.carrier_collections_list cascade;

create view money.carrier_collections_list with (security_invoker = true) as
select c.id, c.carrier_code, c.delivery_id, c.delivery_code, c.tracking_number, c.external_reference_id, c.customer_name,
  c.delivery_address, c.amount, c.cod_amount, c.delivery_fee_amount, c.currency, c.status, c.collected_at, c.remitted_at,
  c.remittance_id, r.reference as remittance_reference, c.reversed_at
from money.carrier_collections c
left join money.carrier_remittances r on r.tenant_id = c.tenant_id and r.id = c.remittance_id;

grant select on money.carrier_collections_list to barid_caller;

-- Carriers' payments, as their list shows them. received: what reached the till; of a write-off nothing.
drop view if exists money.remittances_with_charges cascade;

create view money.remittances_with_charges with (security_invoker = true) as
select r.id, r.carrier_code, r.amount, r.cod_amount, r.delivery_fee_amount, r.currency, r.reference, r.notes, r.remitted_at,
  r.collections as remitted_count, case when r.actor_id is not null then jsonb_build_object('id', r.actor_id, 'full_name', p.full_name) end
    as entered_by,
  r.reversed_at, case when r.reversed_by is not null then jsonb_build_object('id', r.reversed_by, 'full_name', b.full_name) end as reversed_by,
  r.reversal_reason, r.kind, r.charges, case r.kind when 'payment' then r.amount - r.charges else 0 end as received
from money.carrier_remittances r
left join tenancy.profiles p on p.id = r.actor_id
left join tenancy.profiles b on b.id = r.reversed_by;

grant select on money.remittances_with_charges to barid_caller;

-- The same for functions up to 1.7.0, which do not know charges and received.
drop view if exists money.carrier_remittances_list cascade;

create view money.carrier_remittances_list with (security_invoker = true) as
select r.id, r.carrier_code, r.amount, r.cod_amount, r.delivery_fee_amount, r.currency, r.reference, r.notes, r.remitted_at, r.remitted_count,
  r.entered_by, r.reversed_at, r.reversed_by, r.reversal_reason, r.kind
from money.remittances_with_charges r;

grant select on money.carrier_remittances_list to barid_caller;
