create table if not exists delivery.institution_branches (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  institution_user_id uuid not null,
  name text not null check (name <> ''),
  code text not null check (code <> ''),
  address_id uuid not null,
  default_processing_point_id uuid,
  contact_info jsonb not null default '{}' check (jsonb_typeof(contact_info) = 'object'),
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  is_active boolean not null default true,
  deactivated_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint branch_code_exists unique (tenant_id, institution_user_id, code),
  foreign key (tenant_id, institution_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, address_id) references delivery.addresses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, default_processing_point_id) references delivery.transfer_processing_points (tenant_id, id) on delete restrict
);
create index if not exists branches_recent on delivery.institution_branches (tenant_id, created_at desc nulls last, id desc);
create index if not exists branches_institution on delivery.institution_branches (tenant_id, institution_user_id, created_at desc);
create index if not exists branches_code on delivery.institution_branches (tenant_id, code);
create index if not exists branches_address on delivery.institution_branches (tenant_id, address_id);
create index if not exists branches_point on delivery.institution_branches (tenant_id, default_processing_point_id);
