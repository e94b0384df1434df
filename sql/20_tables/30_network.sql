-- Places and resources that deliveries, manifests and warehouses share.

create table if not exists delivery.zones (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  -- Outer ring first, then holes: [[[longitude, latitude], ...], ...] as in a GeoJSON Polygon.
  polygon jsonb not null,
  -- Measured from the polygon by a trigger: the outer ring and the holes as PostgreSQL tests points
  -- against them, the bounding box, so that finding a zone looks at few outlines, and the area in
  -- square degrees, because of several zones around a place the smallest wins.
  outline polygon not null,
  holes polygon[] not null default '{}',
  west double precision not null,
  south double precision not null,
  east double precision not null,
  north double precision not null,
  area double precision not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint zone_name_exists unique (tenant_id, name)
);

create table if not exists delivery.zone_tags (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint zone_tag_name_exists unique (tenant_id, name)
);

create table if not exists delivery.zone_tag_map (
  tenant_id uuid not null,
  zone_id uuid not null,
  tag_id uuid not null,
  primary key (tenant_id, zone_id, tag_id),
  foreign key (tenant_id, zone_id) references delivery.zones (tenant_id, id) on delete cascade,
  foreign key (tenant_id, tag_id) references delivery.zone_tags (tenant_id, id) on delete cascade
);
create index if not exists zone_tag_map_tag on delivery.zone_tag_map (tenant_id, tag_id);

create table if not exists delivery.addresses (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  title jsonb not null default '{}' check (jsonb_typeof(title) = 'object'),
  full_address text not null check (full_address <> ''),
  city text,
  country text,
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  contact_info jsonb not null default '{}' check (jsonb_typeof(contact_info) = 'object'),
  zone_id uuid,
  -- True: somebody named the zone. False: it follows from the coordinates and the zones' polygons.
  zone_chosen boolean not null default false,
  -- Null: a place of the tenant, or where an order of it goes. Otherwise only this person and staff see it.
  owner_user_id uuid,
  -- False: where one order of a store goes, which its customer did not ask to keep.
  in_address_book boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint coordinates_incomplete check ((latitude is null) = (longitude is null)),
  foreign key (tenant_id, zone_id) references delivery.zones (tenant_id, id) on delete restrict,
  foreign key (tenant_id, owner_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict
);
create index if not exists addresses_recent on delivery.addresses (tenant_id, created_at desc nulls last, id desc);
create index if not exists addresses_zone on delivery.addresses (tenant_id, zone_id) where zone_id is not null;
create index if not exists addresses_place on delivery.addresses (tenant_id, latitude, longitude) where latitude is not null;
create index if not exists addresses_owner on delivery.addresses (tenant_id, owner_user_id) where owner_user_id is not null;

create table if not exists delivery.transfer_processing_points (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  code text not null check (code <> ''),
  address_id uuid not null,
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  is_active boolean not null default true,
  deactivated_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint processing_point_code_exists unique (tenant_id, code),
  constraint processing_point_address foreign key (tenant_id, address_id) references delivery.addresses (tenant_id, id) on delete restrict
);
create index if not exists processing_points_recent on delivery.transfer_processing_points (tenant_id, created_at desc nulls last, id desc);
create index if not exists processing_points_address on delivery.transfer_processing_points (tenant_id, address_id);

create table if not exists delivery.institution_branches (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  institution_user_id uuid not null,
  name text not null check (name <> ''),
  code text not null check (code <> ''),
  address_id uuid not null,
  default_processing_point_id uuid,
  contact_info jsonb not null default '{}' check (jsonb_typeof(contact_info) = 'object'),
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  is_active boolean not null default true,
  deactivated_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint branch_code_exists unique (tenant_id, institution_user_id, code),
  foreign key (tenant_id, institution_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, address_id) references delivery.addresses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, default_processing_point_id) references delivery.transfer_processing_points (tenant_id, id) on delete restrict
);
create index if not exists branches_recent on delivery.institution_branches (tenant_id, created_at desc nulls last, id desc);
create index if not exists branches_institution on delivery.institution_branches (tenant_id, institution_user_id, created_at desc);
create index if not exists branches_code on delivery.institution_branches (tenant_id, code);
create index if not exists branches_address on delivery.institution_branches (tenant_id, address_id);
create index if not exists branches_point on delivery.institution_branches (tenant_id, default_processing_point_id);

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
  is_online boolean not null default false,
  last_heartbeat_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
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

create table if not exists warehousing.warehouses (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  code text not null check (code <> ''),
  status text not null default 'active' check (status in ('active', 'inactive', 'maintenance', 'full')),
  address_id uuid not null,
  total_capacity numeric(14, 3) check (total_capacity >= 0),
  available_capacity numeric(14, 3) check (available_capacity >= 0),
  features jsonb not null default '{}' check (jsonb_typeof(features) = 'object'),
  access_mode text not null default 'all_users' check (access_mode in ('all_users', 'select_users', 'exclude_users')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (tenant_id, id),
  foreign key (tenant_id, address_id) references delivery.addresses (tenant_id, id) on delete restrict
);
create unique index if not exists warehouse_code_exists on warehousing.warehouses (tenant_id, code) where deleted_at is null;
create index if not exists warehouses_address on warehousing.warehouses (tenant_id, address_id);
create index if not exists warehouses_recent on warehousing.warehouses (tenant_id, created_at desc nulls last, id desc);
