/** Customers' returns: their units, their money and their goods, each with one rule less. The random histories find each. */
import type { Mutant } from "./mutant.ts";

const test = ["tests/prove/model.test.ts", "random histories of"] as const;
const units = "sql/delivery/deliveries/returned_units.sql";
const fail = "sql/delivery/deliveries/fail.sql";

export const returns: Mutant[] = [
  {
    name: "what was fetched from its customer is undelivered",
    file: "sql/delivery/outcomes/undo.sql",
    from: "or r.created_at = o.created_at or r.picked_up_at is not null)",
    to: "or r.created_at = o.created_at)",
    test: [
      "tests/delivery/return-requests/given-back.test.ts",
      "what was fetched from its customer is undelivered no more",
    ],
  },
  {
    name: "what was given back to its customer cannot be returned again",
    file: units,
    from: "r.delivery_flow = 'customer_return' then r.current_warehouse_id is not null or exists (",
    to: "r.delivery_flow = 'customer_return' then true or exists (",
    test,
  },
  {
    name: "a return that was cancelled before it came anywhere counts",
    file: units,
    from: "when r.status = 'cancelled' then (r.delivery_flow",
    to: "when r.status = 'cancelled' then true or (r.delivery_flow",
    test,
  },
  {
    name: "a warehouse expects all units where some come back",
    file: "sql/warehousing/receiving-orders/expect.sql",
    from: "case when d.returns_part then x.units else i.quantity end",
    to: "i.quantity",
    test,
  },
  {
    name: "goods that came back damaged are sold again",
    file: "sql/warehousing/receiving-orders/take.sql",
    from: "('damaged', i.damaged_quantity)) c (status, quantity)",
    to: "('available', i.damaged_quantity)) c (status, quantity)",
    test,
  },
  {
    name: "the fee of a return that is given back stays",
    file: fail,
    from: "v_refund := case when v_awaited then",
    to: "v_refund := case when v_awaited or d.delivery_flow = 'customer_return' then",
    test,
  },
  {
    name: "a return that is brought into a warehouse on its way ends there",
    file: fail,
    from: "or d.delivery_flow = 'customer_return' or d.delivery_flow = 'standard'",
    to: "or d.delivery_flow = 'standard'",
    test,
  },
  {
    name: "a return that is cancelled in a warehouse stays there",
    file: "sql/delivery/deliveries/cancel.sql",
    from: "or x.delivery_flow = 'customer_return' and not warehousing.return_is_lost(x))",
    to: "or false)",
    test,
  },
  {
    name: "a return that is sent home again ends at a door",
    file: "sql/delivery/redirects/terms.sql",
    from: "when p.delivery_flow = 'customer_return' then",
    to: "when false then",
    test,
  },
];
