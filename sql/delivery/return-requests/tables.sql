-- Requests of owners for a customer return, where the office approves them (setting general.delivery.return_requests.auto_approval).
create table if not exists delivery.return_requests (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- The return: a draft until it is approved.
  delivery_id uuid not null,
  status text not null default 'requested' check (status in ('requested', 'approved', 'declined', 'cancelled')),
  requested_by uuid,
  requested_at timestamptz not null default now(),
  decided_by uuid,
  decided_at timestamptz,
  -- Why it was declined.
  reason text,
  unique (tenant_id, id),
  constraint return_requested_once unique (tenant_id, delivery_id),
  constraint return_request_state check ((status = 'requested') = (decided_at is null) and (status = 'declined') = (reason is not null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (requested_by) references tenancy.profiles (id) on delete restrict,
  foreign key (decided_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists return_requests_status on delivery.return_requests (tenant_id, status, requested_at);
create index if not exists return_requests_requester on delivery.return_requests (requested_by) where requested_by is not null;
create index if not exists return_requests_decider on delivery.return_requests (decided_by) where decided_by is not null;
