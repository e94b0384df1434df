/** Queues of desks, with one guard less. */
import type { Mutant } from "./mutant.ts";

const file = "sql/money/desk-queues/queues.sql";
const ends = "tests/delivery/cod-holds/on-bank.test.ts";
const reversals = "tests/delivery/cod-holds/on-bank-reversals.test.ts";
const shortages = "tests/delivery/cod-holds/on-bank-shortages.test.ts";

export const queues: Mutant[] = [
  {
    name: "the newest cash leaves a desk first",
    file,
    from: "over (order by t.own desc, t.place, t.part_id rows unbounded preceding) - t.amount",
    to: "over (order by t.own desc, t.place desc, t.part_id rows unbounded preceding) - t.amount",
    test: [ends, "banked, the oldest first: a row is in when the last of its cash has left"],
  },
  {
    name: "a settlement that is reversed takes the oldest, not its own",
    file,
    from: "over (order by t.own desc, t.place,",
    to: "over (order by t.place,",
    test: [
      reversals,
      "a settlement that is reversed takes its own cash, not the oldest, and brings it anew",
    ],
  },
  {
    name: "cash that went on is not exchanged",
    file,
    from: "perform money.desk_parts_exchange(t, v_undone, v_entry.desk);",
    to: "null;",
    test: [
      reversals,
      "of cash that was banked, the next takes the place when its settlement is reversed",
    ],
  },
  {
    name: "a handover brings cash of no row",
    file,
    from: "elsif cardinality(v_given) > 0 then",
    to: "elsif false then",
    test: [ends, "a handover carries the place: older cash leaves the other desk first"],
  },
  {
    name: "a shortage that came before its cash is never taken off",
    file,
    from: "  if v_debt.part_id is null then",
    to: "  if true then",
    test: [
      shortages,
      "as 1.6.0 did, it takes the oldest of the desk, then of what comes next",
    ],
  },
];
