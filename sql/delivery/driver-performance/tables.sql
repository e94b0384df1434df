-- Driver performance, kept by month. Nothing here is written by a request: delivery.performance_refresh()
-- brings it up to date with what changed, delivery.performance_recompute() makes it anew.

-- Changes since the last refresh. A row is taken when its refresh commits; whatever commits later is
-- still here for the next, however long its transaction took, so nothing is ever missed.
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
  -- A leg of a parcel that somebody had in hand.
  handled_leg boolean not null default false,
  successful boolean not null,
  -- Null: no promise was made, or it is not known when it was kept.
  on_time boolean,
  minutes numeric(14, 2),
  distance_km numeric(12, 3),
  value numeric(18, 3) not null,
  -- No foreign keys: every row is taken from the delivery and the assignment themselves, and two look-ups a row
  -- would double the time of a rebuild.
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
  -- Of how many deliveries the minutes and the kilometres are known, and what they add up to; the kilometres of all
  -- that was carried.
  timed_deliveries bigint not null check (timed_deliveries >= 0),
  total_minutes numeric not null,
  measured_deliveries bigint not null check (measured_deliveries >= 0),
  total_distance_km numeric not null,
  total_delivery_value numeric not null,
  primary key (tenant_id, driver_id, period_year, period_month),
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete cascade
);
create index if not exists driver_performance_period on delivery.driver_performance (tenant_id, period_year, period_month);

-- When a tenant's figures were last brought up to date, and whether somebody asked for them to be made anew.
create table if not exists delivery.performance_state (
  tenant_id uuid primary key references tenancy.tenants (id) on delete cascade,
  computed_at timestamptz,
  rebuild_asked_at timestamptz
);
