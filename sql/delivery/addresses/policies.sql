select app.tenant_table('delivery.addresses', operations => 'insert, update', write_condition => 'true');
select app.touched('delivery.addresses');

-- An address of a person is theirs and the staff's, and the driver's when it is a branch. One without an owner is a place of the
-- company, which whoever sees that place sees, or it is an order's, a recipient's home for instance: seen by whose order it is and by
-- the driver who carries it. Only staff change addresses that are not their own. Nobody hands an address over: its owner is not among the
-- columns that can be updated.
drop policy tenant on delivery.addresses;
create policy tenant on delivery.addresses for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or owner_user_id = (select app.user_id())
    or delivery.address_is_shown(addresses)))
  with check (tenant_id = (select app.tenant_id())
    and ((select app.sees_tenant()) or owner_user_id = (select app.user_id())));

revoke update on delivery.addresses from barid_caller;

grant update (title, full_address, city, country, latitude, longitude, contact_info, zone_id, zone_chosen)
  on delivery.addresses to barid_caller;
