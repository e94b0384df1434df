create table if not exists delivery.transfer_manifest_exceptions (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  -- Both null for a parcel that is on no manifest; its barcode identifies it.
  manifest_item_id uuid,
  manifest_id uuid,
  barcode_value text,
  reason text not null,
  notes text,
  photo_urls text[] not null default '{}',
  status text not null default 'open' check (status in ('open', 'resolved')),
  outcome text check (outcome in ('reprocess', 'void')),
  resolution_notes text,
  previous_item_status text,
  created_by uuid,
  created_at timestamptz not null default now(),
  resolved_by uuid,
  resolved_at timestamptz,
  unique (tenant_id, id),
  constraint item_or_barcode check (
    (manifest_item_id is null) = (manifest_id is null) and (manifest_item_id is null) = (previous_item_status is null)
    and (manifest_item_id is null) = (barcode_value is not null)),
  constraint resolved_says_how check ((status = 'resolved') = (outcome is not null and resolved_at is not null)),
  foreign key (tenant_id, manifest_item_id) references delivery.transfer_manifest_items (tenant_id, id) on delete cascade,
  foreign key (tenant_id, manifest_id) references delivery.transfer_manifests (tenant_id, id) on delete cascade
);
create unique index if not exists exception_already_open
  on delivery.transfer_manifest_exceptions (tenant_id, coalesce(manifest_item_id::text, barcode_value)) where status = 'open';
create index if not exists exceptions_item on delivery.transfer_manifest_exceptions (tenant_id, manifest_item_id);
create index if not exists exceptions_manifest on delivery.transfer_manifest_exceptions (tenant_id, manifest_id, status);
create index if not exists exceptions_recent on delivery.transfer_manifest_exceptions (tenant_id, status, created_at desc nulls last, id desc);
