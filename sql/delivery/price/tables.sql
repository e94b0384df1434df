-- Cache of road distances from a routing service, by coordinates rounded to about a metre; shared by all tenants.
create table if not exists delivery.road_distances (
  from_latitude numeric(8, 5) not null,
  from_longitude numeric(8, 5) not null,
  to_latitude numeric(8, 5) not null,
  to_longitude numeric(8, 5) not null,
  distance_km numeric(12, 3) not null check (distance_km >= 0),
  measured_at timestamptz not null default now(),
  -- Null where it was kept before times were.
  duration_minutes numeric(12, 3) check (duration_minutes >= 0),
  primary key (from_latitude, from_longitude, to_latitude, to_longitude)
);
create index if not exists road_distances_measured on delivery.road_distances (measured_at);
