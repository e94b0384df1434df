-- Bookings of deliveries with other companies, as far as deliveries ask about them.

-- True of a booking whose carrier has brought the parcel back into a warehouse, where it waits for its next driver or carrier, which may be the same
-- one under the same number. For functions that see all bookings and receipts of the tenant. {a booking} -> boolean
-- Locks nothing. Fails with nothing of its own.
create or replace function delivery.booking_brought_back(s integration.carrier_shipments) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return s.status = 'booked' and exists (
    select from warehousing.receiving_orders r
    join delivery.deliveries d on d.tenant_id = r.tenant_id and d.id = r.delivery_id and d.status = 'pending'
    where r.tenant_id = s.tenant_id and r.delivery_id = s.delivery_id and r.status = 'received' and r.source <> 'inbound'
      and r.received_at > s.booked_at);
end $$;

-- True while a booking binds its delivery: until it is cancelled, its carrier has brought the parcel back (delivery.booking_brought_back), or has
-- delivered it, be it to the door or, as a leg, into a warehouse. An undo of `delivered` lets it bind again. {a booking of the tenant} -> boolean
-- Locks nothing. Fails: forbidden (app.require_tenant).
create or replace function delivery.booking_binds(s integration.carrier_shipments) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(s.tenant_id);
  return s.status <> 'cancelled' and not delivery.booking_brought_back(s) and not exists (
    select from delivery.deliveries d where d.tenant_id = s.tenant_id and d.id = s.delivery_id and d.status = 'delivered');
end $$;

-- True while another company's booking of a parcel, or of a leg of it, binds it: the amount and the address are its. SECURITY DEFINER:
-- neither owners nor drivers see bookings.
create or replace function delivery.shipment_lives(parcel uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  return exists (
    select from integration.carrier_shipments s
    join delivery.deliveries d on d.tenant_id = s.tenant_id and d.id = s.delivery_id
    where s.tenant_id = v_tenant and (d.id = parcel or d.parent_id = parcel) and delivery.booking_binds(s));
end $$;

grant execute on function delivery.booking_binds(integration.carrier_shipments), delivery.shipment_lives(uuid) to barid_caller;
revoke execute on function delivery.booking_brought_back(integration.carrier_shipments) from barid_caller;
