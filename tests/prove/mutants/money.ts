/** Books, cash and gateways, each with one guard less. */
import type { Mutant } from "./mutant.ts";

const ledger = "sql/money/ledger/ledger.sql";
const ledgerTest = "tests/sql/ledger.test.ts";
const accounts = "sql/money/ledger/tables.sql";
const settle = "sql/delivery/cod/settle.sql";
const settleTest = "tests/delivery/cod/settle.test.ts";
const remitTest = "tests/delivery/cod/remit.test.ts";
const events = "sql/payment/webhooks/events.sql";
const webhooksTest = "tests/payment/webhooks/webhooks.test.ts";
const keptAndPaysNothing = "%s is kept for somebody to look at, and pays nothing";

export const money: Mutant[] = [
  {
    name: "accounts are locked in any order",
    file: ledger,
    from: "a.id = any (v_accounts) order by a.id for no key update",
    to: "a.id = any (v_accounts) order by random() for no key update",
    test: ["tests/sql/ledger-races.test.ts", "never deadlock"],
  },
  {
    name: "accounts are not locked",
    file: ledger,
    from: "a.id = any (v_accounts) order by a.id for no key update",
    to: "a.id = any (v_accounts) order by a.id",
    test: [
      "tests/sql/ledger-races.test.ts",
      "forty debits of 1 from a balance of 10: exactly ten succeed",
    ],
  },
  {
    name: "a wallet may go below its floor",
    file: accounts,
    from: "check (floor is null or balance >= floor)",
    to: "check (true)",
    test: [ledgerTest, "the floor holds in the database, for an insert of any kind"],
  },
  {
    name: "amounts are rounded in silence",
    file: ledger,
    from: "if v_amount <> round(v_amount, 3) then",
    to: "if false then",
    test: [ledgerTest, "an amount that would be rounded is refused instead"],
  },
  {
    name: "accounts of every tenant can be posted to",
    file: ledger,
    from: "from money.accounts a where a.tenant_id = v_tenant and a.id = any (v_accounts)",
    to: "from money.accounts a where a.id = any (v_accounts)",
    test: [ledgerTest, "a tenant's postings reach no account of another tenant"],
  },
  {
    name: "currencies are summed together",
    file: ledger,
    from: "group by e.currency) c) is not true then",
    to: ") c) is not true then",
    test: [ledgerTest, "the sum is checked in each currency, and for each journal of a call"],
  },
  {
    name: "an effect may be booked twice",
    file: accounts,
    from: "unique (tenant_id, kind, reference_type, reference_id)",
    to: "unique (tenant_id, kind, reference_type, reference_id, id)",
    test: [
      "tests/sql/ledger-races.test.ts",
      "one effect is booked once, also when forty try at the same moment",
    ],
  },
  {
    name: "old journals take new entries",
    file: ledger,
    from: "(select t.booked_in = pg_current_xact_id() from",
    to: "(select true from",
    test: [ledgerTest, "an old journal takes no entry, even a pair that balances"],
  },
  {
    name: "an entry may be in another currency than its account",
    file: ledger,
    from: "(select a.currency = e.currency from",
    to: "(select true from",
    test: [ledgerTest, "an entry in another currency than its account's is refused"],
  },
  {
    name: "logs can be changed",
    file: "sql/base/guards.sql",
    from: "before update on %s for each row when (%s)",
    to: "before update on %s for each row when (false and (%s))",
    test: [ledgerTest, "nobody changes, removes or truncates what is booked, not even the owner"],
  },
  {
    name: "cash that was settled is settled again",
    file: settle,
    from: "c.id = any (collection_ids) and c.status = 'collected'",
    to: "c.id = any (collection_ids)",
    test: [
      remitTest,
      "refuses drivers of two, rows of others, settled rows, repeated and no ids, and writes nothing",
    ],
  },
  {
    name: "a driver settles cash of others",
    file: settle,
    from: "and (c.driver_id = v_driver or v_office)",
    to: "",
    test: [
      remitTest,
      "refuses drivers of two, rows of others, settled rows, repeated and no ids, and writes nothing",
    ],
  },
  {
    name: "a settlement's key fits any input",
    file: settle,
    from: "if v_settlement.input_hash <> fingerprint then",
    to: "if false then",
    test: [
      settleTest,
      "is remembered as long as the settlement, in whatever order the ids come",
    ],
  },
  {
    name: "cash of a foreign currency is remitted",
    file: settle,
    from: "(method = 'remit' and v_currency <> (app.currency()).code)",
    to: "false",
    test: [settleTest, "cash in a currency that is not the tenant's is not remitted"],
  },
  {
    name: "more is refunded than was paid",
    file: "sql/storefront/orders/payments.sql",
    from: "elsif p_amount > v_left then",
    to: "elsif false then",
    test: [webhooksTest, "money given back at the gateway leaves the shop's wallet, once"],
  },
  {
    name: "any amount pays",
    file: events,
    from: "then 'amount_differs'",
    to: "then null",
    test: [webhooksTest, keptAndPaysNothing],
  },
  {
    name: "any currency pays",
    file: events,
    from: "then 'currency_differs'",
    to: "then null",
    test: [webhooksTest, keptAndPaysNothing],
  },
  {
    name: "a payment pays another order",
    file: events,
    from: "then 'order_differs'",
    to: "then null",
    test: [webhooksTest, keptAndPaysNothing],
  },
  {
    name: "a cancelled order can be paid",
    file: events,
    from: "then 'order_cancelled'",
    to: "then null",
    test: [webhooksTest, "for a cancelled order it is money to look for"],
  },
  {
    name: "any terminal's payment counts",
    file: events,
    from: "then 'terminal_differs'",
    to: "then null",
    test: [
      "tests/payment/webhooks/gatewayone.test.ts",
      "about %s is kept to look at, and pays nothing",
    ],
  },
  {
    name: "one payment at the gateway pays several orders",
    file: accounts,
    from: "on money.payments (gateway_code, gateway_transaction_id)",
    to: "on money.payments (gateway_code, gateway_transaction_id, id)",
    test: [webhooksTest, "one payment at the gateway pays one order"],
  },
  {
    name: "a shop's secret pays orders of another",
    file: events,
    from:
      "where x.id = any (v_named) and x.gateway_code = p_code and x.tenant_id = any (p_tenants)",
    to: "where x.id = any (v_named) and x.gateway_code = p_code",
    test: [
      "tests/payment/webhooks/signatures.test.ts",
      "a secret of one shop pays no order of another",
    ],
  },
  {
    name: "half of a signature is compared",
    file: "functions/payment/webhooks/signature.ts",
    from: `return timingSafeEqual(expected, Buffer.from(signature, "hex"));`,
    to:
      `return timingSafeEqual(expected.subarray(16), Buffer.from(signature, "hex").subarray(16));`,
    test: ["tests/payment/webhooks/signatures.test.ts", "%s: refused with nothing written"],
  },
  {
    name: "of two equal keys the last counts",
    file: "functions/payment/webhooks/strict-json.ts",
    from: "if (keys?.has(key)) return true;",
    to: "if (keys?.has(key)) continue;",
    test: [webhooksTest, "%s: refused, though it is signed"],
  },
  {
    name: "a declined payment waits for good",
    file: "shared/payment-gateways/gatewayone.ts",
    from: `if (actionCode === "2" || finalCodes.has(responseCode)) return "failed";`,
    to: "",
    test: [
      "tests/payment/webhooks/gatewayone.test.ts",
      "a declined payment has failed, and confirming again opens another one",
    ],
  },
];
