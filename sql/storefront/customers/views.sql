drop view if exists storefront.addresses_list cascade;

-- The caller's own address book, wherever an address was added; not where a single order once went.
create view storefront.addresses_list with (security_invoker = true) as
select a.id, a.title, a.full_address, a.city, a.country, a.latitude, a.longitude, a.contact_info, a.zone_id,
  coalesce(c.is_default, false) as is_default, a.created_at, a.updated_at
from delivery.addresses a
left join storefront.customer_addresses c
  on c.tenant_id = a.tenant_id and c.address_id = a.id and c.user_id = a.owner_user_id
where a.tenant_id = (select app.tenant_id()) and a.owner_user_id = (select app.user_id()) and a.in_address_book;

grant select on storefront.addresses_list to barid_caller;
