drop view if exists delivery.addresses_list cascade;
drop view if exists delivery.own_addresses_list cascade;

-- Addresses as every response shows them.
create view delivery.addresses_list with (security_invoker = true) as
select a.id, a.title, a.full_address, a.city, a.country, a.latitude, a.longitude, a.contact_info, a.zone_id,
  a.created_at, a.updated_at
from delivery.addresses a;

-- The address book of the caller: staff keep the tenant's, everybody else his own. Narrower than the
-- policy, which also shows the addresses that a caller's manifests and deliveries name.
create view delivery.own_addresses_list with (security_invoker = true) as
select l.*
from delivery.addresses a
join delivery.addresses_list l on l.id = a.id
where a.in_address_book and ((select app.sees_tenant()) or a.owner_user_id = (select app.user_id()));

grant select on delivery.addresses_list, delivery.own_addresses_list to barid_caller;
