/** Cash that carriers collect, with one guard less. */
import type { Mutant } from "./mutant.ts";

const shipments = "sql/carriers/shipments/api.sql";
const reports = "sql/carriers/inbound/api.sql";
const payments = "sql/delivery/carrier-cash/remittances.sql";
const bookingTest = "tests/carriers/cash/booking.test.ts";
const booksTest = "tests/carriers/cash/cash.test.ts";
const paysTest = "tests/carriers/cash/remittances.test.ts";
const reversedTest = "tests/carriers/cash/remittances-reversed.test.ts";
const chargesTest = "tests/carriers/cash/charges.test.ts";
const againTest = "tests/carriers/inbound/brings-back.test.ts";
const takesGoodsTest = "tests/carriers/inbound/takes-goods.test.ts";
const withdrawn =
  "if d.status = 'returned' or d.status = 'failed' and v_status = 'in_transit' or v_status = 'delivered' then";
const wholly = "pays its rows in full, brings the till what came, and books the rest as a cost";
const refused = "is refused, and nothing is written, when it does not fit what is owed";

export const carriers: Mutant[] = [
  {
    name: "a carrier that collects nothing gets a parcel with cash due",
    file: shipments,
    from: "if v_due > 0 and not collects_cash then",
    to: "if false then",
    test: [
      bookingTest,
      "with a carrier that collects no cash is refused before anything is sent",
    ],
  },
  {
    name: "nobody takes the sender's cash",
    file: "sql/delivery/charges/charges.sql",
    from: "if v_due.cod + v_due.delivery_fee > 0 and not exists (",
    to: "if false and not exists (",
    test: [bookingTest, "is refused while the sender has to pay in cash"],
  },
  {
    name: "a carrier delivers, and its cash is nowhere",
    file: reports,
    from: "perform money.carrier_cash_collected(delivery.parcel_of(d), s.id, s.carrier_code);",
    to: "null;",
    test: [booksTest, "books the cash as a driver's, but on the carrier's account"],
  },
  {
    name: "a report that waited counts as old",
    file: reports,
    from: "v_at := least((report ->> 'occurred_at')::timestamptz, clock_timestamp());",
    to: "v_at := least((report ->> 'occurred_at')::timestamptz, now());",
    test: [booksTest, "without a time that had to wait for another's turn is not too late"],
  },
  {
    name: "a carrier pays for rows of another tenant",
    file: payments,
    from: `where c.tenant_id = v_tenant and c.carrier_code = v_carrier and c.status = 'owed'
      and case`,
    to: `where c.carrier_code = v_carrier and c.status = 'owed'
      and case`,
    test: [paysTest, refused],
  },
  {
    name: "a carrier pays more than it owes",
    file: payments,
    from: "if amount > v_owed then",
    to: "if false then",
    test: [paysTest, refused],
  },
  {
    name: "a carrier pays for half a row",
    file: payments,
    from: "if v_expected <> amount then",
    to: "if false then",
    test: [paysTest, "names parcels, or nothing: then it pays the oldest, each whole"],
  },
  {
    name: "a carrier pays in any currency",
    file: payments,
    from: "where c.currency <> input ->> 'currency' limit 1",
    to: "where false limit 1",
    test: [paysTest, refused],
  },
  {
    name: "a carrier's payment is taken back again and again",
    file: payments,
    from: "elsif r.reversed_at is not null then",
    to: "elsif false then",
    test: [
      reversedTest,
      "is reversed once, however many callers ask",
    ],
  },
  {
    name: "the till gives a carrier back what it has given on",
    file: payments,
    from: "r.carrier_code) end], r.amount - r.charges, r.currency::text);",
    to: "r.carrier_code) end], 0, r.currency::text);",
    test: [reversedTest, "because the till gave the cash on"],
  },
  {
    name: "what a carrier kept comes to the till",
    file: payments,
    from: "array[v_carrier, v_taker], array[r.charges - r.amount, r.amount - r.charges]);",
    to: "array[v_carrier, v_taker], array[-r.amount, r.amount]);",
    test: [chargesTest, wholly],
  },
  {
    name: "a carrier keeps more than it pays",
    file: payments,
    from: "if v_charges > v_amount then",
    to: "if false then",
    test: [chargesTest, "above what is paid, in each language, and nothing is written"],
  },
  {
    name: "the charges of a payment that was reversed stay a cost",
    file: payments,
    from: "perform money.reverse('carrier_charge', 'carrier_remittance', r.id, r.reversal_reason);",
    to: "null;",
    test: [
      chargesTest,
      "is reversed with its charges, once, when the till still has what came",
    ],
  },
  {
    name: "a payment locks the till, and what is outside after it",
    file: payments,
    from: "perform money.lock_balances(array[v_taker, v_outside]);",
    to: "null;",
    test: [
      "tests/carriers/cash/remittances-overlapping.test.ts",
      "a payment with charges and its reversal take %s before %s where it comes first, as transfers do",
    ],
  },
  {
    name: "a report locks what is outside before its carrier's account",
    file: "sql/delivery/charges/charges.sql",
    from: "perform money.lock_carrier(p_carrier, v_currency);",
    to: "null;",
    test: [
      "tests/carriers/cash/remittances-overlapping.test.ts",
      "a report takes the carrier's account before what is outside, as payments with charges do",
    ],
  },
  {
    name: "COD waits for cash that a carrier kept",
    file: "sql/delivery/cod-holds/holds.sql",
    from: "where m.tenant_id = tenant and m.id = r.brought_by and m.charges = m.amount)",
    to: "where false)",
    test: [
      "tests/carriers/cash/charges-held.test.ts",
      "on_bank: all of it kept, no cash is waited for, and a reversal holds it again",
    ],
  },
  {
    name: "what was paid and taken back counts as paid",
    file: "sql/delivery/carrier-cash/reconciliation.sql",
    from: " and (r.reversed_at is null or r.reversed_at > as_of)\n$$;",
    to: "\n$$;",
    test: [
      reversedTest,
      "counts in no sum, except as of a moment before the reversal",
    ],
  },
  {
    name: "a return that is on its way again is expected where it came back",
    file: reports,
    from: withdrawn,
    to: "if v_status = 'delivered' and d.status <> 'returned' then",
    test: [againTest, "as a return that came back to the warehouse it left, is not expected there"],
  },
  {
    name: "what a carrier delivered after all is expected for ever",
    file: reports,
    from: withdrawn,
    to: "if d.status = 'returned' or d.status = 'failed' and v_status = 'in_transit' then",
    test: [againTest, "is not expected once its receiver has it"],
  },
  {
    name: "what a carrier collected for goods that were not found stays with the shop",
    file: "sql/storefront/orders/settle.sql",
    from: "then storefront.goods_price(o, storefront.order_charged_short(o))",
    to: "then 0",
    test: [
      takesGoodsTest,
      "what a carrier collects for goods that were not found goes to the customer's wallet",
    ],
  },
  {
    name: "a parcel in which there was nothing is expected back",
    file: "sql/warehousing/receiving-orders/expect.sql",
    from: "and p.left_at is not null and not exists (",
    to: "and false and not exists (",
    test: [takesGoodsTest, "a carrier that takes a parcel in which nothing was found"],
  },
];
