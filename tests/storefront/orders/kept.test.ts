/** Orders after a manual refund, and orders of a store that is not live any more. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { checkAll, newShop, placeOrder, type Shop, standing } from "../../support/orders.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newShop();
});
const put = (id: string, act: string, body: object = {}) =>
  shop.tenant.admin.put(`/storefront/orders/${id}/${act}`, body);
const refund = (id: string, body: object = {}) =>
  shop.tenant.admin.post(`/storefront/orders/${id}/refund`, body);

describe("a manual refund", () => {
  test("of everything: the order is not approved, and is cancelled without another refund", async () => {
    const { id } = await placeOrder(shop, "wallet");
    await refund(id);
    const refused = await put(id, "approve");
    expect(refused).toFailWith(409, "order_not_paid");
    expect(refused.body.message).toBe("The order is not paid in full.");
    const answer = await put(id, "cancel", { reason: "other", refund_required: true });
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({ order: { status: "cancelled" }, refund: null });
    expect(await standing(id)).toMatchObject({ reserved: 0, refunds: 1 });
    await checkAll(shop.tenant);
  });

  test("of a part: the order is approved all the same, and cancelling refunds the rest", async () => {
    const { id } = await placeOrder(shop, "wallet");
    await refund(id, { amount: 1_000 });
    expect(await put(id, "approve")).toSucceed(200);
    const { body } = await put(id, "cancel", { reason: "other" });
    expect(body.data.refund).toMatchObject({ processed: true, amount: 5_000 });
    await checkAll(shop.tenant);
  });

  test("of everything after the approval: the order is cancelled, and the goods are released", async () => {
    const { id } = await placeOrder(shop, "wallet");
    expect(await put(id, "approve")).toSucceed(200);
    await refund(id);
    const { body } = await put(id, "cancel", { reason: "out_of_stock" });
    expect(body.data).toMatchObject({ inventory_released: true, refund: null });
    await checkAll(shop.tenant);
  });
});

test("a customer still sees their orders of a closed store, and nothing else of it", async () => {
  const mine = await newShop();
  const { tenant, store } = mine;
  const { id } = await placeOrder(mine);
  const market = { id: store.id, name: store.name };
  for (
    const state of [
      { publish_status: "unpublished" },
      { status: "inactive" },
      { status: "draft" },
    ]
  ) {
    await sql`update storefront.markets set ${sql(state)} where id = ${store.id}`;
    const { body } = await tenant.customer.get("/storefront/my/orders");
    expect(body.data).toMatchObject([{ id, market }]);
    expect(body.pagination.total).toBe(1);
    const one = await tenant.customer.get(`/storefront/orders/${id}/payment-status`);
    expect(one.body.order.market).toEqual({
      ...market,
      settings: { currency: "IQD", deliveryFee: 1_000 },
    });
    expect(await tenant.customer.post("/storefront/carts", { marketId: store.id }))
      .toFailWith(404, "market_not_found");
  }
});
