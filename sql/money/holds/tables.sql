-- Money of a wallet that its owner may not spend yet. Holds and releases move no account: what is held is the sum of the rows.

create table if not exists money.wallet_holds (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  account_id uuid not null,
  -- The row of cash whose COD is held.
  reference_type text not null check (reference_type in ('cod_collection', 'carrier_collection')),
  reference_id uuid not null,
  -- Counts the rows of a reference: holds are odd, releases even, so none is held or released twice.
  step integer not null check (step > 0),
  amount numeric(18, 3) not null,
  -- The rule of the moment when it was first held: what releases it (setting delivery.payouts), and not before when.
  release text not null check (release in ('on_delivery', 'on_remit', 'on_bank')),
  due_at timestamptz not null,
  -- From when the row counts: at once, or for a release on the day that the rule says.
  counts_from timestamptz not null,
  -- The time of the transaction, as in the ledger: a balance and its rows agree as of any moment. Of a step whose transaction began before
  -- the one of the step that it follows, the time of that one.
  created_at timestamptz not null default now(),
  constraint hold_or_release check (amount <> 0 and (amount > 0) = (step % 2 = 1)),
  constraint hold_counts_later check (counts_from >= created_at and (amount > 0 or counts_from >= due_at)),
  constraint hold_already_made unique (tenant_id, reference_type, reference_id, step),
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict
);
create index if not exists wallet_holds_account on money.wallet_holds (tenant_id, account_id, id desc nulls last);

-- The rows that do not count yet.
create index if not exists wallet_holds_later on money.wallet_holds (tenant_id, account_id, counts_from) where counts_from > created_at;

-- The rows that wait until their cash has left the desks.
create index if not exists wallet_holds_on_bank on money.wallet_holds (tenant_id, reference_type, reference_id) where release = 'on_bank' and step = 1;
