-- Handoffs: a parcel picked in a warehouse, waiting for the driver to take it.
create table if not exists delivery.package_handoffs (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  delivery_id uuid not null,
  picking_order_id uuid not null,
  warehouse_id uuid not null,
  -- Null after a rejection: the pick is kept for the next driver.
  assignment_id uuid,
  driver_id uuid,
  status text not null default 'pending' check (status in ('pending', 'completed', 'cancelled')),
  custody text not null default 'warehouse' check (custody in ('warehouse', 'driver')),
  completed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint custody_follows check ((status = 'completed') = (custody = 'driver')),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, picking_order_id) references warehousing.picking_orders (tenant_id, id) on delete restrict,
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, assignment_id) references delivery.assignments (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict
);
create unique index if not exists handoff_already_pending on delivery.package_handoffs (tenant_id, delivery_id) where status = 'pending';
create index if not exists handoffs_recent on delivery.package_handoffs (tenant_id, created_at desc nulls last, id desc);
create index if not exists handoffs_delivery on delivery.package_handoffs (tenant_id, delivery_id);
create index if not exists handoffs_pick on delivery.package_handoffs (tenant_id, picking_order_id);
create index if not exists handoffs_warehouse on delivery.package_handoffs (tenant_id, warehouse_id);
create index if not exists handoffs_assignment on delivery.package_handoffs (tenant_id, assignment_id) where assignment_id is not null;
create index if not exists handoffs_driver on delivery.package_handoffs (tenant_id, driver_id) where driver_id is not null;
