-- Moves a driver's open list, or part of it, to another driver, who gets it in the same order behind what is there.
-- {driver_id, to_driver_id, delivery_ids?, picked_up?} -> {bulk_assignment_id, assignment_ids, count, to_confirm, total_units,
--   driver_capacity_used, kept: [{assignment_id, delivery_id, status}]}
-- Parcels that are picked up go along, as from a van that broke down: they keep their status, attempts and cash, nothing more
-- is done with them until the new driver accepts (to_confirm counts them), and rejected they are with the first driver as before.
-- With picked_up false they stay with the first driver and are named in `kept`.
-- The old rows end as returned; the new driver is checked as for any assignment, of parcels on the road for where they go and
-- for room only, and gets all or nothing. With the times and notes that stood beside the old rows.
-- Locks: deliveries, picking orders, both drivers by id, assignments.
-- Fails: driver_not_found, same_driver, assignment_not_found (a delivery that is not on the driver's list),
-- nothing_to_hand_over, and what a plan fails with.
create or replace function delivery.assignments_hand_over(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_from uuid := (input ->> 'driver_id')::uuid;
  v_to uuid := (input ->> 'to_driver_id')::uuid;
  v_asked uuid[] := case when input ->> 'delivery_ids' is not null then app.uuids(input -> 'delivery_ids') end;
  v_take boolean := coalesce((input ->> 'picked_up')::boolean, true);
  v_held uuid[];
  v_carried uuid[];
  v_open jsonb;
  v_moving jsonb;
  v_plan jsonb;
  v_made jsonb;
begin
  if not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_from) then
    perform app.fail('driver_not_found');
  end if;
  if v_from = v_to then
    perform app.fail('same_driver', '{"field": "to_driver_id"}');
  elsif not exists (select from delivery.drivers d where d.tenant_id = v_tenant and d.user_id = v_to) then
    perform app.fail('driver_not_found', '{"field": "to_driver_id"}');
  end if;
  v_held := array(select a.delivery_id from delivery.assignments a
    where a.tenant_id = v_tenant and a.driver_id = v_from and a.status in ('pending', 'assigned', 'accepted'));
  perform delivery.lock_deliveries(v_held);
  -- The plan below locks the picks again, and the second driver a second time; here they come in order.
  perform from warehousing.picking_orders o where o.tenant_id = v_tenant and o.delivery_id = any (v_held) order by o.id for share;
  perform from delivery.drivers d where d.tenant_id = v_tenant and d.user_id in (v_from, v_to) order by d.user_id for no key update;

  select jsonb_agg(jsonb_build_object('assignment_id', a.id, 'delivery_id', a.delivery_id, 'status', d.status,
      'estimated_pickup_time', a.estimated_pickup_time, 'estimated_delivery_time', a.estimated_delivery_time, 'notes', a.notes,
      'on_road', d.status not in ('assigned', 'accepted'), 'moves', v_take or d.status in ('assigned', 'accepted'),
      -- Handed over once more before it was confirmed, the parcel is still with the one before.
      'handed_over_from', case when d.status not in ('assigned', 'accepted') then
        case when a.status = 'pending' then coalesce(a.handed_over_from, a.id) else a.id end end)
    order by a.sequence_number, a.assignment_time, a.id) into v_open
  from delivery.assignments a
  join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
  where a.tenant_id = v_tenant and a.driver_id = v_from and a.status in ('pending', 'assigned', 'accepted')
    -- Assignments added while this waited are not locked, and stay.
    and a.delivery_id = any (v_held) and (v_asked is null or a.delivery_id = any (v_asked));
  if exists (select from unnest(v_asked) q (id)
      where not coalesce(v_open, '[]') @> jsonb_build_array(jsonb_build_object('delivery_id', q.id))) then
    perform app.fail('assignment_not_found', '{"field": "delivery_ids"}');
  end if;
  select jsonb_agg(o.line order by o.place) into v_moving
  from jsonb_array_elements(v_open) with ordinality o (line, place) where (o.line ->> 'moves')::boolean;
  if v_moving is null then
    perform app.fail('nothing_to_hand_over');
  end if;

  perform delivery.assignments_return(array(select (m ->> 'assignment_id')::uuid from jsonb_array_elements(v_moving) m), null);
  v_carried := array(select (m ->> 'delivery_id')::uuid from jsonb_array_elements(v_moving) m where (m ->> 'on_road')::boolean);
  v_plan := delivery.assignments_plan(array(select (m.line ->> 'delivery_id')::uuid
    from jsonb_array_elements(v_moving) with ordinality m (line, place) order by m.place), v_to, null, true, v_carried);
  if v_plan ->> 'code' is not null then
    perform app.fail(v_plan ->> 'code', '{"field": "to_driver_id"}');
  end if;
  perform delivery.assignments_demand(v_plan, 'delivery_ids');
  -- Plan and list are in the same order.
  select jsonb_set(v_plan, '{lines}', jsonb_agg(
    p.line || jsonb_strip_nulls(m.line - '{assignment_id,delivery_id,status,on_road,moves}'::text[]) order by p.place))
  into v_plan
  from jsonb_array_elements(v_plan -> 'lines') with ordinality p (line, place)
  join jsonb_array_elements(v_moving) with ordinality m (line, place) on m.place = p.place;
  v_made := delivery.assignments_write(v_plan, jsonb_build_object('bulk', true, 'confirm', v_carried <> '{}'));
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  values (v_tenant, v_from, 'assignments_handed_over', jsonb_build_object('to_driver_id', v_to,
    'to_driver_name', (select p.full_name from tenancy.profiles p where p.id = v_to), 'assignment_count', jsonb_array_length(v_moving))
    || delivery.codes_noted(v_tenant, array(select (m ->> 'delivery_id')::uuid from jsonb_array_elements(v_moving) m)));
  return jsonb_build_object('bulk_assignment_id', v_made -> 'bulk_assignment_id', 'assignment_ids', v_made -> 'ids',
    'count', jsonb_array_length(v_moving), 'to_confirm', cardinality(v_carried), 'total_units', v_plan -> 'total', 'driver_capacity_used', v_plan -> 'after',
    'kept', (select coalesce(jsonb_agg(jsonb_build_object('assignment_id', o.line -> 'assignment_id', 'delivery_id', o.line -> 'delivery_id',
        'status', o.line -> 'status') order by o.place), '[]')
      from jsonb_array_elements(v_open) with ordinality o (line, place) where not (o.line ->> 'moves')::boolean));
end $$;
