-- Payment gateways: each tenant's account at a gateway, and the webhook events that gateways sent.

create table if not exists money.payment_gateways (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  gateway_code text not null check (gateway_code ~ '^[a-z0-9_]{2,40}$'),
  is_active boolean not null default false,
  -- Settings that are not secret: terminal, account_id, amount_exponent ...
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  -- {name: encrypted text}; only the edge functions have the key.
  secrets jsonb not null default '{}' check (jsonb_typeof(secrets) = 'object'),
  -- Fingerprint of the webhook secret, to recognise the same secret sent again.
  webhook_secret_print text,
  -- The secret before a rotation; events sent before the rotation are signed with it.
  previous_webhook_secret text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- {name of an account of before: {settings, secrets, replaced_at}}, the secret before its own among them: payments that were
  -- opened there are asked about there, and heard of from there. The ten newest.
  previous_accounts jsonb not null default '{}' check (jsonb_typeof(previous_accounts) = 'object'),
  unique (tenant_id, id),
  constraint gateway_configured unique (tenant_id, gateway_code)
);

-- Find the tenants an event may belong to, by the account that it names: theirs now, or before.
create index if not exists payment_gateways_account_id on money.payment_gateways (gateway_code, (settings ->> 'account_id'));
create index if not exists payment_gateways_previous on money.payment_gateways using gin (previous_accounts) where previous_accounts <> '{}';
