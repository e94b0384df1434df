/** Stock and orders of shops, each with one guard less. */
import type { Mutant } from "./mutant.ts";

const post = "sql/warehousing/stock/post.sql";
const allocate = "sql/warehousing/stock/allocate.sql";
const count = "sql/warehousing/stock/count.sql";
const prices = "sql/storefront/orders/prices.sql";
const counts = "tests/warehousing/inventory-counts/races.test.ts";

export const stock: Mutant[] = [
  {
    name: "the rest of a parcel is found by many at once",
    file: "sql/warehousing/inventory/receipts.sql",
    from: "  perform delivery.lock_deliveries(array[v_parcel]);\n",
    to: "",
    test: [
      "tests/warehousing/inventory/rest-of-parcel.test.ts",
      "found by four at the same moment, the rest is taken once",
    ],
  },
  {
    name: "places are held in any order",
    file: allocate,
    from: "s.id = any (v_rows) order by s.id for no key update;\nend $$;",
    to: "s.id = any (v_rows) order by random() for no key update;\nend $$;",
    test: [
      "tests/warehousing/stock/races.test.ts",
      "orders whose lines change to and fro, on the same places: no deadlock, no lost unit",
    ],
  },
  {
    name: "what meets a demand is locked in any order",
    file: allocate,
    from: "s.id = any (v_rows || beside) order by s.id for no key update;",
    to: "s.id = any (v_rows || beside) order by random() for no key update;",
    test: [
      "tests/warehousing/stock/races.test.ts",
      "many at sixteen connections, several items each: no deadlock, no lost unit",
    ],
  },
  {
    name: "what is counted is looked at and not held",
    file: count,
    from: "s.id = any (v_rows) order by s.id for no key update) h;",
    to: "s.id = any (v_rows) order by s.id) h;",
    test: [
      counts,
      "twenty who find, where %s are known, %s at the same moment have found that once (whole bins: %s)",
    ],
  },
  {
    name: "what nobody knew of is counted without a place of its own",
    file: count,
    from: "l.counted > 0, l.bin_id",
    to: "false, l.bin_id",
    test: [
      counts,
      "twenty who find, where %s are known, %s at the same moment have found that once (whole bins: %s)",
    ],
  },
  {
    name: "what came while a count waited is held behind the rest",
    file: count,
    from: "if v_look.settled and not v_closed then",
    to: "if not v_closed then",
    test: [
      counts,
      "what comes to a whole bin while a count waits is counted, and held in the order of all",
    ],
  },
  {
    name: "what a write-off empties is used again",
    file: post,
    from: "case when s.quantity + c.delta = 0 and c.written_off then clock_timestamp() end",
    to: "null",
    test: [
      "tests/warehousing/inventory/write-offs.test.ts",
      "closes the row that it empties; what comes there later has a row of its own",
    ],
  },
  {
    name: "a parcel that no warehouse holds is sorted",
    file: "sql/warehousing/sorting-sessions/scan.sql",
    from: "if v_place is null then",
    to: "if false then",
    test: [
      "tests/warehousing/package-transfers/package-not-here.test.ts",
      "takes them only where they were received",
    ],
  },
  {
    name: "anybody reports what was picked",
    file: "sql/warehousing/picking-orders/progress.sql",
    from: "perform warehousing.require_works_in(v_order.warehouse_id);",
    to: "null;",
    test: [
      "tests/warehousing/picking-orders/progress.test.ts",
      "is for whom the order is given to, wherever they work, and for nobody who works elsewhere",
    ],
  },
  {
    name: "the contents of a parcel are taken in by hand",
    file: "sql/warehousing/inventory/receipts.sql",
    from: "perform warehousing.require_goods(input -> 'items', 'items');",
    to: "null;",
    test: [
      "tests/warehousing/receiving-orders/parcel-items.test.ts",
      "not by a receipt or a return of goods either: there is one parcel",
    ],
  },
  {
    name: "a line that was reported before a pick ended stays as it was",
    file: "sql/warehousing/picking-orders/moves.sql",
    from: "perform warehousing.picking_lines_end(p_order);",
    to: "null;",
    test: [
      "tests/warehousing/picking-orders/ends.test.ts",
      "two pickers share an order: %s that the one took are %s when the other ends it",
    ],
  },
  {
    name: "units of orders are not compared with what was ordered",
    file: "sql/warehousing/stock/verify.sql",
    from: "where n.total <> i.quantity or n.least < 0",
    to: "where false",
    test: ["tests/warehousing/stock-reconciliation/differences.test.ts", "order_line"],
  },
  {
    name: "an item with serial numbers comes in without one",
    file: post,
    from:
      "\n    or (l.goes and i.is_serialized and l.to_serial is null and not warehousing.has_no_serial(l))",
    to: "",
    test: [
      "tests/warehousing/stock/stock.test.ts",
      "are in one place, one piece each, and asked for where the item has them",
    ],
  },
  {
    name: "a piece that was booked in before its receipt is not looked for",
    file: "sql/warehousing/stock/reserve.sql",
    from: "if warehousing.returns_as_left(transaction_type, reference_type) then",
    to: "if false then",
    test: [
      "tests/warehousing/stock/as-it-left.test.ts",
      "is received where it lies, and is there once",
    ],
  },
  {
    name: "a serial number lies in two places",
    file: "sql/warehousing/stock/tables.sql",
    from: "(tenant_id, item_id, serial_number) where serial_number is not null and quantity > 0",
    to: "(tenant_id, item_id, serial_number, id) where serial_number is not null and quantity > 0",
    test: [
      "tests/warehousing/stock/stock.test.ts",
      "are in one place, one piece each, and asked for where the item has them",
    ],
  },
  {
    name: "stock goes into bins that are out of use",
    file: post,
    from: "and (not t.is_active or t.is_temporary))",
    to: "and t.is_temporary)",
    test: [
      "tests/warehousing/stock/stock.test.ts",
      "bins of another warehouse, of another tenant or out of use, and quantities that are none",
    ],
  },
  {
    name: "stock goes into cages of sorting sessions",
    file: post,
    from: "and (not t.is_active or t.is_temporary))",
    to: "and not t.is_active)",
    test: [
      "tests/warehousing/sorting-sessions/places.test.ts",
      "a cage takes no stock, which its session would leave behind",
    ],
  },
  {
    name: "a cart is not locked while it becomes an order",
    file: "sql/storefront/orders/confirm.sql",
    from: "c.id = (input ->> 'cart_id')::uuid for no key update;",
    to: "c.id = (input ->> 'cart_id')::uuid;",
    test: [
      "tests/storefront/orders/confirm.test.ts",
      "twenty at once make one order and one debit",
    ],
  },
  {
    name: "an order is approved before it is paid",
    file: "sql/storefront/orders/approve.sql",
    from:
      "elsif o.payment_method <> 'cash_on_delivery' and (o.payment_status <> 'paid' or storefront.order_paid(o) < o.total_price) then",
    to: "elsif false then",
    test: [
      "tests/storefront/orders/admin.test.ts",
      "waits for a gateway payment, and not for a wallet payment",
    ],
  },
  {
    name: "a way back to any host is taken",
    file: "sql/payment/payments/topups.sql",
    from: "elsif not (v_host = lower(input ->> 'platform_host')",
    to: "elsif false and not (v_host = lower(input ->> 'platform_host')",
    test: ["tests/storefront/orders/confirm-refused.test.ts", "a way back to %s"],
  },
  {
    name: "less was paid than the fee, and goods cost less than nothing",
    file: prices,
    from: "return greatest(o.total_price - o.shipping_cost, 0);",
    to: "return o.total_price - o.shipping_cost;",
    test: [
      "tests/storefront/orders/below-fee.test.ts",
      "one is short and the other %s: accepting takes nothing off, and %s goes back",
    ],
  },
  {
    name: "what deliveries collect that have left is divided once more",
    file: prices,
    from: "p.left_at is not null and o.payment_method = 'cash_on_delivery');",
    to: "p.left_at is not null and false);",
    test: [
      "tests/storefront/orders/short-prices.test.ts",
      "paid at the door: what is collected is what it costs, short %s",
    ],
  },
  {
    name: "a label stays current whatever its parcel collects",
    file: "sql/storefront/orders/accept_short.sql",
    from: "x.label_outdated or x.label_edition > 0",
    to: "x.label_outdated",
    test: [
      "tests/storefront/orders/short-shown.test.ts",
      "a printed label is outdated by the amount that changed, until it is printed again",
    ],
  },
];
