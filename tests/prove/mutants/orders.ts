/** What keeps the fee of a store's order that several deliveries bring. */
import type { Mutant } from "./mutant.ts";

const comesBack = "tests/storefront/orders/fee-comes-back.test.ts";

const switched = "tests/storefront/orders/picking-switched.test.ts";

export const orders: Mutant[] = [
  {
    name: "a carrier is booked for goods that a picker reports missing",
    file: "sql/storefront/orders/parts.sql",
    from: "and i.picked_quantity < i.quantity and i.status not in ('pending', 'picked')))",
    to: "and false))",
    test: [
      switched,
      "off: no carrier is booked for what a picker reported as missing, nor leaves with it by hand",
    ],
  },
  {
    name: "a delivery that came back keeps the fee of its order",
    file: "sql/storefront/orders/accept_short.sql",
    from: "row_number() over (partition by d.status in ('cancelled', 'returned')",
    to: "row_number() over (partition by d.status = 'cancelled'",
    test: [comesBack, "it fails and comes back: the other, which has not left, collects it"],
  },
  {
    name: "a fee is collected twice after an undo",
    file: "sql/storefront/orders/fee.sql",
    from:
      "where y.tenant_id = o.tenant_id and y.id = p_delivery and y.delivery_fee > 0 and exists (",
    to: "where y.tenant_id = o.tenant_id and y.id = p_delivery and false and exists (",
    test: [comesBack, "undone when the other has left with it, or has come"],
  },
  {
    name:
      "a late report leaves the fee with a parcel that was handed over before it was moved there",
    file: "sql/delivery/amount-changes/changes.sql",
    from: "coalesce(c.new_delivery_fee, x.delivery_fee)",
    to: "x.delivery_fee",
    test: ["tests/storefront/orders/fee-late.test.ts", "what was paid is booked"],
  },
  {
    name: "an order stays delivered though a delivery of it is on its way again",
    file: "sql/storefront/orders/follow.sql",
    from: " or v_moved.was = 'returned' and o.status = 'delivered'",
    to: "",
    test: [comesBack, "undone when the other has left with it, or has come"],
  },
  {
    name: "deliveries of one order are locked one at a time",
    file: "sql/delivery/deliveries/assignability.sql",
    from: "if v_orders is not null then",
    to: "if false then",
    test: [comesBack, "all deliveries of an order are locked before the order"],
  },
];
