-- The addresses by which recipients follow their parcels without an account. Its reader sees where the parcel is and what is due at the
-- door, and nothing about a person: it is kept as it is, so that the same address is given again.
create table if not exists delivery.tracking_links (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- The parcel, never a leg.
  delivery_id uuid not null,
  -- 122 random bits as base64url.
  token text not null default rtrim(translate(encode(uuid_send(gen_random_uuid()), 'base64'), '+/', '-_'), '=')
    check (token ~ '^[A-Za-z0-9_-]{22}$'),
  created_by uuid,
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint delivery_tracked_once unique (tenant_id, delivery_id),
  constraint tracking_token_taken unique (token),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (created_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists tracking_links_maker on delivery.tracking_links (created_by) where created_by is not null;

-- Answers of recipients by their links: of each parcel the last one, which the next replaces. It moves nothing by itself.
create table if not exists delivery.recipient_answers (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- The parcel, never a leg.
  delivery_id uuid not null,
  -- The day on which they want it, in the tenant's time zone.
  wanted_day date,
  -- For the driver.
  note text check (char_length(note) between 1 and 300),
  -- Where the door is.
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  answered_at timestamptz not null default clock_timestamp(),
  -- How often it changed.
  times integer not null default 1 check (times between 1 and 20),
  unique (tenant_id, id),
  constraint delivery_answered_once unique (tenant_id, delivery_id),
  constraint answered_place_whole check ((latitude is null) = (longitude is null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists recipient_answers_newest on delivery.recipient_answers (tenant_id, answered_at desc nulls last, id desc);
