-- When the positions of a tenant's drivers were last sent to its board: at most once a second.
create table if not exists delivery.position_broadcasts (
  tenant_id uuid primary key references tenancy.tenants (id) on delete cascade,
  sent_at timestamptz not null default '-infinity'
);
