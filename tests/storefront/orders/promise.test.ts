/** The day that a shop promises, and the person to whom its parcel goes. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { home, newCart, newShop, orderOf, placeOrder } from "../../support/orders.ts";

/** The end of what a shop of this time zone promises: the order's, and that of its delivery. */
const promised = async (name: string, ...days: (string | undefined)[]) => {
  const shop = await newShop({ settings: { "general.timezone": { name } } });
  const ends: (string | undefined)[] = [];
  for (const estimated_delivery_date of days) {
    const { id } = await placeOrder(shop, "wallet");
    const answer = await shop.tenant.admin.put(`/storefront/orders/${id}/approve`, {
      estimated_delivery_date,
    });
    expect(answer).toSucceed(200);
    const [{ promised_at }] =
      await sql`select promised_at from delivery.deliveries where order_id = ${id}`;
    const end = answer.body.data.order.estimated_delivery?.slice(0, 19);
    expect(promised_at?.toISOString().slice(0, 19)).toBe(end);
    ends.push(end);
  }
  return ends;
};

test("an order that is expected on a day is not late before the day has ended there", async () => {
  expect(await promised("Asia/Baghdad", "2037-12-01", "2037-12-01T10:00:00Z", undefined))
    .toEqual(["2037-12-01T20:59:59", "2037-12-01T10:00:00", undefined]);
  expect(await promised("America/New_York", "2037-12-01", "9999-12-31"))
    .toEqual(["2037-12-02T04:59:59", "9999-12-31T23:59:59"]);
});

test("a day or time that is over is refused, and today is not", async () => {
  const shop = await newShop({ settings: { "general.timezone": { name: "Asia/Baghdad" } } });
  const { id } = await placeOrder(shop, "wallet");
  const approve = (estimated_delivery_date: string) =>
    shop.tenant.admin.put(`/storefront/orders/${id}/approve`, { estimated_delivery_date });
  const now = Date.now();
  const there = (ms: number) => new Date(ms + 3 * 3_600_000).toISOString().slice(0, 10);
  for (
    const over of ["2020-01-01", there(now - 86_400_000), new Date(now - 60_000).toISOString()]
  ) {
    const answer = await approve(over);
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe("estimated_delivery_date");
    expect(answer.body.message).toContain("over already");
  }
  expect(await approve(there(Date.now()))).toSucceed(200);
});

test("drivers call the telephone of the address, in digits that telephones dial, else the customer's own", async () => {
  const shop = await newShop();
  const { customer, admin } = shop.tenant;
  const [{ phone: own }] = await sql`select phone from tenancy.profiles where id = ${customer.id}`;
  const receiver = async (contact_info: object | undefined) => {
    const confirmed = await customer.post("/storefront/orders/confirm", {
      ...orderOf(shop, await newCart(shop)),
      address: { ...home, contact_info },
    });
    expect(confirmed).toSucceed(201);
    const { id } = confirmed.body.order;
    expect(await admin.put(`/storefront/orders/${id}/approve`)).toSucceed(200);
    const [{ recipient }] =
      await sql`select recipient from delivery.deliveries where order_id = ${id}`;
    return recipient.phone;
  };
  expect(own).toBeTruthy();
  expect(await receiver({ phone: "٠٧٧٠١٢٣٤٥٦٧" })).toBe("07701234567");
  for (const none of [undefined, {}, { phone: null }, { phone: " " }]) {
    expect(await receiver(none)).toBe(own);
  }
});
