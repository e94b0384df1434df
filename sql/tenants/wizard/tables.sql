-- A run of the tenant wizard, which takes two transactions around a call to Auth. Kept so that the same
-- call can continue where it stopped, and so that a run nobody continues is undone. Neither the
-- password nor anything personal stands here; the tenant is named without a reference, for it may be gone.
create table if not exists tenancy.wizard_runs (
  id uuid primary key default gen_random_uuid(),
  caller text not null,
  key text,
  input_hash bytea not null,
  state text not null default 'running' check (state in ('running', 'done', 'undone')),
  steps jsonb not null default '[]',
  new_tenant_id uuid,
  -- Chosen before Auth creates the user; null if the run creates none.
  admin_user_id uuid,
  admin_existed boolean not null default false,
  undo_job_id bigint,
  answer jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index if not exists wizard_runs_admin on tenancy.wizard_runs (admin_user_id) where not admin_existed;
create unique index if not exists wizard_run_once on tenancy.wizard_runs (caller, key) where state <> 'undone';
