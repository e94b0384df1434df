-- The delivery codes reserved for items, in scan order, before their orders are created. A retry reuses them.
create table if not exists delivery.delivery_code_reservations (
  tenant_id uuid not null,
  manifest_item_id uuid not null,
  delivery_code bigint not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, manifest_item_id),
  constraint delivery_code_reserved_twice unique (tenant_id, delivery_code),
  foreign key (tenant_id, manifest_item_id) references delivery.transfer_manifest_items (tenant_id, id) on delete cascade
);

-- Deliveries: one row per parcel movement that a driver can be given. A staged delivery is a parent
-- with legs (A into the warehouse, B out of it) that share its barcode.

create table if not exists delivery.deliveries (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  delivery_code bigint not null check (delivery_code > 0),
  barcode text not null check (barcode <> ''),
  external_reference_id text,
  parent_id uuid,
  original_delivery_id uuid,
  leg text check (leg in ('A', 'B')),
  sequence_plan integer check (sequence_plan > 0),
  delivery_flow text not null default 'standard' check (delivery_flow in (
    'standard', 'pnd_parent', 'pnd_inbound', 'pnd_outbound', 'operational_return', 'customer_return')),
  status text not null default 'pending' check (status in (
    'draft', 'pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'delivered', 'failed', 'returned', 'cancelled')),
  customer_id uuid,
  institution_user_id uuid,
  delivery_service_id uuid not null,
  carrier_type text not null default 'internal' check (carrier_type in ('internal', 'external')),
  carrier_code text,
  payer_type text not null check (payer_type in ('sender', 'receiver')),
  payment_method text not null check (payment_method in ('cash', 'wallet', 'gateway')),
  cod_amount numeric(18, 3) not null default 0 check (cod_amount >= 0),
  delivery_fee numeric(18, 3) not null check (delivery_fee >= 0),
  currency char(3) not null,
  -- 0 only if the tenant's setting falls back to the service's minimum and that minimum is 0.
  unit_size numeric(12, 3) not null check (unit_size >= 0),
  unit_size_source text not null check (unit_size_source in ('package_details', 'unit_size', 'service_min', 'service_half', 'service_max')),
  package_details jsonb,
  distance_km numeric(12, 3),
  pickup_address_id uuid not null,
  dropoff_address_id uuid not null,
  pickup_snapshot jsonb not null,
  dropoff_snapshot jsonb not null,
  pickup_zone_id uuid,
  dropoff_zone_id uuid,
  pickup_warehouse_id uuid,
  dropoff_warehouse_id uuid,
  -- The source of these two when a transfer of packages set them last: on paper alone, or for a driver. Null: the order.
  transfer_kind text check (transfer_kind in ('system_only', 'single_delivery')),
  -- The warehouse its order ends in, while a transfer has another one recorded.
  ordered_to_warehouse_id uuid,
  -- The place where its order begins, once it continues from a warehouse and is fetched there: the address, as it was then, and the warehouse if it
  -- is one's. Null: where it is fetched is where its order begins.
  ordered_from_address_id uuid,
  ordered_from_snapshot jsonb,
  ordered_from_warehouse_id uuid,
  -- The warehouse that the parcel is in now; null while a driver or carrier has it.
  current_warehouse_id uuid,
  -- Only of a staged parent: the warehouse between its legs.
  staging_warehouse_id uuid,
  recipient jsonb not null default '{}' check (jsonb_typeof(recipient) = 'object'),
  notes text,
  service_snapshot jsonb not null,
  -- The storefront order that it delivers, wholly or in part. The order takes the payment; cash collected at the door
  -- belongs to the shop.
  order_id uuid,
  manifest_id uuid,
  manifest_item_id uuid,
  source_snapshot jsonb,
  snapshot_version text check (snapshot_version = 'manifest_origin_v1'),
  -- How often its label was printed, and whether the destination or the COD changed since the last print.
  label_edition integer not null default 0 check (label_edition >= 0),
  label_outdated boolean not null default false,
  label_assignment text not null default 'shipment_label' check (label_assignment in ('shipment_label', 'manifest_shipment_label')),
  -- The reason for the status: of a failure, a return or a cancellation.
  status_reason text,
  status_notes text,
  attempts_used integer not null default 0 check (attempts_used >= 0),
  promised_at timestamptz,
  picked_up_at timestamptz,
  delivered_at timestamptz,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Id of the last writing transaction; the cursor of incremental reads (shared/api/cursor.ts).
  changed bigint not null default (pg_current_xact_id()::text::bigint),
  -- The window in which the receiver can be met.
  deliver_after timestamptz,
  deliver_before timestamptz,
  -- The COD as it was ordered, once it has been changed (delivery.amount_changes).
  ordered_cod_amount numeric(18, 3) check (ordered_cod_amount >= 0),
  -- It was refused at the door: operations alone allow another attempt.
  attempts_exhausted boolean not null default false,
  -- It brings back a part of its original, as the returned_item_id of its items say, or other goods. Else a return brings back all.
  returns_part boolean not null default false,
  -- The day to which its receiver postponed it, and when the office is notified that it has spent a night in a van: null once it was, or
  -- where there is nothing to notify. A parent shows the day of its leg.
  postponed_to date,
  overnight_notice_at timestamptz,
  -- A return that began in a driver's hands at the receiver's door: it is never back without a proof.
  made_at_door boolean not null default false,
  -- Its receiver kept a part and gave the rest back. Also of the leg that brought it.
  delivered_in_part boolean not null default false,
  unique (tenant_id, id),
  constraint returns_are_made_at_doors check (not (made_at_door or returns_part) or original_delivery_id is not null),
  constraint parts_are_delivered check (not delivered_in_part or status = 'delivered'),
  constraint notice_of_postponed check (overnight_notice_at is null or postponed_to is not null),
  constraint deliver_window_in_order check (deliver_after < deliver_before),
  constraint delivery_code_taken unique (tenant_id, delivery_code),
  constraint leg_of_a_parent check ((parent_id is null) = (leg is null) and (parent_id is null) = (sequence_plan is null)),
  constraint item_only_on_parents check (manifest_item_id is null or parent_id is null),
  constraint snapshot_with_manifest check ((manifest_id is null) = (source_snapshot is null) and (manifest_id is null) = (snapshot_version is null)),
  constraint delivery_parent foreign key (tenant_id, parent_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, original_delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, customer_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, institution_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, delivery_service_id) references delivery.delivery_services (tenant_id, id) on delete restrict,
  foreign key (tenant_id, pickup_address_id) references delivery.addresses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, dropoff_address_id) references delivery.addresses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, pickup_zone_id) references delivery.zones (tenant_id, id) on delete restrict,
  foreign key (tenant_id, dropoff_zone_id) references delivery.zones (tenant_id, id) on delete restrict,
  foreign key (tenant_id, pickup_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, dropoff_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, ordered_to_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, ordered_from_address_id) references delivery.addresses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, ordered_from_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, current_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, staging_warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, manifest_id) references delivery.transfer_manifests (tenant_id, id) on delete restrict,
  foreign key (tenant_id, manifest_item_id) references delivery.transfer_manifest_items (tenant_id, id) on delete restrict
);
create index if not exists deliveries_changed on delivery.deliveries (tenant_id, changed, id);

