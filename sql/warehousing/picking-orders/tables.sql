create table if not exists warehousing.picking_orders (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  reference_number text not null check (reference_number <> ''),
  external_reference text,
  warehouse_id uuid not null,
  order_type text not null check (order_type in ('individual', 'batch', 'waybill')),
  priority integer not null default 0,
  status text not null default 'pending' check (status in ('pending', 'in_progress', 'completed', 'handed_off', 'cancelled')),
  picking_progress jsonb not null default '{}' check (jsonb_typeof(picking_progress) = 'object'),
  notes text,
  due_date timestamptz,
  completed_date timestamptz,
  assigned_to uuid,
  created_by uuid,
  -- Set: the pick of a delivery; only the driver's pickup hands it off.
  delivery_id uuid,
  -- Set: the pick of a storefront order. It uses the order's reservation; only the order changes or cancels it.
  order_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Id of the last writing transaction; the cursor of incremental reads (shared/api/cursor.ts).
  changed bigint not null default (pg_current_xact_id()::text::bigint),
  unique (tenant_id, id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, assigned_to) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists picking_orders_changed on warehousing.picking_orders (tenant_id, changed, id);

-- Picking orders of a storefront order share its number, one in each warehouse.
create unique index if not exists picking_reference_exists on warehousing.picking_orders (tenant_id, reference_number) where order_id is null;
create unique index if not exists order_picked_once_in_a_warehouse on warehousing.picking_orders (tenant_id, order_id, warehouse_id)
  where order_id is not null;

-- A delivery has at most one open pick; after the handoff a returned parcel may be picked again.
create unique index if not exists delivery_already_picked on warehousing.picking_orders (tenant_id, delivery_id)
  where delivery_id is not null and status not in ('cancelled', 'handed_off');
create index if not exists picking_orders_delivery on warehousing.picking_orders (tenant_id, delivery_id) where delivery_id is not null;

-- Matches the list's sort order, so a page needs no sort.
create index if not exists picking_orders_recent on warehousing.picking_orders (tenant_id, created_at desc nulls last, id desc);

create index if not exists picking_orders_warehouse on warehousing.picking_orders (tenant_id, warehouse_id, status, created_at desc nulls last, id desc);
create index if not exists picking_orders_status on warehousing.picking_orders (tenant_id, status, created_at desc nulls last, id desc);
create index if not exists picking_orders_priority on warehousing.picking_orders (tenant_id, priority desc nulls last, id desc);
create index if not exists picking_orders_least on warehousing.picking_orders (tenant_id, priority, id);
create index if not exists picking_orders_assignee on warehousing.picking_orders (tenant_id, assigned_to) where assigned_to is not null;
create index if not exists picking_orders_search on warehousing.picking_orders using gin (reference_number extensions.gin_trgm_ops);

create table if not exists warehousing.picking_order_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  picking_order_id uuid not null,
  position integer not null check (position > 0),
  warehouse_id uuid not null,
  item_id uuid not null,
  bin_id uuid not null,
  quantity bigint not null check (quantity > 0),
  picked_quantity bigint not null default 0 check (picked_quantity >= 0),
  status text not null default 'pending' check (status <> ''),
  unique (tenant_id, picking_order_id, position),
  constraint picked_too_much check (picked_quantity <= quantity),
  foreign key (tenant_id, picking_order_id) references warehousing.picking_orders (tenant_id, id) on delete cascade,
  foreign key (tenant_id, warehouse_id, bin_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create index if not exists picking_order_items_item on warehousing.picking_order_items (tenant_id, item_id);
create index if not exists picking_order_items_bin on warehousing.picking_order_items (tenant_id, warehouse_id, bin_id);
