create table if not exists storefront.storefront_orders (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  -- Begins with the market's code.
  order_number text not null check (order_number <> ''),
  market_id uuid not null,
  user_id uuid not null,
  cart_id uuid not null,
  status text not null default 'pending' check (status in (
    'pending', 'awaiting_approval', 'approved', 'confirmed', 'shipped', 'delivered', 'completed', 'cancelled')),
  -- The group that lists filter by: pending, confirmed, shipped, completed or cancelled, each covering several statuses.
  status_group text not null generated always as (case
    when status in ('pending', 'awaiting_approval') then 'pending'
    when status in ('approved', 'confirmed') then 'confirmed'
    when status in ('delivered', 'completed') then 'completed' else status end) stored,
  -- The reason for the status; copied into the history.
  status_note text,
  payment_status text not null default 'pending' check (payment_status in ('pending', 'paid', 'failed')),
  -- Copy of the type's code, because lists filter and sort by it.
  payment_method text not null check (payment_method in ('wallet', 'cash_on_delivery', 'gateway')),
  payment_method_type_id uuid not null references storefront.payment_method_types (id) on delete restrict,
  delivery_service_id uuid not null,
  currency char(3) not null references tenancy.currencies (code) on delete restrict,
  subtotal numeric(18, 3) not null check (subtotal >= 0),
  tax_amount numeric(18, 3) not null default 0 check (tax_amount >= 0),
  shipping_cost numeric(18, 3) not null default 0 check (shipping_cost >= 0),
  discount_amount numeric(18, 3) not null default 0 check (discount_amount >= 0),
  total_price numeric(18, 3) not null check (total_price >= 0),
  total_items integer not null check (total_items > 0),
  -- Null if the address was not saved; the snapshot is authoritative.
  address_id uuid,
  shipping_address jsonb not null check (jsonb_typeof(shipping_address) = 'object'),
  city text,
  customer_notes text,
  admin_notes text,
  back_ref text,
  approved_at timestamptz,
  approved_by uuid references tenancy.profiles (id) on delete set null,
  shipped_at timestamptz,
  delivered_at timestamptz,
  cancelled_at timestamptz,
  cancel_reason text check (cancel_reason in ('customer_request', 'out_of_stock', 'fraud', 'payment_failed', 'other')),
  estimated_delivery timestamptz,
  -- The first of its deliveries; all of them stand in storefront_order_parts.
  delivery_id uuid,
  -- How much reached the customer. returned: everything that was sent came back.
  fulfilment text not null default 'none' check (fulfilment in ('none', 'partial', 'full', 'returned')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Id of the last writing transaction; the cursor of incremental reads (shared/api/cursor.ts).
  changed bigint not null default (pg_current_xact_id()::text::bigint),
  -- The amount that its customer should have got back when it ended, and did not, since the shop's wallet was short; less what went back since.
  refund_due_amount numeric(18, 3) not null default 0 check (refund_due_amount >= 0),
  unique (tenant_id, id),
  constraint order_number_taken unique (tenant_id, order_number),
  constraint cart_already_ordered unique (tenant_id, cart_id),
  constraint order_total_adds_up check (total_price = subtotal + tax_amount + shipping_cost - discount_amount),
  constraint cancelled_says_when_and_why check (
    (status = 'cancelled') = (cancelled_at is not null) and (status = 'cancelled') = (cancel_reason is not null)),
  foreign key (tenant_id, market_id) references storefront.markets (tenant_id, id) on delete restrict,
  foreign key (tenant_id, user_id) references tenancy.tenant_users (tenant_id, user_id) on delete restrict,
  foreign key (tenant_id, cart_id) references storefront.carts (tenant_id, id) on delete restrict,
  foreign key (tenant_id, delivery_service_id) references delivery.delivery_services (tenant_id, id) on delete restrict,
  foreign key (tenant_id, address_id) references delivery.addresses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict
);
create index if not exists storefront_orders_changed on storefront.storefront_orders (tenant_id, changed, id);

-- The administrators' list: newest first, and one index for each filter, in the list's sort order.
create index if not exists orders_recent on storefront.storefront_orders (tenant_id, created_at desc nulls last, id desc);

-- The words that administrators search: see storefront.orders_matching.
create index if not exists orders_search on storefront.storefront_orders using gin ((order_number || ' ' || id::text) extensions.gin_trgm_ops);

create index if not exists orders_market on storefront.storefront_orders (tenant_id, market_id, created_at desc nulls last, id desc);
create index if not exists orders_status on storefront.storefront_orders (tenant_id, status, created_at desc nulls last, id desc);
create index if not exists orders_group on storefront.storefront_orders (tenant_id, status_group, created_at desc nulls last, id desc);
create index if not exists orders_delivered on storefront.storefront_orders (tenant_id, delivered_at) where delivered_at is not null;
create index if not exists orders_payment on storefront.storefront_orders (tenant_id, payment_method, created_at desc nulls last, id desc);
create index if not exists orders_city on storefront.storefront_orders (tenant_id, city, created_at desc nulls last, id desc) where city is not null;
create index if not exists orders_amount on storefront.storefront_orders (tenant_id, total_price desc nulls last, id desc);
create index if not exists orders_fee on storefront.storefront_orders (tenant_id, shipping_cost desc nulls last, id desc);
create index if not exists orders_discount on storefront.storefront_orders (tenant_id, discount_amount desc nulls last, id desc);
create index if not exists orders_items on storefront.storefront_orders (tenant_id, total_items desc nulls last, id desc);
create index if not exists orders_refund_due on storefront.storefront_orders (tenant_id, created_at desc nulls last, id desc)
  where refund_due_amount > 0;
create index if not exists orders_customer on storefront.storefront_orders (tenant_id, user_id, created_at desc nulls last, id desc);
create index if not exists orders_payment_type on storefront.storefront_orders (payment_method_type_id);
create index if not exists orders_service on storefront.storefront_orders (tenant_id, delivery_service_id);
create index if not exists orders_currency on storefront.storefront_orders (currency);
create index if not exists orders_address on storefront.storefront_orders (tenant_id, address_id) where address_id is not null;
create index if not exists orders_approved_by on storefront.storefront_orders (approved_by);

-- A delivery is the first delivery of at most one order.
create unique index if not exists order_delivery_taken on storefront.storefront_orders (tenant_id, delivery_id) where delivery_id is not null;

-- Finds unpaid gateway orders, which expire after a day.
create index if not exists orders_unpaid on storefront.storefront_orders (created_at)
  where payment_method = 'gateway' and payment_status <> 'paid' and status in ('pending', 'awaiting_approval');

create table if not exists storefront.storefront_order_items (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  order_id uuid not null,
  variant_id uuid not null,
  product_id uuid not null,
  position integer not null default 0,
  -- Copied when the order was created.
  product_name jsonb not null check (jsonb_typeof(product_name) = 'object'),
  sku text not null,
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  images jsonb not null default '[]' check (jsonb_typeof(images) = 'array'),
  inventory_item_id uuid,
  quantity integer not null check (quantity > 0),
  unit_price numeric(18, 3) not null check (unit_price >= 0),
  total numeric(18, 3) not null,
  unique (tenant_id, id),
  constraint variant_already_in_order unique (tenant_id, order_id, variant_id),
  constraint order_item_total_adds_up check (total = unit_price * quantity),
  foreign key (tenant_id, order_id) references storefront.storefront_orders (tenant_id, id) on delete restrict,
  foreign key (tenant_id, variant_id) references storefront.product_variants (tenant_id, id) on delete restrict,
  foreign key (tenant_id, product_id) references storefront.products (tenant_id, id) on delete restrict,
  foreign key (tenant_id, inventory_item_id) references warehousing.inventory_items (tenant_id, id) on delete restrict
);
create index if not exists order_items_variant on storefront.storefront_order_items (tenant_id, variant_id);
create index if not exists order_items_product on storefront.storefront_order_items (tenant_id, product_id);
create index if not exists order_items_inventory on storefront.storefront_order_items (tenant_id, inventory_item_id)
  where inventory_item_id is not null;

-- The part of an order that leaves one warehouse: picked there by one picking order, and sent by one delivery or by the
-- shop itself.
-- Written by SECURITY DEFINER functions alone.
create table if not exists storefront.storefront_order_parts (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  order_id uuid not null,
  position integer not null check (position > 0),
  -- Null: a shop without a warehouse sends goods that are not kept in stock.
  warehouse_id uuid,
  -- Null: nothing of it is kept in stock.
  picking_order_id uuid,
  -- Null: the shop delivers it itself.
  delivery_id uuid,
  -- The receiving order of returned goods.
  receiving_order_id uuid,
  left_at timestamptz,
  created_at timestamptz not null default now(),
  -- The value of goods that were not found though its carrier was booked to collect their price: refunded once it has.
  charged_short numeric(18, 3) not null default 0 check (charged_short >= 0),
  unique (tenant_id, id),
  constraint order_part_position_taken unique (tenant_id, order_id, position),
  constraint order_leaves_a_warehouse_once unique (tenant_id, order_id, warehouse_id),
  foreign key (tenant_id, order_id) references storefront.storefront_orders (tenant_id, id) on delete restrict,
  foreign key (tenant_id, warehouse_id) references warehousing.warehouses (tenant_id, id) on delete restrict,
  foreign key (tenant_id, picking_order_id) references warehousing.picking_orders (tenant_id, id) on delete restrict,
  foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict,
  foreign key (tenant_id, receiving_order_id) references warehousing.receiving_orders (tenant_id, id) on delete restrict
);
create index if not exists order_parts_warehouse on storefront.storefront_order_parts (tenant_id, warehouse_id);
create unique index if not exists order_part_picked_once on storefront.storefront_order_parts (tenant_id, picking_order_id) where picking_order_id is not null;
create unique index if not exists order_part_travels_once on storefront.storefront_order_parts (tenant_id, delivery_id) where delivery_id is not null;
create unique index if not exists order_part_comes_back_once on storefront.storefront_order_parts (tenant_id, receiving_order_id)
  where receiving_order_id is not null;
create table if not exists storefront.storefront_order_part_items (
  tenant_id uuid not null,
  part_id uuid not null,
  -- The same in delivery.delivery_items and warehousing.receiving_order_items.
  position integer not null check (position > 0),
  order_item_id uuid not null,
  -- The reserved quantity. short: the share of it that was not found, so the order is sent without it.
  quantity integer not null check (quantity > 0),
  short integer not null default 0,
  primary key (tenant_id, part_id, position),
  constraint order_item_once_in_a_part unique (tenant_id, part_id, order_item_id),
  constraint order_part_short_of_itself check (short between 0 and quantity),
  foreign key (tenant_id, part_id) references storefront.storefront_order_parts (tenant_id, id) on delete restrict,
  foreign key (tenant_id, order_item_id) references storefront.storefront_order_items (tenant_id, id) on delete restrict
);
create index if not exists order_part_items_item on storefront.storefront_order_part_items (tenant_id, order_item_id);

create table if not exists storefront.storefront_order_history (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  order_id uuid not null,
  status text not null,
  note text,
  updated_by uuid,
  created_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, order_id) references storefront.storefront_orders (tenant_id, id) on delete restrict
);
create index if not exists order_history_order on storefront.storefront_order_history (tenant_id, order_id, id);
