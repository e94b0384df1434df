drop view if exists delivery.addresses_list cascade;

drop view if exists delivery.own_addresses_list cascade;

drop view if exists delivery.usable_addresses cascade;

-- Addresses as every response shows them.
create view delivery.addresses_list with (security_invoker = true) as
select a.id, a.title, a.full_address, a.city, a.country, a.latitude, a.longitude, a.contact_info, a.zone_id,
  a.created_at, a.updated_at
from delivery.addresses a;

-- The address book of the caller: staff keep the tenant's, everybody else their own. Narrower than the
-- policy, which also shows the addresses that a caller's manifests and deliveries name. It reads the table once: joined with
-- addresses_list it would apply the policy twice, and to each pair of rows before the table has statistics.
create view delivery.own_addresses_list with (security_invoker = true) as
select a.id, a.title, a.full_address, a.city, a.country, a.latitude, a.longitude, a.contact_info, a.zone_id,
  a.created_at, a.updated_at
from delivery.addresses a
where a.in_address_book and ((select app.sees_tenant()) or a.owner_user_id = (select app.user_id()));

-- The addresses that a caller may name in what they order: staff the tenant's, everybody else their own and those of
-- delivery.address_is_usable.
create view delivery.usable_addresses with (security_invoker = true) as
select a.id
from delivery.addresses a
where (select app.sees_tenant()) or a.owner_user_id = (select app.user_id()) or delivery.address_is_usable(a);

grant select on delivery.addresses_list, delivery.own_addresses_list, delivery.usable_addresses to barid_caller;
