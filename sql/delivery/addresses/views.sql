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

-- The addresses that a caller may name in what they order: staff the tenant's, everybody else their own, those of their own
-- orders, and the places of the company that they see anyway. The policy also shows a driver where the orders go that they carry, and
-- being shown a recipient's home does not make it theirs to use.
create view delivery.usable_addresses with (security_invoker = true) as
select a.id
from delivery.addresses a
where (select app.sees_tenant()) or a.owner_user_id = (select app.user_id())
  or exists (select from delivery.transfer_processing_points p where p.tenant_id = a.tenant_id and p.address_id = a.id)
  or exists (select from delivery.institution_branches b where b.tenant_id = a.tenant_id and b.address_id = a.id)
  or exists (select from warehousing.warehouses w where w.tenant_id = a.tenant_id and w.address_id = a.id)
  or exists (select from delivery.deliveries d where d.tenant_id = a.tenant_id and d.pickup_address_id = a.id
    and (select app.user_id()) in (d.customer_id, d.institution_user_id))
  or exists (select from delivery.deliveries d where d.tenant_id = a.tenant_id and d.dropoff_address_id = a.id
    and (select app.user_id()) in (d.customer_id, d.institution_user_id));

grant select on delivery.addresses_list, delivery.own_addresses_list, delivery.usable_addresses to barid_caller;
