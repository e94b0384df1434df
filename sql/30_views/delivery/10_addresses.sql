drop view if exists delivery.addresses_list cascade;

-- Addresses as every response shows them.
create view delivery.addresses_list with (security_invoker = true) as
select a.id, a.title, a.full_address, a.city, a.country, a.latitude, a.longitude, a.contact_info, a.zone_id,
  a.created_at, a.updated_at
from delivery.addresses a;

grant select on delivery.addresses_list to barid_caller;
