-- Changes of the COD of parcels after they were ordered, decided and requested ones.
create table if not exists delivery.amount_changes (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- The parcel, never a leg.
  delivery_id uuid not null,
  old_cod_amount numeric(18, 3) not null check (old_cod_amount >= 0),
  new_cod_amount numeric(18, 3) not null check (new_cod_amount >= 0),
  currency char(3) not null,
  reason text not null check (reason <> ''),
  -- The part of the parcel that the receiver keeps for the new amount: [{"delivery_item_id": uuid, "quantity": integer}], each item of
  -- delivery.delivery_items of the parcel once, quantity from 1 to that of the item, less than all units together. Null: the amount is for
  -- the whole parcel. A partial delivery reads it by delivery.kept_items_agreed().
  kept_items jsonb check (jsonb_typeof(kept_items) = 'array' and kept_items <> '[]'),
  -- lapsed: the delivery ended before anybody decided.
  status text not null check (status in ('pending', 'approved', 'declined', 'lapsed')),
  requested_by uuid,
  requested_at timestamptz not null default clock_timestamp(),
  decided_by uuid,
  decided_at timestamptz,
  -- Why it was declined, if somebody said so.
  decline_reason text,
  -- Written with a driver's report, with its undo, or by a store's order that divides its cash anew: nobody requested it.
  by_report boolean not null default false,
  -- The fee of a store's order that is part of the amount, where the order moved it; null: it stayed where it was.
  old_delivery_fee numeric(18, 3) check (old_delivery_fee >= 0),
  new_delivery_fee numeric(18, 3) check (new_delivery_fee >= 0),
  unique (tenant_id, id),
  constraint amount_change_state check ((status = 'pending') = (decided_at is null) and (decline_reason is null or status = 'declined')),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (requested_by) references tenancy.profiles (id) on delete restrict,
  foreign key (decided_by) references tenancy.profiles (id) on delete restrict
);

-- A delivery has at most one change that waits for a decision.
create unique index if not exists amount_change_pending on delivery.amount_changes (tenant_id, delivery_id) where status = 'pending';
create index if not exists amount_changes_delivery on delivery.amount_changes (tenant_id, delivery_id, requested_at desc nulls last, id desc);
create index if not exists amount_changes_requester on delivery.amount_changes (requested_by) where requested_by is not null;
create index if not exists amount_changes_decider on delivery.amount_changes (decided_by) where decided_by is not null;
