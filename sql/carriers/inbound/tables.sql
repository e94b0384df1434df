-- Carriers' status reports, each once.
create table if not exists integration.carrier_events (
  id bigint generated always as identity primary key,
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  carrier_code text not null references integration.carriers (code) on delete restrict,
  carrier_event_id text not null check (length(carrier_event_id) between 1 and 200),
  tracking_number text,
  carrier_status text,
  delivery_id uuid,
  outcome text not null check (outcome in ('applied', 'unchanged', 'unknown_shipment', 'unknown_status', 'too_late', 'impossible')),
  created_at timestamptz not null default now(),
  constraint carrier_event_once unique (tenant_id, carrier_code, carrier_event_id)
);
create index if not exists carrier_events_carrier on integration.carrier_events (carrier_code);
create index if not exists carrier_events_created on integration.carrier_events (created_at);
