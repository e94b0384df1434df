-- Refuses an address the caller does not have. Fails: address_not_found.
create or replace function delivery.require_address(address_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform from delivery.addresses a where a.id = require_address.address_id;
  if not found then
    perform app.fail('address_not_found');
  end if;
end $$;
