-- Records of the system's administrators about tenants: modules, subscriptions, and wizards under way.

create table if not exists tenancy.modules (
  id uuid primary key,
  key text not null unique check (key ~ '^[a-z_]+$'),
  name jsonb not null,
  position smallint not null
);

-- A tenant has a module unless a row here disables it, so every tenant gets a new module.
create table if not exists tenancy.tenant_modules (
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  module_id uuid not null references tenancy.modules (id) on delete cascade,
  is_enabled boolean not null,
  created_at timestamptz not null default now(),
  -- By the clock, since the newest of them is the version of all (If-Match), and a transaction may have waited for another's change.
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, module_id)
);
create index if not exists tenant_modules_module on tenancy.tenant_modules (module_id);
