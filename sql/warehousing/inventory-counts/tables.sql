-- Counts of bins, with the recorded quantities at that moment, kept also without differences. Differences are booked with
-- the count, by movements whose reference is the count.

create table if not exists warehousing.inventory_counts (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  warehouse_id uuid not null,
  notes text,
  -- True: stock in the bins that no line names counts as not found.
  whole_bins boolean not null default false,
  -- Null: an API key or the system itself.
  counted_by uuid,
  lines integer not null check (lines > 0),
  differences integer not null check (differences between 0 and lines),
  units_found bigint not null check (units_found >= 0),
  units_missing bigint not null check (units_missing >= 0),
  differing boolean not null generated always as (differences > 0) stored,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint count_adds_up check ((differences > 0) = (units_found + units_missing > 0)),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  -- References profiles, not members: system administrators act in tenants that they are not members of.
  foreign key (counted_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists inventory_counts_recent on warehousing.inventory_counts (tenant_id, created_at desc nulls last, id desc);
create index if not exists inventory_counts_warehouse on warehousing.inventory_counts (tenant_id, warehouse_id, created_at desc nulls last, id desc);
create index if not exists inventory_counts_counter on warehousing.inventory_counts (tenant_id, counted_by, created_at desc nulls last, id desc);
create index if not exists inventory_counts_differing on warehousing.inventory_counts (tenant_id, differing, created_at desc nulls last, id desc);
create index if not exists inventory_counts_differences on warehousing.inventory_counts (tenant_id, differences desc nulls last, id desc);
create index if not exists inventory_counts_missing on warehousing.inventory_counts (tenant_id, units_missing desc nulls last, id desc);
create index if not exists inventory_counts_person on warehousing.inventory_counts (counted_by) where counted_by is not null;
create index if not exists inventory_counts_found on warehousing.inventory_counts using gin (app.folded(notes) extensions.gin_trgm_ops)
  where notes is not null;

-- The places that were counted: those of the request first, in its order.
create table if not exists warehousing.inventory_count_lines (
  tenant_id uuid not null,
  count_id uuid not null,
  position integer not null check (position > 0),
  warehouse_id uuid not null,
  bin_id uuid not null,
  item_id uuid not null,
  -- `available` includes reserved units here: a person who counts cannot tell them apart.
  status text not null check (status not in ('', 'reserved')),
  lot_number text check (lot_number <> ''),
  serial_number text check (serial_number <> ''),
  -- The recorded quantity, the reserved share of it, and the quantity found.
  expected bigint not null check (expected >= 0),
  reserved bigint not null check (reserved between 0 and expected),
  counted bigint not null,
  primary key (tenant_id, count_id, position),
  constraint count_below_reserved check (counted >= reserved),
  constraint place_counted_twice unique nulls not distinct (tenant_id, count_id, item_id, bin_id, status, lot_number, serial_number),
  foreign key (tenant_id, count_id) references warehousing.inventory_counts (tenant_id, id) on delete restrict,
  foreign key (tenant_id, warehouse_id, bin_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create index if not exists inventory_count_lines_item on warehousing.inventory_count_lines (tenant_id, item_id);
create index if not exists inventory_count_lines_bin on warehousing.inventory_count_lines (tenant_id, warehouse_id, bin_id);
