-- Cash that carriers took, as its list shows it.
drop view if exists money.carrier_collections_list cascade;
create view money.carrier_collections_list with (security_invoker = true) as
select c.id, c.carrier_code, c.delivery_id, c.delivery_code, c.tracking_number, c.external_reference_id, c.customer_name,
  c.delivery_address, c.amount, c.cod_amount, c.delivery_fee_amount, c.currency, c.status, c.collected_at, c.remitted_at,
  c.remittance_id, r.reference as remittance_reference
from money.carrier_collections c
left join money.carrier_remittances r on r.tenant_id = c.tenant_id and r.id = c.remittance_id;
grant select on money.carrier_collections_list to barid_caller;
