create table if not exists warehousing.stock (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  warehouse_id uuid not null,
  bin_id uuid not null,
  item_id uuid not null,
  -- available, reserved, damaged, expired, or a status that the tenant defines.
  status text not null default 'available' check (status <> ''),
  lot_number text check (lot_number <> ''),
  serial_number text check (serial_number <> ''),
  quantity bigint not null default 0,
  -- The owner of the reservation: a picking order, a storefront order or a drafted waybill.
  reserved_for_type text check (reserved_for_type in ('picking_order', 'order', 'waybill')),
  reserved_for_id uuid,
  -- Emptied by a warehouse exception: never offered, picked or reserved again. Stock that later arrives at the same
  -- place gets a new row.
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

-- A serial number has at most one place.
create unique index if not exists serial_number_taken on warehousing.stock (tenant_id, item_id, serial_number) where serial_number is not null and quantity > 0;

-- Only what holds something: an item that is picked every day has a row, long empty, for each order it was set aside for. And a place must
-- not be looked for here: where the usual item has a row or two, the planner takes this index for as good as stock_place.
create index if not exists stock_of_item on warehousing.stock (tenant_id, item_id, status, warehouse_id) where quantity > 0;

-- Rows that were written off, by bin and item.
create index if not exists stock_written_off on warehousing.stock (tenant_id, bin_id, item_id) where written_off_at is not null;

-- Empty rows stay, because movements refer to them; this index has only rows with a quantity.
create index if not exists stock_of_warehouse on warehousing.stock (tenant_id, warehouse_id, status, bin_id, item_id) where quantity > 0;

create index if not exists stock_of_bin on warehousing.stock (tenant_id, warehouse_id, bin_id);
create index if not exists stock_reserved on warehousing.stock (tenant_id, reserved_for_id, item_id) where reserved_for_id is not null;
create index if not exists stock_recent on warehousing.stock (tenant_id, created_at desc nulls last, id desc) where quantity > 0;

-- Every movement of stock, append-only: from one place (null: it came in) to another (null: it went out).
create table if not exists warehousing.inventory_transactions (
  -- Internal, in the order of booking. Clients see movement_id.
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
  -- The reason for the whole request, and the note on this line.
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
create index if not exists inventory_transactions_in_warehouse on warehousing.inventory_transactions (tenant_id, warehouse_id, id desc nulls last);

-- The visible movements: without reservations and their release.
create index if not exists inventory_transactions_recent on warehousing.inventory_transactions (tenant_id, warehouse_id, created_at desc, id desc)
  where transaction_type not in ('reserve', 'release');

-- Write-offs, newest first, of a company, of a warehouse and of an item; seldom among all movements.
create index if not exists inventory_write_offs on warehousing.inventory_transactions (tenant_id, created_at desc nulls last, reference_id desc)
  where transaction_type = 'write_off';

create index if not exists inventory_write_offs_warehouse on warehousing.inventory_transactions (tenant_id, warehouse_id, created_at desc nulls last,
  reference_id desc) where transaction_type = 'write_off';
create index if not exists inventory_write_offs_item on warehousing.inventory_transactions (tenant_id, item_id, reference_id)
  where transaction_type = 'write_off';
create index if not exists inventory_transactions_of_item on warehousing.inventory_transactions (tenant_id, item_id, id desc nulls last);
create index if not exists inventory_transactions_reference on warehousing.inventory_transactions (tenant_id, reference_id) where reference_id is not null;
create index if not exists inventory_transactions_from on warehousing.inventory_transactions (tenant_id, from_stock_id) where from_stock_id is not null;
create index if not exists inventory_transactions_to on warehousing.inventory_transactions (tenant_id, to_stock_id) where to_stock_id is not null;
