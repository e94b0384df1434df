select app.tenant_table('delivery.addresses', operations => 'insert, update', write_condition => 'true');
select app.touched('delivery.addresses');

-- An address of a person is theirs and the staff's, and the driver's when it is a branch. One without an owner is a place of the
-- company, which whoever sees that place sees, or it is an order's, a recipient's home for instance: seen by whose order it is and by
-- the driver who carries it. All of it follows the policies of those tables. Only staff change addresses that are not their own. Nobody
-- hands an address over: its owner is not among the columns that can be updated.
drop policy tenant on delivery.addresses;
create policy tenant on delivery.addresses for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or owner_user_id = (select app.user_id())
    or exists (select from delivery.institution_branches b where b.tenant_id = addresses.tenant_id and b.address_id = addresses.id
      and (addresses.owner_user_id is null or (select app.has_role('driver'))))
    or owner_user_id is null and (
      exists (select from delivery.transfer_processing_points p where p.tenant_id = addresses.tenant_id and p.address_id = addresses.id)
      or exists (select from warehousing.warehouses w where w.tenant_id = addresses.tenant_id and w.address_id = addresses.id)
      or exists (select from delivery.deliveries d where d.tenant_id = addresses.tenant_id and d.pickup_address_id = addresses.id)
      or exists (select from delivery.deliveries d where d.tenant_id = addresses.tenant_id and d.dropoff_address_id = addresses.id))))
  with check (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or owner_user_id = (select app.user_id())));

revoke update on delivery.addresses from barid_caller;

grant update (title, full_address, city, country, latitude, longitude, contact_info, zone_id, zone_chosen)
  on delivery.addresses to barid_caller;
