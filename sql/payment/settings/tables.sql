-- Payment gateways: with which account a tenant uses one, and what the gateways told.

create table if not exists money.payment_gateways (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  gateway_code text not null check (gateway_code ~ '^[a-z0-9_]{2,40}$'),
  is_active boolean not null default false,
  -- Settings that are no secrets: terminal, account_id, amount_exponent ...
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  -- {name: sealed text}; the functions alone can open them.
  secrets jsonb not null default '{}' check (jsonb_typeof(secrets) = 'object'),
  -- Tells a new webhook secret from the same one sent again.
  webhook_secret_print text,
  -- Events sent before the secret was exchanged are signed with the one before.
  previous_webhook_secret text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint gateway_configured unique (tenant_id, gateway_code)
);

-- Which tenants an event may be for: the account is named in it.
create index if not exists payment_gateways_account on money.payment_gateways (gateway_code, (settings ->> 'account_id')) where is_active;
