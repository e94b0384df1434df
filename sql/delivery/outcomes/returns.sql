-- Returns that begin at a receiver's door, in the hands of the driver who is there.

-- Makes the return of a parcel at its receiver's door: picked up, with an accepted assignment of the driver who has the parcel d of, free of
-- charge, to where delivery.return_destination says. It begins before the parcel's own assignment ends, so that the driver's load is never
-- less than what is in the van. -> its id
-- flow      operational_return of what was not taken, customer_return of what is given in exchange
-- contents  as delivery.delivery_contents_write takes them, of a part or of other goods; null: all that is in the parcel
-- SECURITY DEFINER: a driver neither orders nor assigns.
-- The caller has locked the family and the driver, by delivery.require_carrier.
-- Fails: delivery_has_no_driver, service_not_found, return_already_exists.
create or replace function delivery.return_from_door(d delivery.deliveries, flow text, contents jsonb, input jsonb) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  a delivery.assignments;
  p delivery.deliveries := delivery.parcel_terms(d);
  n delivery.deliveries;
begin
  select * into a from delivery.assignments x
  where x.tenant_id = v_tenant and x.delivery_id = d.id and x.status in ('assigned', 'accepted');
  if not found then
    perform app.fail('delivery_has_no_driver');
  end if;
  n := delivery.operational_return_of(p, input || '{"at_door": true}');
  n.delivery_flow := flow;
  if flow = 'customer_return' then
    -- Goods given in exchange are none of an order: at the address of a warehouse they end there as a parcel.
    n.dropoff_warehouse_id := coalesce(n.dropoff_warehouse_id, delivery.return_ends_in(p.id, n.dropoff_address_id));
  end if;
  n.status := 'picked_up';
  n.pickup_address_id := p.dropoff_address_id;
  n.pickup_snapshot := p.dropoff_snapshot;
  n.pickup_zone_id := p.dropoff_zone_id;
  n.pickup_warehouse_id := null;
  n.current_warehouse_id := null;
  n.made_at_door := true;
  n.returns_part := contents is not null;
  perform delivery.delivery_insert(n);
  update delivery.deliveries x set picked_up_at = clock_timestamp() where x.tenant_id = v_tenant and x.id = n.id;
  perform delivery.delivery_contents_write(n.id, coalesce(contents, delivery.parcel_contents(p)));
  insert into delivery.assignments (tenant_id, delivery_id, driver_id, vehicle_id, status, sequence_number, units, assigned_by, responded_at,
    to_warehouse_id)
  values (v_tenant, n.id, a.driver_id, a.vehicle_id, 'accepted', a.sequence_number, n.unit_size, app.user_id(), clock_timestamp(),
    n.dropoff_warehouse_id);
  return n.id;
end $$;

-- All that is in a parcel, as delivery.return_from_door takes it. The goods of a store are a parcel on their way back: they are received by the
-- order (storefront.order_goods_expect), not by the parcel.
create or replace function delivery.parcel_contents(p delivery.deliveries) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_agg(to_jsonb(i) - '{sku,returned_item_id}'::text[] || case when p.order_id is null then '{}' else '{"item_id": null}'::jsonb end
      order by i.position)
    from delivery.delivery_items i where i.tenant_id = p.tenant_id and i.delivery_id = p.id);
end $$;

grant execute on function delivery.return_from_door(delivery.deliveries, text, jsonb, jsonb) to barid_caller;
revoke execute on function delivery.parcel_contents(delivery.deliveries) from barid_caller;
