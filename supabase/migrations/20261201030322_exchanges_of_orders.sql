-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION delivery.return_from_door(d delivery.deliveries, flow text, contents jsonb, input jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261201030322';
end $$;

grant execute on function private.schema_version() to barid_api;
