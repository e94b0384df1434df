create table if not exists integration.carrier_shipments (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  delivery_id uuid not null,
  carrier_code text not null references integration.carriers (code) on delete restrict,
  status text not null default 'booking' check (status in ('booking', 'booked', 'cancelling', 'cancelled')),
  tracking_number text,
  carrier_reference text,
  label_url text,
  -- The amount that the carrier was asked to collect at the door, in the delivery's currency.
  cash_due numeric(18, 3) not null default 0 check (cash_due >= 0),
  claim_token uuid,
  claimed_at timestamptz,
  -- Time of the last reported status; a report of an earlier time is ignored.
  reported_at timestamptz,
  booked_at timestamptz,
  cancelled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The administrators were notified that its carrier has the parcel of a cancelled delivery.
  carried_noted_at timestamptz,
  unique (tenant_id, id),
  -- A claim that never came back may end without the number that its carrier gave, if it gave one.
  constraint booked_means_tracked check (status <> 'booked' or tracking_number is not null),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete cascade
);
create unique index if not exists shipment_once on integration.carrier_shipments (tenant_id, delivery_id) where status <> 'cancelled';
create index if not exists carrier_shipments_delivery on integration.carrier_shipments (tenant_id, delivery_id);
create index if not exists carrier_shipments_tracking on integration.carrier_shipments (tenant_id, carrier_code, tracking_number);
create index if not exists carrier_shipments_cash on integration.carrier_shipments (tenant_id, delivery_id) where cash_due > 0;
create index if not exists carrier_shipments_carrier on integration.carrier_shipments (carrier_code);
create index if not exists carrier_shipments_recent on integration.carrier_shipments (tenant_id, created_at desc nulls last, id desc);
create index if not exists carrier_shipments_status on integration.carrier_shipments (tenant_id, status, created_at desc nulls last, id desc);
