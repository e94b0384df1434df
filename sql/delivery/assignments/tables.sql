-- Assignments of deliveries to drivers, and the rows that drivers' apps subscribe to.

create table if not exists delivery.bulk_assignments (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  driver_id uuid not null,
  assignment_count integer not null check (assignment_count > 0),
  total_units numeric(14, 3) not null check (total_units >= 0),
  assigned_by uuid,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict
);
create index if not exists bulk_assignments_driver on delivery.bulk_assignments (tenant_id, driver_id, created_at desc);

create table if not exists delivery.assignments (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  delivery_id uuid not null,
  driver_id uuid not null,
  vehicle_id uuid,
  bulk_assignment_id uuid,
  -- pending: waits for the driver's response. assigned: no response required. returned: taken back from the driver,
  -- not a returned parcel. rejected, completed and returned are final.
  status text not null check (status in ('pending', 'assigned', 'accepted', 'rejected', 'completed', 'returned')),
  sequence_number integer not null default 1 check (sequence_number >= 0),
  -- Vehicle capacity used: the delivery's unit size when assigned.
  units numeric(12, 3) not null check (units >= 0),
  assignment_time timestamptz not null default clock_timestamp(),
  estimated_pickup_time timestamptz,
  estimated_delivery_time timestamptz,
  notes text,
  assigned_by uuid,
  responded_at timestamptz,
  response_reason text,
  ended_at timestamptz,
  -- Origin and destination warehouse, set on insert. Null: the delivery's own pickup or drop-off address.
  from_warehouse_id uuid,
  to_warehouse_id uuid,
  -- Set for a handover after pickup: the assignment that keeps the parcel until this one is accepted.
  handed_over_from uuid,
  -- {distance_km, duration_minutes?, source}: straight, by road once delivery.measure_routes has asked; null without coordinates.
  route_details jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Id of the last writing transaction; the cursor of incremental reads (shared/api/cursor.ts).
  changed bigint not null default (pg_current_xact_id()::text::bigint),
  -- Ended before its driver had the parcel, who reads it no more.
  withdrawn boolean not null default false,
  unique (tenant_id, id),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, vehicle_id) references delivery.vehicles (tenant_id, id) on delete restrict,
  foreign key (tenant_id, bulk_assignment_id) references delivery.bulk_assignments (tenant_id, id) on delete restrict,
  foreign key (tenant_id, from_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, to_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, handed_over_from) references delivery.assignments (tenant_id, id) on delete restrict
);
create index if not exists assignments_changed on delivery.assignments (tenant_id, changed, id);

-- A delivery has at most one open assignment. The index name is the error code clients get.
create unique index if not exists delivery_already_assigned on delivery.assignments (tenant_id, delivery_id)
  where status in ('pending', 'assigned', 'accepted');
create index if not exists assignments_delivery on delivery.assignments (tenant_id, delivery_id, assignment_time desc);

-- The next three match the list's sort order, so a page needs no sort.
-- With the driver, whom the policy asks about: those of a day are counted from it alone (delivery.assignment_stats).
create index if not exists assignments_latest on delivery.assignments (tenant_id, assignment_time desc nulls last, id desc) include (driver_id);
create index if not exists assignments_status on delivery.assignments (tenant_id, status, assignment_time desc nulls last, id desc);
create index if not exists assignments_driver on delivery.assignments (tenant_id, driver_id, assignment_time desc nulls last, id desc);
create index if not exists assignments_open on delivery.assignments (tenant_id, driver_id, sequence_number)
  where status in ('pending', 'assigned', 'accepted');
create index if not exists assignments_handed_over on delivery.assignments (tenant_id, handed_over_from)
  where handed_over_from is not null;
create index if not exists assignments_from_warehouse on delivery.assignments (tenant_id, from_warehouse_id)
  where from_warehouse_id is not null;
create index if not exists assignments_to_warehouse on delivery.assignments (tenant_id, to_warehouse_id)
  where to_warehouse_id is not null;
create index if not exists assignments_vehicle on delivery.assignments (tenant_id, vehicle_id) where vehicle_id is not null;
create index if not exists assignments_bulk on delivery.assignments (tenant_id, bulk_assignment_id)
  where bulk_assignment_id is not null;
create index if not exists assignments_by on delivery.assignments (tenant_id, assigned_by, assignment_time desc)
  where assigned_by is not null;

-- The rows that drivers' apps receive by Supabase Realtime: one for each single assignment, one for each bulk.
create table if not exists public.delivery_realtime_assignments (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  driver_id uuid not null,
  assignment_id uuid,
  delivery_id uuid,
  bulk_assignment_id uuid,
  assignment_status text not null,
  -- Always assignment_status = 'pending' (enforced below). Not a generated column: Realtime does not publish those.
  requires_driver_response boolean not null default false,
  is_bulk boolean not null default false,
  assignment_count integer not null default 1,
  total_units numeric(14, 3) not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint realtime_assignment unique (tenant_id, assignment_id),
  constraint realtime_bulk unique (tenant_id, bulk_assignment_id),
  constraint realtime_response_required_when_pending check (requires_driver_response = (assignment_status = 'pending')),
  constraint realtime_single_or_bulk check (is_bulk = (bulk_assignment_id is not null) and is_bulk = (assignment_id is null)),
  foreign key (tenant_id, assignment_id) references delivery.assignments (tenant_id, id) on delete cascade,
  foreign key (tenant_id, bulk_assignment_id) references delivery.bulk_assignments (tenant_id, id) on delete cascade,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete cascade
);
create index if not exists realtime_assignments_driver on public.delivery_realtime_assignments (tenant_id, driver_id, updated_at desc);
