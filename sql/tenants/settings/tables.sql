-- Settings as module -> group -> settings, for example delivery -> transfer_manifest -> {enabled: true}.
create table if not exists tenancy.tenant_settings (
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  module text not null check (module ~ '^[a-z_]+$'),
  group_key text not null check (group_key ~ '^[a-z_]+$'),
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  updated_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  -- By the clock, since the newest of them is the version of all (If-Match), and a transaction may have waited for another's change.
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, module, group_key)
);
create index if not exists tenant_settings_updated_by on tenancy.tenant_settings (updated_by);
