create table if not exists tenancy.profiles (
  id uuid primary key references auth.users (id) on delete cascade,
  full_name text not null default '',
  first_name text,
  last_name text,
  phone text,
  email text,
  avatar_url text,
  -- The company whose administrator made the account and knows its first password; without a reference, for it may be
  -- gone. Null: its owner registered it.
  made_by_tenant uuid,
  -- When its owner proved that the mailbox is theirs, and chose a password that nobody else knows.
  proven_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table if not exists tenancy.system_users (
  user_id uuid primary key references tenancy.profiles (id) on delete cascade,
  role text not null check (role = 'system_admin'),
  created_at timestamptz not null default now()
);
