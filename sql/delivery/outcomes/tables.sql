-- Outcomes of attempts at the door, and returns, each with what its undo restores. Written by the calls that report one.
create table if not exists delivery.outcomes (
  id bigint generated always as identity primary key,
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- The delivery that was carried: of a staged parcel the leg.
  delivery_id uuid not null,
  result text not null check (result in ('delivered', 'partial', 'exchanged', 'postponed', 'refused', 'failed', 'returned')),
  from_status text not null check (from_status in ('picked_up', 'in_transit', 'failed')),
  -- The assignment by which it was carried, and whose. Null: nobody had it.
  assignment_id uuid,
  driver_id uuid,
  -- The fields of the delivery that the outcome changed, as they were, and as amount_change_id the change of the amount that it wrote
  -- (delivery.outcome_record).
  before jsonb not null check (jsonb_typeof(before) = 'object'),
  -- The last move of the delivery that belongs to the outcome: whatever comes after it went on.
  last_move_id bigint not null,
  reported_by uuid,
  -- The time of the transaction: the cash, the pay and the deliveries that were made with it have the same.
  created_at timestamptz not null default now(),
  undone_at timestamptz,
  undone_by uuid,
  undo_reason text,
  -- The transaction that undoes it, in which the moves back are legal.
  undone_in xid8,
  -- The assignment that brought the parcel back into the driver's hands.
  new_assignment_id uuid,
  constraint outcome_undone_when_and_why check ((undone_at is null) = (undo_reason is null) and (undone_at is null) = (undone_in is null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, assignment_id) references delivery.assignments (tenant_id, id) on delete restrict,
  foreign key (tenant_id, new_assignment_id) references delivery.assignments (tenant_id, id) on delete restrict,
  foreign key (reported_by) references tenancy.profiles (id) on delete restrict,
  foreign key (undone_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists outcomes_delivery on delivery.outcomes (tenant_id, delivery_id, id desc);
create index if not exists outcomes_driver on delivery.outcomes (tenant_id, driver_id) where driver_id is not null;
create index if not exists outcomes_assignment on delivery.outcomes (tenant_id, assignment_id) where assignment_id is not null;
create index if not exists outcomes_new_assignment on delivery.outcomes (tenant_id, new_assignment_id) where new_assignment_id is not null;
create index if not exists outcomes_reporter on delivery.outcomes (reported_by) where reported_by is not null;
create index if not exists outcomes_undoer on delivery.outcomes (undone_by) where undone_by is not null;
