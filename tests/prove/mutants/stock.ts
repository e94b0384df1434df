/** Stock and orders of shops, each with one guard less. */
import type { Mutant } from "./mutant.ts";

const post = "sql/40_functions/warehousing/stock/10_post.sql";

export const stock: Mutant[] = [
  {
    name: "places are locked in any order",
    file: post,
    from: "s.id = any (v_from || v_to) order by s.id for no key update",
    to: "s.id = any (v_from || v_to) order by random() for no key update",
    test: [
      "tests/warehousing/stock-races.test.ts",
      "a thousand at sixteen connections, several items each: no deadlock, no lost unit",
    ],
  },
  {
    name: "damaged and reserved stock is taken",
    file: "sql/40_functions/warehousing/stock/20_allocate.sql",
    from: "and s.item_id = l.item_id and s.status = v_status and s.quantity > 0",
    to: "and s.item_id = l.item_id and s.quantity > 0",
    test: [
      "tests/warehousing/stock.test.ts",
      "never takes what is damaged, expired, reserved, written off or elsewhere",
    ],
  },
  {
    name: "a serial number lies in two places",
    file: "sql/20_tables/72_stock.sql",
    from: "(tenant_id, item_id, serial_number) where serial_number is not null and quantity > 0",
    to: "(tenant_id, item_id, serial_number, id) where serial_number is not null and quantity > 0",
    test: [
      "tests/warehousing/stock.test.ts",
      "are in one place, one piece each, and asked for where the item has them",
    ],
  },
  {
    name: "stock goes into bins that are out of use",
    file: post,
    from: "(l.goes and t.is_active is not true)",
    to: "(l.goes and t.id is null)",
    test: [
      "tests/warehousing/stock.test.ts",
      "bins of another warehouse, of another tenant or out of use, and quantities that are none",
    ],
  },
  {
    name: "a cage is not locked while packages are counted into it",
    file: "sql/20_tables/72_stock.sql",
    from: "constraint bin_full check (capacity is null or filled_capacity <= capacity)",
    to: "constraint bin_full check (true)",
    test: [
      "tests/warehousing/sorting-scan.test.ts",
      "twenty packages into a cage for seven: exactly seven are put there",
    ],
  },
  {
    name: "a cart is not locked while it becomes an order",
    file: "sql/40_functions/storefront/orders/30_confirm.sql",
    from: "c.id = (input ->> 'cart_id')::uuid for no key update;",
    to: "c.id = (input ->> 'cart_id')::uuid;",
    test: [
      "tests/storefront/orders-confirm.test.ts",
      "twenty at once make one order and one debit",
    ],
  },
  {
    name: "an order is not locked while it is approved",
    file: "sql/40_functions/storefront/orders/40_approve.sql",
    from: "x.id = order_hold.order_id for no key update;",
    to: "x.id = order_hold.order_id;",
    test: [
      "tests/storefront/orders-races.test.ts",
      "one order approved twenty times at once is approved once",
    ],
  },
  {
    name: "an order is approved before it is paid",
    file: "sql/40_functions/storefront/orders/40_approve.sql",
    from: "elsif o.payment_method <> 'cash_on_delivery' and o.payment_status <> 'paid' then",
    to: "elsif false then",
    test: [
      "tests/storefront/orders-admin.test.ts",
      "not before a gateway was paid, and by wallet at once",
    ],
  },
  {
    name: "a way back to any host is taken",
    file: "sql/40_functions/storefront/orders/30_confirm.sql",
    from: "elsif not (v_host = lower(input ->> 'platform_host')",
    to: "elsif false and not (v_host = lower(input ->> 'platform_host')",
    test: ["tests/storefront/orders-confirm.test.ts", "a way back to %s"],
  },
];
