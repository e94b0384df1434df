-- Cash that external carriers collected, and their remittances of it. Rows are written with the carrier's report and
-- with its remittance, never by hand. A remittance entered by mistake is reversed, not deleted.

create table if not exists money.carrier_remittances (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  carrier_code text not null references integration.carriers (code) on delete restrict,
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  amount numeric(18, 3) not null check (amount > 0),
  cod_amount numeric(18, 3) not null check (cod_amount >= 0),
  delivery_fee_amount numeric(18, 3) not null check (delivery_fee_amount >= 0),
  collections integer not null check (collections > 0),
  -- The carrier's own number of the payment, the tenant's of a write-off: the same one cannot be entered twice.
  reference text not null,
  notes text,
  -- Null: entered with an API key.
  actor_id uuid,
  remitted_at timestamptz not null default now(),
  reversed_at timestamptz,
  reversed_by uuid,
  reversal_reason text,
  -- write_off: the carrier does not pay it, and the tenant bears it.
  kind text not null default 'payment' check (kind in ('payment', 'write_off')),
  -- Kept by the carrier of a payment, for its work: the rows are paid in full, and the till gets the rest.
  charges numeric(18, 3) not null default 0,
  unique (tenant_id, id),
  constraint charges_are_of_the_payment check (charges between 0 and case kind when 'payment' then amount else 0 end),
  constraint remittance_is_its_parts check (amount = cod_amount + delivery_fee_amount),
  constraint reversed_says_why check (
    (reversed_at is null) = (reversal_reason is null) and (reversed_by is null or reversed_at is not null)),
  -- References profiles, not members: system administrators act in tenants that they are not members of.
  foreign key (actor_id) references tenancy.profiles (id) on delete restrict,
  foreign key (reversed_by) references tenancy.profiles (id) on delete restrict
);

-- A reversed payment may be entered again.
create unique index if not exists remittance_reference_exists on money.carrier_remittances (tenant_id, carrier_code, reference)
  where reversed_at is null;
create index if not exists carrier_remittances_recent
  on money.carrier_remittances (tenant_id, carrier_code, remitted_at desc nulls last, id desc);
create index if not exists carrier_remittances_amount on money.carrier_remittances (tenant_id, carrier_code, amount desc nulls last, id desc);
create index if not exists carrier_remittances_actor on money.carrier_remittances (actor_id);
create index if not exists carrier_remittances_reverser on money.carrier_remittances (reversed_by) where reversed_by is not null;
create index if not exists carrier_remittances_carrier on money.carrier_remittances (carrier_code);
create index if not exists carrier_remittances_currency on money.carrier_remittances (currency);

create table if not exists money.carrier_collections (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete restrict,
  carrier_code text not null references integration.carriers (code) on delete restrict,
  -- The parent delivery; the shipment may belong to one of its legs.
  delivery_id uuid not null,
  -- Null: no booking asked the carrier to collect it, and operations said that it did.
  shipment_id uuid,
  amount numeric(18, 3) not null check (amount > 0),
  cod_amount numeric(18, 3) not null check (cod_amount >= 0),
  delivery_fee_amount numeric(18, 3) not null check (delivery_fee_amount >= 0),
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  -- reversed: the outcome that it was taken with was undone, and it counts for nothing any more.
  status text not null default 'owed' check (status in ('owed', 'remitted', 'written_off', 'reversed')),
  -- The time of the transaction, as in the ledger: a balance and its rows agree as of any moment.
  collected_at timestamptz not null default now(),
  remitted_at timestamptz,
  remittance_id uuid,
  -- Columns that lists filter and sort by, as of when the cash was taken.
  delivery_code bigint not null,
  tracking_number text,
  external_reference_id text,
  customer_name text not null default '',
  delivery_address text not null default '',
  reversed_at timestamptz,
  unique (tenant_id, id),
  constraint carrier_cash_is_its_parts check (amount = cod_amount + delivery_fee_amount),
  constraint carrier_cash_state check (
    (status in ('remitted', 'written_off')) = (remitted_at is not null) and (status in ('remitted', 'written_off')) = (remittance_id is not null)
    and (status = 'reversed') = (reversed_at is not null)),
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, shipment_id) references integration.carrier_shipments (tenant_id, id) on delete restrict,
  foreign key (tenant_id, remittance_id) references money.carrier_remittances (tenant_id, id) on delete restrict
);
-- A parcel's cash is taken once, unless that was reversed.
create unique index if not exists carrier_cash_taken_once on money.carrier_collections (tenant_id, delivery_id)
  where status <> 'reversed';
create index if not exists carrier_collections_delivery on money.carrier_collections (tenant_id, delivery_id);
create index if not exists carrier_collections_recent
  on money.carrier_collections (tenant_id, carrier_code, collected_at desc nulls last, id desc);
create index if not exists carrier_collections_status
  on money.carrier_collections (tenant_id, carrier_code, status, collected_at desc nulls last, id desc);

-- The rows that a payment without a list covers, oldest first.
create index if not exists carrier_collections_owed on money.carrier_collections (tenant_id, carrier_code, currency, collected_at, id)
  where status = 'owed';

create index if not exists carrier_collections_amount on money.carrier_collections (tenant_id, carrier_code, amount desc nulls last, id desc);
create index if not exists carrier_collections_code on money.carrier_collections (tenant_id, carrier_code, delivery_code desc nulls last, id desc);
create index if not exists carrier_collections_remitted
  on money.carrier_collections (tenant_id, carrier_code, remitted_at desc nulls last, id desc);
create index if not exists carrier_collections_shipment on money.carrier_collections (tenant_id, shipment_id);
create index if not exists carrier_collections_remittance on money.carrier_collections (tenant_id, remittance_id) where remittance_id is not null;
create index if not exists carrier_collections_carrier on money.carrier_collections (carrier_code);
create index if not exists carrier_collections_currency on money.carrier_collections (currency);

-- The collections that each remittance paid, kept also when it is reversed. The collections themselves name the
-- remittance that counts now.
create table if not exists money.carrier_remittance_items (
  tenant_id uuid not null,
  remittance_id uuid not null,
  carrier_collection_id uuid not null,
  amount numeric(18, 3) not null check (amount > 0),
  cod_amount numeric(18, 3) not null,
  delivery_fee_amount numeric(18, 3) not null,
  primary key (tenant_id, remittance_id, carrier_collection_id),
  constraint remittance_item_is_its_parts check (amount = cod_amount + delivery_fee_amount),
  foreign key (tenant_id, remittance_id) references money.carrier_remittances (tenant_id, id) on delete restrict,
  foreign key (tenant_id, carrier_collection_id) references money.carrier_collections (tenant_id, id) on delete restrict
);
create index if not exists carrier_remittance_items_collection on money.carrier_remittance_items (tenant_id, carrier_collection_id);
