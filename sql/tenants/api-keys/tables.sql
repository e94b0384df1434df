create table if not exists tenancy.api_keys (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid references tenancy.tenants (id) on delete cascade,
  name text not null,
  -- SHA-256 of the key; the key itself is shown once and never stored.
  key_hash bytea not null unique check (length(key_hash) = 32),
  -- The last characters of the key, shown so that people can tell keys apart. Null: inserted by hand.
  hint text check (length(hint) = 4),
  scopes text[] not null default '{}',
  is_system_capable boolean not null default false,
  -- The person accountable for a tenant's key: it has their current rights and ends with their membership.
  created_by uuid references tenancy.profiles (id) on delete set null,
  -- A tenant's key expires within a year.
  expires_at timestamptz,
  -- When the warning before expiry was sent.
  warned_at timestamptz,
  revoked_at timestamptz,
  -- When a call with it last succeeded, to the hour.
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  check (tenant_id is null or expires_at is not null),
  -- A key is either a merchant's, to do or to read what is theirs, or the company's.
  constraint own_scope_alone check (cardinality(scopes) = 1 or not scopes && '{own:institution,own:institution:view}')
);
create index if not exists api_keys_recent on tenancy.api_keys (tenant_id, created_at desc nulls last, id desc);
create index if not exists api_keys_created_by on tenancy.api_keys (created_by);
create index if not exists api_keys_ending on tenancy.api_keys (expires_at) where warned_at is null and revoked_at is null;
