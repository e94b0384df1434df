-- Statements of what merchants are due, and the payouts that pay them. What is due is on the owner's wallet; a statement names the movements
-- of it that it pays, a payout takes its net from the wallet. Rows are written by functions, never by hand; what was wrong is voided or
-- reversed, not deleted.

create table if not exists money.merchant_payouts (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  statement_id uuid not null,
  owner_user_id uuid not null,
  -- cash: from the desk of the one who entered it; bank, gateway_transfer: from outside the desks.
  method text not null check (method in ('cash', 'bank', 'gateway_transfer')),
  amount numeric(18, 3) not null check (amount > 0),
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  reference text,
  -- The address of a picture or document that shows it.
  proof text,
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
  constraint merchant_payout_key_used unique (tenant_id, actor_id, idempotency_key),
  foreign key (tenant_id, owner_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  -- References profiles, not members: system administrators act in tenants that they are not members of.
  foreign key (actor_id) references tenancy.profiles (id) on delete restrict,
  foreign key (reversed_by) references tenancy.profiles (id) on delete restrict
);
create unique index if not exists statement_already_paid on money.merchant_payouts (tenant_id, statement_id) where reversed_at is null;
create index if not exists merchant_payouts_statement on money.merchant_payouts (tenant_id, statement_id);
create index if not exists merchant_payouts_owner on money.merchant_payouts (tenant_id, owner_user_id, paid_at desc nulls last, id desc);
create index if not exists merchant_payouts_actor on money.merchant_payouts (actor_id);
create index if not exists merchant_payouts_reverser on money.merchant_payouts (reversed_by) where reversed_by is not null;
create index if not exists merchant_payouts_currency on money.merchant_payouts (currency);
create index if not exists merchant_payouts_recent on money.merchant_payouts (tenant_id, paid_at desc nulls last, id desc);
create index if not exists merchant_payouts_cash on money.merchant_payouts (tenant_id, actor_id, paid_at) where method = 'cash';

create table if not exists money.merchant_statements (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- Counts the statements of a tenant without a gap; void ones keep theirs.
  number bigint not null check (number > 0),
  account_id uuid not null,
  owner_user_id uuid not null,
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  -- When its movements were looked at: none of them is later.
  opened_at timestamptz not null default now(),
  opened_by uuid,
  period_from timestamptz not null,
  period_to timestamptz not null,
  gross_cod numeric(18, 3) not null,
  -- The cost of the deliveries: lines of fees are negative, this is positive.
  fees numeric(18, 3) not null,
  refunds numeric(18, 3) not null,
  adjustments numeric(18, 3) not null,
  net numeric(18, 3) not null check (net > 0),
  lines integer not null check (lines > 0),
  status text not null default 'open' check (status in ('open', 'paid', 'void')),
  payout_id uuid,
  confirmed_at timestamptz,
  voided_at timestamptz,
  voided_by uuid,
  void_reason text,
  -- Of one that was made by the cycle: the first day that it does not cover.
  cycle_day date,
  -- The mark of its money, which its document carries: see money.statement_hash.
  hash text check (hash ~ '^[0-9a-f]{32}$'),
  unique (tenant_id, id),
  constraint statement_number_taken unique (tenant_id, number),
  constraint statement_already_made unique (tenant_id, account_id, cycle_day),
  constraint statement_is_its_parts check (net = gross_cod - fees + refunds + adjustments),
  constraint statement_state check ((status = 'paid') = (payout_id is not null) and (confirmed_at is null or status = 'paid')
    and (status = 'void') = (voided_at is not null) and (status = 'void') = (voided_by is not null)),
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict,
  foreign key (tenant_id, owner_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, payout_id) references money.merchant_payouts (tenant_id, id) on delete restrict,
  foreign key (opened_by) references tenancy.profiles (id) on delete restrict,
  foreign key (voided_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists merchant_statements_recent on money.merchant_statements (tenant_id, opened_at desc nulls last, id desc);
create index if not exists merchant_statements_owner on money.merchant_statements (tenant_id, owner_user_id, opened_at desc nulls last, id desc);
create index if not exists merchant_statements_status on money.merchant_statements (tenant_id, status, opened_at desc nulls last, id desc);
create index if not exists merchant_statements_net on money.merchant_statements (tenant_id, net desc nulls last, id desc);
create index if not exists merchant_statements_account on money.merchant_statements (tenant_id, account_id, opened_at desc nulls last);
create index if not exists merchant_statements_payout on money.merchant_statements (tenant_id, payout_id) where payout_id is not null;
create index if not exists merchant_statements_opener on money.merchant_statements (opened_by) where opened_by is not null;
create index if not exists merchant_statements_voider on money.merchant_statements (voided_by) where voided_by is not null;
create index if not exists merchant_statements_currency on money.merchant_statements (currency);

-- By the mark on a printed document.
create index if not exists merchant_statements_hash on money.merchant_statements (tenant_id, hash);

-- The stated part of a wallet: the net of its open statements.
create index if not exists merchant_statements_open on money.merchant_statements (tenant_id, account_id) include (net) where status = 'open';

-- The lines of a statement. A movement of the wallet is its ledger entry, by the entry's version; 0 is what the wallet held before there
-- were statements; null: the amount that stays in the wallet (minus), or one that stayed in it before (plus).
create table if not exists money.merchant_statement_lines (
  tenant_id uuid not null,
  statement_id uuid not null,
  position integer not null check (position > 0),
  account_id uuid not null,
  movement bigint check (movement >= 0),
  kind text not null check (kind in ('cod', 'delivery_fee', 'refund', 'adjustment')),
  amount numeric(18, 3) not null check (amount <> 0),
  delivery_id uuid,
  delivery_code bigint,
  external_reference_id text,
  collected_at timestamptz not null,
  released_at timestamptz not null,
  primary key (tenant_id, statement_id, position),
  -- Within one statement: another one may state the rest of a movement.
  constraint movement_already_stated unique (tenant_id, statement_id, movement),
  foreign key (tenant_id, statement_id) references money.merchant_statements (tenant_id, id) on delete restrict,
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists merchant_statement_lines_movement on money.merchant_statement_lines (tenant_id, account_id, movement);
create index if not exists merchant_statement_lines_delivery on money.merchant_statement_lines (tenant_id, delivery_id) where delivery_id is not null;

-- How far the movements of a wallet were looked at for statements. `opening` is what it held before; it stands for the movements up to
-- `opening_movement`.
create table if not exists money.merchant_accounts (
  tenant_id uuid not null,
  account_id uuid not null,
  opening numeric(18, 3) not null default 0,
  opening_movement bigint not null default 0,
  looked_to bigint not null default 0,
  opened_at timestamptz not null default now(),
  primary key (tenant_id, account_id),
  constraint looked_beyond_the_opening check (looked_to >= opening_movement and opening_movement >= 0),
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict
);

-- Movements up to `looked_to` that the next statement has to look at again: not released then, held again, or on a statement that was voided.
create table if not exists money.merchant_pending (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  movement bigint not null check (movement >= 0),
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict
);
create index if not exists merchant_pending_account on money.merchant_pending (tenant_id, account_id, movement);

-- The last number of each tenant's statements.
create table if not exists money.merchant_statement_numbers (
  tenant_id uuid primary key references tenancy.tenants (id) on delete restrict,
  last bigint not null check (last > 0)
);

-- The tenants whose statements are made by a cycle (setting delivery.payouts), and the last day of it that all owners had theirs. A day
-- counts when it begins after `begun_at`: what is saved today makes no statements for a day before.
create table if not exists money.merchant_cycles (
  tenant_id uuid primary key references tenancy.tenants (id) on delete cascade,
  begun_at timestamptz not null default now(),
  day date
);
