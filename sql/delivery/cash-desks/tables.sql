-- Cash that left a desk: brought to the bank, handed to another of the staff, paid out of a wallet, spent, or a fee paid back to who has no wallet; and
-- cash that came to one from the bank or into a wallet. Rows are written with their journals, never by hand; what was wrong is reversed and stays.

create table if not exists money.cash_transfers (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  kind text not null,
  -- The owner of the desk that gave the cash, null for the tenant's own till. With owner type and currency it identifies
  -- the account. Both are null where the cash came to a desk.
  from_owner_type text check (from_owner_type in ('staff', 'driver', 'tenant')),
  from_user_id uuid,
  -- Whose desk it came to; of a handover somebody of the staff.
  to_user_id uuid,
  -- The payment that is refunded; `reference` is its receipt.
  refund_id uuid,
  amount numeric(18, 3) not null check (amount > 0),
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  reference text,
  notes text,
  actor_id uuid not null,
  -- Kept as long as the transfer, so a late repetition still returns it.
  idempotency_key text,
  input_hash bytea,
  -- The time of the transaction, as in the ledger: a balance and its rows agree as of any moment.
  created_at timestamptz not null default now(),
  reversed_at timestamptz,
  reversed_by uuid,
  reversal_reason text,
  -- The desk that cash from outside came to, with to_user_id.
  to_owner_type text check (to_owner_type in ('staff', 'tenant')),
  -- The payment of the wallet that was paid in or out.
  payment_id uuid,
  unique (tenant_id, id),
  constraint cash_transfer_kind check (
    kind in ('bank_deposit', 'handover', 'refund', 'expense', 'wallet_payout', 'bank_withdrawal', 'wallet_deposit')),
  constraint cash_has_a_desk check (
    (kind in ('bank_withdrawal', 'wallet_deposit')) = (to_owner_type is not null) and (to_owner_type is null) = (from_owner_type is not null)),
  constraint desk_has_its_user check (
    (from_user_id is not null) = (coalesce(from_owner_type, 'tenant') <> 'tenant')
    and (to_user_id is not null) = (kind = 'handover' or coalesce(to_owner_type, 'tenant') <> 'tenant')),
  constraint wallet_has_its_payment check ((kind in ('wallet_payout', 'wallet_deposit')) = (payment_id is not null)),
  constraint payout_has_receipt check (kind <> 'wallet_payout' or reference is not null),
  constraint expense_says_for_what check (kind <> 'expense' or notes is not null),
  constraint refund_has_receipt check ((kind = 'refund') = (refund_id is not null) and (kind <> 'refund' or reference is not null)),
  constraint cash_leaves_its_desk check (from_owner_type <> 'staff' or from_user_id is distinct from to_user_id),
  constraint reversed_says_who_and_why check (
    (reversed_at is null) = (reversed_by is null) and (reversed_at is null) = (reversal_reason is null)),
  constraint cash_transfer_key_used unique (tenant_id, actor_id, idempotency_key),
  foreign key (tenant_id, from_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, to_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, refund_id) references money.payments (tenant_id, id) on delete restrict,
  foreign key (tenant_id, payment_id) references money.payments (tenant_id, id) on delete restrict,
  -- References profiles, not members: system administrators act in tenants that they are not members of.
  foreign key (actor_id) references tenancy.profiles (id) on delete restrict,
  foreign key (reversed_by) references tenancy.profiles (id) on delete restrict
);
create index if not exists cash_transfers_recent on money.cash_transfers (tenant_id, created_at desc nulls last, id desc);
create index if not exists cash_transfers_from on money.cash_transfers (tenant_id, from_user_id, created_at desc nulls last, id desc);
create index if not exists cash_transfers_to on money.cash_transfers (tenant_id, to_user_id, created_at desc nulls last, id desc);
create index if not exists cash_transfers_amount on money.cash_transfers (tenant_id, amount desc nulls last, id desc);
create index if not exists cash_transfers_actor on money.cash_transfers (actor_id);
create index if not exists cash_transfers_reverser on money.cash_transfers (reversed_by) where reversed_by is not null;
create index if not exists cash_transfers_currency on money.cash_transfers (currency);
create index if not exists cash_transfers_refund on money.cash_transfers (tenant_id, refund_id) where refund_id is not null;
create unique index if not exists cash_refund_already_paid on money.cash_transfers (tenant_id, refund_id)
  where refund_id is not null and reversed_at is null;
create index if not exists cash_transfers_payment on money.cash_transfers (tenant_id, payment_id) where payment_id is not null;
