/** A field that a refund does not know may be the amount that was meant: nothing is given back then. */
import { beforeAll, expect, test } from "vitest";
import "../../support/expect.ts";
import { newShop, placeOrder, type Shop, standing } from "../../support/orders.ts";

let shop: Shop;
let id: string;
beforeAll(async () => {
  shop = await newShop();
  ({ id } = await placeOrder(shop, "wallet"));
});

test.each([
  { items: [{ id: "1", quantity: 1 }] },
  { value: 1_000 },
  { total: 1_000 },
  { amount_to_refund: 1_000 },
  { amonut: 10 },
  { amount: 10, item: "x" },
])("POST refund %j is refused", async (body) => {
  const field = Object.keys(body).at(-1);
  for (const language of ["en", "ar", "ku"] as const) {
    const answer = await shop.tenant.admin.in(language)
      .post(`/storefront/orders/${id}/refund`, body);
    expect(answer).toFailWith(400, "validation_failed");
    expect(answer.body.field).toBe(field);
  }
  expect(await standing(id)).toMatchObject({ refunds: 0 });
});

test.each(["cancel", "return"])(
  "PUT %s without a refund under another name is refused",
  async (step) => {
    const answer = await shop.tenant.admin.put(`/storefront/orders/${id}/${step}`, {
      reason: "other",
      refund: false,
    });
    expect(answer).toFailWith(400, "unknown_field");
    expect(answer.body.field).toBe("refund");
    expect(await standing(id)).toMatchObject({ status: "pending", refunds: 0 });
  },
);
