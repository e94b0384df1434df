-- Duty of drivers, when they were last heard of, and where they were.

-- One row for each driver who was ever on duty. Apart from delivery.drivers, whose rows are locked while parcels are
-- assigned: an app that reports where it is never waits for a dispatcher, nor a dispatcher for it.
create table if not exists delivery.driver_presence (
  tenant_id uuid not null,
  driver_id uuid not null,
  on_duty boolean not null default false,
  -- When on_duty last changed.
  duty_changed_at timestamptz not null default now(),
  last_heartbeat_at timestamptz,
  -- The latest position by the clock of its device.
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  accuracy_m double precision check (accuracy_m >= 0),
  recorded_at timestamptz,
  -- When the position last changed, and when the driver's own topic last heard of it (delivery.positions_broadcast).
  moved_at timestamptz,
  own_sent_at timestamptz,
  primary key (tenant_id, driver_id),
  constraint position_whole check ((latitude is null) = (longitude is null) and (latitude is null) = (recorded_at is null)),
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete cascade
) with (fillfactor = 50);

-- Where drivers were, for 30 days. A partition for each day (UTC), made and dropped by delivery.positions_partition(); the
-- default one takes what comes before its day was made. No foreign key: with one, each day's partition would be made and dropped
-- under a lock of all of delivery.drivers. The row of delivery.driver_presence that delivery.positions_record needs has one.
create table if not exists delivery.driver_positions (
  tenant_id uuid not null,
  driver_id uuid not null,
  recorded_at timestamptz not null,
  latitude double precision not null check (latitude between -90 and 90),
  longitude double precision not null check (longitude between -180 and 180),
  accuracy_m double precision check (accuracy_m >= 0),
  speed_kmh double precision check (speed_kmh >= 0),
  -- Degrees clockwise from north.
  heading double precision check (heading >= 0 and heading <= 360),
  battery_percent double precision check (battery_percent between 0 and 100),
  received_at timestamptz not null default now(),
  primary key (tenant_id, driver_id, recorded_at)
) partition by range (recorded_at);
create table if not exists partitions.driver_positions_default partition of delivery.driver_positions default;
