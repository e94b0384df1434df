create table if not exists delivery.vehicles (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  image_url text,
  unit_capacity numeric(12, 3) not null check (unit_capacity >= 0),
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id)
);
create index if not exists vehicles_recent on delivery.vehicles (tenant_id, created_at desc nulls last, id desc);

-- A driver is a member of the tenant: driver_id everywhere is the user's id.
create table if not exists delivery.drivers (
  tenant_id uuid not null,
  user_id uuid not null,
  status text not null default 'active' check (status in ('active', 'inactive')),
  all_zones boolean not null default false,
  vehicle_id uuid,
  capacity_used numeric(12, 3) not null default 0 check (capacity_used >= 0),
  -- These two were never written and are not read any more (delivery.driver_presence has both). Views of 1.0 name them, so a
  -- release after 1.1 can drop them.
  is_online boolean not null default false,
  last_heartbeat_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- How many assignments are the driver's and not ended; kept with capacity_used.
  live_stops integer not null default 0 check (live_stops >= 0),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, vehicle_id) references delivery.vehicles (tenant_id, id) on delete restrict
);
create unique index if not exists driver_vehicle_taken on delivery.drivers (tenant_id, vehicle_id) where vehicle_id is not null;
create table if not exists delivery.driver_zones (
  tenant_id uuid not null,
  driver_id uuid not null,
  zone_id uuid not null,
  primary key (tenant_id, driver_id, zone_id),
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete cascade,
  foreign key (tenant_id, zone_id) references delivery.zones (tenant_id, id) on delete cascade
);
create index if not exists driver_zones_zone on delivery.driver_zones (tenant_id, zone_id);

-- Teams and vehicles of a service. No rows: all of them.
create table if not exists delivery.teams (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint team_name_exists unique (tenant_id, name)
);

create table if not exists delivery.team_members (
  tenant_id uuid not null,
  team_id uuid not null,
  user_id uuid not null,
  primary key (tenant_id, team_id, user_id),
  foreign key (tenant_id, team_id) references delivery.teams (tenant_id, id) on delete cascade,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists team_members_user on delivery.team_members (tenant_id, user_id);
