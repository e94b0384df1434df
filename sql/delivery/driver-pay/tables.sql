-- Pay that drivers earn with deliveries, and its payouts. Rows are written with the completion of a delivery and with
-- a payout, never by hand; a payout that was entered by mistake is reversed, not deleted.

create table if not exists money.driver_payouts (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  driver_id uuid not null,
  -- wallet: credited to the driver's wallet; cash: paid from the desk of the one who entered it.
  method text not null check (method in ('wallet', 'cash')),
  amount numeric(18, 3) not null check (amount > 0),
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  accruals integer not null check (accruals > 0),
  reference text,
  notes text,
  actor_id uuid not null,
  -- Kept as long as the payout, so a late repetition still returns it.
  idempotency_key text,
  input_hash bytea,
  -- The time of the transaction, as in the ledger: a balance and its rows agree as of any moment.
  paid_at timestamptz not null default now(),
  reversed_at timestamptz,
  reversed_by uuid,
  reversal_reason text,
  unique (tenant_id, id),
  constraint reversed_says_who_and_why check (
    (reversed_at is null) = (reversed_by is null) and (reversed_at is null) = (reversal_reason is null)),
  constraint driver_payout_key_used unique (tenant_id, actor_id, idempotency_key),
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  -- References profiles, not members: system administrators act in tenants that they are not members of.
  foreign key (actor_id) references tenancy.profiles (id) on delete restrict,
  foreign key (reversed_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists driver_payouts_recent on money.driver_payouts (tenant_id, paid_at desc nulls last, id desc);
create index if not exists driver_payouts_driver on money.driver_payouts (tenant_id, driver_id, paid_at desc nulls last, id desc);
create index if not exists driver_payouts_amount on money.driver_payouts (tenant_id, amount desc nulls last, id desc);
create index if not exists driver_payouts_actor on money.driver_payouts (actor_id);
create index if not exists driver_payouts_reverser on money.driver_payouts (reversed_by) where reversed_by is not null;
create index if not exists driver_payouts_currency on money.driver_payouts (currency);

create table if not exists money.driver_pay (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- The delivery, or the leg of a staged one.
  delivery_id uuid not null,
  driver_id uuid not null,
  -- The rule of the moment: the setting general.driver, and the delivery fee of the parcel.
  mode text not null check (mode in ('percentage', 'per_delivery')),
  percentage numeric check (percentage > 0),
  base_amount numeric check (base_amount > 0),
  delivery_fee numeric(18, 3) not null check (delivery_fee >= 0),
  amount numeric(18, 3) not null check (amount > 0),
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  status text not null default 'accrued' check (status in ('accrued', 'paid', 'reversed')),
  -- The time of the transaction, as in the ledger: a balance and its rows agree as of any moment.
  accrued_at timestamptz not null default now(),
  paid_at timestamptz,
  payout_id uuid,
  reversed_at timestamptz,
  delivery_code bigint not null,
  unique (tenant_id, id),
  constraint driver_pay_has_a_rule check ((mode = 'percentage') = (percentage is not null) and (mode = 'per_delivery') = (base_amount is not null)),
  constraint driver_pay_state check ((status = 'paid') = (paid_at is not null) and (status = 'paid') = (payout_id is not null)
    and (status = 'reversed') = (reversed_at is not null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, payout_id) references money.driver_payouts (tenant_id, id) on delete restrict
);

-- A delivery or leg is paid for once, unless its pay was reversed.
create unique index if not exists driver_pay_already_accrued on money.driver_pay (tenant_id, delivery_id) where status <> 'reversed';
create index if not exists driver_pay_delivery on money.driver_pay (tenant_id, delivery_id);
create index if not exists driver_pay_recent on money.driver_pay (tenant_id, accrued_at desc nulls last, id desc);
create index if not exists driver_pay_driver on money.driver_pay (tenant_id, driver_id, accrued_at desc nulls last, id desc);
create index if not exists driver_pay_status on money.driver_pay (tenant_id, status, accrued_at desc nulls last, id desc);
create index if not exists driver_pay_amount on money.driver_pay (tenant_id, amount desc nulls last, id desc);
create index if not exists driver_pay_paid on money.driver_pay (tenant_id, paid_at desc nulls last, id desc);
create index if not exists driver_pay_payout on money.driver_pay (tenant_id, payout_id) where payout_id is not null;
create index if not exists driver_pay_currency on money.driver_pay (currency);

-- The rows that a payout pays.
create index if not exists driver_pay_open on money.driver_pay (tenant_id, driver_id, currency, id) where status = 'accrued';

-- The pay of each payout, kept also when it is reversed. The pay itself names the payout that counts now.
create table if not exists money.driver_payout_items (
  tenant_id uuid not null,
  payout_id uuid not null,
  driver_pay_id uuid not null,
  amount numeric(18, 3) not null check (amount > 0),
  -- When its payout was reversed.
  reversed_at timestamptz,
  primary key (tenant_id, payout_id, driver_pay_id),
  foreign key (tenant_id, payout_id) references money.driver_payouts (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_pay_id) references money.driver_pay (tenant_id, id) on delete restrict
);
create index if not exists driver_payout_items_pay on money.driver_payout_items (tenant_id, driver_pay_id);
create unique index if not exists driver_pay_already_paid on money.driver_payout_items (tenant_id, driver_pay_id) where reversed_at is null;
