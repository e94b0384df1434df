-- What lies where in a warehouse. Quantities are whole units. A stock row is the place of a quantity:
-- bin, item, status, lot, serial and for whom it is reserved; every change of one is a movement.

create table if not exists warehousing.bins (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  warehouse_id uuid not null,
  code text not null check (code <> ''),
  name text not null check (name <> ''),
  location_type text not null default 'BIN' check (location_type in ('BIN', 'RECEIVING', 'STAGING', 'CAGE', 'TROLLEY')),
  -- Null: no limit is kept.
  capacity numeric(14, 3) check (capacity >= 0),
  -- Packages in a sorting location; stock does not count here.
  filled_capacity numeric(14, 3) not null default 0 check (filled_capacity >= 0),
  is_default_receiving boolean not null default false,
  -- Made for a sorting session and out of use after it.
  is_temporary boolean not null default false,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  unique (tenant_id, warehouse_id, id),
  constraint bin_code_exists unique (tenant_id, warehouse_id, code),
  constraint bin_full check (capacity is null or filled_capacity <= capacity),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict
);
create unique index if not exists default_receiving_exists on warehousing.bins (tenant_id, warehouse_id) where is_default_receiving and is_active;
create index if not exists bins_recent on warehousing.bins (tenant_id, warehouse_id, created_at desc nulls last, id desc);

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

