-- Cash on desks by the rows it came from: each desk is a queue in the order of arrival, and what leaves it takes the oldest. Kept from
-- the moment on when the first row whose COD waits for the bank comes to a desk; see decision 0070.

create table if not exists money.desk_parts (
  tenant_id uuid not null,
  account_id uuid not null,
  -- A part that is handed over is the same one at the other desk.
  part_id uuid not null,
  -- The order of arrival at the tenant's desks; it goes with a part to another desk.
  place bigint not null,
  -- The row of cash it came from, and the settlement or the carrier's remittance that brought it; null: cash of no row.
  reference_type text check (reference_type in ('cod_collection', 'carrier_collection')),
  reference_id uuid,
  brought_by uuid,
  -- The sum of its moves on this desk: that much of it lies there. Below 0: taken before it came, and taken off what comes next.
  amount numeric(18, 3) not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, account_id, part_id),
  constraint part_of_a_row check ((reference_type is null) = (reference_id is null) and (reference_id is null) = (brought_by is null)),
  constraint part_of_a_row_is_there check (amount >= 0 or reference_id is null),
  foreign key (tenant_id, account_id) references money.accounts (tenant_id, id) on delete restrict
);
create index if not exists desk_parts_queue on money.desk_parts (tenant_id, account_id, place, part_id) where amount <> 0;
create index if not exists desk_parts_place on money.desk_parts (tenant_id, place desc nulls last);
create index if not exists desk_parts_brought on money.desk_parts (tenant_id, brought_by) where brought_by is not null;
create index if not exists desk_parts_row on money.desk_parts (tenant_id, reference_type, reference_id) where reference_id is not null;

create table if not exists money.desk_part_moves (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  -- The journal that moved it: the moves of a journal at a desk sum to its entry there. Null: it lay there when the queue began.
  transaction_id uuid,
  account_id uuid not null,
  part_id uuid not null,
  amount numeric(18, 3) not null check (amount <> 0),
  -- The time of the transaction, as in the ledger: a balance and its parts agree as of any moment.
  created_at timestamptz not null default now(),
  foreign key (tenant_id, account_id, part_id) references money.desk_parts (tenant_id, account_id, part_id) on delete restrict,
  foreign key (tenant_id, transaction_id) references money.ledger_transactions (tenant_id, id) on delete restrict
);
create index if not exists desk_part_moves_journal on money.desk_part_moves (tenant_id, transaction_id, account_id);
create index if not exists desk_part_moves_desk on money.desk_part_moves (tenant_id, account_id, part_id);
create index if not exists desk_part_moves_part on money.desk_part_moves (tenant_id, part_id);
