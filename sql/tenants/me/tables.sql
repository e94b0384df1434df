-- The tenant a person last chose, or the first that they joined; the access-token hook puts it into the next token.
create table if not exists tenancy.active_tenants (
  user_id uuid primary key references tenancy.profiles (id) on delete cascade,
  tenant_id uuid not null,
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists active_tenants_tenant on tenancy.active_tenants (tenant_id, user_id);

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
create index if not exists notifications_created on tenancy.notifications (created_at);
create index if not exists notifications_unread on tenancy.notifications (user_id) where read_at is null;
