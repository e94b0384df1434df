-- Transfers of stock between warehouses in one step: the requested quantities. The movements, whose reference is the
-- transfer, have the lots and serial numbers.

create table if not exists warehousing.inventory_transfers (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  reference_number text not null check (reference_number <> ''),
  source_warehouse_id uuid not null,
  destination_warehouse_id uuid not null,
  status text not null default 'completed' check (status = 'completed'),
  notes text,
  performed_by uuid,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint transfer_reference_exists unique (tenant_id, reference_number),
  constraint warehouses_must_differ check (source_warehouse_id <> destination_warehouse_id),
  foreign key (tenant_id, source_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, destination_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict
);
create index if not exists inventory_transfers_recent on warehousing.inventory_transfers (tenant_id, created_at desc nulls last, id desc);
create index if not exists inventory_transfers_source on warehousing.inventory_transfers (tenant_id, source_warehouse_id, created_at desc nulls last, id desc);
create index if not exists inventory_transfers_destination
  on warehousing.inventory_transfers (tenant_id, destination_warehouse_id, created_at desc nulls last, id desc);

create table if not exists warehousing.inventory_transfer_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  transfer_id uuid not null,
  position integer not null check (position > 0),
  item_id uuid not null,
  quantity bigint not null check (quantity > 0),
  source_warehouse_id uuid not null,
  source_bin_id uuid not null,
  destination_warehouse_id uuid not null,
  destination_bin_id uuid not null,
  lot_number text,
  serial_number text,
  unique (tenant_id, transfer_id, position),
  foreign key (tenant_id, transfer_id) references warehousing.inventory_transfers (tenant_id, id) on delete cascade,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict,
  foreign key (tenant_id, source_warehouse_id, source_bin_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict,
  foreign key (tenant_id, destination_warehouse_id, destination_bin_id) references warehousing.bins (tenant_id, warehouse_id, id) on delete restrict
);
create index if not exists inventory_transfer_items_item on warehousing.inventory_transfer_items (tenant_id, item_id);
create index if not exists inventory_transfer_items_source on warehousing.inventory_transfer_items (tenant_id, source_warehouse_id, source_bin_id);
create index if not exists inventory_transfer_items_destination
  on warehousing.inventory_transfer_items (tenant_id, destination_warehouse_id, destination_bin_id);
