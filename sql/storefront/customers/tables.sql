-- Tables of a store's customers: carts, orders, reviews, their addresses.

create table if not exists storefront.carts (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  market_id uuid not null,
  customer_id uuid not null,
  status text not null default 'active' check (status in ('active', 'converted', 'abandoned')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, market_id) references storefront.markets (tenant_id, id) on delete restrict,
  foreign key (tenant_id, customer_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict
);
create unique index if not exists cart_already_active on storefront.carts (tenant_id, market_id, customer_id) where status = 'active';
create index if not exists carts_market on storefront.carts (tenant_id, market_id);
create index if not exists carts_untouched on storefront.carts (updated_at) where status <> 'converted';
create index if not exists carts_customer on storefront.carts (tenant_id, customer_id, created_at desc);

create table if not exists storefront.cart_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  cart_id uuid not null,
  variant_id uuid not null,
  -- Prices are not stored here: carts and new orders use the current price.
  quantity integer not null check (quantity between 1 and 999),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint variant_already_in_cart unique (tenant_id, cart_id, variant_id),
  foreign key (tenant_id, cart_id) references storefront.carts (tenant_id, id) on delete cascade,
  foreign key (tenant_id, variant_id) references storefront.product_variants (tenant_id, id) on delete restrict
);
create index if not exists cart_items_variant on storefront.cart_items (tenant_id, variant_id);

create table if not exists storefront.customer_addresses (
  tenant_id uuid not null,
  user_id uuid not null,
  address_id uuid not null,
  is_default boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id, address_id),
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade,
  foreign key (tenant_id, address_id) references delivery.addresses (tenant_id, id) on delete cascade
);
create unique index if not exists customer_address_default on storefront.customer_addresses (tenant_id, user_id) where is_default;
create index if not exists customer_addresses_address on storefront.customer_addresses (tenant_id, address_id);
