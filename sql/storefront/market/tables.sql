-- A tenant's online store: the market, its domain, its catalogue.

-- Payment methods. Reference data of the platform; a shop's settings select the ones it accepts.
create table if not exists storefront.payment_method_types (
  id uuid primary key,
  code text not null unique check (code ~ '^[a-z0-9_]+$'),
  type text not null check (type in ('wallet', 'cash_on_delivery', 'gateway')),
  gateway_code text unique,
  name jsonb not null check (jsonb_typeof(name) = 'object'),
  position integer not null default 0,
  is_active boolean not null default true,
  constraint gateways_have_a_code check ((type = 'gateway') = (gateway_code is not null))
);

create table if not exists storefront.markets (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- Order numbers begin with it.
  code bigint generated always as identity (start with 1001) unique,
  store_name text not null,
  directory_category text not null default 'general' check (directory_category <> ''),
  status text not null default 'draft' check (status in ('draft', 'pending_approval', 'approved', 'rejected', 'inactive')),
  publish_status text not null default 'unpublished' check (publish_status in ('published', 'unpublished')),
  -- Changed since its approval: the store stays open, and the change waits for review.
  needs_reapproval boolean not null default false,
  tagline jsonb not null default '{}' check (jsonb_typeof(tagline) = 'object'),
  logo_url text,
  -- {auto_create_delivery, currency, payment_methods}
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  theme_settings jsonb not null default '{}' check (jsonb_typeof(theme_settings) = 'object'),
  banners jsonb not null default '[]' check (jsonb_typeof(banners) = 'array'),
  submit_notes text,
  submitted_at timestamptz,
  approved_by uuid references tenancy.profiles (id) on delete set null,
  approved_at timestamptz,
  admin_notes text,
  -- Both are derived from the statuses by a trigger; policies read them.
  is_live boolean not null default false,
  is_active boolean not null default true,
  created_by uuid references tenancy.profiles (id) on delete set null,
  updated_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint market_already_exists unique (tenant_id),
  constraint invalid_store_name check (store_name ~ '^[A-Za-z0-9_-]{1,64}$'),
  constraint published_means_approved check (publish_status = 'unpublished' or status = 'approved'),
  constraint only_approved_is_reviewed_again check (not needs_reapproval or status = 'approved'),
  constraint live_follows_from_statuses check (is_live = (status = 'approved' and publish_status = 'published')),
  constraint active_follows_from_status check (is_active = (status <> 'inactive'))
);
create unique index if not exists store_name_taken on storefront.markets (lower(store_name));
create index if not exists markets_status on storefront.markets (status, created_at desc nulls last, id desc);
create index if not exists markets_recent on storefront.markets (created_at desc nulls last, id desc);
create index if not exists markets_review_again on storefront.markets (updated_at) where needs_reapproval;
create index if not exists markets_approved_by on storefront.markets (approved_by);
create index if not exists markets_created_by on storefront.markets (created_by);
create index if not exists markets_updated_by on storefront.markets (updated_by);
