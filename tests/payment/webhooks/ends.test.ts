/** Reports of gateways end after two years; sent once more then, they book nothing and are no news. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { checkAll, type Placed, placeOrder, type Shop, standing } from "../../support/orders.ts";
import {
  due,
  eventFor,
  newCardShop,
  numberOf,
  received,
  report as send,
} from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

interface Row {
  id: string;
  outcome: string;
  reason: string | null;
  raw: string | null;
}
const eventsOf = async ({ id }: { id: string }) =>
  await sql<Row[]>`select e.id, e.outcome, e.reason, e.raw_body as raw
    from money.payment_webhook_events e join money.payments p on p.id = e.payment_id
    where p.order_id = ${id}`;
const outcomes = async (order: { id: string }) =>
  (await eventsOf(order)).map(({ outcome, reason, raw }) =>
    [outcome, reason, raw === null ? "emptied" : "whole"].filter(Boolean).join(" ")
  ).toSorted();
const unmatchedOf = async (order: Placed) =>
  await sql`select from integration.system_events
    where event_type = 'payment.unmatched' and event_data ->> 'order_id' = ${order.id}`;

async function purgeAfter(order: { id: string }, days: number): Promise<void> {
  await sql`update money.payment_webhook_events e set created_at = now() - ${days} * interval '1 day'
    from money.payments p where p.id = e.payment_id and p.order_id = ${order.id}`;
  await sql`select money.payment_events_purge()`;
}

test("reports that changed nothing go, the bytes of the others go, and repeating all of them changes nothing", async () => {
  const placed = await placeOrder(shop, "razorpay");
  const number = numberOf(placed);
  const reports = [
    eventFor(shop, number, due, { event: "payment.authorized", status: "authorized" }),
    eventFor(shop, number, due),
    eventFor(shop, number, due, { event: "order.paid" }),
    eventFor(shop, number, due, { id: `pay_twice_${number}` }),
  ].map((report) => JSON.stringify(report));
  for (const report of reports) expect(await send(report)).toEqual(received);
  const was = [
    "ignored already_processed whole",
    "ignored nothing_to_do whole",
    "processed whole",
    "unmatched already_paid whole",
  ];
  expect(await outcomes(placed)).toEqual(was);
  const twice = (await eventsOf(placed)).find(({ outcome }) => outcome === "unmatched")!.id;
  expect(
    await shop.tenant.admin.post(`/payment/webhook-events/${twice}/resolve`, {
      resolution: "credited_by_adjustment",
      action: "credit_wallet",
    }),
  ).toSucceed(200);
  await purgeAfter(placed, 729);
  expect(await outcomes(placed)).toEqual(was);

  const logged = await sql`select coalesce(max(id), 0) as id from app.audit_log`;
  const books = await sql`select * from money.payments where order_id = ${placed.id} order by id`;
  await purgeAfter(placed, 731);
  const left = ["processed emptied", "unmatched already_paid emptied"];
  expect(await outcomes(placed)).toEqual(left);
  // The log has what they were already.
  expect(
    await sql`select from app.audit_log where id > ${
      logged[0]!.id
    } and entity = 'money.payment_webhook_events'
      and tenant_id = ${shop.tenant.id} and (action = 'delete' or after ? 'raw_body')`,
  ).toEqual([]);

  for (const report of reports) expect(await send(report)).toEqual(received);
  expect(await sql`select * from money.payments where order_id = ${placed.id} order by id`)
    .toEqual(books);
  expect(await outcomes(placed)).toEqual([
    "ignored already_processed whole",
    "ignored nothing_to_do whole",
    ...left,
  ]);
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
  expect(await unmatchedOf(placed)).toHaveLength(1);
  await checkAll(shop.tenant);
});

test("money that nobody has resolved keeps its bytes, however old", async () => {
  const placed = await placeOrder(shop, "razorpay");
  await send(eventFor(shop, numberOf(placed), due - 1_000));
  await purgeAfter(placed, 2_000);
  expect(await outcomes(placed)).toEqual(["unmatched amount_differs whole"]);
});
