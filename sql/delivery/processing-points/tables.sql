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
