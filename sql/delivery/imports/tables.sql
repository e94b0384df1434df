-- Files of deliveries that were ordered: to know one that comes again, and to call one off as a whole.
create table if not exists delivery.delivery_imports (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  -- SHA-256 of the lines as they were read: the same for a file saved with other line ends, quotes or separators.
  content_hash bytea not null,
  created_by uuid,
  created_at timestamptz not null default now(),
  -- The last time that what could be cancelled was.
  cancelled_by uuid,
  cancelled_at timestamptz,
  unique (tenant_id, id),
  foreign key (created_by) references tenancy.profiles (id) on delete restrict,
  foreign key (cancelled_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists delivery_imports_recent on delivery.delivery_imports (tenant_id, created_at desc nulls last, id desc);
create index if not exists delivery_imports_content on delivery.delivery_imports (tenant_id, content_hash);
create index if not exists delivery_imports_by on delivery.delivery_imports (created_by) where created_by is not null;
create index if not exists delivery_imports_cancelled_by on delivery.delivery_imports (cancelled_by) where cancelled_by is not null;

-- The delivery that each line became.
create table if not exists delivery.delivery_import_lines (
  tenant_id uuid not null,
  delivery_id uuid not null,
  import_id uuid not null,
  -- Where the line begins in the file, whose heading is line 1.
  line integer not null check (line > 1),
  primary key (tenant_id, delivery_id),
  constraint delivery_import_line_taken unique (tenant_id, import_id, line),
  foreign key (tenant_id, import_id) references delivery.delivery_imports (tenant_id, id) on delete cascade,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete cascade
);
