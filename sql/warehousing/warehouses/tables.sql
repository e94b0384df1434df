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

-- Stock by place. Quantities are whole units. A stock row is the place of a quantity:
-- bin, item, status, lot, serial and for whom it is reserved; every change of one is a movement.

create table if not exists warehousing.bins (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  warehouse_id uuid not null,
  code text not null check (code <> ''),
  name text not null check (name <> ''),
  location_type text not null default 'BIN' check (location_type in ('BIN', 'RECEIVING', 'STAGING', 'CAGE', 'TROLLEY')),
  -- Null: no limit.
  capacity numeric(14, 3) check (capacity >= 0),
  -- Packages in a sorting location; stock does not count here.
  filled_capacity numeric(14, 3) not null default 0 check (filled_capacity >= 0),
  is_default_receiving boolean not null default false,
  -- Created for a sorting session and inactive after it.
  is_temporary boolean not null default false,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  unique (tenant_id, warehouse_id, id),
  constraint bin_code_exists unique (tenant_id, warehouse_id, code),
  constraint bin_full check (capacity is null or filled_capacity <= capacity),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict
);
create unique index if not exists default_receiving_exists on warehousing.bins (tenant_id, warehouse_id) where is_default_receiving and is_active;
create index if not exists bins_recent on warehousing.bins (tenant_id, warehouse_id, created_at desc nulls last, id desc);

create table if not exists warehousing.warehouse_users (
  tenant_id uuid not null,
  warehouse_id uuid not null,
  user_id uuid not null,
  primary key (tenant_id, warehouse_id, user_id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete cascade,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists warehouse_users_user on warehousing.warehouse_users (tenant_id, user_id);

-- The name of a warehouse at a carrier.
create table if not exists warehousing.carrier_warehouses (
  tenant_id uuid not null,
  carrier_code text not null check (carrier_code <> ''),
  warehouse_id uuid not null,
  external_id text not null check (external_id <> ''),
  external_name text,
  primary key (tenant_id, carrier_code, warehouse_id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete cascade
);
create index if not exists carrier_warehouses_warehouse on warehousing.carrier_warehouses (tenant_id, warehouse_id);

create table if not exists warehousing.warehouse_staff (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  warehouse_id uuid not null,
  user_id uuid not null,
  employee_id text,
  role text,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict
);
create unique index if not exists staff_already_assigned on warehousing.warehouse_staff (tenant_id, warehouse_id, user_id) where is_active;
create index if not exists warehouse_staff_recent on warehousing.warehouse_staff (tenant_id, warehouse_id, created_at desc nulls last, id desc);
create index if not exists warehouse_staff_user on warehousing.warehouse_staff (tenant_id, user_id);