-- At most one order that is not cancelled per manifest item, and per barcode (legs share their parent's).
create unique index if not exists item_already_has_order on delivery.deliveries (tenant_id, manifest_item_id)
  where manifest_item_id is not null and status <> 'cancelled';
create unique index if not exists delivery_barcode_taken on delivery.deliveries (tenant_id, barcode)
  where parent_id is null and status <> 'cancelled';
create index if not exists deliveries_manifest_item on delivery.deliveries (tenant_id, manifest_item_id) where manifest_item_id is not null;
create unique index if not exists leg_sequence_taken on delivery.deliveries (tenant_id, parent_id, sequence_plan) where parent_id is not null;

-- A delivery has at most one return of all of it that is not cancelled, nor over by another end: a customer's that was given back to them, an
-- operational one that has come to where it went. Of these, and of parts, delivery.returned_units and delivery.returned_whole have the last word.
create unique index if not exists return_already_exists on delivery.deliveries (tenant_id, original_delivery_id)
  where original_delivery_id is not null and status <> 'cancelled' and not returns_part
    and not (delivery_flow = 'customer_return' and status = 'returned') and not (delivery_flow = 'operational_return' and status = 'delivered');
create index if not exists deliveries_order on delivery.deliveries (tenant_id, order_id) where order_id is not null;
create index if not exists deliveries_barcode on delivery.deliveries (tenant_id, barcode);
create index if not exists deliveries_recent on delivery.deliveries (tenant_id, created_at desc nulls last, id desc);
create index if not exists deliveries_status on delivery.deliveries (tenant_id, status, created_at desc nulls last, id desc);
create index if not exists deliveries_by_code on delivery.deliveries (tenant_id, delivery_code desc nulls last, id desc);
create index if not exists deliveries_original on delivery.deliveries (tenant_id, original_delivery_id) where original_delivery_id is not null;
create index if not exists deliveries_customer
  on delivery.deliveries (tenant_id, customer_id, created_at desc nulls last, id desc)
  where customer_id is not null;
create index if not exists deliveries_institution
  on delivery.deliveries (tenant_id, institution_user_id, created_at desc nulls last, id desc)
  where institution_user_id is not null;
create index if not exists deliveries_service on delivery.deliveries (tenant_id, delivery_service_id);
create index if not exists deliveries_pickup on delivery.deliveries (tenant_id, pickup_address_id);
create index if not exists deliveries_dropoff on delivery.deliveries (tenant_id, dropoff_address_id);
create index if not exists deliveries_pickup_zone on delivery.deliveries (tenant_id, pickup_zone_id) where pickup_zone_id is not null;
create index if not exists deliveries_dropoff_zone on delivery.deliveries (tenant_id, dropoff_zone_id) where dropoff_zone_id is not null;
create index if not exists deliveries_from_warehouse on delivery.deliveries (tenant_id, pickup_warehouse_id) where pickup_warehouse_id is not null;
create index if not exists deliveries_to_warehouse on delivery.deliveries (tenant_id, dropoff_warehouse_id) where dropoff_warehouse_id is not null;
create index if not exists deliveries_ordered_to on delivery.deliveries (tenant_id, ordered_to_warehouse_id) where ordered_to_warehouse_id is not null;
create index if not exists deliveries_ordered_from on delivery.deliveries (tenant_id, ordered_from_address_id) where ordered_from_address_id is not null;
create index if not exists deliveries_ordered_from_warehouse on delivery.deliveries (tenant_id, ordered_from_warehouse_id)
  where ordered_from_warehouse_id is not null;
create index if not exists deliveries_in_warehouse on delivery.deliveries (tenant_id, current_warehouse_id) where current_warehouse_id is not null;
create index if not exists deliveries_staged on delivery.deliveries (tenant_id, staging_warehouse_id) where staging_warehouse_id is not null;
create index if not exists deliveries_flow on delivery.deliveries (tenant_id, delivery_flow, created_at desc nulls last, id desc);
create index if not exists deliveries_external
  on delivery.deliveries (tenant_id, carrier_code, created_at desc nulls last, id desc)
  where carrier_type = 'external';
create index if not exists deliveries_reference on delivery.deliveries (tenant_id, external_reference_id) where external_reference_id is not null;

-- The text columns that delivery.deliveries_matching() searches.
create index if not exists deliveries_found on delivery.deliveries using gin (app.folded(delivery_code::text || ' ' || barcode || ' '
  || coalesce(external_reference_id, '') || ' ' || coalesce(recipient ->> 'name', '') || ' ' || coalesce(recipient ->> 'phone', ''))
  extensions.gin_trgm_ops);

-- The same of telephone numbers that are kept as people wrote them, with spaces, dashes or brackets.
create index if not exists deliveries_dialled on delivery.deliveries using gin (app.dialled(recipient ->> 'phone') extensions.gin_trgm_ops)
  where (recipient ->> 'phone') ~ '[^0-9+]';

-- Postponed deliveries by their day, as lists sort them, and those of which the office is to be notified.
create index if not exists deliveries_postponed on delivery.deliveries (tenant_id, created_at desc nulls last, id desc) where postponed_to is not null;
create index if not exists deliveries_postponed_to on delivery.deliveries (postponed_to, tenant_id) where postponed_to is not null;
create index if not exists deliveries_overnight on delivery.deliveries (overnight_notice_at) where overnight_notice_at is not null;

-- Deliveries that nobody carries yet, by the zone they are fetched in; and late ones.
create index if not exists deliveries_unassigned on delivery.deliveries (tenant_id, pickup_zone_id, created_at)
  where status = 'pending' and carrier_type = 'internal' and delivery_flow <> 'pnd_parent';
-- Parcels on their way back, or waiting for it.
create index if not exists deliveries_going_back on delivery.deliveries (tenant_id, original_delivery_id)
  where delivery_flow = 'operational_return' and status not in ('delivered', 'cancelled');
create index if not exists deliveries_due on delivery.deliveries (tenant_id, least(promised_at, deliver_before), id)
  include (promised_at, deliver_before, pickup_zone_id, dropoff_zone_id)
  where parent_id is null and status in ('pending', 'assigned', 'accepted', 'picked_up', 'in_transit', 'failed')
    and (promised_at is not null or deliver_before is not null);
create index if not exists deliveries_promised on delivery.deliveries (tenant_id, promised_at) where promised_at is not null;
create index if not exists deliveries_manifest on delivery.deliveries (tenant_id, manifest_id) where manifest_id is not null;

create table if not exists delivery.delivery_status_history (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  delivery_id uuid not null,
  from_status text,
  to_status text not null,
  actor_id uuid,
  note text,
  created_at timestamptz not null default clock_timestamp(),
  -- Where and when it happened by the device that reported it, and how far that is from where it should be.
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  distance_m double precision check (distance_m >= 0),
  occurred_at timestamptz,
  -- The call that reported it with an occurred_at, of an outcome with its result; of what it moved along with the delivery, null.
  reported_as text,
  constraint reported_place_whole check ((latitude is null) = (longitude is null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists delivery_history on delivery.delivery_status_history (tenant_id, delivery_id, id);

-- Contents of parcels, their exceptions, and their returns into a warehouse.

create table if not exists delivery.delivery_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  -- The parent of a staged delivery, never a leg.
  delivery_id uuid not null,
  position integer not null check (position > 0),
  -- The warehouse's item. Null until a warehouse has received the parcel.
  item_id uuid,
  name text not null check (name <> ''),
  -- Only for goods that a store sold.
  sku text,
  quantity bigint not null default 1 check (quantity > 0),
  weight numeric(12, 3),
  length numeric(12, 3),
  width numeric(12, 3),
  height numeric(12, 3),
  -- The price of one unit, where the order names prices: of all items together they are its COD.
  unit_price numeric(18, 3) check (unit_price >= 0),
  -- Of a return of a part: the item of the original that this is.
  returned_item_id uuid,
  unique (tenant_id, id),
  unique (tenant_id, delivery_id, position),
  foreign key (tenant_id, returned_item_id) references delivery.delivery_items (tenant_id, id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists delivery_items_returned on delivery.delivery_items (tenant_id, returned_item_id) where returned_item_id is not null;
create index if not exists delivery_items_item on delivery.delivery_items (tenant_id, item_id) where item_id is not null;

-- Proof photographs and signatures: paths of storage objects, never the images themselves.
create table if not exists delivery.delivery_proofs (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  delivery_id uuid not null,
  -- attempt: of one that did not deliver, or of a warehouse from which the parcel continues; it proves no delivery.
  stage text not null check (stage in ('pickup', 'delivery', 'attempt')),
  kind text not null check (kind in ('photo', 'signature')),
  url text not null check (url <> ''),
  signed_by text,
  created_by uuid,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists delivery_proofs_delivery on delivery.delivery_proofs (tenant_id, delivery_id, created_at);
