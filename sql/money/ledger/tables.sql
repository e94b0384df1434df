-- Double-entry books. Amounts are numeric(18,3) in the account's currency; an entry's sign is the
-- holder's view: positive adds to what the account holds, negative takes from it. Entries of a
-- transaction sum to zero per currency.

create table if not exists money.accounts (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  -- wallet: money a person or the tenant can spend. The others are books without a spender:
  -- external (cash desk, bank), cod_clearing, cash_on_hand (a cashier; the tenant's own till and bank), driver_cash
  -- (held by a driver), driver_shortage (said to be handed in and not there, until somebody resolves it), carrier_cash (taken by
  -- an external carrier, which owes it), driver_payable (pay that a driver earned and did not get yet), driver_cost (what it costs the tenant).
  kind text not null check (kind in ('wallet', 'external', 'cod_clearing', 'cash_on_hand', 'driver_cash', 'driver_shortage', 'carrier_cash',
    'driver_payable', 'driver_cost')),
  owner_type text not null check (owner_type in ('driver', 'customer', 'institution', 'staff', 'tenant', 'carrier')),
  owner_user_id uuid,
  carrier_code text,
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  balance numeric(18, 3) not null default 0,
  -- The lowest balance allowed; null: no limit.
  floor numeric(18, 3),
  version bigint not null default 0,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Of a cash desk: since when its cash is kept by the rows it came from (sql/money/desk-queues); null: it is not.
  queued_since timestamptz,
  unique (tenant_id, id),
  constraint insufficient_wallet_balance check (floor is null or balance >= floor),
  constraint tenant_owns_itself check ((owner_type in ('tenant', 'carrier')) = (owner_user_id is null)),
  constraint carriers_hold_cash_only check ((owner_type = 'carrier') = (carrier_code is not null) and (owner_type = 'carrier') = (kind = 'carrier_cash')),
  constraint wallets_have_a_floor check (kind <> 'wallet' or floor is not null),
  foreign key (tenant_id, owner_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict
-- Free space on each page, so updates of a busy account stay on it (HOT).
) with (fillfactor = 50);
create unique index if not exists account_exists on money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, carrier_code) nulls not distinct;
create index if not exists accounts_owner on money.accounts (tenant_id, owner_user_id);
create index if not exists accounts_currency on money.accounts (currency);
create index if not exists accounts_recent on money.accounts (tenant_id, created_at desc nulls last, id desc);

create table if not exists money.ledger_transactions (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  kind text not null,
  reference_type text not null,
  reference_id uuid not null,
  description text,
  actor_id uuid,
  -- The transaction that booked it; only that transaction may add entries.
  booked_in xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default now(),
  unique (tenant_id, id),
  -- One journal for each effect, so the same payment or adjustment cannot be booked twice.
  constraint journal_already_booked unique (tenant_id, kind, reference_type, reference_id)
);
create index if not exists ledger_transactions_recent on money.ledger_transactions (tenant_id, created_at desc nulls last, id desc);

create table if not exists money.ledger_entries (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  transaction_id uuid not null,
  account_id uuid not null,
  amount numeric(18, 3) not null check (amount <> 0),
  currency char(3) not null,
  -- The account right after this entry; version counts its entries without a gap.
  balance_after numeric(18, 3) not null,
  version bigint not null,
  created_at timestamptz not null default now(),
  constraint entry_version_taken unique (account_id, version),
  foreign key (tenant_id, transaction_id) references money.ledger_transactions (tenant_id, id) on delete restrict,
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict
);
create index if not exists ledger_entries_account on money.ledger_entries (tenant_id, account_id, id desc nulls last);
create index if not exists ledger_entries_transaction on money.ledger_entries (tenant_id, transaction_id);

create table if not exists money.payments (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  category text not null check (category in ('DELIVERY', 'ORDER', 'WALLET', 'SUBSCRIPTION')),
  type text not null check (type in ('DELIVERY_FEE', 'COD_COLLECTION', 'COD_SETTLEMENT', 'ORDER', 'WALLET_ADJUSTMENT',
    'WALLET_ADJUSTMENT_REVERSAL', 'WALLET_TOPUP', 'REFUND', 'DELIVERY_FEE_CHANGE')),
  status text not null default 'pending' check (status in ('pending', 'SUCCESS', 'FAILED', 'CANCELLED')),
  payment_method text not null check (payment_method in ('cash', 'wallet', 'gateway', 'manual')),
  -- Of a DELIVERY_FEE_CHANGE the difference: below 0 it was given back.
  amount numeric(18, 3) not null check (amount >= 0 or type = 'DELIVERY_FEE_CHANGE'),
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  account_id uuid,
  delivery_id uuid,
  order_id uuid,
  -- At a gateway: our number there (never used twice), its own for the same thing, and that of the payment made.
  gateway_code text,
  gateway_order_id text check (gateway_order_id ~ '^[0-9]{12,18}$'),
  gateway_reference text,
  gateway_transaction_id text,
  terminal text,
  redirect_url text,
  back_ref text,
  expires_at timestamptz,
  -- When the gateway was asked to capture the payment, and the result.
  opened_at timestamptz,
  last_checked_at timestamptz,
  reference text,
  snapshot jsonb,
  actor_id uuid,
  processed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- When the gateway, asked after expires_at, answered: what it did not call paid by then never will be.
  final_answer_at timestamptz,
  -- Of an adjustment and of a refund of an order by hand: the request's key and fingerprint, for as long as the payment is in the books.
  idempotency_key text,
  input_hash bytea,
  -- The name of the tenant's account at the gateway when the payment was opened there (money.gateway_account).
  gateway_account text,
  -- Of a refund of an order by hand: what of it was for no goods that were missing. The shop gave it, and it lowers no other refund.
  goodwill numeric(18, 3) not null default 0 check (goodwill between 0 and greatest(amount, 0)),
  -- Of a fee: when it was said that the office owes its refund (money.returned_fee_refund).
  refund_owed_at timestamptz,
  unique (tenant_id, id),
  constraint gateway_payments_are_numbered check ((gateway_order_id is null) or (gateway_code is not null)),
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict
);

-- Across all tenants: a number at a gateway is one payment, and what the gateway took pays one thing.
create unique index if not exists gateway_order_id_taken on money.payments (gateway_code, gateway_order_id) where gateway_order_id is not null;
create unique index if not exists gateway_reference_taken on money.payments (gateway_code, gateway_reference) where gateway_reference is not null;
create unique index if not exists gateway_transaction_taken on money.payments (gateway_code, gateway_transaction_id)
  where gateway_transaction_id is not null;
-- Whether a gateway ever took anything for a company, asked for notices of one that is switched off.
create index if not exists payments_of_gateway on money.payments (tenant_id, gateway_code) where gateway_code is not null;

-- A key is one payment of its person, whenever it is sent again.
create unique index if not exists payment_key_used on money.payments (tenant_id, actor_id, type, idempotency_key) where idempotency_key is not null;

-- An order has at most one successful payment, and at most one pending payment.
create unique index if not exists order_already_paid on money.payments (tenant_id, order_id) where type = 'ORDER' and status = 'SUCCESS';
create unique index if not exists order_payment_pending on money.payments (tenant_id, order_id) where type = 'ORDER' and status = 'pending';

-- Fees to refund in cash, listed for the desks.
create index if not exists refunds_in_cash on money.payments (tenant_id, status, created_at desc nulls last, id desc)
  where category = 'DELIVERY' and type = 'REFUND' and payment_method = 'cash';

create index if not exists payments_order on money.payments (tenant_id, order_id) where order_id is not null;
-- Top-ups that are waited for, by their end.
create index if not exists top_ups_pending on money.payments (expires_at) where type = 'WALLET_TOPUP' and status = 'pending';
create index if not exists payments_to_ask_about on money.payments (created_at) where payment_method = 'gateway' and status <> 'SUCCESS';

create sequence if not exists money.gateway_order_ids as bigint start with 100000000001 minvalue 100000000001 maxvalue 999999999999999999;

-- A delivery has at most one successful fee payment.
create unique index if not exists delivery_fee_already_paid on money.payments (tenant_id, delivery_id)
  where type = 'DELIVERY_FEE' and status in ('pending', 'SUCCESS');
create index if not exists payments_delivery on money.payments (tenant_id, delivery_id) where delivery_id is not null;
create index if not exists payments_fee_changes on money.payments (tenant_id, processed_at) where type = 'DELIVERY_FEE_CHANGE';
create index if not exists payments_account on money.payments (tenant_id, account_id);
create index if not exists payments_currency on money.payments (currency);
create index if not exists payments_recent on money.payments (tenant_id, created_at desc nulls last, id desc);
create index if not exists accounts_carrier on money.accounts (carrier_code) where carrier_code is not null;
