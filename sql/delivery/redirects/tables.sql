-- Redirects of parcels, each with what it changed: a report from a door that comes later than the redirect puts that back.
create table if not exists delivery.redirects (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- The parcel, never a leg.
  delivery_id uuid not null,
  -- Place, recipient and terms of the parcel, and the destination of its manifest item, as they were (delivery.redirect_record).
  before jsonb not null check (jsonb_typeof(before) = 'object'),
  -- By what the difference of the fee was, or is, paid: the owner's wallet, or the cash that is due.
  charged text not null check (charged in ('wallet', 'cash', 'none')),
  difference numeric(18, 3) not null,
  -- Null: somebody redirected it. pickup, door: a late report from there put back what held then; undo: the undo of that report.
  late_at text check (late_at in ('pickup', 'door', 'undo')),
  redirected_by uuid,
  redirected_at timestamptz not null default clock_timestamp(),
  -- The time of the transaction, which an outcome that put something back has as well.
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (redirected_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists redirects_delivery on delivery.redirects (tenant_id, delivery_id, redirected_at);
create index if not exists redirects_by on delivery.redirects (redirected_by) where redirected_by is not null;
