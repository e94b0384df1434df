-- Tenants, people and what they may do.

create table if not exists tenancy.currencies (
  code char(3) primary key check (code ~ '^[A-Z]{3}$'),
  numeric_code char(3) not null unique check (numeric_code ~ '^[0-9]{3}$'),
  -- Minor digits of ISO 4217. A tenant rounds to its own setting general.currency.decimals.
  exponent smallint not null check (exponent between 0 and 3),
  name jsonb not null
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
  -- be used now is never stored: app.is_effective() works it out.
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

-- The deletions of tenants (npm run tenant -- delete), under way or ended: all that is left of a tenant that was deleted.
create table if not exists tenancy.deleted_tenants (
  -- Of the tenant. No reference, for it is gone.
  id uuid not null,
  begun_at timestamptz not null default now(),
  ended_at timestamptz,
  -- The person who ran the command, as they or their computer call them.
  run_by text not null check (run_by <> ''),
  -- As counted at the beginning: rows by schema, files, and people who belonged to no other tenant.
  row_counts jsonb not null check (jsonb_typeof(row_counts) = 'object'),
  file_count bigint not null check (file_count >= 0),
  person_count bigint not null check (person_count >= 0),
  -- Those whose accounts are removed, until they are: their rows no longer say it by then.
  leaving uuid[] not null default '{}',
  primary key (id, begun_at),
  constraint ended_without_people check (ended_at is null or leaving = '{}')
);
create unique index if not exists deletion_under_way on tenancy.deleted_tenants (id) where ended_at is null;

-- The erasures of persons (npm run tenant -- erase), under way or ended: that it was done, and nobody's name.
create table if not exists tenancy.erasures (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  begun_at timestamptz not null default now(),
  ended_at timestamptz,
  -- The person who ran the command, as they or their computer call them.
  run_by text not null check (run_by <> '' and octet_length(run_by) <= 1000),
  -- As counted at the beginning: rows by table, and files.
  row_counts jsonb not null check (jsonb_typeof(row_counts) = 'object'),
  file_count bigint not null check (file_count >= 0),
  -- Until then the tables of money keep the person's name, because a law asks for the books.
  books_until date,
  -- The ids and patterns that find the rows of the person, until the erasure ends: the rows no longer have them by then.
  subject jsonb not null default '{}' check (jsonb_typeof(subject) = 'object'),
  unique (tenant_id, id),
  constraint erased_without_subject check (ended_at is null or subject = '{}')
);
create index if not exists erasures_under_way on tenancy.erasures (tenant_id) where ended_at is null;
