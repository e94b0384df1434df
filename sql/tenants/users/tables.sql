create table if not exists tenancy.roles (
  key text primary key,
  name jsonb not null
);

create table if not exists tenancy.permissions (
  key text primary key,
  name jsonb not null
);

create table if not exists tenancy.role_permissions (
  role_key text not null references tenancy.roles (key) on delete cascade,
  permission_key text not null references tenancy.permissions (key) on delete cascade,
  primary key (role_key, permission_key)
);
create index if not exists role_permissions_permission on tenancy.role_permissions (permission_key);

create table if not exists tenancy.tenant_users (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  user_id uuid not null references tenancy.profiles (id) on delete cascade,
  tenant_user_type text not null check (tenant_user_type in ('staff', 'driver', 'institution', 'customer')),
  is_business boolean not null default false,
  is_active boolean not null default true,
  -- When the person left the tenant. Only accepting an invitation or joining its store makes them a member again.
  left_at timestamptz,
  employee_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The company had shut the person out when they left: its store does not let them in again.
  was_shut_out boolean not null default false,
  constraint user_already_member unique (tenant_id, user_id),
  check (left_at is null or not is_active)
);
create index if not exists tenant_users_user on tenancy.tenant_users (user_id, tenant_id);
create index if not exists tenant_users_type on tenancy.tenant_users (tenant_id, tenant_user_type, created_at desc);

create table if not exists tenancy.tenant_user_roles (
  tenant_id uuid not null,
  user_id uuid not null,
  role_key text not null references tenancy.roles (key) on delete restrict,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id, role_key),
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists tenant_user_roles_role on tenancy.tenant_user_roles (role_key);
