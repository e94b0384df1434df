-- Receiving orders: goods expected in a warehouse, or received.
create table if not exists warehousing.receiving_orders (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  reference_number text not null check (reference_number <> ''),
  warehouse_id uuid not null,
  -- inbound: the end of a first leg. failed_delivery_return, delivery_return_handoff: a parcel that is returned.
  -- supplier: goods that come without a delivery.
  source text not null check (source in ('inbound', 'failed_delivery_return', 'delivery_return_handoff', 'supplier')),
  status text not null default 'pending' check (status in ('pending', 'received', 'cancelled')),
  custody text not null default 'awaiting_warehouse_receipt' check (custody in ('awaiting_warehouse_receipt', 'in_warehouse')),
  delivery_id uuid,
  exception_id uuid,
  notes text,
  created_by uuid,
  received_by uuid,
  received_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint receiving_reference_exists unique (tenant_id, reference_number),
  constraint received_when check ((status = 'received') = (received_at is not null) and (status = 'received') = (custody = 'in_warehouse')),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, exception_id) references delivery.delivery_exceptions (tenant_id, id) on delete restrict
);
create unique index if not exists receipt_already_expected
  on warehousing.receiving_orders (tenant_id, delivery_id)
  where status = 'pending' and delivery_id is not null;
create index if not exists receiving_orders_recent on warehousing.receiving_orders (tenant_id, created_at desc nulls last, id desc);
create index if not exists receiving_orders_warehouse on warehousing.receiving_orders (tenant_id, warehouse_id, status, created_at desc nulls last, id desc);
create index if not exists receiving_orders_delivery on warehousing.receiving_orders (tenant_id, delivery_id) where delivery_id is not null;
create index if not exists receiving_orders_exception on warehousing.receiving_orders (tenant_id, exception_id) where exception_id is not null;

create table if not exists warehousing.receiving_order_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  receiving_order_id uuid not null,
  position integer not null check (position > 0),
  warehouse_id uuid not null,
  item_id uuid not null,
  quantity bigint not null check (quantity > 0),
  received_quantity bigint check (received_quantity >= 0),
  bin_id uuid,
  condition text check (condition in ('good', 'damaged')),
  -- Of the received quantity.
  damaged_quantity bigint not null default 0,
  constraint damaged_of_received check (damaged_quantity between 0 and coalesce(received_quantity, 0)),
  unique (tenant_id, receiving_order_id, position),
  foreign key (tenant_id, receiving_order_id) references warehousing.receiving_orders (tenant_id, id) on delete cascade,
  foreign key (tenant_id, warehouse_id, bin_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create index if not exists receiving_order_items_item on warehousing.receiving_order_items (tenant_id, item_id);
create index if not exists receiving_order_items_bin on warehousing.receiving_order_items (tenant_id, warehouse_id, bin_id) where bin_id is not null;
