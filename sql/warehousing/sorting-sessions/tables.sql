-- Sorting: staff of a warehouse put parcels into cages and trolleys, one or several for each destination.

create table if not exists warehousing.sorting_sessions (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  warehouse_id uuid not null,
  status text not null default 'active' check (status in ('active', 'completed')),
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  unique (tenant_id, warehouse_id, id),
  constraint ended_when check ((status = 'completed') = (ended_at is not null)),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict
);
create index if not exists sorting_sessions_recent on warehousing.sorting_sessions (tenant_id, warehouse_id, started_at desc nulls last, id desc);

create table if not exists warehousing.sorting_assignments (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  session_id uuid not null,
  warehouse_id uuid not null,
  staff_id uuid not null,
  destination_type text not null check (destination_type in ('city', 'zone', 'partner_area')),
  destination_value text not null check (destination_value <> ''),
  -- The value as destinations are compared; see warehousing.place_key.
  destination_key text not null,
  cage_location_id uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (tenant_id, id),
  unique (tenant_id, session_id, id),
  constraint cage_of_one_assignment unique (tenant_id, cage_location_id),
  foreign key (tenant_id, warehouse_id, session_id) references warehousing.sorting_sessions (tenant_id, warehouse_id, id) on delete restrict,
  foreign key (tenant_id, staff_id) references warehousing.warehouse_staff (tenant_id, id) on delete restrict,
  foreign key (tenant_id, warehouse_id, cage_location_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict
);
create index if not exists sorting_assignments_staff on warehousing.sorting_assignments (tenant_id, staff_id);
create index if not exists sorting_assignments_session on warehousing.sorting_assignments (tenant_id, warehouse_id, session_id);
create index if not exists sorting_assignments_cage on warehousing.sorting_assignments (tenant_id, warehouse_id, cage_location_id);

-- A parcel is sorted at most once in a session.
create table if not exists warehousing.sorting_scans (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  session_id uuid not null,
  assignment_id uuid not null,
  -- The parcel by its first delivery, also while it is on its way back by another one.
  delivery_id uuid not null,
  scanned_by uuid,
  created_at timestamptz not null default clock_timestamp(),
  -- It lies in its cage no more, since it left the warehouse while the session was under way.
  left_at timestamptz,
  unique (tenant_id, id),
  constraint already_sorted unique (tenant_id, session_id, delivery_id),
  foreign key (tenant_id, session_id, assignment_id) references warehousing.sorting_assignments (tenant_id, session_id, id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists sorting_scans_assignment on warehousing.sorting_scans (tenant_id, session_id, assignment_id);
create index if not exists sorting_scans_delivery on warehousing.sorting_scans (tenant_id, delivery_id);
