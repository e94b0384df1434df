create table if not exists integration.webhook_events (
  -- The webhook-id header, the same at every attempt.
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  position bigint generated always as identity,
  subscription_id uuid not null,
  -- Null: a test event.
  system_event_id uuid,
  event_type text not null,
  -- Events of one entity are sent one after the other.
  entity_key text not null,
  -- The bytes that are signed and sent, at every attempt the same.
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'retrying', 'success', 'failed')),
  http_status_code integer,
  error_message text,
  retry_count integer not null default 0 check (retry_count >= 0),
  -- Attempts of the current schedule, without manual ones.
  attempts integer not null default 0 check (attempts >= 0),
  -- Null: the schedule has ended.
  next_attempt_at timestamptz default now(),
  claim_token uuid,
  claimed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Of the request that caused the event.
  trace_context text,
  unique (tenant_id, id),
  constraint webhook_event_once unique (subscription_id, system_event_id),
  constraint claimed_means_when check ((claim_token is null) = (claimed_at is null)),
  constraint webhook_event_subscription foreign key (tenant_id, subscription_id)
    references integration.webhook_subscriptions (tenant_id, id) on delete cascade
);
create index if not exists webhook_events_recent on integration.webhook_events (tenant_id, subscription_id, created_at desc nulls last, id desc);
create index if not exists webhook_events_status on integration.webhook_events (tenant_id, subscription_id, status, created_at desc nulls last, id desc);
create index if not exists webhook_events_type on integration.webhook_events (tenant_id, subscription_id, event_type, created_at desc nulls last, id desc);
create index if not exists webhook_events_due on integration.webhook_events (subscription_id, next_attempt_at, position) where next_attempt_at is not null;
create index if not exists webhook_events_entity on integration.webhook_events (subscription_id, entity_key, position) where next_attempt_at is not null;
create index if not exists webhook_events_created on integration.webhook_events (created_at);
create index if not exists webhook_events_claimed on integration.webhook_events (subscription_id) where claim_token is not null;
create index if not exists webhook_events_source on integration.webhook_events (system_event_id) where system_event_id is not null;

create table if not exists integration.webhook_attempts (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  event_id uuid not null,
  is_manual boolean not null default false,
  http_status_code integer,
  latency_ms integer not null check (latency_ms >= 0),
  -- The subscriber's response, up to 16 KiB.
  response_body text,
  error_message text,
  created_at timestamptz not null default now(),
  foreign key (tenant_id, event_id) references integration.webhook_events (tenant_id, id) on delete cascade
);
create index if not exists webhook_attempts_event on integration.webhook_attempts (tenant_id, event_id, id desc);
