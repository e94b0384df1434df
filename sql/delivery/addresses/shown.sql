-- Addresses that are neither the caller's own nor, as staff, the tenant's: which of them are seen, and used. Functions and no part of the policy,
-- since the policies of all these tables cost each statement that names addresses a tenth of a millisecond, though few callers come to
-- them. Asked of each address of a tenant they would cost more; their cost has plans take addresses by their ids.

-- True for an address that the caller is shown by something else that they see: a branch (of a person to drivers alone), and where nobody
-- owns it a delivery that begins or ends there, a processing point or a warehouse. All of it follows the policies of those tables.
create or replace function delivery.address_is_shown(a delivery.addresses) returns boolean
language plpgsql stable cost 20000 set search_path = '' as $$
begin
  if (a.owner_user_id is null or app.has_role('driver'))
      and exists (select from delivery.institution_branches b where b.tenant_id = a.tenant_id and b.address_id = a.id) then
    return true;
  elsif a.owner_user_id is not null then
    return false;
  elsif exists (select from delivery.deliveries d where d.tenant_id = a.tenant_id and d.pickup_address_id = a.id)
      or exists (select from delivery.deliveries d where d.tenant_id = a.tenant_id and d.dropoff_address_id = a.id) then
    return true;
  end if;
  return exists (select from delivery.transfer_processing_points p where p.tenant_id = a.tenant_id and p.address_id = a.id)
    or exists (select from warehousing.warehouses w where w.tenant_id = a.tenant_id and w.address_id = a.id);
end $$;

-- True for an address that the caller may name in what they order, as a place of the company that they see or one of their own orders. A driver
-- is shown where the orders go that they carry, and being shown a recipient's home does not make it theirs to use.
create or replace function delivery.address_is_usable(a delivery.addresses) returns boolean
language plpgsql stable cost 20000 set search_path = '' as $$
declare
  v_caller uuid := app.user_id();
begin
  return exists (select from delivery.transfer_processing_points p where p.tenant_id = a.tenant_id and p.address_id = a.id)
    or exists (select from delivery.institution_branches b where b.tenant_id = a.tenant_id and b.address_id = a.id)
    or exists (select from warehousing.warehouses w where w.tenant_id = a.tenant_id and w.address_id = a.id)
    or exists (select from delivery.deliveries d
      where d.tenant_id = a.tenant_id and d.pickup_address_id = a.id and v_caller in (d.customer_id, d.institution_user_id))
    or exists (select from delivery.deliveries d
      where d.tenant_id = a.tenant_id and d.dropoff_address_id = a.id and v_caller in (d.customer_id, d.institution_user_id));
end $$;
