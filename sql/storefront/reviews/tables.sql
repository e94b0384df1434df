create table if not exists storefront.product_reviews (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  product_id uuid not null,
  user_id uuid not null,
  -- The purchase; each can be reviewed once.
  order_item_id uuid not null,
  rating smallint not null check (rating between 1 and 5),
  comment text,
  status text not null default 'pending' check (status in ('pending', 'approved', 'rejected')),
  reviewed_by uuid references tenancy.profiles (id) on delete set null,
  reviewed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint product_already_reviewed unique (tenant_id, order_item_id),
  foreign key (tenant_id, product_id) references storefront.products (tenant_id, id) on delete restrict,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, order_item_id) references storefront.storefront_order_items (tenant_id, id) on delete restrict
);
create index if not exists product_reviews_recent on storefront.product_reviews (tenant_id, created_at desc nulls last, id desc);
create index if not exists product_reviews_product on storefront.product_reviews (tenant_id, product_id, status, created_at desc);
create index if not exists product_reviews_user on storefront.product_reviews (tenant_id, user_id);
create index if not exists product_reviews_reviewed_by on storefront.product_reviews (reviewed_by);
