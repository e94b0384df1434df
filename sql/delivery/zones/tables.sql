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
