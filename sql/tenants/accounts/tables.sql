create table if not exists tenancy.profiles (
  id uuid primary key references auth.users (id) on delete cascade,
  full_name text not null default '',
  first_name text,
  last_name text,
  phone text,
  email text,
  avatar_url text,
  -- The tenant whose administrator created the account and knows its first password. No foreign key: the tenant may be
  -- deleted. Null: the user registered.
  made_by_tenant uuid,
  -- When the user confirmed the email address and chose a password of their own.
  proven_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The tenants that the user has left; null: none. Kept by tenancy.keep_left_tenants, so that lists of a tenant compare it without a look
  -- into its members.
  left_tenants uuid[]
);

create table if not exists tenancy.system_users (
  user_id uuid primary key references tenancy.profiles (id) on delete cascade,
  role text not null check (role = 'system_admin'),
  created_at timestamptz not null default now()
);
