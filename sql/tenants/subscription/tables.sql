-- Subscriptions. PENDING until paid. The tenant's row has the values that apply now.
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
