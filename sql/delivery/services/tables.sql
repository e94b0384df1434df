-- A tenant's policies for money when things go wrong, by name: {payment_policies: {refund_delivery_fee_on_cancel,
-- refund_delivery_fee_on_return}}. A field that a profile leaves out has the tenant's default.
create table if not exists delivery.policy_profiles (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  policy jsonb not null default '{}' check (jsonb_typeof(policy) = 'object'),
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint policy_profile_name_exists unique (tenant_id, name)
);

create table if not exists delivery.delivery_services (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  code text not null check (code <> ''),
  name jsonb not null check (jsonb_typeof(name) = 'object'),
  description jsonb not null default '{}' check (jsonb_typeof(description) = 'object'),
  image_url text,
  priority integer,
  service_level text not null check (service_level in ('economy', 'standard', 'express', 'same_day', 'next_day', 'scheduled')),
  default_price numeric(18, 3) not null default 0 check (default_price >= 0),
  price_per_km numeric(18, 3) not null default 0 check (price_per_km >= 0),
  free_km numeric(12, 3) not null default 0 check (free_km >= 0),
  -- Minutes.
  estimated_delivery_time_min numeric(12, 3) check (estimated_delivery_time_min >= 0),
  estimated_delivery_time_max numeric(12, 3) check (estimated_delivery_time_max >= 0),
  allowed_delivery_attempts integer not null default 1,
  unit_min numeric(12, 3) not null check (unit_min >= 0),
  unit_max numeric(12, 3) not null,
  service_options jsonb not null default '{}' check (jsonb_typeof(service_options) = 'object'),
  delivery_type_id uuid not null,
  active boolean not null default true,
  allow_returns boolean not null default false,
  access_mode text not null default 'all_users' check (access_mode in ('all_users', 'select_users', 'exclude_users')),
  zone_access_mode text not null default 'all_zones' check (zone_access_mode in ('all_zones', 'select_zones', 'exclude_zones')),
  zone_selector_type text not null default 'zone' check (zone_selector_type in ('zone', 'tag')),
  policy_mode text not null default 'tenant' check (policy_mode in ('tenant', 'profile', 'custom')),
  policy_profile_id uuid,
  policy_overrides jsonb not null default '{}' check (jsonb_typeof(policy_overrides) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Soft deletion: deliveries still refer to a deleted service; nothing else shows it.
  deleted_at timestamptz,
  unique (tenant_id, id),
  constraint allowed_delivery_attempts_must_be_positive_integer check (allowed_delivery_attempts > 0),
  constraint invalid_unit_range check (unit_min <= unit_max),
  constraint invalid_delivery_time_range check (estimated_delivery_time_min <= estimated_delivery_time_max),
  foreign key (tenant_id, delivery_type_id) references delivery.delivery_types (tenant_id, id) on delete restrict,
  foreign key (tenant_id, policy_profile_id) references delivery.policy_profiles (tenant_id, id) on delete restrict
);
create unique index if not exists service_code_already_exists on delivery.delivery_services (tenant_id, code) where deleted_at is null;
create index if not exists services_recent on delivery.delivery_services (tenant_id, created_at desc nulls last, id desc) where deleted_at is null;
create index if not exists services_by_price on delivery.delivery_services (tenant_id, default_price, id) where deleted_at is null;
create index if not exists services_type on delivery.delivery_services (tenant_id, delivery_type_id);
create index if not exists services_profile on delivery.delivery_services (tenant_id, policy_profile_id) where policy_profile_id is not null;

create table if not exists delivery.delivery_service_users (
  tenant_id uuid not null,
  service_id uuid not null,
  user_id uuid not null,
  primary key (tenant_id, service_id, user_id),
  foreign key (tenant_id, service_id) references delivery.delivery_services (tenant_id, id) on delete cascade,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists service_users_user on delivery.delivery_service_users (tenant_id, user_id);

create table if not exists delivery.delivery_service_zones (
  tenant_id uuid not null,
  service_id uuid not null,
  zone_id uuid not null,
  primary key (tenant_id, service_id, zone_id),
  foreign key (tenant_id, service_id) references delivery.delivery_services (tenant_id, id) on delete cascade,
  foreign key (tenant_id, zone_id) references delivery.zones (tenant_id, id) on delete cascade
);
create index if not exists service_zones_zone on delivery.delivery_service_zones (tenant_id, zone_id);

create table if not exists delivery.delivery_service_zone_tags (
  tenant_id uuid not null,
  service_id uuid not null,
  tag_id uuid not null,
  primary key (tenant_id, service_id, tag_id),
  foreign key (tenant_id, service_id) references delivery.delivery_services (tenant_id, id) on delete cascade,
  foreign key (tenant_id, tag_id) references delivery.zone_tags (tenant_id, id) on delete cascade
);
create index if not exists service_zone_tags_tag on delivery.delivery_service_zone_tags (tenant_id, tag_id);

create table if not exists delivery.delivery_service_teams (
  tenant_id uuid not null,
  service_id uuid not null,
  team_id uuid not null,
  primary key (tenant_id, service_id, team_id),
  foreign key (tenant_id, service_id) references delivery.delivery_services (tenant_id, id) on delete cascade,
  foreign key (tenant_id, team_id) references delivery.teams (tenant_id, id) on delete cascade
);
create index if not exists service_teams_team on delivery.delivery_service_teams (tenant_id, team_id);

create table if not exists delivery.delivery_service_vehicles (
  tenant_id uuid not null,
  service_id uuid not null,
  vehicle_id uuid not null,
  primary key (tenant_id, service_id, vehicle_id),
  foreign key (tenant_id, service_id) references delivery.delivery_services (tenant_id, id) on delete cascade,
  foreign key (tenant_id, vehicle_id) references delivery.vehicles (tenant_id, id) on delete cascade
);
create index if not exists service_vehicles_vehicle on delivery.delivery_service_vehicles (tenant_id, vehicle_id);
