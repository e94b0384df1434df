-- What the system's administrators keep about tenants: modules, subscriptions, and wizards under way.

create table if not exists tenancy.modules (
  id uuid primary key,
  key text not null unique check (key ~ '^[a-z_]+$'),
  name jsonb not null,
  position smallint not null
);

-- A tenant has a module unless a row here says that it has not, so that a new one reaches everybody.
create table if not exists tenancy.tenant_modules (
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  module_id uuid not null references tenancy.modules (id) on delete cascade,
  is_enabled boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, module_id)
);
create index if not exists tenant_modules_module on tenancy.tenant_modules (module_id);

-- PENDING until it is paid for. What of them holds now stands on the tenant itself.
create table if not exists tenancy.subscriptions (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  type text not null check (type in ('MONTHLY', 'ANNUAL', 'UNLIMITED')),
  status text not null default 'PENDING' check (status in ('PENDING', 'ACTIVE', 'CANCELLED')),
  amount numeric(15, 3) not null check (amount >= 0),
  note_public text,
  note_internal text,
  starts_at timestamptz,
  ends_at timestamptz,
  cancelled_at timestamptz,
  created_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (status <> 'ACTIVE' or (starts_at is not null and (ends_at is null) = (type = 'UNLIMITED')))
);
create index if not exists subscriptions_tenant on tenancy.subscriptions (tenant_id, created_at desc, id);
create index if not exists subscriptions_created_by on tenancy.subscriptions (created_by);
create unique index if not exists subscription_pending_once on tenancy.subscriptions (tenant_id) where status = 'PENDING';

-- A run of the tenant wizard, which takes two transactions around a call to Auth. Kept so that the same
-- call can go on where it broke off, and so that a run nobody goes on with is taken back. Neither the
-- password nor anything personal stands here; the tenant is named without a reference, for it may be gone.
create table if not exists tenancy.wizard_runs (
  id uuid primary key default gen_random_uuid(),
  caller text not null,
  key text,
  input_hash bytea not null,
  state text not null default 'running' check (state in ('running', 'done', 'undone')),
  steps jsonb not null default '[]',
  new_tenant_id uuid,
  -- Chosen before Auth makes the user; null without one.
  admin_user_id uuid,
  admin_existed boolean not null default false,
  undo_job_id bigint,
  answer jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index if not exists wizard_runs_admin on tenancy.wizard_runs (admin_user_id) where not admin_existed;
create unique index if not exists wizard_run_once on tenancy.wizard_runs (caller, key) where state <> 'undone';
