/** Parcels, manifests and assignments, each with one guard less. */
import type { Mutant } from "./mutant.ts";

const moves = "sql/delivery/deliveries/moves.sql";
const statesTest = "tests/delivery/deliveries/states.test.ts";
const evaluate = "sql/delivery/assignments/evaluate.sql";
const manifestRaces = "tests/delivery/manifests/races.test.ts";

export const deliveries: Mutant[] = [
  {
    name: "a receiver pays for what goes back",
    file: "sql/delivery/outcomes/partial.sql",
    from: "select sum(i.unit_price * k.quantity) into",
    to: "select sum(i.unit_price * i.quantity) into",
    test: [
      "tests/delivery/outcomes/partial.test.ts",
      "its price and the fee are taken, the rest is in the driver's hands",
    ],
  },
  {
    name: "what is kept goes back, too",
    file: "sql/delivery/outcomes/partial.sql",
    from: "'quantity', i.quantity - coalesce(k.quantity, 0), 'returned_item_id'",
    to: "'quantity', i.quantity, 'returned_item_id'",
    test: [
      "tests/delivery/outcomes/partial.test.ts",
      "its price and the fee are taken, the rest is in the driver's hands",
    ],
  },
  {
    name: "an undo takes a return out of another driver's van",
    file: "sql/delivery/outcomes/undo.sql",
    from: "a.status in ('assigned', 'accepted') and a.driver_id = o.driver_id",
    to: "a.status in ('assigned', 'accepted')",
    test: [
      "tests/delivery/outcomes/undo-handed-over.test.ts",
      "is taken out of nobody else's van, nor from the way there; back with its driver it is cancelled",
    ],
  },
  {
    name: "a late report is measured by an amount that was changed since",
    file: "sql/delivery/deliveries/carry.sql",
    from: "v_change := delivery.amount_at_door(v_parcel, input);",
    to: "v_change := null;",
    test: [
      "tests/delivery/outcomes/amount-at-door.test.ts",
      "between two changes the amount is the one of that moment",
    ],
  },
  {
    name: "a driver who heard of the newer amount owes the one before",
    file: "sql/delivery/outcomes/amount_at_door.sql",
    from: "(input #>> '{cash_collected,cod}')::numeric = p.cod_amount",
    to: "false",
    test: [
      "tests/delivery/outcomes/amount-at-door.test.ts",
      "a driver who heard of the newer amount took it: by the cash, or by an own request",
    ],
  },
  {
    name: "a pickup is undone and its cash remains remitted",
    file: "sql/delivery/outcomes/pickup_undo.sql",
    from: "c.status <> 'collected', '{}')",
    to: "false, '{}')",
    test: [
      "tests/delivery/outcomes/pickup-undo.test.ts",
      "beside what ends it, one of the two comes first and the other is refused",
    ],
  },
  {
    name: "goods that left a warehouse are back at a sender's",
    file: "sql/delivery/outcomes/pickup_undo.sql",
    from: "delivery.came_from_elsewhere(d, h.id), '{}')",
    to: "false, '{}')",
    test: [
      "tests/delivery/outcomes/pickup-undo.test.ts",
      "what came from a warehouse goes back into one",
    ],
  },
  {
    name: "a parcel in legs keeps the time of an undone pickup",
    file: "sql/delivery/outcomes/pickup_undo.sql",
    from: "update delivery.deliveries p set picked_up_at = null where",
    to: "update delivery.deliveries p set picked_up_at = null where false and",
    test: [
      "tests/delivery/outcomes/pickup-undo.test.ts",
      "the first leg of a parcel: both are back at the sender's, with the time of no pickup",
    ],
  },
  {
    name: "an undo takes the amount of somebody else's change for its own",
    file: "sql/delivery/outcomes/record.sql",
    from: "'postponed_to', d.postponed_to, 'amount_change_id', amount_change)",
    to: "'postponed_to', d.postponed_to)",
    test: [
      "tests/delivery/outcomes/undo-since.test.ts",
      "for the whole parcel is what the undo puts back, not the one before it",
    ],
  },
  {
    name: "a recipient's answer follows the end of the parcel",
    file: "sql/delivery/tracking/answers.sql",
    from: "p := delivery.lock_delivery(p.id);",
    to: "",
    test: [
      "tests/delivery/tracking/answers-refused.test.ts",
      "an answer that waits for the end of its parcel comes too late",
    ],
  },
  {
    name: "a return from a door is back on paper alone",
    file: "sql/delivery/deliveries/carriers.sql",
    from: "or stage = 'delivery' and d.made_at_door",
    to: "or false and d.made_at_door",
    test: [
      "tests/delivery/outcomes/sent-back.test.ts",
      "is back with a proof, and not before: then its fee is refunded by the policy",
    ],
  },
  {
    name: "a postponed parcel is offered to drivers who choose",
    file: "sql/delivery/self-assignment/self.sql",
    from: "d.status = 'pending' and d.postponed_to is null and d.carrier_type",
    to: "d.status = 'pending' and d.carrier_type",
    test: [
      "tests/delivery/outcomes/postponed.test.ts",
      "it waits for its day: no search, no driver who chooses; then it is searched for",
    ],
  },
  {
    name: "a refund forgets what changed the fee",
    file: "sql/delivery/charges/refunds.sql",
    from: "v_total := coalesce(v_paid.amount, 0) + coalesce((",
    to: "v_total := coalesce(v_paid.amount, 0) + 0 * coalesce((",
    test: [
      "tests/delivery/redirects/prices.test.ts",
      "is dearer or cheaper in the same transaction; a cancellation gives back the net",
    ],
  },
  {
    name: "a fee that the office was to pay is refunded as well",
    file: "sql/delivery/charges/refunds.sql",
    from: "r.status <> 'CANCELLED') or money.fee_refund_owed(d.id) then",
    to: "r.status <> 'CANCELLED') then",
    test: [
      "tests/delivery/deliveries/refund-due-once.test.ts",
      "paid by hand when its driver brought it, it is not paid again when it is received",
    ],
  },
  {
    name: "a parcel on the road is redirected to where its driver may not go",
    file: "sql/delivery/redirects/redirect.sql",
    from: "m where m.in_hand) then",
    to: "m where false) then",
    test: [
      "tests/delivery/redirects/redirects.test.ts",
      "who has it on the road keeps it where allowed",
    ],
  },
  {
    name: "an owner raises the amount of a parcel on the road",
    file: "sql/delivery/amount-changes/checks.sql",
    from: "role = 'owner' and amount > p.cod_amount",
    to: "false and amount > p.cod_amount",
    test: ["tests/delivery/amount-changes/changes.test.ts", "only lowers the amount once"],
  },
  {
    name: "a failed delivery is delivered without setting out again",
    file: moves,
    from: "when 'failed' then '{in_transit,pending,returned,cancelled}'",
    to: "when 'failed' then '{in_transit,pending,returned,cancelled,delivered}'",
    test: [statesTest, "the database knows these moves of a delivery, and no other"],
  },
  {
    name: "the database lets every move happen",
    file: moves,
    from: "where not delivery.move_is_legal(n.delivery_flow, o.status, n.status)",
    to: "where false",
    test: [statesTest, "the database refuses what no core may do"],
  },
  {
    name: "a van takes more than it holds",
    file: evaluate,
    from: "if code is null and units > v_free then",
    to: "if false then",
    test: [
      "tests/delivery/assignments/refusals.test.ts",
      "the driver: unknown, inactive, without a vehicle, or with one that is full",
    ],
  },
  {
    name: "a driver is not locked while their load is checked",
    file: evaluate,
    from: "d.user_id = assignments_plan.driver_id for no key update;",
    to: "d.user_id = assignments_plan.driver_id;",
    test: [
      "tests/delivery/assignments/races.test.ts",
      "of two assignments that fill one van, the second sees the capacity used by the first",
    ],
  },
  {
    name: "what is on its way to another driver can be assigned",
    file: evaluate,
    from: "l.tenant_id = v_tenant and l.delivery_id = a.delivery_id)",
    to: "false)",
    test: [
      "tests/delivery/assignments/refusals.test.ts",
      "a second driver, and one that is on the way",
    ],
  },
  {
    name: "manifests are not locked",
    file: "sql/delivery/manifests/receiving.sql",
    from: "m.id = any (manifest_ids) order by m.id for no key update",
    to: "m.id = any (manifest_ids) order by m.id",
    test: [manifestRaces, "twenty start receiving: one does, one event, one receiver"],
  },
  {
    name: "a manifest jumps over a step",
    file: "sql/delivery/manifests/guards.sql",
    from: "'completed>processing']) then",
    to: "'completed>processing', 'draft>received']) then",
    test: [
      "tests/delivery/manifests/states.test.ts",
      "a manifest cannot jump over a step or leave its end",
    ],
  },
  {
    name: "an item leaves an order that stands",
    file: "sql/delivery/manifests/guards.sql",
    from: "d.id = old.delivery_id and d.status = 'cancelled')) then",
    to: "d.id = old.delivery_id)) then",
    test: [
      "tests/delivery/manifest-items/return.test.ts",
      "only a cancelled order lets its item go, also below the cores",
    ],
  },
  {
    name: "what gets cheaper pays for what gets dearer",
    file: "sql/delivery/manifest-items/change_write.sql",
    from: "v_balance < abs(v_change.difference)",
    to: "v_balance + 800 < abs(v_change.difference)",
    test: [
      "tests/delivery/manifest-items/change-destination.test.ts",
      "a wallet that is short fails its item only, and credits of the part pay for nothing",
    ],
  },
  {
    name: "numbers are taken from what was read",
    file: "sql/base/tenant_values.sql",
    from: "do update set value = c.value + excluded.value",
    to:
      "do update set value = (select o.value from app.counters o where o.tenant_id = c.tenant_id and o.counter = c.counter) + excluded.value",
    test: [manifestRaces, "many make manifests: numbers follow each other without a hole"],
  },
  {
    name: "cash is not what is due",
    file: "sql/delivery/deliveries/carry.sql",
    from: "if coalesce(jsonb_typeof(cash), 'null') = 'null' then",
    to: "if true then",
    test: [
      "tests/delivery/deliveries/money.test.ts",
      "that is not what is due refuses the completion and says what is",
    ],
  },
  {
    name: "a stop on the way back is the end of it",
    file: "sql/delivery/deliveries/fail.sql",
    from: "return warehouse is not null and (delivery.returns_from_door(d) or",
    to: "return false and (delivery.returns_from_door(d) or",
    test: [
      "tests/delivery/deliveries/return-into-warehouse.test.ts",
      "it is on its way until it is received, waits there, and goes to its door with its attempt kept",
    ],
  },
  {
    name: "a store's parcel goes back as what lies on another shelf",
    file: "sql/warehousing/receiving-orders/shelve.sql",
    from: "or (o.order_id is null and exists (",
    to: "or (exists (",
    test: [
      "tests/delivery/deliveries/send-back-guards.test.ts",
      "goods of a store come back as goods to the warehouse they left",
    ],
  },
  {
    name: "a warehouse waits for what is attempted again",
    file: "sql/delivery/deliveries/fail.sql",
    from: "perform warehousing.receipts_withdraw(d.id);\n  if v_reassign then",
    to: "if v_reassign then",
    test: [
      "tests/delivery/deliveries/return-into-warehouse.test.ts",
      "on its way again after another attempt at its door, it is expected nowhere",
    ],
  },
  {
    name: "a warehouse waits for what is on its way again in the morning",
    file: "sql/delivery/outcomes/postponed.sql",
    from: "perform warehousing.receipts_withdraw(f.id) from unnest(v_failed) f (id);",
    to: "",
    test: [
      "tests/delivery/deliveries/return-into-warehouse.test.ts",
      "on its way again on the morning of its day, it is expected nowhere",
    ],
  },
  {
    name: "an order that is sent back whole is settled when nobody may",
    file: "sql/delivery/deliveries/cancel.sql",
    from: "perform storefront.orders_settle();\n    delivery_id",
    to: "delivery_id",
    test: [
      "tests/storefront/orders/sent-back.test.ts",
      "ends when it is sent back by %s, and what was paid is refunded",
    ],
  },
];
