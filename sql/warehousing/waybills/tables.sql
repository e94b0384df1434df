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
  -- Cancelled before the handover: the waybill is closed and never travelled.
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

-- Matches the list's sort order, so a page needs no sort.
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
  -- True from the first attachment until the parcel is received, reported missing or moved otherwise, or the waybill is closed.
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

-- The contents of waybills, and the record of every move of packages between warehouses.

-- The stock that goes with the parcels of a waybill: reserved for it, out of the source at the handover, into the
-- destination at the receipt.
create table if not exists warehousing.waybill_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  waybill_id uuid not null,
  delivery_id uuid not null,
  item_id uuid not null,
  quantity bigint not null check (quantity > 0),
  lot_number text,
  serial_number text,
  -- As it lay there, and lies where it is received: damaged units of a return travel with it.
  status text not null default 'available' check (status <> ''),
  unique (tenant_id, id),
  foreign key (tenant_id, waybill_id, delivery_id) references warehousing.waybill_deliveries (tenant_id, waybill_id, delivery_id) on delete cascade,
  foreign key (tenant_id, item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create index if not exists waybill_items_parcel on warehousing.waybill_items (tenant_id, waybill_id, delivery_id);
create index if not exists waybill_items_item on warehousing.waybill_items (tenant_id, item_id);
