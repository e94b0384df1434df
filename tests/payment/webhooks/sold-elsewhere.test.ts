/** Events of a gateway's account about payments that were not opened here. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import type { Shop } from "../../support/orders.ts";
import { due, eventFor, newCardShop, received, report } from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

const eventsOf = (id: string) =>
  sql`select outcome, resolution from money.payment_webhook_events
    where tenant_id = ${shop.tenant.id} and facts ->> 'transaction_id' = ${id} order by created_at, id`;
const announced = (id: string) =>
  sql`select from integration.system_events where event_type = 'payment.unmatched'
    and tenant_id = ${shop.tenant.id} and event_data ->> 'gateway_transaction_id' = ${id}`;
/** A payment of another page of the company, under these names. */
const paidElsewhere = (event: string, id: string, entity: object) =>
  report(eventFor(shop, "0", due, { event, id, entity }));

test("one without any number of ours is the company's other business", async () => {
  const entity = { order_id: "order_FOGs9Hz3ZaAjsm", notes: [], description: "Tickets" };
  for (const event of ["payment.captured", "order.paid"]) {
    expect(await paidElsewhere(event, "pay_elsewhere", entity)).toMatchObject(received);
  }
  expect((await eventsOf("pay_elsewhere")).map(({ outcome }) => outcome))
    .toEqual(["ignored", "ignored"]);
  expect(await announced("pay_elsewhere")).toHaveLength(0);
});

test("one with a number of our form is announced once, and its events are settled together", async () => {
  const entity = { order_id: "999999999999999999", notes: { order_id: "999999999999999999" } };
  for (const event of ["payment.captured", "order.paid"]) {
    expect(await paidElsewhere(event, "pay_unknown", entity)).toMatchObject(received);
  }
  expect(await announced("pay_unknown")).toHaveLength(1);
  const { data } = (await shop.tenant.admin.get("/payment/webhook-events", {
    query: { open: true },
  })).body;
  expect(data).toHaveLength(2);
  const settled = await shop.tenant.admin.post(`/payment/webhook-events/${data[0].id}/resolve`, {
    resolution: "refunded_at_gateway",
  });
  expect(settled).toSucceed(200);
  expect((await eventsOf("pay_unknown")).map(({ resolution }) => resolution))
    .toEqual(["refunded_at_gateway", "refunded_at_gateway"]);
});
