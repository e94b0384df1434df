-- Subscribers to events, and their deliveries; external carriers, what was booked with them and what they reported.
-- Secrets are stored encrypted (AES-GCM, see shared/outbound/secrets.ts); only the edge functions have the key.

create table if not exists integration.webhook_subscriptions (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  module_id uuid not null references tenancy.modules (id) on delete restrict,
  url text not null check (length(url) between 1 and 2000),
  -- delivery.delivered, delivery.* or *
  event_types text[] not null check (cardinality(event_types) between 1 and 100),
  is_active boolean not null default true,
  secret text not null,
  -- Also signs, until 24 hours after a rotation.
  -- Sealed, as `secret`; several with spaces between them, the newest first.
  previous_secret text,
  previous_secret_until timestamptz,
  -- Events up to this position are older than the subscription and are not sent.
  from_position bigint not null default 0,
  -- Since when every attempt has failed; null while attempts succeed.
  failing_since timestamptz,
  disabled_at timestamptz,
  -- stopped: by the company; a merchant does not start it again.
  disabled_reason text check (disabled_reason in ('gone', 'failing', 'stopped')),
  created_by uuid references tenancy.profiles (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The merchant who hears of their own parcels and statements by it; null: it is the company's.
  owner_user_id uuid,
  -- Since when nobody sees it any more; the clock deletes it with its log (integration.subscriptions_purge).
  removed_at timestamptz,
  unique (tenant_id, id),
  -- Beside one that is removed there is room for another.
  constraint webhook_subscription_exists unique nulls not distinct (tenant_id, module_id, owner_user_id, removed_at),
  foreign key (tenant_id, owner_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete cascade
);
create index if not exists webhook_subscriptions_module on integration.webhook_subscriptions (module_id);
create index if not exists webhook_subscriptions_created_by on integration.webhook_subscriptions (created_by);
-- From which event on a tenant listens (integration.listening), however many merchants do.
create index if not exists webhook_subscriptions_listening on integration.webhook_subscriptions (tenant_id, from_position) where is_active;
-- An event's subscriptions: the company's (null), and that of the merchant whose parcel or statement it is about.
create index if not exists webhook_subscriptions_owner on integration.webhook_subscriptions (tenant_id, owner_user_id);
-- Those that wait to be deleted: few, and none at most times.
create index if not exists webhook_subscriptions_removed on integration.webhook_subscriptions (tenant_id) where removed_at is not null;
create index if not exists webhook_subscriptions_of_merchants on integration.webhook_subscriptions (tenant_id, created_at desc nulls last, id desc)
  where owner_user_id is not null;