create table if not exists warehousing.stock (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  warehouse_id uuid not null,
  bin_id uuid not null,
  item_id uuid not null,
  -- available, reserved, damaged, expired, or a word of the tenant's.
  status text not null default 'available' check (status <> ''),
  lot_number text check (lot_number <> ''),
  serial_number text check (serial_number <> ''),
  quantity bigint not null default 0,
  -- Whose reservation it is: a picking order's, a storefront order's or a drafted waybill's.
  reserved_for_type text check (reserved_for_type in ('picking_order', 'order', 'waybill')),
  reserved_for_id uuid,
  -- Emptied by a warehouse exception: never offered, picked or reserved again. What comes to the same
  -- place later gets a row of its own.
  written_off_at timestamptz check (written_off_at is null or quantity = 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint insufficient_stock check (quantity >= 0),
  constraint serial_is_one check (serial_number is null or quantity <= 1),
  constraint reserved_for_somebody check ((status = 'reserved') = (reserved_for_id is not null) and (reserved_for_type is null) = (reserved_for_id is null)),
  foreign key (tenant_id, warehouse_id, bin_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
-- A place has one row, found by all that makes it. By equality, which an index answers where `is not distinct from` makes it read every row
-- of the item in the bin: rows outlive their quantity, so what is picked every day has one for each order it was set aside for.
create unique index if not exists stock_place on warehousing.stock (tenant_id, bin_id, item_id, status, coalesce(lot_number, ''),
  coalesce(serial_number, ''), coalesce(reserved_for_id, tenant_id)) where written_off_at is null;
-- A serial number is in one place.
create unique index if not exists serial_number_taken on warehousing.stock (tenant_id, item_id, serial_number) where serial_number is not null and quantity > 0;
-- The status before the warehouse: an item that is picked every day has a row, long empty, for each order it was set aside for.
create index if not exists stock_of_item on warehousing.stock (tenant_id, item_id, status, warehouse_id);
-- Rows outlive their quantity, since movements name them: what a warehouse holds is looked for among the others.
create index if not exists stock_of_warehouse on warehousing.stock (tenant_id, warehouse_id, status, bin_id, item_id) where quantity > 0;
create index if not exists stock_of_bin on warehousing.stock (tenant_id, warehouse_id, bin_id);
create index if not exists stock_reserved on warehousing.stock (tenant_id, reserved_for_id) where reserved_for_id is not null;
create index if not exists stock_recent on warehousing.stock (tenant_id, created_at desc nulls last, id desc) where quantity > 0;

-- Every movement, for good: a quantity left one place (null: it came in) for another (null: it went out).
create table if not exists warehousing.inventory_transactions (
  -- In the order of booking: for us. Clients know a movement by its movement_id, an id like any other.
  id bigint generated always as identity primary key,
  movement_id uuid not null default gen_random_uuid(),
  tenant_id uuid not null,
  transaction_type text not null check (transaction_type in ('initial_stock', 'receive', 'pick', 'move', 'adjust', 'return', 'count',
    'transfer_in', 'transfer_out', 'reserve', 'release', 'write_off')),
  item_id uuid not null,
  warehouse_id uuid not null,
  quantity bigint not null check (quantity > 0),
  from_stock_id uuid,
  to_stock_id uuid,
  from_bin_id uuid,
  to_bin_id uuid,
  from_status text,
  to_status text,
  lot_number text,
  serial_number text,
  reference_type text,
  reference_id uuid,
  -- Why all of a request was moved, and what was noted of this line of it.
  reason text,
  note text,
  performed_by uuid,
  created_at timestamptz not null default clock_timestamp(),
  unique (tenant_id, id),
  constraint movement_has_an_end check (from_stock_id is not null or to_stock_id is not null),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict,
  foreign key (tenant_id, from_stock_id) references warehousing.stock (tenant_id, id) on delete restrict,
  foreign key (tenant_id, to_stock_id) references warehousing.stock (tenant_id, id) on delete restrict
);
create index if not exists inventory_transactions_warehouse on warehousing.inventory_transactions (tenant_id, warehouse_id);
-- Setting aside and giving back move nothing that people see.
create index if not exists inventory_transactions_recent on warehousing.inventory_transactions (tenant_id, warehouse_id, created_at desc, id desc)
  where transaction_type not in ('reserve', 'release');
-- Write-offs, newest first, of a company, of a warehouse and of an item; seldom among all movements.
create index if not exists inventory_write_offs on warehousing.inventory_transactions (tenant_id, created_at desc nulls last, reference_id desc)
  where transaction_type = 'write_off';
create index if not exists inventory_write_offs_warehouse on warehousing.inventory_transactions (tenant_id, warehouse_id, created_at desc nulls last,
  reference_id desc) where transaction_type = 'write_off';
create index if not exists inventory_write_offs_item on warehousing.inventory_transactions (tenant_id, item_id, reference_id)
  where transaction_type = 'write_off';
create index if not exists inventory_transactions_item on warehousing.inventory_transactions (tenant_id, item_id);
create index if not exists inventory_transactions_reference on warehousing.inventory_transactions (tenant_id, reference_id) where reference_id is not null;
create index if not exists inventory_transactions_from on warehousing.inventory_transactions (tenant_id, from_stock_id) where from_stock_id is not null;
create index if not exists inventory_transactions_to on warehousing.inventory_transactions (tenant_id, to_stock_id) where to_stock_id is not null;

create table if not exists warehousing.warehouse_users (
  tenant_id uuid not null,
  warehouse_id uuid not null,
  user_id uuid not null,
  primary key (tenant_id, warehouse_id, user_id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete cascade,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists warehouse_users_user on warehousing.warehouse_users (tenant_id, user_id);

-- What a warehouse is called at a carrier.
create table if not exists warehousing.carrier_warehouses (
  tenant_id uuid not null,
  carrier_code text not null check (carrier_code <> ''),
  warehouse_id uuid not null,
  external_id text not null check (external_id <> ''),
  external_name text,
  primary key (tenant_id, carrier_code, warehouse_id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete cascade
);
create index if not exists carrier_warehouses_warehouse on warehousing.carrier_warehouses (tenant_id, warehouse_id);

create table if not exists warehousing.warehouse_staff (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  warehouse_id uuid not null,
  user_id uuid not null,
  employee_id text,
  role text,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict
);
create unique index if not exists staff_already_assigned on warehousing.warehouse_staff (tenant_id, warehouse_id, user_id) where is_active;
create index if not exists warehouse_staff_recent on warehousing.warehouse_staff (tenant_id, warehouse_id, created_at desc nulls last, id desc);
create index if not exists warehouse_staff_user on warehousing.warehouse_staff (tenant_id, user_id);

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
  -- Set: the pick of a delivery, whose hand-over is the driver's pick-up and nothing else.
  delivery_id uuid,
  -- Set: the pick of a storefront order, whose reservation it uses and through which alone it is changed or cancelled.
  order_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The transaction that last changed the row: what readers of changes go by.
  changed bigint not null default (pg_current_xact_id()::text::bigint),
  unique (tenant_id, id),
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, assigned_to) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists picking_orders_changed on warehousing.picking_orders (tenant_id, changed, id);
-- Those of an order have its number, one in each warehouse.
create unique index if not exists picking_reference_exists on warehousing.picking_orders (tenant_id, reference_number) where order_id is null;
create unique index if not exists order_picked_once_in_a_warehouse on warehousing.picking_orders (tenant_id, order_id, warehouse_id)
  where order_id is not null;
-- One pick of a delivery at a time; after its hand-over a returned parcel may be picked again.
create unique index if not exists delivery_already_picked on warehousing.picking_orders (tenant_id, delivery_id)
  where delivery_id is not null and status not in ('cancelled', 'handed_off');
create index if not exists picking_orders_delivery on warehousing.picking_orders (tenant_id, delivery_id) where delivery_id is not null;
-- As the list engine sorts: a page is read off its index.
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
