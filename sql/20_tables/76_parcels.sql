-- What is in a parcel, what went wrong with it, and how it comes back into a warehouse.

create table if not exists delivery.delivery_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  -- Of the parcel: the parent of a staged delivery, never a leg.
  delivery_id uuid not null,
  position integer not null check (position > 0),
  -- Known to a warehouse. Null until the parcel was received in one.
  item_id uuid,
  name text not null check (name <> ''),
  -- Of what a store sold.
  sku text,
  quantity bigint not null default 1 check (quantity > 0),
  weight numeric(12, 3),
  length numeric(12, 3),
  width numeric(12, 3),
  height numeric(12, 3),
  unique (tenant_id, id),
  unique (tenant_id, delivery_id, position),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create index if not exists delivery_items_item on delivery.delivery_items (tenant_id, item_id) where item_id is not null;

-- Proof photographs and signatures: paths of storage objects, never the images themselves.
create table if not exists delivery.delivery_proofs (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  delivery_id uuid not null,
  stage text not null check (stage in ('pickup', 'delivery')),
  kind text not null check (kind in ('photo', 'signature')),
  url text not null check (url <> ''),
  signed_by text,
  created_by uuid,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists delivery_proofs_delivery on delivery.delivery_proofs (tenant_id, delivery_id, created_at);

-- An open one keeps its delivery from being assigned.
create table if not exists delivery.delivery_exceptions (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  delivery_id uuid not null,
  type text not null check (type <> ''),
  status text not null default 'open' check (status in ('open', 'resolved')),
  -- The parcel items concerned: [{delivery_item_id, quantity, condition}]; empty means the whole parcel.
  items jsonb not null default '[]' check (jsonb_typeof(items) = 'array'),
  notes text,
  resolution text,
  resolution_notes text,
  created_by uuid,
  resolved_by uuid,
  resolved_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint resolved_when check ((status = 'resolved') = (resolved_at is not null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists delivery_exceptions_delivery on delivery.delivery_exceptions (tenant_id, delivery_id, created_at desc nulls last, id desc);
create index if not exists delivery_exceptions_open on delivery.delivery_exceptions (tenant_id, delivery_id) where status = 'open';
create index if not exists delivery_exceptions_recent on delivery.delivery_exceptions (tenant_id, status, created_at desc nulls last, id desc);

-- Goods on their way into a warehouse.
create table if not exists warehousing.receiving_orders (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  reference_number text not null check (reference_number <> ''),
  warehouse_id uuid not null,
  -- inbound: a first leg ends here. failed_delivery_return, delivery_return_handoff: a parcel comes back.
  -- supplier: goods that no delivery brings.
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
create unique index if not exists receipt_already_expected on warehousing.receiving_orders (tenant_id, delivery_id) where status = 'pending' and delivery_id is not null;
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
  -- Of what was received.
  damaged_quantity bigint not null default 0,
  constraint damaged_of_received check (damaged_quantity between 0 and coalesce(received_quantity, 0)),
  unique (tenant_id, receiving_order_id, position),
  foreign key (tenant_id, receiving_order_id) references warehousing.receiving_orders (tenant_id, id) on delete cascade,
  foreign key (tenant_id, warehouse_id, bin_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create index if not exists receiving_order_items_item on warehousing.receiving_order_items (tenant_id, item_id);
create index if not exists receiving_order_items_bin on warehousing.receiving_order_items (tenant_id, warehouse_id, bin_id) where bin_id is not null;

-- Parcels that travel together from one warehouse to another. Sealed is a time, not a status.
create table if not exists warehousing.waybills (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  waybill_number text not null check (waybill_number <> ''),
  status text not null default 'drafted' check (status in ('drafted', 'in_transit', 'received', 'closed')),
  source_warehouse_id uuid not null,
  destination_warehouse_id uuid not null,
  driver_id uuid,
  vehicle_id uuid,
  seal_number text,
  sealed_at timestamptz,
  handed_over_at timestamptz,
  received_at timestamptz,
  closed_at timestamptz,
  -- Called off before it was handed over: closed without having been on the road.
  cancelled_at timestamptz,
  notes text,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint waybill_number_exists unique (tenant_id, waybill_number),
  constraint sealed_before_the_road check (status = 'drafted' or cancelled_at is not null
    or (sealed_at is not null and handed_over_at is not null and driver_id is not null)),
  constraint cancelled_before_the_road check (cancelled_at is null or (status = 'closed' and handed_over_at is null and received_at is null)),
  constraint received_before_closed check ((status in ('received', 'closed') and cancelled_at is null) = (received_at is not null)
    and (status = 'closed') = (closed_at is not null)),
  foreign key (tenant_id, source_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, destination_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, vehicle_id) references delivery.vehicles (tenant_id, id) on delete restrict
);
-- As the list engine sorts: a page is read off its index.
create index if not exists waybills_recent on warehousing.waybills (tenant_id, created_at desc nulls last, id desc);
create index if not exists waybills_source on warehousing.waybills (tenant_id, source_warehouse_id, status, created_at desc nulls last, id desc);
create index if not exists waybills_destination on warehousing.waybills (tenant_id, destination_warehouse_id, status, created_at desc nulls last, id desc);
create index if not exists waybills_search on warehousing.waybills using gin (waybill_number extensions.gin_trgm_ops);
create index if not exists waybills_driver on warehousing.waybills (tenant_id, driver_id) where driver_id is not null;
create index if not exists waybills_vehicle on warehousing.waybills (tenant_id, vehicle_id) where vehicle_id is not null;

create table if not exists warehousing.waybill_deliveries (
  tenant_id uuid not null,
  waybill_id uuid not null,
  delivery_id uuid not null,
  position integer not null check (position > 0),
  -- True from the first attachment until the parcel is received, missed, gone otherwise, or the waybill closed.
  is_open boolean not null default true,
  received_state text check (received_state in ('received', 'missing')),
  primary key (tenant_id, waybill_id, delivery_id),
  foreign key (tenant_id, waybill_id) references warehousing.waybills (tenant_id, id) on delete cascade,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists waybill_deliveries_delivery on warehousing.waybill_deliveries (tenant_id, delivery_id);
create unique index if not exists already_in_waybill on warehousing.waybill_deliveries (tenant_id, delivery_id) where is_open;

create table if not exists warehousing.waybill_discrepancies (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  waybill_id uuid not null,
  delivery_id uuid not null,
  type text not null default 'missing_on_receive' check (type in ('missing_on_receive', 'left_before_handover')),
  status text not null default 'open' check (status in ('open', 'resolved')),
  resolution text,
  notes text,
  resolved_by uuid,
  resolved_at timestamptz,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint discrepancy_exists unique (tenant_id, waybill_id, delivery_id),
  foreign key (tenant_id, waybill_id, delivery_id) references warehousing.waybill_deliveries (tenant_id, waybill_id, delivery_id) on delete restrict
);
create index if not exists discrepancies_open on warehousing.waybill_discrepancies (tenant_id, delivery_id) where status = 'open';
