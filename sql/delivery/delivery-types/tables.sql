-- The catalogue: delivery services, their users and zones.

create table if not exists delivery.delivery_types (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  code text not null check (code <> ''),
  name jsonb not null,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint delivery_type_code_exists unique (tenant_id, code)
);
