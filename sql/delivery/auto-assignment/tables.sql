-- The search for a driver of each delivery that is, or was, assigned automatically.

create table if not exists delivery.driver_searches (
  tenant_id uuid not null,
  delivery_id uuid not null,
  -- searching: waits for its next try. offered: a driver has been asked. assigned: a driver has it. failed: nobody was found.
  -- off: the office or a driver took it into their own hands, or it needs no driver any more.
  status text not null check (status in ('off', 'searching', 'offered', 'assigned', 'failed')),
  -- Offers, and tries that found nobody.
  attempts integer not null default 0 check (attempts >= 0),
  -- searching: when it is tried. offered: until when the driver may answer.
  next_attempt_at timestamptz,
  -- Drivers who rejected it in this search, or did not answer in time.
  declined uuid[] not null default '{}',
  -- How many drivers the last try passed over, by reason (delivery.drivers_passed_over).
  passed_over jsonb not null default '{}' check (jsonb_typeof(passed_over) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, delivery_id),
  constraint next_attempt_while_open check ((next_attempt_at is not null) = (status in ('searching', 'offered'))),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists driver_searches_due on delivery.driver_searches (tenant_id, next_attempt_at) where next_attempt_at is not null;
create index if not exists driver_searches_status on delivery.driver_searches (tenant_id, status, delivery_id)
  where status in ('searching', 'offered', 'failed');
