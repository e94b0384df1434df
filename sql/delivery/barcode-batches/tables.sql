-- Transfer manifests: parcels that a driver brings from an institution to a processing point.

create table if not exists delivery.transfer_barcode_batches (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  batch_number text not null,
  quantity integer not null check (quantity between 1 and 1000),
  service_indicator char(2) not null check (service_indicator ~ '^[A-Z]{2}$'),
  issuer char(2) not null check (issuer ~ '^[A-Z]{2}$'),
  institution_user_id uuid,
  branch_id uuid,
  first_serial integer not null,
  created_by uuid,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  unique (tenant_id, batch_number),
  foreign key (tenant_id, institution_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, branch_id) references delivery.institution_branches (tenant_id, id) on delete restrict
);
create index if not exists barcode_batches_recent on delivery.transfer_barcode_batches (tenant_id, created_at desc nulls last, id desc);
create index if not exists barcode_batches_institution
  on delivery.transfer_barcode_batches (tenant_id, institution_user_id)
  where institution_user_id is not null;
create index if not exists barcode_batches_branch on delivery.transfer_barcode_batches (tenant_id, branch_id) where branch_id is not null;

create table if not exists delivery.transfer_barcodes (
  tenant_id uuid not null,
  barcode text not null check (length(barcode) = 14),
  batch_id uuid not null,
  position integer not null,
  status text not null default 'unused' check (status in ('unused', 'used')),
  used_at timestamptz,
  received_at timestamptz,
  primary key (tenant_id, barcode),
  foreign key (tenant_id, batch_id) references delivery.transfer_barcode_batches (tenant_id, id) on delete cascade
);
create index if not exists barcodes_batch on delivery.transfer_barcodes (tenant_id, batch_id, position);
