-- Every authenticated webhook event, with its outcome. Events that fail authentication are not stored.
create table if not exists money.payment_webhook_events (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  gateway_code text not null,
  -- Identifies repeated events: the hash of the event's bytes, or of a status response.
  event_key text not null,
  event_type text not null,
  -- signature: signed by the gateway. status: the gateway's response to a status request.
  proof text not null check (proof in ('signature', 'status')),
  raw_body text,
  -- The parsed fields: {kind, gateway_order_id, transaction_id, amount, unit, currency ...}
  facts jsonb not null check (jsonb_typeof(facts) = 'object'),
  -- unmatched: money that staff have to reconcile.
  outcome text not null default 'ignored' check (outcome in ('processed', 'ignored', 'unmatched')),
  reason text,
  payment_id uuid,
  resolution text check (resolution in ('refunded_at_gateway', 'credited_by_adjustment', 'accepted', 'dismissed')),
  -- The booking of the money; null if nothing was booked.
  action text check (action in ('refund', 'credit_wallet', 'accept')),
  resolution_note text,
  resolved_by uuid references tenancy.profiles (id) on delete set null,
  resolved_at timestamptz,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint webhook_event_taken unique (gateway_code, event_key),
  constraint only_unmatched_is_resolved check (resolution is null or outcome = 'unmatched'),
  constraint actions_are_resolved check (action is null or resolution is not null),
  constraint resolved_says_when check ((resolution is null) = (resolved_at is null)),
  foreign key (tenant_id, payment_id) references money.payments (tenant_id, id) on delete restrict
);
create index if not exists payment_webhook_events_recent on money.payment_webhook_events (tenant_id, created_at desc nulls last, id desc);
create index if not exists payment_webhook_events_open on money.payment_webhook_events (tenant_id, created_at desc nulls last, id desc)
  where outcome = 'unmatched' and resolution is null;
create index if not exists payment_webhook_events_payment on money.payment_webhook_events (tenant_id, payment_id) where payment_id is not null;
create index if not exists payment_webhook_events_ending on money.payment_webhook_events (created_at)
  where outcome = 'ignored' or raw_body is not null;
create index if not exists payment_webhook_events_resolved_by on money.payment_webhook_events (resolved_by);
