/** Cash of the desks, with one guard less. */
import type { Mutant } from "./mutant.ts";

const file = "sql/delivery/cash-desks/transfers.sql";
const movesTest = "tests/delivery/cash-desks/cash-desks.test.ts";
const repeatedTest = "tests/delivery/cash-desks/repeated.test.ts";
const reverseTest = "tests/delivery/cash-desks/reverse.test.ts";

export const desks: Mutant[] = [
  {
    name: "a desk is looked at without its lock",
    file,
    from: "(money.lock_balances(array[giver, taker]) ->> giver::text)::numeric",
    to:
      "(select a.balance from money.accounts a where a.tenant_id = app.tenant_id() and a.id = giver)",
    test: [
      repeatedTest,
      "a transfer that waited for a desk reads the balance after the wait",
    ],
  },
  {
    name: "a desk gives what it does not hold, when a core forgets to ask",
    file,
    from: "elsif v_short then",
    to: "elsif false then",
    test: [
      repeatedTest,
      "the database refuses a transfer without its journal, or a balance below zero, from every writer",
    ],
  },
  {
    name: "a transfer needs no journal",
    file,
    from: "if v_given is distinct from -new.amount then",
    to: "if false then",
    test: [reverseTest, "the database refuses a reversal without its mirror"],
  },
  {
    name: "a cashier empties another's desk",
    file,
    from: "or (v_owner is distinct from app.user_id() and not app.has_permission('manage:tenant'))",
    to: "or false",
    test: [movesTest, "of another's desk is an administrator's to make"],
  },
  {
    name: "a transfer's key fits any input",
    file,
    from: "if t.input_hash <> v_hash then",
    to: "if false then",
    test: [
      repeatedTest,
      "one key is one transfer, also after the idempotency record is purged",
    ],
  },
  {
    name: "a receiver is not asked whether they still have the cash",
    file,
    from:
      "perform money.lock_cash_desk(v_accounts.taker, v_accounts.giver, t.amount, t.currency::text);",
    to: "",
    test: [
      reverseTest,
      "a handover is reversed while its receiver holds the cash, and not after they passed it on",
    ],
  },
  {
    name: "a transfer is taken back by whoever counts cash",
    file,
    from:
      "elsif v_owner is distinct from app.user_id() and not app.has_permission('manage:tenant') then",
    to: "elsif false then",
    test: [
      reverseTest,
      "is for who gave the cash and for administrators, of their own tenant",
    ],
  },
];
