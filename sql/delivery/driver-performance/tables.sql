-- Driver performance by month. Requests never write it: delivery.performance_refresh() applies the changes since the
-- last refresh, delivery.performance_recompute() recomputes everything.

-- Changes since the last refresh, which removes the rows it applied. A change that commits later stays for the next
-- refresh, so none is missed.
create table if not exists delivery.performance_changes (
  id bigint generated always as identity primary key,
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  delivery_id uuid not null
);
create index if not exists performance_changes_tenant on delivery.performance_changes (tenant_id, delivery_id);

-- The contribution of each finished delivery, so that a change of one reverses exactly what it
-- gave. Of a parcel in legs each leg that was carried has a row, for its way, and one of them counts as the delivery.
create table if not exists delivery.performance_deliveries (
  tenant_id uuid not null,
  delivery_id uuid not null,
  driver_id uuid not null,
  period_year smallint not null,
  period_month smallint not null check (period_month between 1 and 12),
  -- False: a leg into a warehouse that arrived; its parcel counts for who carries it last.
  counted boolean not null default true,
  -- True: a leg that a driver picked up.
  handled_leg boolean not null default false,
  successful boolean not null,
  -- Null: no time was promised, or the delivery time is unknown.
  on_time boolean,
  minutes numeric(14, 2),
  distance_km numeric(12, 3),
  value numeric(18, 3) not null,
  -- No foreign keys: every row is computed from its delivery and assignment, and two look-ups a row would double the
  -- time of a rebuild.
  primary key (tenant_id, delivery_id)
);
create index if not exists performance_deliveries_period on delivery.performance_deliveries (tenant_id, period_year, period_month);

create table if not exists delivery.driver_performance (
  tenant_id uuid not null,
  driver_id uuid not null,
  period_year smallint not null,
  period_month smallint not null check (period_month between 1 and 12),
  total_deliveries bigint not null check (total_deliveries >= 0),
  successful_deliveries bigint not null check (successful_deliveries >= 0),
  failed_deliveries bigint not null check (failed_deliveries >= 0),
  on_time_deliveries bigint not null check (on_time_deliveries >= 0),
  late_deliveries bigint not null check (late_deliveries >= 0),
  handled_legs bigint not null default 0 check (handled_legs >= 0),
  -- The number of deliveries with known minutes and kilometres, and their sums; the kilometres of everything carried.
  timed_deliveries bigint not null check (timed_deliveries >= 0),
  total_minutes numeric not null,
  measured_deliveries bigint not null check (measured_deliveries >= 0),
  total_distance_km numeric not null,
  total_delivery_value numeric not null,
  primary key (tenant_id, driver_id, period_year, period_month),
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete cascade
);
create index if not exists driver_performance_period on delivery.driver_performance (tenant_id, period_year, period_month);

-- The time of a tenant's last refresh, whether a recomputation was requested, and by which clock the months are.
create table if not exists delivery.performance_state (
  tenant_id uuid primary key references tenancy.tenants (id) on delete cascade,
  computed_at timestamptz,
  rebuild_asked_at timestamptz,
  -- The time zone, as the setting says it, by which all figures were last put into their months. Null: not known yet.
  zone text
);
