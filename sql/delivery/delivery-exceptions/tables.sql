-- Delivery exceptions. While one is open, its delivery cannot be assigned.
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
