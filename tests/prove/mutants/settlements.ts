/** Settlements that are taken back, with one guard less. */
import type { Mutant } from "./mutant.ts";

const file = "sql/delivery/cod/reverse.sql";
const positions = "sql/delivery/cod/reconciliation.sql";
const reverseTest = "tests/delivery/cod/settlements-reverse.test.ts";
const booksTest = "tests/delivery/cod/settlements-reverse-books.test.ts";

const handovers = "sql/delivery/cod/handovers.sql";
const remittedTest = "tests/delivery/cod/handover-remitted.test.ts";

const shortageTest = "tests/delivery/cod/shortage-with-its-cash.test.ts";

export const settlements: Mutant[] = [
  {
    name: "a shortage that was booked is booked again with its remittance",
    file: "sql/delivery/cod/settle.sql",
    from: " and not money.shortage_is_booked(v_handover) then",
    to: " then",
    test: [shortageTest, "a shortage that 1.6.0 booked when it was resolved"],
  },
  {
    name: "counted cash is undone away",
    file: handovers,
    from: "    if v_row.status <> 'declared' then\n      perform app.fail('outcome_is_settled'",
    to: "    if false then\n      perform app.fail('outcome_is_settled'",
    test: [
      "tests/delivery/outcomes/undo-declared.test.ts",
      "and not remitted is refused until its handover is cancelled",
    ],
  },
  {
    name: "a driver counts what they remit",
    file: handovers,
    from:
      "(h.status = 'discrepancy' or money.settles_for_office() and handover_of.driver is distinct from app.user_id())",
    to: "true",
    test: [
      remittedTest,
      "is cancelled, not counted, by a driver who remits or pays from the wallet",
    ],
  },
  {
    name: "somebody of the office counts the own cash that they remit",
    file: handovers,
    from: " and handover_of.driver is distinct from app.user_id()",
    to: "",
    test: [
      "tests/delivery/cod/own-cash.test.ts",
      "by remitting it they have not counted it: what they declared is cancelled, as a driver's is",
    ],
  },
  {
    name: "a declaration is cancelled though the driver has the cash",
    file: handovers,
    from: "if h.declared_amount > v_left or",
    to: "if true or",
    test: [remittedTest, "waits for its count where the driver still has that much"],
  },
  {
    name: "of two settlements neither knows what the other left",
    file: handovers,
    from: "order by x.id for no key update) o;",
    to: "order by x.id) o;",
    test: [
      remittedTest,
      "is cancelled by the later of two settlements that leave less together, also at once",
    ],
  },
  {
    name: "two may take back a settlement at once",
    file,
    from: "x.payment_id = (input ->> 'settlement_payment_id')::uuid) for no key update;",
    to: "x.payment_id = (input ->> 'settlement_payment_id')::uuid);",
    test: [booksTest, "twenty who take back one settlement at once"],
  },
  {
    name: "all of a driver's cash is settled while some of it comes back",
    file: "sql/delivery/cod/settle.sql",
    from: "where d.tenant_id = v_tenant and d.user_id = v_driver for share;",
    to: "where d.tenant_id = v_tenant and d.user_id = v_driver;",
    test: [booksTest, "settling all during a reversal happens before or after it, not between"],
  },
  {
    name: "cash is taken back from a desk that gave it on",
    file,
    from: "if s.method = 'remit' then\n    perform money.lock_returned_cash(",
    to: "if false then\n    perform money.lock_returned_cash(",
    test: [reverseTest, "when the receiver gave the cash on, until it comes back"],
  },
  {
    name: "a shortage is counted against the receiver twice",
    file,
    from: "s.total - s.shortage - v_short, s.currency::text);",
    to: "s.total, s.currency::text);",
    test: [shortageTest, "a shortage that 1.6.0 booked when it was resolved"],
  },
  {
    name: "anybody who counts cash takes any settlement back",
    file,
    from:
      "elsif s.actor_id <> app.user_id() and s.receiver_id is distinct from app.user_id() and not app.has_permission('manage:tenant') then",
    to: "elsif false then",
    test: [reverseTest, "to all but who entered it, who has the cash, and administrators"],
  },
  {
    name: "the items of a settlement that was taken back still hold their rows",
    file,
    from:
      "update money.cod_settlement_items i set reversed_at = now() where i.tenant_id = v_tenant and i.payment_id = s.payment_id;",
    to: "",
    test: [
      reverseTest,
      "a reversed settlement is settled again, the other way or in parts, and reversed again",
    ],
  },
  {
    name: "of the past the reconciliation forgets what was taken back since",
    file: positions,
    from: "s.settled_at <= as_of and s.reversed_at > as_of",
    to: "false",
    test: [booksTest, "as of a moment before, it still counts"],
  },
];
