create table if not exists warehousing.inventory_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  name text not null check (name <> ''),
  sku text not null check (sku <> ''),
  barcode text,
  brand text,
  model text,
  unit_size numeric(12, 3) not null default 1 check (unit_size > 0),
  is_serialized boolean not null default false,
  -- The parcel it is a part of, for what nobody sells: it came with a delivery and leaves with it.
  parcel_delivery_id uuid,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, parcel_delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);

-- Of the catalogue: what is in parcels is numbered after them, whatever numbers people give.
create unique index if not exists item_sku_exists on warehousing.inventory_items (tenant_id, sku) where parcel_delivery_id is null;
create index if not exists inventory_items_recent on warehousing.inventory_items (tenant_id, created_at desc nulls last, id desc);
create index if not exists inventory_items_barcode on warehousing.inventory_items (tenant_id, barcode) where barcode is not null;
create index if not exists inventory_items_parcel on warehousing.inventory_items (tenant_id, parcel_delivery_id) where parcel_delivery_id is not null;
