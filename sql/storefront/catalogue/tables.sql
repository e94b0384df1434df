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
  -- Image URLs; the first is the main image.
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
  -- The inventory item; null if it is not kept in stock.
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
