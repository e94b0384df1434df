create table if not exists delivery.transfer_manifests (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  manifest_number text not null,
  status text not null default 'draft' check (status in (
    'draft', 'picked_up', 'in_transit', 'awaiting_receipt', 'receiving', 'received',
    'received_with_exceptions', 'processing', 'completed', 'cancelled')),
  institution_user_id uuid not null,
  source_branch_id uuid not null,
  source_address_id uuid not null,
  -- Branch and address as they were when the manifest was made.
  source_snapshot jsonb not null,
  processing_point_id uuid not null,
  driver_id uuid,
  destination_branch_id uuid,
  destination_address_id uuid,
  creation_source text not null check (creation_source in ('form', 'institution_qr', 'item_scan')),
  notes text,
  picked_up_at timestamptz,
  departed_at timestamptz,
  driver_arrived_at timestamptz,
  receiving_started_at timestamptz,
  receiver_id uuid,
  received_at timestamptz,
  received_by uuid,
  received_count integer check (received_count >= 0),
  processing_started_at timestamptz,
  completed_at timestamptz,
  cancelled_at timestamptz,
  cancel_reason text,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  unique (tenant_id, manifest_number),
  constraint one_destination check (destination_branch_id is null or destination_address_id is null),
  foreign key (tenant_id, institution_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, source_branch_id) references delivery.institution_branches (tenant_id, id) on delete restrict,
  foreign key (tenant_id, source_address_id) references delivery.addresses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, processing_point_id) references delivery.transfer_processing_points (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, destination_branch_id) references delivery.institution_branches (tenant_id, id) on delete restrict,
  foreign key (tenant_id, destination_address_id) references delivery.addresses (tenant_id, id) on delete restrict
);
create index if not exists manifests_recent on delivery.transfer_manifests (tenant_id, created_at desc nulls last, id desc);
create index if not exists manifests_status on delivery.transfer_manifests (tenant_id, status, created_at desc);
create index if not exists manifests_institution on delivery.transfer_manifests (tenant_id, institution_user_id, created_at desc);
create index if not exists manifests_driver on delivery.transfer_manifests (tenant_id, driver_id, created_at desc) where driver_id is not null;
create index if not exists manifests_point on delivery.transfer_manifests (tenant_id, processing_point_id, created_at desc);
create index if not exists manifests_branch on delivery.transfer_manifests (tenant_id, source_branch_id);
create index if not exists manifests_source_address on delivery.transfer_manifests (tenant_id, source_address_id);
create index if not exists manifests_to_branch on delivery.transfer_manifests (tenant_id, destination_branch_id) where destination_branch_id is not null;
create index if not exists manifests_to_address on delivery.transfer_manifests (tenant_id, destination_address_id) where destination_address_id is not null;

create table if not exists delivery.transfer_manifest_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  manifest_id uuid not null,
  barcode_value text not null check (length(barcode_value) = 14),
  -- An item exists from the moment it is scanned, so its first status is picked_up, also in a draft.
  status text not null default 'picked_up' check (status in (
    'picked_up', 'in_transit', 'received', 'scanned', 'processing', 'order_created', 'void')),
  position integer not null,
  destination_branch_id uuid,
  destination_address_id uuid,
  delivery_id uuid,
  received_at timestamptz,
  received_by uuid,
  package_details jsonb,
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  unique (tenant_id, manifest_id, position) deferrable initially immediate,
  constraint item_one_destination check (destination_branch_id is null or destination_address_id is null),
  constraint order_created_means_received check (status <> 'order_created' or (received_at is not null and delivery_id is not null)),
  constraint void_has_no_order check (status <> 'void' or delivery_id is null),
  constraint received_means_when_and_by_whom
    check (status not in ('received', 'scanned', 'processing') or (received_at is not null and received_by is not null)),
  foreign key (tenant_id, manifest_id) references delivery.transfer_manifests (tenant_id, id) on delete cascade,
  foreign key (tenant_id, destination_branch_id) references delivery.institution_branches (tenant_id, id) on delete restrict,
  foreign key (tenant_id, destination_address_id) references delivery.addresses (tenant_id, id) on delete restrict
);
create unique index if not exists barcode_already_used on delivery.transfer_manifest_items (tenant_id, barcode_value) where status <> 'void';
create index if not exists items_barcode on delivery.transfer_manifest_items (tenant_id, barcode_value, created_at desc);
create unique index if not exists item_delivery on delivery.transfer_manifest_items (tenant_id, delivery_id) where delivery_id is not null;
create index if not exists items_barcode_part on delivery.transfer_manifest_items using gin (barcode_value extensions.gin_trgm_ops);
create index if not exists items_searchable on delivery.transfer_manifest_items (tenant_id, created_at desc, id)
  where status in ('picked_up', 'in_transit', 'received') and delivery_id is null;
create index if not exists items_manifest_status on delivery.transfer_manifest_items (tenant_id, manifest_id, status);
create index if not exists items_to_branch on delivery.transfer_manifest_items (tenant_id, destination_branch_id) where destination_branch_id is not null;
create index if not exists items_to_address on delivery.transfer_manifest_items (tenant_id, destination_address_id) where destination_address_id is not null;

create table if not exists delivery.transfer_manifest_proofs (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  manifest_id uuid not null,
  stage text not null check (stage in ('pickup', 'delivery')),
  kind text not null check (kind in ('photo', 'signature')),
  url text not null check (length(url) between 1 and 2000),
  signed_by text,
  created_by uuid,
  created_at timestamptz not null default now(),
  foreign key (tenant_id, manifest_id) references delivery.transfer_manifests (tenant_id, id) on delete cascade
);
create unique index if not exists proof_kept_twice on delivery.transfer_manifest_proofs (tenant_id, manifest_id, stage, kind, url);
create table if not exists delivery.transfer_manifest_events (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  manifest_id uuid not null,
  manifest_item_id uuid,
  event_type text not null,
  actor_id uuid,
  payload jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, manifest_id) references delivery.transfer_manifests (tenant_id, id) on delete restrict,
  foreign key (tenant_id, manifest_item_id) references delivery.transfer_manifest_items (tenant_id, id) on delete restrict
);

-- Make repeated calls safe: receiving starts once, completes once a round, and an item is received once.
create unique index if not exists receiving_event_once on delivery.transfer_manifest_events (manifest_id, event_type, (payload ->> 'round')) nulls not distinct
  where event_type in ('receiving_started', 'receiving_completed');
create unique index if not exists item_received_once on delivery.transfer_manifest_events (manifest_item_id)
  where event_type = 'item_received';
create index if not exists manifest_events on delivery.transfer_manifest_events (tenant_id, manifest_id, id);
create index if not exists manifest_events_item on delivery.transfer_manifest_events (tenant_id, manifest_item_id) where manifest_item_id is not null;
