-- The engine's own tables: idempotency keys, background jobs, number counters.

-- One row per Idempotency-Key. Inserted by the transaction whose answer it stores, so a failed
-- attempt leaves nothing behind and a concurrent duplicate waits on the primary key.
create table if not exists app.idempotency_keys (
  scope text not null,
  operation text not null,
  key text not null check (length(key) between 1 and 200),
  input_hash bytea not null,
  -- Null while a call of several transactions is still running.
  answer jsonb,
  created_at timestamptz not null default now(),
  primary key (scope, operation, key)
);
create index if not exists idempotency_keys_created on app.idempotency_keys (created_at);

-- Work that must happen after a commit. A job belongs to the transaction that caused it.
create table if not exists app.jobs (
  id bigint generated always as identity primary key,
  tenant_id uuid references tenancy.tenants (id) on delete cascade,
  kind text not null,
  -- Jobs of one entity run one after the other, in the order of their ids. Null: in any order.
  entity_key text,
  payload jsonb not null default '{}',
  status text not null default 'queued' check (status in ('queued', 'running', 'done', 'dead')),
  attempts integer not null default 0,
  attempts_max integer not null default 8 check (attempts_max > 0),
  run_at timestamptz not null default now(),
  lease_until timestamptz,
  lease_token uuid,
  last_error text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  -- Of the request that queued it (private.enter).
  trace_context text default nullif(current_setting('app.trace_context', true), '') check (octet_length(trace_context) <= 1000)
);
create index if not exists jobs_due on app.jobs (run_at, id) where status in ('queued', 'running');
create index if not exists jobs_entity on app.jobs (entity_key, id) where status in ('queued', 'running') and entity_key is not null;
create index if not exists jobs_dead on app.jobs (finished_at) where status = 'dead';
create index if not exists jobs_tenant on app.jobs (tenant_id);

-- The remaining requests of callers in the current minute. Unlogged: after a crash everybody has the full number.
create unlogged table if not exists app.rate_buckets (
  bucket text primary key check (length(bucket) between 1 and 200),
  tokens double precision not null,
  taken_at timestamptz not null
);
create index if not exists rate_buckets_taken on app.rate_buckets (taken_at);

-- One row for each time that the database was set back to an earlier moment, or loaded from a dump: the numbers of transactions from
-- `begins` on were other ones' before (private.timeline_begin).
create table if not exists app.timelines (
  timeline integer primary key check (timeline > 0),
  begins bigint not null,
  began_at timestamptz not null default now()
);

-- The timeline of a company that came from another project: cursors of changes that were given to it before are of an earlier one
-- (private.tenant_timeline_begin). None for a company that was founded here.
create table if not exists app.tenant_timelines (
  tenant_id uuid primary key references tenancy.tenants (id) on delete cascade,
  timeline integer not null check (timeline > 0),
  began_at timestamptz not null default now()
);

-- Counters of the numbers that people read (delivery codes, manifest numbers): one row per tenant and kind. A row
-- instead of a sequence, because numbers must be in order, without gaps, and rolled back with their transaction.
create table if not exists app.counters (
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  counter text not null,
  value bigint not null default 0 check (value >= 0),
  primary key (tenant_id, counter)
);
