-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.drivers in share row exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

CREATE OR REPLACE FUNCTION delivery.driver_status_broadcast()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform delivery.driver_broadcast(new.user_id, 'driver.status', jsonb_build_object('driver_id', new.user_id, 'status', new.status));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION warehousing.scan_next_action(d delivery.deliveries)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  v_leg delivery.deliveries;
  v_problem text;
  v_pick record := warehousing.scan_pick(d);
begin
  if d.delivery_flow = 'pnd_parent' then
    -- A leg that ended in a warehouse is not over until it was received there.
    select l.* into v_leg from delivery.deliveries l
    where l.tenant_id = d.tenant_id and l.parent_id = d.id and l.status <> 'cancelled' and (l.status <> 'delivered' or exists (
      select from warehousing.receiving_orders r where r.tenant_id = l.tenant_id and r.delivery_id = l.id and r.status = 'pending'))
    order by l.sequence_plan limit 1;
    return case when v_leg.id is null then 'none' else warehousing.scan_next_action(v_leg) end;
  end if;
  if exists (select from warehousing.receiving_orders r where r.tenant_id = d.tenant_id and r.delivery_id = d.id and r.status = 'pending') then
    return 'receive';
  end if;
  if d.status = 'failed' and d.status_reason = 'lost' then
    -- Turned up again: the office says where it is by `return`, which makes its receipt.
    return 'none';
  elsif d.status in ('picked_up', 'in_transit', 'failed') then
    return 'in_delivery';
  elsif v_pick.pick is not null and not v_pick.whole then
    -- Picked, but not all was there: the store says what becomes of its order.
    return case when v_pick.ended then 'none' else 'pick' end;
  elsif d.status in ('assigned', 'accepted') then
    if v_pick.pick is not null then
      return 'handoff';
    elsif delivery.leaves_warehouse(d) then
      return case when (warehousing.scan_handoff(array[d.id])).id is not null then 'handoff' else 'none' end;
    end if;
    return 'in_delivery';
  elsif d.status <> 'pending' or d.carrier_type <> 'internal' then
    return 'none';
  end if;
  select p.code into v_problem from delivery.preparation_problem(array[d.id]) p;
  if v_problem is null then
    return 'assign';
  end if;
  -- Not picked, and nothing else in its way: it lies here, whole, and travels nowhere.
  if v_problem = 'warehouse_preparation_inconsistent' and delivery.leaves_warehouse(d)
    and not exists (select from warehousing.picking_orders p where p.tenant_id = d.tenant_id and p.delivery_id = d.id
      and p.status in ('pending', 'in_progress', 'completed'))
    and not exists (select from delivery.delivery_items i where i.tenant_id = d.tenant_id and i.delivery_id = delivery.parcel_of(d)
      group by i.item_id having sum(i.quantity) > warehousing.units_available(i.item_id, d.pickup_warehouse_id)) then
    return 'execute';
  end if;
  return 'none';
end $function$;

CREATE TRIGGER status_broadcast AFTER UPDATE OF status ON delivery.drivers FOR EACH ROW WHEN ((new.status <> old.status)) EXECUTE FUNCTION delivery.driver_status_broadcast();

REVOKE ALL ON FUNCTION "delivery"."driver_status_broadcast"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "delivery"."driver_status_broadcast"() TO "barid_caller";

-- The version of the schema: the time of the newest migration that changed it, as its file is named. Written by
-- npm run db:migration, together with the version that the functions need (shared/runtime/version.ts).
create or replace function private.schema_version() returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return '20261127021830';
end $$;

grant execute on function private.schema_version() to barid_api;
