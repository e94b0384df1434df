-- Cash that drivers hold. A row is written when a delivery is picked up or completed and never by hand.

create table if not exists money.cod_collections (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  delivery_id uuid not null,
  driver_id uuid not null,
  -- Null: collected before stages were recorded.
  collection_stage text check (collection_stage in ('pickup', 'dropoff')),
  amount numeric(18, 3) not null check (amount > 0),
  cod_amount numeric(18, 3) not null check (cod_amount >= 0),
  delivery_fee_amount numeric(18, 3) not null check (delivery_fee_amount >= 0),
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  status text not null default 'collected' check (status in ('collected', 'remitted', 'settled_by_wallet')),
  -- The time of the transaction, as in the ledger: a balance and its rows agree as of any moment.
  collected_at timestamptz not null default now(),
  remitted_at timestamptz,
  settled_at timestamptz,
  remitted_to_user_id uuid,
  -- Null for rows settled before settlements were recorded, until their first receipt is printed.
  settlement_payment_id uuid,
  -- Columns that lists filter, search and sort by, as of when the cash was taken.
  delivery_code bigint not null,
  delivery_number text not null,
  -- The delivery codes of the parcel's legs, in order: the codes that its drivers see.
  leg_codes jsonb not null default '[]' check (jsonb_typeof(leg_codes) = 'array'),
  external_reference_id text,
  customer_name text not null default '',
  delivery_address text not null default '',
  receiver_name text not null default '',
  notes text,
  reference text,
  -- Search columns besides the driver.
  search_text text not null generated always as (delivery_code::text || ' ' || customer_name || ' ' || delivery_address
    || ' ' || receiver_name || ' ' || leg_codes::text) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Id of the last writing transaction; the cursor of incremental reads (shared/api/cursor.ts).
  changed bigint not null default (pg_current_xact_id()::text::bigint),
  -- When the outcome that it was taken with was undone: it keeps its status and counts for nothing any more.
  reversed_at timestamptz,
  unique (tenant_id, id),
  constraint cash_is_its_parts check (amount = cod_amount + delivery_fee_amount),
  constraint reversed_cash_was_in_hand check (reversed_at is null or status = 'collected'),
  constraint cash_state_and_times check (
    (status = 'remitted') = (remitted_at is not null) and (status = 'settled_by_wallet') = (settled_at is not null)
    and (status <> 'collected' or settlement_payment_id is null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, remitted_to_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, settlement_payment_id) references money.payments (tenant_id, id) on delete restrict
);
-- Cash is taken once a stage, unless that was reversed.
create unique index if not exists cash_already_taken on money.cod_collections (tenant_id, delivery_id, collection_stage) nulls not distinct
  where reversed_at is null;
create index if not exists cod_collections_delivery on money.cod_collections (tenant_id, delivery_id);
create index if not exists cod_collections_reversed on money.cod_collections (tenant_id, collected_at desc nulls last, id desc)
  where reversed_at is not null;
create index if not exists cod_collections_changed on money.cod_collections (tenant_id, changed, id);
create index if not exists cod_collections_recent on money.cod_collections (tenant_id, collected_at desc nulls last, id desc);
create index if not exists cod_collections_driver on money.cod_collections (tenant_id, driver_id, collected_at desc nulls last, id desc);
create index if not exists cod_collections_pending on money.cod_collections (tenant_id, driver_id, collected_at) where status = 'collected';
create index if not exists cod_collections_status on money.cod_collections (tenant_id, status, collected_at desc nulls last, id desc);
create index if not exists cod_collections_settlement on money.cod_collections (tenant_id, settlement_payment_id) where settlement_payment_id is not null;
create index if not exists cod_collections_receiver on money.cod_collections (tenant_id, remitted_to_user_id) where remitted_to_user_id is not null;
create index if not exists cod_collections_code on money.cod_collections (tenant_id, delivery_code);
create index if not exists cod_collections_legs on money.cod_collections using gin (leg_codes jsonb_path_ops) where leg_codes <> '[]';
create index if not exists cod_collections_currency on money.cod_collections (currency);
create index if not exists cod_collections_found on money.cod_collections using gin (app.folded(search_text) extensions.gin_trgm_ops);
create index if not exists cod_collections_amount on money.cod_collections (tenant_id, amount, id);
create index if not exists cod_collections_customer on money.cod_collections (tenant_id, customer_name, id);
create index if not exists cod_collections_remitted on money.cod_collections (tenant_id, remitted_at desc nulls last, id desc) where remitted_at is not null;
create index if not exists cod_collections_settled on money.cod_collections (tenant_id, settled_at desc nulls last, id desc) where settled_at is not null;

-- Settlements of collected cash, handed in or paid from a wallet: one settlement and one payment for each request. A
-- settlement entered by mistake is reversed, not deleted.

create table if not exists money.cod_settlements (
  payment_id uuid primary key,
  tenant_id uuid not null,
  method text not null check (method in ('remit', 'wallet')),
  scope text not null check (scope in ('selected', 'all')),
  driver_id uuid not null,
  actor_id uuid not null,
  -- The present holder of the cash. Null when it was settled from the wallet.
  receiver_id uuid,
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  total numeric(18, 3) not null check (total > 0),
  cod_total numeric(18, 3) not null check (cod_total >= 0),
  fee_total numeric(18, 3) not null check (fee_total >= 0),
  collections integer not null check (collections > 0),
  -- The shortage found when the cash was counted, and the handover that records it, unresolved at the settlement.
  shortage numeric(18, 3) not null default 0,
  shortage_handover_id uuid,
  notes text,
  reference text,
  -- True: inserted at the first print of a row that was settled before settlements were recorded.
  historical boolean not null default false,
  -- Kept as long as the settlement, so a late repetition still returns it.
  idempotency_key text,
  input_hash bytea,
  settled_at timestamptz not null default now(),
  reversed_at timestamptz,
  reversed_by uuid,
  reversal_reason text,
  unique (tenant_id, payment_id),
  constraint settlement_is_its_parts check (total = cod_total + fee_total),
  constraint shortage_of_a_handover check (shortage between 0 and total and (shortage > 0) = (shortage_handover_id is not null)),
  constraint reversed_says_who_and_why check (
    (reversed_at is null) = (reversed_by is null) and (reversed_at is null) = (reversal_reason is null)),
  constraint settlement_idempotency_conflict unique (tenant_id, actor_id, idempotency_key),
  foreign key (tenant_id, payment_id) references money.payments (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  -- System administrators act in tenants they are no member of; who receives cash is a member.
  foreign key (actor_id) references tenancy.profiles (id) on delete restrict,
  foreign key (reversed_by) references tenancy.profiles (id) on delete restrict,
  foreign key (tenant_id, receiver_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict
);
create index if not exists cod_settlements_recent on money.cod_settlements (tenant_id, settled_at desc nulls last, payment_id desc);
create index if not exists cod_settlements_driver
  on money.cod_settlements (tenant_id, driver_id, settled_at desc nulls last, payment_id desc);
create index if not exists cod_settlements_receiver
  on money.cod_settlements (tenant_id, receiver_id, settled_at desc nulls last, payment_id desc) where receiver_id is not null;
create index if not exists cod_settlements_total on money.cod_settlements (tenant_id, total desc nulls last, payment_id desc);

-- Every reconciliation reads these few rows.
create index if not exists cod_settlements_reversed on money.cod_settlements (tenant_id, reversed_at desc nulls last, payment_id desc)
  where reversed_at is not null;

create index if not exists cod_settlements_actor on money.cod_settlements (actor_id);
create index if not exists cod_settlements_reverser on money.cod_settlements (reversed_by) where reversed_by is not null;
create index if not exists cod_settlements_currency on money.cod_settlements (currency);

create table if not exists money.cod_settlement_items (
  tenant_id uuid not null,
  payment_id uuid not null,
  position integer not null check (position > 0),
  cod_collection_id uuid not null,
  amount numeric(18, 3) not null,
  cod_amount numeric(18, 3) not null,
  delivery_fee_amount numeric(18, 3) not null,
  delivery_code bigint not null,
  delivery_number text not null,
  -- When its settlement was reversed.
  reversed_at timestamptz,
  primary key (tenant_id, payment_id, position),
  -- A row is settled once, unless that was reversed.
  constraint collection_already_settled unique nulls not distinct (tenant_id, cod_collection_id, reversed_at),
  constraint item_is_its_parts check (amount = cod_amount + delivery_fee_amount),
  foreign key (tenant_id, payment_id) references money.cod_settlements (tenant_id, payment_id) on delete restrict,
  foreign key (tenant_id, cod_collection_id) references money.cod_collections (tenant_id, id) on delete restrict
);

-- The printed receipt of a settlement. A failed print does not affect the settlement.
create table if not exists money.settlement_receipts (
  payment_id uuid primary key,
  tenant_id uuid not null,
  status text not null default 'pending' check (status in ('pending', 'in_process', 'success', 'failure')),
  language text not null default 'en',
  -- The text of the receipt's QR code; verification recomputes it from the rows.
  hash text not null check (hash ~ '^[0-9a-f]{32}$'),
  -- Incremented by each request to print again, so a print that is running does not complete a later request.
  edition integer not null default 1,
  storage_path text,
  error text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, payment_id),
  constraint printed_somewhere check (status <> 'success' or storage_path is not null),
  foreign key (tenant_id, payment_id) references money.cod_settlements (tenant_id, payment_id) on delete restrict
);

-- Handovers of cash: the amount the driver declared and the amount counted. A difference changes no balance until it
-- is resolved.
create table if not exists money.cash_handovers (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  driver_id uuid not null,
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  declared_amount numeric(18, 3) not null check (declared_amount > 0),
  counted_amount numeric(18, 3) check (counted_amount >= 0),
  -- declared -> counted, or discrepancy -> resolved; a counted or resolved one may be used by one remittance;
  -- cancelled before that, it was a mistake, or a settlement left nothing of it to count.
  status text not null default 'declared' check (status in ('declared', 'counted', 'discrepancy', 'resolved', 'cancelled')),
  resolution text check (resolution in ('recounted', 'driver_owes', 'written_off', 'returned')),
  notes text,
  declared_by uuid not null,
  counted_by uuid,
  counted_at timestamptz,
  resolved_by uuid,
  resolved_at timestamptz,
  settlement_payment_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, id),
  constraint counted_when check ((counted_at is null) = (counted_amount is null)),
  constraint handover_used unique (tenant_id, settlement_payment_id),
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, settlement_payment_id) references money.cod_settlements (tenant_id, payment_id) on delete restrict
);
create index if not exists cash_handovers_driver on money.cash_handovers (tenant_id, driver_id, created_at desc nulls last, id desc);
create index if not exists cash_handovers_recent on money.cash_handovers (tenant_id, status, created_at desc nulls last, id desc);
create index if not exists cash_handovers_currency on money.cash_handovers (currency);
create index if not exists cod_settlements_shortage on money.cod_settlements (tenant_id, shortage_handover_id) where shortage_handover_id is not null;

alter table money.cod_settlements drop constraint if exists settlement_shortage_handover;

alter table money.cod_settlements add constraint settlement_shortage_handover
  foreign key (tenant_id, shortage_handover_id) references money.cash_handovers (tenant_id, id) on delete restrict;

-- At most one uncounted handover for each driver.
create unique index if not exists handover_already_declared on money.cash_handovers (tenant_id, driver_id, currency) where status = 'declared';
