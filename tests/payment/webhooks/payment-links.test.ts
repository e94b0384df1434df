/** Events of Razorpay about payments by its links: the link has our number, the payment has it not. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { placeOrder, type Shop, standing } from "../../support/orders.ts";
import {
  due,
  eventFor,
  newCardShop,
  numberOf,
  openReports,
  received,
  report,
} from "../../support/payments.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newCardShop();
});

/** An order, the link that it is paid by, and the events about it. */
async function linked() {
  const placed = await placeOrder(shop, "razorpay");
  const number = numberOf(placed);
  const [{ link }] = await sql`select gateway_reference as link from money.payments
    where tenant_id = ${shop.tenant.id} and order_id = ${placed.id}`;
  const event = (name: string, status: string, paid_link?: object) => {
    const { payload, ...rest } = eventFor(shop, number, due, {
      event: name,
      status,
      entity: { order_id: "order_FOGs9Hz3ZaAjsm", notes: [], description: `#${link.slice(6)}` },
    }) as { payload: object };
    const more = paid_link ? { payment_link: { entity: paid_link } } : {};
    return { ...rest, payload: { ...payload, ...more } };
  };
  return { placed, number, link, event };
}

test("the link that was paid pays the order, once, whichever of its events comes first", async () => {
  for (const first of [0, 1]) {
    const { placed, number, link, event } = await linked();
    const events = [
      event("payment_link.paid", "captured", { id: link, reference_id: number }),
      event("payment.captured", "captured"),
    ];
    expect(await report(events[first])).toMatchObject(received);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    expect(await report(events[1 - first])).toMatchObject(received);
    expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
    expect(await openReports(shop, placed)).toEqual([]);
  }
});

test("a try by it that failed fails, and the next one pays", async () => {
  const { placed, number, link, event } = await linked();
  expect(await report(event("payment.failed", "failed"))).toMatchObject(received);
  expect(await standing(placed.id)).toMatchObject({ payment_status: "failed", paid: 0 });
  await report(event("payment_link.paid", "captured", { id: link, reference_id: number }));
  expect(await standing(placed.id)).toMatchObject({ payment_status: "paid", paid: 1 });
});

test("a link that ended without being paid moves nothing", async () => {
  const { placed, number, link, event } = await linked();
  const { payload, ...rest } = event("payment_link.expired", "failed", {
    id: link,
    reference_id: number,
  }) as { payload: Record<string, unknown> };
  const { payment: _, ...alone } = payload;
  expect(await report({ ...rest, payload: alone })).toMatchObject(received);
  expect(await standing(placed.id)).toMatchObject({ payment_status: "pending", paid: 0 });
});
