drop view if exists delivery.performance_months cascade;

drop view if exists delivery.ended_deliveries cascade;

-- The months of drivers with their names. Rates and averages are worked out where they are shown, since
-- those of several months are not the mean of them.
create view delivery.performance_months with (security_invoker = true) as
select m.tenant_id, m.driver_id, p.full_name as driver_name, m.period_year, m.period_month, m.total_deliveries,
  m.successful_deliveries, m.failed_deliveries, m.on_time_deliveries, m.late_deliveries, m.handled_legs, m.timed_deliveries, m.total_minutes,
  m.measured_deliveries, m.total_distance_km, m.total_delivery_value
from delivery.driver_performance m
join tenancy.profiles p on p.id = m.driver_id;

grant select on delivery.performance_months to barid_caller;

-- The contribution of deliveries to their driver's figures; read by delivery.performance_apply() alone:
-- - only what came to an end: delivered, or failed, returned, cancelled;
-- - for the last driver who did not reject it. What was cancelled while it waited for a driver is nobody's, and so
--   is what another company carried; what was taken from a driver counts for them only if they had it in hand: picked up since, or
--   under way when it came to them, by a handover or an undone outcome;
-- - on time when the promise and the delivery are both known; both ends of its way are when its driver reported them to have happened, which may
--   be earlier than the report, never later, and the delivery not before the pickup;
-- - a parcel in legs counts once, for who carried its last one: a leg that brought it into a warehouse does not count;
-- - its value where it reaches the recipient, the COD and the fee: of the legs of a parcel the last one has it, and nobody twice; the COD of a
--   store's order has its fee in it;
-- - its distance for the driver who carried it: none if it was cancelled before pickup.
create view delivery.ended_deliveries with (security_invoker = true) as
select d.tenant_id, d.id as delivery_id, a.driver_id, d.created_at,
  not (d.delivery_flow = 'pnd_inbound' and d.status = 'delivered') as counted,
  d.parent_id is not null and d.picked_up_at is not null as handled_leg, d.status = 'delivered' as successful,
  case when d.status = 'delivered' then t.delivered_at <= coalesce(d.promised_at, case when d.dropoff_warehouse_id is null then p.promised_at end) end
    as on_time,
  case when d.status = 'delivered' then round((extract(epoch from t.delivered_at - t.picked_up_at) / 60)::numeric, 2) end as minutes,
  case when d.status <> 'cancelled' or d.picked_up_at is not null
    then coalesce(round((a.route_details ->> 'distance_km')::numeric, 3), d.distance_km) end as distance_km,
  case when d.status = 'delivered' and (d.parent_id is null or d.dropoff_warehouse_id is null)
    then case when d.order_id is not null and d.cod_amount > 0 then d.cod_amount
      else coalesce(p.cod_amount + p.delivery_fee, d.cod_amount + d.delivery_fee) end else 0 end as value
from delivery.deliveries d
left join delivery.deliveries p on p.tenant_id = d.tenant_id and p.id = d.parent_id
cross join lateral (
  select a.driver_id, a.route_details, a.status, a.assignment_time from delivery.assignments a
  where a.tenant_id = d.tenant_id and a.delivery_id = d.id and a.status <> 'rejected'
  order by a.assignment_time desc, a.id desc limit 1
) a
cross join lateral (
  select case when d.picked_up_at is not null then least(d.picked_up_at, (select h.occurred_at from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status = 'picked_up' and h.from_status in ('assigned', 'accepted')
    order by h.id desc limit 1)) end as picked_up_at) f
cross join lateral (
  select f.picked_up_at, greatest(f.picked_up_at, least(d.delivered_at, (select h.occurred_at from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status = 'delivered' order by h.id desc limit 1))) as delivered_at) t
where d.status in ('delivered', 'failed', 'returned', 'cancelled') and d.carrier_type = 'internal'
  and (a.status <> 'returned' or d.status = 'cancelled' or (d.status <> 'delivered' and (d.picked_up_at >= a.assignment_time or (
    select h.to_status in ('picked_up', 'in_transit', 'failed', 'delivered') from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.created_at <= a.assignment_time order by h.id desc limit 1))))
  -- A return that an outcome made, which was undone, never was one.
  and not (d.made_at_door and d.status = 'cancelled' and d.status_reason is not distinct from 'outcome_undone')
  and (d.status <> 'cancelled' or (
    select h.from_status not in ('draft', 'pending') from delivery.delivery_status_history h
    where h.tenant_id = d.tenant_id and h.delivery_id = d.id and h.to_status = 'cancelled' order by h.id desc limit 1));
