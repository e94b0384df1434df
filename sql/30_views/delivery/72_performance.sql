drop view if exists delivery.performance_months cascade;

-- The months of drivers with their names. Rates and averages are worked out where they are shown, since
-- those of several months are not the mean of them.
create view delivery.performance_months with (security_invoker = true) as
select m.tenant_id, m.driver_id, p.full_name as driver_name, m.period_year, m.period_month, m.total_deliveries,
  m.successful_deliveries, m.failed_deliveries, m.on_time_deliveries, m.late_deliveries, m.timed_deliveries, m.total_minutes,
  m.measured_deliveries, m.total_distance_km, m.total_delivery_value
from delivery.driver_performance m
join tenancy.profiles p on p.id = m.driver_id;

grant select on delivery.performance_months to barid_caller;
