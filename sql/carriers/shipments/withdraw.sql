-- Bookings of deliveries that were cancelled or sent back: their carriers hear of it from a job, since who does that does not wait for a carrier.

-- Queues the cancelling of the booking of a delivery that was cancelled, by whomever. One that is being booked at this moment is cancelled by
-- the same job, which is tried again until that claim has ended. One whose parcel the carrier has brought back has nothing to cancel. SECURITY
-- DEFINER: owners of deliveries and of orders see no bookings.
create or replace function integration.bookings_follow_deliveries() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into app.jobs (tenant_id, kind, payload, entity_key)
  select s.tenant_id, 'carriers.shipment_withdraw', jsonb_build_object('shipment_id', s.id), s.id::text
  from integration.carrier_shipments s
  where s.tenant_id = new.tenant_id and s.delivery_id = new.id and s.status <> 'cancelled' and not exists (
    select from warehousing.receiving_orders r
    where r.tenant_id = s.tenant_id and r.delivery_id = s.delivery_id and r.status = 'received' and r.source <> 'inbound'
      and r.received_at > s.booked_at)
  order by s.id;
  return null;
end $$;

-- By the row: a condition of a row costs the many other moves of deliveries nothing.
drop trigger if exists bookings_follow on delivery.deliveries;
create trigger bookings_follow after update of status on delivery.deliveries
  for each row when (new.status = 'cancelled' and old.status <> 'cancelled') execute function integration.bookings_follow_deliveries();

-- Claims a booking for cancelling, for the job. Null: it has ended, or its delivery is neither cancelled nor sent back, as after the cancellation of
-- its return. -> as integration.cancel_claim
-- Locks the delivery, then the shipment. Fails: shipment_in_progress (it is being booked or cancelled at this moment).
create or replace function integration.withdraw_begin(shipment uuid) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  s integration.carrier_shipments;
  d delivery.deliveries;
begin
  select t.* into s from integration.carrier_shipments t where t.id = withdraw_begin.shipment;
  perform set_config('app.tenant_id', s.tenant_id::text, true);
  select t.* into d from delivery.deliveries t where t.tenant_id = s.tenant_id and t.id = s.delivery_id for no key update;
  -- Read again: what was booked or cancelled while this waited counts.
  if d.status is distinct from 'cancelled' and not delivery.is_sent_back(d) or not exists (
      select from integration.carrier_shipments t where t.id = withdraw_begin.shipment and t.status <> 'cancelled') then
    return null;
  end if;
  return integration.cancel_claim(d);
end $$;

-- Ends the claim of a job: integration.cancel_end. -> {shipment}
create or replace function integration.withdraw_finish(input jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
begin
  perform set_config('app.tenant_id', (select t.tenant_id::text from integration.carrier_shipments t
    where t.id = (input ->> 'shipment_id')::uuid), true);
  return integration.shipment_to_json(integration.cancel_end(input));
end $$;

grant execute on function integration.withdraw_begin(uuid), integration.withdraw_finish(jsonb) to barid_api;

-- Triggers and the functions' own login (barid_api) alone call these.
revoke execute on function integration.bookings_follow_deliveries(), integration.withdraw_begin(uuid), integration.withdraw_finish(jsonb)
  from barid_caller;
