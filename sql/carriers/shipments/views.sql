-- Bookings with the delivery that each is of, as their list shows them.
drop view if exists integration.shipments_list cascade;

create view integration.shipments_list with (security_invoker = true) as
select s.id, s.delivery_id, d.delivery_code, d.status as delivery_status, s.carrier_code, s.status, s.tracking_number, s.label_url,
  s.cash_due, d.currency, s.booked_at, s.cancelled_at, s.created_at
from integration.carrier_shipments s
join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id;

grant select on integration.shipments_list to barid_caller;
