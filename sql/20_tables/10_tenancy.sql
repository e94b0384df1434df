-- Tenants, people and what they may do.

create table if not exists tenancy.currencies (
  code char(3) primary key check (code ~ '^[A-Z]{3}$'),
  numeric_code char(3) not null unique check (numeric_code ~ '^[0-9]{3}$'),
  -- Minor digits of ISO 4217; what a tenant rounds to is its own setting general.currency.decimals.
  exponent smallint not null check (exponent between 0 and 3),
  name jsonb not null
);

create table if not exists tenancy.profiles (
  id uuid primary key references auth.users (id) on delete cascade,
  full_name text not null default '',
  first_name text,
  last_name text,
  phone text,
  email text,
  avatar_url text,
  -- The company whose administrator made the account and knows its first password; without a reference, for it may be
  -- gone. Null: its owner registered himself.
  made_by_tenant uuid,
  -- When its owner proved that the mailbox is his, and chose a password that nobody else knows.
  proven_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table if not exists tenancy.system_users (
  user_id uuid primary key references tenancy.profiles (id) on delete cascade,
  role text not null check (role = 'system_admin'),
  created_at timestamptz not null default now()
);

create table if not exists tenancy.tenants (
  id uuid primary key default gen_random_uuid(),
  name jsonb not null,
  slug text not null,
  status text not null default 'pending' check (status in ('pending', 'active', 'suspended', 'archived')),
  contact_info jsonb not null default '{}' check (jsonb_typeof(contact_info) = 'object'),
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  logo_url text,
  -- NONE, or what the subscription last became; UNLIMITED needs no effective_until. Whether the tenant may
  -- be used now is never stored: tenancy.is_effective() works it out.
  subscription_status text not null default 'NONE',
  effective_until timestamptz,
  created_by uuid references tenancy.profiles (id) on delete set null,
  updated_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint tenant_slug_taken unique (slug),
  constraint invalid_tenant_slug check (slug ~ '^[a-z0-9]+(?:-[a-z0-9]+)*$' and length(slug) <= 63),
  constraint tenant_name_required check (jsonb_typeof(name) = 'object' and name <> '{}')
);
create index if not exists tenants_created_by on tenancy.tenants (created_by);
create index if not exists tenants_updated_by on tenancy.tenants (updated_by);

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
  -- When the person left by their own decision: only an invitation or a store that they join brings them back.
  left_at timestamptz,
  employee_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
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

-- The tenant a person last chose, or the first that they joined; the access-token hook puts it into the next token.
create table if not exists tenancy.active_tenants (
  user_id uuid primary key references tenancy.profiles (id) on delete cascade,
  tenant_id uuid not null,
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists active_tenants_tenant on tenancy.active_tenants (tenant_id, user_id);

create table if not exists tenancy.api_keys (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid references tenancy.tenants (id) on delete cascade,
  name text not null,
  -- SHA-256 of the key; the key itself is shown once and never stored.
  key_hash bytea not null unique check (length(key_hash) = 32),
  -- How the key ends, by which people tell one from another. Null: made by hand.
  hint text check (length(hint) = 4),
  scopes text[] not null default '{}',
  is_system_capable boolean not null default false,
  -- Of a tenant's key the person who answers for it: it may do what they may do now, and stops with them.
  created_by uuid references tenancy.profiles (id) on delete set null,
  -- A tenant's key ends within a year.
  expires_at timestamptz,
  -- When the warning before that was written.
  warned_at timestamptz,
  revoked_at timestamptz,
  -- When a call with it last succeeded, to the hour.
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  check (tenant_id is null or expires_at is not null)
);
create index if not exists api_keys_recent on tenancy.api_keys (tenant_id, created_at desc nulls last, id desc);
create index if not exists api_keys_created_by on tenancy.api_keys (created_by);
create index if not exists api_keys_ending on tenancy.api_keys (expires_at) where warned_at is null and revoked_at is null;

-- Settings as module -> group -> settings, for example delivery -> transfer_manifest -> {enabled: true}.
create table if not exists tenancy.tenant_settings (
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  module text not null check (module ~ '^[a-z_]+$'),
  group_key text not null check (group_key ~ '^[a-z_]+$'),
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  updated_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, module, group_key)
);
create index if not exists tenant_settings_updated_by on tenancy.tenant_settings (updated_by);

create table if not exists tenancy.system_settings (
  key text primary key,
  value jsonb not null,
  updated_at timestamptz not null default now()
);

create table if not exists tenancy.notifications (
  id uuid primary key default gen_random_uuid(),
  -- Null: a notice of the platform, to an administrator of the system.
  tenant_id uuid,
  user_id uuid not null references tenancy.profiles (id) on delete cascade,
  type text not null,
  payload jsonb not null default '{}',
  read_at timestamptz,
  created_at timestamptz not null default now(),
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists notifications_user on tenancy.notifications (tenant_id, user_id);
create index if not exists notifications_person on tenancy.notifications (user_id, created_at desc nulls last, id desc);
create index if not exists notifications_unread on tenancy.notifications (user_id) where read_at is null;
