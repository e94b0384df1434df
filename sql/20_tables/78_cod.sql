-- Cash that drivers hold. A row is written when a delivery is picked up or completed and never by hand.

create table if not exists money.cod_collections (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  delivery_id uuid not null,
  driver_id uuid not null,
  -- Null: from before stages were kept.
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
  -- Null for rows settled before settlements were kept, until their first receipt is printed.
  settlement_payment_id uuid,
  -- What lists filter, search and sort by, as it was when the cash was taken.
  delivery_code bigint not null,
  delivery_number text not null,
  -- The numbers of the parcel's legs in their order, [number]: what its drivers know it by.
  leg_codes jsonb not null default '[]' check (jsonb_typeof(leg_codes) = 'array'),
  external_reference_id text,
  customer_name text not null default '',
  delivery_address text not null default '',
  receiver_name text not null default '',
  notes text,
  reference text,
  -- What people search by, besides the driver.
  search_text text not null generated always as (delivery_code::text || ' ' || customer_name || ' ' || delivery_address
    || ' ' || receiver_name || ' ' || leg_codes::text) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The transaction that last changed the row: what readers of changes go by.
  changed bigint not null default (pg_current_xact_id()::text::bigint),
  unique (tenant_id, id),
  constraint cash_is_its_parts check (amount = cod_amount + delivery_fee_amount),
  constraint cash_already_collected unique nulls not distinct (tenant_id, delivery_id, collection_stage),
  constraint cash_state_and_times check (
    (status = 'remitted') = (remitted_at is not null) and (status = 'settled_by_wallet') = (settled_at is not null)
    and (status <> 'collected' or settlement_payment_id is null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, driver_id) references delivery.drivers (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, remitted_to_user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, settlement_payment_id) references money.payments (tenant_id, id) on delete restrict
);
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
create index if not exists cod_collections_search on money.cod_collections using gin (search_text extensions.gin_trgm_ops);
create index if not exists cod_collections_amount on money.cod_collections (tenant_id, amount, id);
create index if not exists cod_collections_customer on money.cod_collections (tenant_id, customer_name, id);
create index if not exists cod_collections_remitted on money.cod_collections (tenant_id, remitted_at desc nulls last, id desc) where remitted_at is not null;
create index if not exists cod_collections_settled on money.cod_collections (tenant_id, settled_at desc nulls last, id desc) where settled_at is not null;
