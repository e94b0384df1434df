-- A tenant's online store: the market, its domain, its catalogue.

-- How a shop can be paid. Reference data of the platform; which of them a shop takes is its setting.
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
  -- Changed since it was approved; it stays open, and stands in the queue of the reviewers.
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
  -- Both follow from the statuses; a trigger writes them, policies read them.
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

create table if not exists storefront.custom_domains (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  market_id uuid not null,
  -- Lower case, punycode, nothing but the host.
  custom_domain text not null check (custom_domain ~ '^[a-z0-9.-]{4,253}$'),
  status text not null default 'pending_dns' check (status in ('pending_dns', 'active', 'archived')),
  -- [{type, name, name_full, value, purpose}]: what the owner has to put into the zone; name is relative to it, as DNS panels ask for it.
  dns_records jsonb not null check (jsonb_typeof(dns_records) = 'array'),
  dns_checked_at timestamptz,
  dns_verified_at timestamptz,
  -- Of an active one: since when the records were not found.
  dns_missing_since timestamptz,
  -- Since when it waits for its records, or waited last.
  pending_since timestamptz not null default now(),
  disconnected_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint active_domains_are_verified check (status <> 'active' or dns_verified_at is not null),
  constraint archived_says_when check ((status = 'archived') = (disconnected_at is not null)),
  foreign key (tenant_id, market_id) references storefront.markets (tenant_id, id) on delete restrict
);
-- A domain belongs to the market that has proven it; claims that are pending hinder nobody.
create unique index if not exists custom_domain_taken on storefront.custom_domains (custom_domain) where status = 'active';
create index if not exists custom_domains_claims on storefront.custom_domains (custom_domain) where status <> 'archived';
create unique index if not exists custom_domain_already_connected on storefront.custom_domains (tenant_id, market_id)
  where status <> 'archived';
create index if not exists custom_domains_market on storefront.custom_domains (tenant_id, market_id);
create index if not exists custom_domains_pending on storefront.custom_domains (pending_since) where status = 'pending_dns';
create index if not exists custom_domains_verified on storefront.custom_domains (dns_checked_at) where status = 'active';

create table if not exists storefront.product_categories (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  market_id uuid not null,
  name jsonb not null check (jsonb_typeof(name) = 'object' and name <> '{}'),
  description jsonb not null default '{}' check (jsonb_typeof(description) = 'object'),
  image_url text,
  sort_order integer not null default 0,
  is_active boolean not null default true,
  archived_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, market_id) references storefront.markets (tenant_id, id) on delete restrict
);
create index if not exists product_categories_market on storefront.product_categories (tenant_id, market_id, sort_order, created_at);

create table if not exists storefront.products (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  market_id uuid not null,
  category_id uuid,
  name jsonb not null check (jsonb_typeof(name) = 'object' and name <> '{}'),
  description jsonb not null default '{}' check (jsonb_typeof(description) = 'object'),
  -- Addresses of pictures, the first one leads.
  images jsonb not null default '[]' check (jsonb_typeof(images) = 'array'),
  is_active boolean not null default true,
  archived_at timestamptz,
  created_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, market_id) references storefront.markets (tenant_id, id) on delete restrict,
  foreign key (tenant_id, category_id) references storefront.product_categories (tenant_id, id) on delete restrict
);
create index if not exists products_recent on storefront.products (tenant_id, market_id, created_at desc nulls last, id desc) where archived_at is null;
create index if not exists products_market on storefront.products (tenant_id, market_id);
create index if not exists products_category on storefront.products (tenant_id, category_id) where category_id is not null;
create index if not exists products_created_by on storefront.products (created_by);

create table if not exists storefront.product_variants (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  product_id uuid not null,
  sku text not null check (sku <> ''),
  price numeric(18, 3) not null check (price >= 0),
  compare_at_price numeric(18, 3) check (compare_at_price >= 0),
  -- The warehouse's item behind it; null for what is not kept in stock.
  inventory_item_id uuid,
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  position integer not null default 0,
  is_active boolean not null default true,
  archived_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, product_id) references storefront.products (tenant_id, id) on delete restrict,
  foreign key (tenant_id, inventory_item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create unique index if not exists sku_already_exists on storefront.product_variants (tenant_id, sku) where archived_at is null;
create index if not exists product_variants_product on storefront.product_variants (tenant_id, product_id, position);
create index if not exists product_variants_inventory on storefront.product_variants (tenant_id, inventory_item_id)
  where inventory_item_id is not null;
