-- Who is told of events, and how it went; external carriers, what was booked with them and what they reported.
-- Secrets stand here sealed (AES-GCM, see shared/secrets.ts); their key is known to the functions alone.

create table if not exists integration.webhook_subscriptions (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  module_id uuid not null references tenancy.modules (id) on delete restrict,
  url text not null check (length(url) between 1 and 2000),
  -- delivery.delivered, delivery.* or *
  event_types text[] not null check (cardinality(event_types) between 1 and 100),
  is_active boolean not null default true,
  secret text not null,
  -- Signs as well until it ends: 24 hours after a rotation.
  previous_secret text,
  previous_secret_until timestamptz,
  -- Events up to here happened before anybody listened.
  from_position bigint not null default 0,
  -- Since when nothing but failures; null while it works.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  created_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint webhook_subscription_exists unique (tenant_id, module_id)
);
create index if not exists webhook_subscriptions_module on integration.webhook_subscriptions (module_id);
create index if not exists webhook_subscriptions_created_by on integration.webhook_subscriptions (created_by);
create index if not exists webhook_subscriptions_active on integration.webhook_subscriptions (tenant_id) where is_active;

create table if not exists integration.webhook_events (
  -- The id on the wire, the same at every attempt.
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  position bigint generated always as identity,
  subscription_id uuid not null,
  -- Null: a test.
  system_event_id uuid,
  event_type text not null,
  -- Events of one thing are sent one after the other.
  entity_key text not null,
  -- The bytes that are signed and sent, at every attempt the same.
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'retrying', 'success', 'failed')),
  http_status_code integer,
  error_message text,
  retry_count integer not null default 0 check (retry_count >= 0),
  -- Attempts of the running schedule; a manual one does not count.
  attempts integer not null default 0 check (attempts >= 0),
  -- Null: the schedule is over.
  next_attempt_at timestamptz default now(),
  claim_token uuid,
  claimed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint webhook_event_once unique (subscription_id, system_event_id),
  constraint claimed_means_when check ((claim_token is null) = (claimed_at is null)),
  constraint webhook_event_subscription foreign key (tenant_id, subscription_id)
    references integration.webhook_subscriptions (tenant_id, id) on delete cascade
);
create index if not exists webhook_events_recent on integration.webhook_events (tenant_id, subscription_id, created_at desc nulls last, id desc);
create index if not exists webhook_events_status on integration.webhook_events (tenant_id, subscription_id, status, created_at desc nulls last, id desc);
create index if not exists webhook_events_due on integration.webhook_events (subscription_id, next_attempt_at, position) where next_attempt_at is not null;
create index if not exists webhook_events_entity on integration.webhook_events (subscription_id, entity_key, position) where next_attempt_at is not null;
create index if not exists webhook_events_claimed on integration.webhook_events (subscription_id) where claim_token is not null;
create index if not exists webhook_events_source on integration.webhook_events (system_event_id) where system_event_id is not null;

create table if not exists integration.webhook_attempts (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  event_id uuid not null,
  is_manual boolean not null default false,
  http_status_code integer,
  latency_ms integer not null check (latency_ms >= 0),
  -- What the subscriber answered, up to 16 KiB.
  response_body text,
  error_message text,
  created_at timestamptz not null default now(),
  foreign key (tenant_id, event_id) references integration.webhook_events (tenant_id, id) on delete cascade
);
create index if not exists webhook_attempts_event on integration.webhook_attempts (tenant_id, event_id, id desc);

-- Which run of the sender waits for what comes due next. Not logged: after a crash no run is left.
create unlogged table if not exists integration.sender_watch (
  is_only boolean primary key default true check (is_only),
  watcher uuid not null
);

create table if not exists integration.carriers (
  code text primary key check (code ~ '^[a-z0-9_]{1,40}$'),
  name text not null,
  logo_url text,
  is_internal boolean not null default false,
  supports_webhook boolean not null default false,
  is_active boolean not null default true,
  position smallint not null
);

create table if not exists integration.tenant_carriers (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  carrier_code text not null references integration.carriers (code) on delete restrict,
  is_enabled boolean not null default false,
  prefer_internal boolean not null default false,
  default_price numeric(15, 3) check (default_price >= 0),
  -- {login_id, password, initial_token}, sealed as one.
  credentials text,
  webhook_secret text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint tenant_carrier_once unique (tenant_id, carrier_code)
);
create index if not exists tenant_carriers_carrier on integration.tenant_carriers (carrier_code);

create table if not exists integration.carrier_shipments (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  delivery_id uuid not null,
  carrier_code text not null references integration.carriers (code) on delete restrict,
  status text not null default 'booking' check (status in ('booking', 'booked', 'cancelling', 'cancelled')),
  tracking_number text,
  carrier_reference text,
  label_url text,
  -- What the carrier was told to collect at the door, in the delivery's currency.
  cash_due numeric(18, 3) not null default 0 check (cash_due >= 0),
  claim_token uuid,
  claimed_at timestamptz,
  -- When what was last reported happened; older reports come too late.
  reported_at timestamptz,
  booked_at timestamptz,
  cancelled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint booked_means_tracked check (status = 'booking' or tracking_number is not null),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete cascade
);
create unique index if not exists shipment_once on integration.carrier_shipments (tenant_id, delivery_id) where status <> 'cancelled';
create index if not exists carrier_shipments_delivery on integration.carrier_shipments (tenant_id, delivery_id);
create index if not exists carrier_shipments_tracking on integration.carrier_shipments (tenant_id, carrier_code, tracking_number);
create index if not exists carrier_shipments_cash on integration.carrier_shipments (tenant_id, delivery_id) where cash_due > 0;
create index if not exists carrier_shipments_carrier on integration.carrier_shipments (carrier_code);

-- What carriers reported, each report once.
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
