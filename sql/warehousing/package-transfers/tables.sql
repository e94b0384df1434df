-- Package transfers. Those of a waybill are written only by warehousing.waybill_projected().
create table if not exists warehousing.package_transfers (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  mode text not null check (mode in ('system_only', 'delivery_operation')),
  operation_type text check (operation_type in ('single_delivery', 'waybill')),
  source_warehouse_id uuid not null,
  destination_warehouse_id uuid not null,
  waybill_id uuid,
  notes text,
  performed_by uuid,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint operation_of_a_delivery check ((mode = 'system_only') = (operation_type is null)),
  constraint waybill_of_a_waybill check ((operation_type is not distinct from 'waybill') = (waybill_id is not null)),
  constraint one_transfer_per_waybill unique (tenant_id, waybill_id),
  constraint warehouses_must_differ check (source_warehouse_id <> destination_warehouse_id),
  foreign key (tenant_id, waybill_id) references warehousing.waybills (tenant_id, id) on delete restrict,
  foreign key (tenant_id, source_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, destination_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict
);
create index if not exists package_transfers_recent on warehousing.package_transfers (tenant_id, created_at desc nulls last, id desc);
create index if not exists package_transfers_kind on warehousing.package_transfers (tenant_id, mode, operation_type, created_at desc nulls last, id desc);
create index if not exists package_transfers_source on warehousing.package_transfers (tenant_id, source_warehouse_id, created_at desc nulls last, id desc);
create index if not exists package_transfers_destination
  on warehousing.package_transfers (tenant_id, destination_warehouse_id, created_at desc nulls last, id desc);

create table if not exists warehousing.package_transfer_deliveries (
  tenant_id uuid not null,
  transfer_id uuid not null,
  delivery_id uuid not null,
  position integer not null check (position > 0),
  primary key (tenant_id, transfer_id, delivery_id),
  foreign key (tenant_id, transfer_id) references warehousing.package_transfers (tenant_id, id) on delete cascade,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists package_transfer_deliveries_delivery on warehousing.package_transfer_deliveries (tenant_id, delivery_id);
