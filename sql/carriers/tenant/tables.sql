create table if not exists integration.carriers (
  code text primary key check (code ~ '^[a-z0-9_]{1,40}$'),
  name text not null,
  logo_url text,
  is_internal boolean not null default false,
  supports_webhook boolean not null default false,
  is_active boolean not null default true,
  position smallint not null
);

create table if not exists integration.tenant_carriers (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  carrier_code text not null references integration.carriers (code) on delete restrict,
  is_enabled boolean not null default false,
  prefer_internal boolean not null default false,
  default_price numeric(15, 3) check (default_price >= 0),
  -- {login_id, password, initial_token}, encrypted together.
  credentials text,
  webhook_secret text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint tenant_carrier_once unique (tenant_id, carrier_code)
);
create index if not exists tenant_carriers_carrier on integration.tenant_carriers (carrier_code);
