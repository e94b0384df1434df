/** An order for which less than its fee was paid and accepted: its goods cost nothing, and never less. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { approveOrder, bring, pick, picksOf } from "../../support/order-goods.ts";
import { agree, newPricedShop, placePaid } from "../../support/order-prices.ts";
import { checkAll, placeOrder, standing, walletOf } from "../../support/orders.ts";
import { newPerson } from "../../support/people.ts";

const paid = 1_000;
/** A shop with a unit in each of two warehouses, at 3,000; delivery costs 1,500 for both. */
const newShop = () => newPricedShop({ price: 3_000, fee: 750, first: 1, second: 1 });

/** Both are ordered for 7,500, of which 1,000 are paid and accepted. */
async function approved() {
  const shop = await newShop();
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const { id } = await placePaid(shop, 2, paid, customer);
  const { order, deliveries } = await approveOrder(shop, id);
  expect(order).toMatchObject({ subtotal: 6_000, shipping_cost: 1_500, discount_amount: 6_500 });
  const picks = (await picksOf(id)).map((task) => task.id as string);
  return { shop, id, customer, deliveries, picks };
}

test.each(
  [
    ["delivered", "delivered", 0],
    ["delivered", "returned", 0],
    ["returned", "delivered", 0],
    ["returned", "returned", paid],
  ] as const,
)("%s and %s: %s goes back", async (one, two, back) => {
  const { shop, id, customer, deliveries, picks } = await approved();
  for (const task of picks) expect(await pick(shop, task)).toSucceed(200);
  await bring(shop, deliveries[0].delivery_id, one);
  await bring(shop, deliveries[1].delivery_id, two);
  expect(await walletOf(shop.tenant, customer.id)).toBe(back);
  expect(await walletOf(shop.tenant, null)).toBe(paid - back);
  expect(await standing(id)).toMatchObject({ refunds: back ? 1 : 0 });
  await checkAll(shop.tenant);
});

test.each([["delivered", 0], ["returned", paid]] as const)(
  "one is short and the other %s: accepting takes nothing off, and %s goes back",
  async (end, back) => {
    const { shop, id, customer, deliveries, picks } = await approved();
    await pick(shop, picks[0]!);
    await pick(shop, picks[1]!, 0);
    const answer = await shop.tenant.admin.post(`/storefront/orders/${id}/accept-short`);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      refund: null,
      order: { subtotal: 3_000, discount_amount: 3_500, total_price: paid },
    });
    await bring(shop, deliveries[0].delivery_id, end);
    expect(await walletOf(shop.tenant, customer.id)).toBe(back);
    await checkAll(shop.tenant);
  },
);

test("cancelled before it leaves: all that was paid goes back", async () => {
  const { shop, id, customer } = await approved();
  const answer = await shop.tenant.admin.put(`/storefront/orders/${id}/cancel`, {
    reason: "other",
  });
  expect(answer.body.data.refund).toMatchObject({ amount: paid });
  expect(await walletOf(shop.tenant, customer.id)).toBe(paid);
  await checkAll(shop.tenant);
});

test("paid at the door: the first delivery collects all of it, the other nothing", async () => {
  const shop = await newShop();
  const { id } = await placeOrder(shop, "cash", 2);
  await agree(id, { discount: 6_500 });
  const { deliveries } = await approveOrder(shop, id);
  const due = () =>
    sql`select cod_amount from delivery.deliveries where order_id = ${id} order by delivery_code`;
  expect(await due()).toEqual([{ cod_amount: 1_000 }, { cod_amount: 0 }]);
  const [first, second] = await picksOf(id);
  await pick(shop, first!.id, 0);
  await pick(shop, second!.id);
  expect(await shop.tenant.admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  // The first does not travel; the other collects what it would have.
  expect((await due())[1]).toEqual({ cod_amount: 1_000 });
  await bring(shop, deliveries[1].delivery_id, "delivered");
  expect(await standing(id)).toMatchObject({ status: "delivered", payment_status: "paid" });
  await checkAll(shop.tenant);
});
