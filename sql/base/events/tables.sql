-- Events for other modules and for webhook subscribers: inserted by the transaction that caused them, sent after its
-- commit in the order of `position`.

create table if not exists integration.system_events (
  id uuid primary key default gen_random_uuid(),
  -- Null: an event of the platform, not of a tenant.
  tenant_id uuid references tenancy.tenants (id) on delete cascade,
  position bigint generated always as identity,
  event_type text not null check (event_type <> ''),
  source_module text not null check (source_module <> ''),
  target_module text,
  entity_type text not null check (entity_type <> ''),
  entity_id uuid not null,
  event_data jsonb not null default '{}' check (jsonb_typeof(event_data) = 'object'),
  status text not null default 'pending' check (status in ('pending', 'processed', 'failed')),
  retry_count integer not null default 0 check (retry_count >= 0),
  processed_at timestamptz,
  error_message text,
  -- When the webhook sender passed the event to the tenant's subscriptions. `status` belongs to the consumer, which sets it
  -- by PUT.
  is_dispatched boolean not null default false,
  created_at timestamptz not null default now(),
  -- Of the request that caused it (private.enter).
  trace_context text default nullif(current_setting('app.trace_context', true), '')
);
create index if not exists system_events_recent on integration.system_events (tenant_id, created_at desc nulls last, id desc);

-- For the list of all tenants' events.
create index if not exists system_events_newest on integration.system_events (created_at desc nulls last, id desc);

-- The list of all tenants' events, filtered by type, entity or module. Sender and entity type have no index: they have
-- few values, so the newest events contain matches soon.
create index if not exists system_events_type on integration.system_events (event_type, created_at desc nulls last, id desc);

create index if not exists system_events_about on integration.system_events (entity_id, created_at desc nulls last, id desc);
create index if not exists system_events_to on integration.system_events (target_module, created_at desc nulls last, id desc)
  where target_module is not null;
create index if not exists system_events_failed on integration.system_events (created_at desc nulls last, id desc) where status = 'failed';

-- Read only for tenants that have subscriptions.
create index if not exists system_events_undispatched on integration.system_events (tenant_id, position) where not is_dispatched;

create index if not exists system_events_entity on integration.system_events (tenant_id, entity_type, entity_id, position);

-- The catalogue of the events that Barid writes, with the fields of their event_data; the same for all tenants. It only
-- documents: events that others publish for a tenant are not in it. Tests compare it with the code and with written events.
create table if not exists integration.event_types (
  event_type text primary key check (event_type ~ '^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$'),
  -- Null: the module of the entity.
  source_module text check (source_module <> ''),
  entity_type text not null check (entity_type <> ''),
  -- {field: type}; a question mark after the type: the field may be null.
  event_data jsonb not null check (jsonb_typeof(event_data) = 'object'),
  -- Fields that a merchant is sent of an event about a parcel or statement of theirs, {field: type}; null: merchants are sent none.
  merchant_fields jsonb check (jsonb_typeof(merchant_fields) = 'object')
);
