-- When the positions of a tenant's drivers were last sent to its board: at most once a second.
create table if not exists delivery.position_broadcasts (
  tenant_id uuid primary key references tenancy.tenants (id) on delete cascade,
  sent_at timestamptz not null default '-infinity'
);

-- The lines of delivery.status about the deliveries of one statement, until the commit of its transaction; a row is gone with it. Unlogged: after a
-- crash no transaction is left. At the same place in each array stand a tenant, the driver who had the delivery, and the line that is sent.
create unlogged table if not exists delivery.status_broadcasts (
  id bigint generated always as identity primary key,
  tenants uuid[] not null,
  drivers uuid[] not null,
  lines jsonb[] not null
);
