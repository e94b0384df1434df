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
  -- True: a client chose the zone. False: it was derived from the coordinates and the zones' polygons.
  zone_chosen boolean not null default false,
  -- The owner: only they and staff see the address. Null: a place of the tenant, or the destination of one of its orders.
  owner_user_id uuid,
  -- False: the destination of one store order; the customer did not save it to the address book.
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
