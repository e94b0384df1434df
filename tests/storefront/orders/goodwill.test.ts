/** Money that a shop gives back by hand as goodwill: it lowers no refund of goods, and hinders no approval. */
import { expect, test } from "vitest";
import "../../support/expect.ts";
import { approveOrder, bring, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { checkAll, newShop, placeOrder, type Shop, walletOf } from "../../support/orders.ts";
import { paidByCard, refundOf, report, takeCards } from "../../support/payments.ts";
import { newPerson } from "../../support/people.ts";

const call = ({ tenant }: Shop, id: string, step: string, body?: object) =>
  tenant.admin.post(`/storefront/orders/${id}/${step}`, body);

/** Three units from one warehouse, or also two from another, ordered, paid by wallet and approved: 6,000 each with its delivery. */
async function ordered(units: 3 | 5) {
  const shop = await newSplitShop({ first: 3, second: units - 3, picking: true });
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const { id } = await placeOrder(shop, "wallet", units, customer);
  const { deliveries } = await approveOrder(shop, id);
  return {
    shop,
    id,
    purse: () => walletOf(shop.tenant, customer.id),
    deliveries: deliveries.map((one: { delivery_id: string }) => one.delivery_id),
  };
}

test.each(
  [
    ["given before, it is given beside their price", "before", 1_000, 5_000],
    ["given before, both are no more than was paid", "before", 17_000, 1_000],
    ["given while they are missing, it is for them", "after", 2_000, 3_000],
    ["given while they are missing, what is more than their price is beside it", "after", 7_000, 0],
  ] as const,
)("of goods that are short: %s", async (_what, when, amount, refunded) => {
  const { shop, id, purse } = await ordered(3);
  const [task] = await picksOf(id);
  const give = async () => expect(await call(shop, id, "refund", { amount })).toSucceed(200);
  if (when === "before") await give();
  expect(await pick(shop, task.id, 2)).toSucceed(200);
  if (when === "after") await give();
  const { data } = (await call(shop, id, "accept-short")).body;
  expect(data.order.total_price).toBe(13_000);
  expect(data.refund?.amount ?? 0).toBe(refunded);
  expect(await purse()).toBe(amount + refunded);
  await checkAll(shop.tenant);
});

test("goodwill that was given with the price of missing goods stays beside what comes back later", async () => {
  const { shop, id, purse, deliveries } = await ordered(5);
  const [task, other] = await picksOf(id);
  expect(await pick(shop, task.id, 2)).toSucceed(200);
  expect(await pick(shop, other.id)).toSucceed(200);
  // One unit of 5,000 is short, and 1,000 are a gift.
  expect(await call(shop, id, "refund", { amount: 6_000 })).toSucceed(200);
  const { data } = (await call(shop, id, "accept-short")).body;
  expect(data.refund).toBeNull();
  await bring(shop, deliveries[0], "delivered");
  await bring(shop, deliveries[1], "returned");
  expect(await purse()).toBe(6_000 + 10_000);
  await checkAll(shop.tenant);
});

test.each([["before", 10_000], ["after", 0]] as const)(
  "of a parcel that comes back: what was given %s it came back",
  async (when, refunded) => {
    const { shop, id, purse, deliveries } = await ordered(5);
    for (const { id: task } of await picksOf(id)) expect(await pick(shop, task)).toSucceed(200);
    const give = async () =>
      expect(await call(shop, id, "refund", { amount: 10_000 })).toSucceed(200);
    if (when === "before") await give();
    await bring(shop, deliveries[1], "returned");
    if (when === "after") await give();
    await bring(shop, deliveries[0], "delivered");
    expect(await purse()).toBe(10_000 + refunded);
    await checkAll(shop.tenant);
  },
);

test("a whole order that comes back gives the rest", async () => {
  const { shop, id, purse, deliveries } = await ordered(3);
  const [task] = await picksOf(id);
  expect(await pick(shop, task.id)).toSucceed(200);
  expect(await call(shop, id, "refund", { amount: 4_000 })).toSucceed(200);
  await bring(shop, deliveries[0], "returned");
  expect(await purse()).toBe(18_000);
  await checkAll(shop.tenant);
});

test("what a gateway gave back by itself is for the goods that are missing afterwards", async () => {
  const cards = await newShop({ picking: true });
  await takeCards(cards);
  const placed = await paidByCard(cards, 2);
  await approveOrder(cards, placed.id);
  const refund = refundOf(cards, placed, 2_000);
  expect(await report(refund)).toMatchObject({ status: 200 });
  const [task] = await picksOf(placed.id);
  expect(await pick(cards, task.id, 1)).toSucceed(200);
  const { data } = (await call(cards, placed.id, "accept-short")).body;
  expect(data.refund.amount).toBe(3_000);
  await checkAll(cards.tenant);
});

test.each([["wallet", 1], ["wallet", 5_999], ["razorpay", 1]] as const)(
  "an order that is paid by %s is approved after goodwill of %i, and a cancellation gives the rest",
  async (method, amount) => {
    const own = await newShop();
    await takeCards(own);
    const { id } = method === "wallet" ? await placeOrder(own, method) : await paidByCard(own);
    expect(await call(own, id, "refund", { amount })).toSucceed(200);
    expect((await approveOrder(own, id)).order.status).toBe("confirmed");
    const { data } =
      (await own.tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" })).body;
    expect(data.refund.amount).toBe(6_000 - amount);
    await checkAll(own.tenant);
  },
);

test.each(
  [
    ["all at once", [{}]],
    ["all by its amount", [{ amount: 6_000 }]],
    ["the rest after goodwill", [{ amount: 1_000 }, {}]],
  ],
)("an order of which the shop gave back %s is not approved", async (_what, refunds) => {
  const own = await newShop();
  const { id } = await placeOrder(own, "wallet");
  for (const body of refunds) expect(await call(own, id, "refund", body)).toSucceed(200);
  expect(await own.tenant.admin.put(`/storefront/orders/${id}/approve`))
    .toFailWith(409, "order_not_paid");
});
