/** An order whose delivery is cancelled before it left: the shop hears of it, and delivers it anew. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newAddress } from "../../support/make.ts";
import { approveOrder, bring, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop, standing, walletOf } from "../../support/orders.ts";

const at = (id: string, step: string) => `/storefront/orders/${id}/${step}`;
const redeliver = ({ tenant }: Shop, id: string, headers = {}) =>
  tenant.admin.post(at(id, "redeliver"), undefined, { headers });
const orderAt = async ({ tenant }: Shop, id: string) =>
  (await tenant.admin.get(`/storefront/orders/${id}`)).body.data.order;
const noticesOf = async ({ tenant }: Shop) =>
  (await tenant.admin.get("/tenants/me/notifications", {
    query: { type: "order_delivery_cancelled" },
  })).body.data;
const cashOf = (id: string) =>
  sql`select cod_amount::int as cod, delivery_fee::int as fee from delivery.deliveries
    where order_id = ${id} and status <> 'cancelled' order by cod_amount desc`;

/** Three units here, or also two there, ordered and approved; its deliveries. */
async function ordered(method: "cash" | "wallet", units = 3, picking = false) {
  const shop = await newSplitShop({ first: 3, second: 2, picking });
  const { id } = await placeOrder(shop, method, units);
  const { deliveries } = await approveOrder(shop, id);
  return { shop, id, ids: deliveries.map((one: { delivery_id: string }) => one.delivery_id) };
}

test.each(["cash", "wallet"] as const)("paid by %s, it is brought by another", async (method) => {
  const { shop, id, ids: [first] } = await ordered(method, 3, true);
  const [task] = await picksOf(id);
  expect(await pick(shop, task.id)).toSucceed(200);
  expect(await redeliver(shop, id)).toFailWith(409, "order_nothing_to_redeliver");
  await bring(shop, first, "cancelled");
  expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 3 });
  const [notice, ...more] = await noticesOf(shop);
  expect(more).toEqual([]);
  expect(notice.payload).toMatchObject({ order_id: id, delivery_id: first, status: "confirmed" });
  const { delivery_code } = notice.payload;
  expect(notice.message).toContain(`Delivery ${delivery_code} was cancelled`);

  const key = { "idempotency-key": randomUUID() };
  const answer = await redeliver(shop, id, key);
  expect(answer).toSucceed(200);
  const { order } = answer.body.data;
  const [second] = order.deliveries;
  expect(second).toMatchObject({ status: "pending", items: [{ quantity: 3 }] });
  expect(second.delivery_id).not.toBe(first);
  expect(order.delivery_assignment.delivery_id).toBe(second.delivery_id);
  expect(await cashOf(id)).toEqual([{ cod: method === "cash" ? 18_000 : 0, fee: 3_000 }]);
  expect((await redeliver(shop, id, key)).body).toEqual(answer.body);
  expect(await redeliver(shop, id)).toFailWith(409, "order_nothing_to_redeliver");

  const house = await walletOf(shop.tenant, null);
  await bring(shop, second.delivery_id, "delivered");
  expect(await orderAt(shop, id)).toMatchObject({ status: "delivered", fulfilment: "full" });
  expect(await walletOf(shop.tenant, null)).toBe(house + (method === "cash" ? 18_000 : 0));
  await checkAll(shop.tenant);
});

test.each([0, 1])(
  "number %i of two deliveries is made anew while the other is away, and not once that ended the order",
  async (which) => {
    for (const anew of [true, false]) {
      const { shop, id, ids } = await ordered("cash", 5);
      await bring(shop, ids[which], "cancelled");
      await assign(shop.tenant, ids[1 - which]);
      await moves(shop.tenant.driver, ids[1 - which], "pickup", "depart");
      if (anew) expect(await redeliver(shop, id)).toSucceed(200);
      await moves(shop.tenant.driver, ids[1 - which], "complete");
      if (anew) {
        const { deliveries } = await orderAt(shop, id);
        await bring(shop, deliveries[which].delivery_id, "delivered");
      }
      expect(await orderAt(shop, id))
        .toMatchObject({ status: "delivered", fulfilment: anew ? "full" : "partial" });
      expect(await redeliver(shop, id)).toFailWith(409, "order_nothing_to_redeliver");
      await checkAll(shop.tenant);
    }
  },
);

test.each([0, 1])(
  "number %i of two that have not left is made anew: cash and fee are divided as before",
  async (which) => {
    const { shop, id, ids } = await ordered("cash", 5);
    const before = await cashOf(id);
    await bring(shop, ids[which], "cancelled");
    expect(await redeliver(shop, id)).toSucceed(200);
    expect(await cashOf(id)).toEqual(before);
    const { deliveries } = await orderAt(shop, id);
    // It never owed anything else.
    expect(
      await sql`select d.ordered_cod_amount as ordered, (select count(*)::int from delivery.amount_changes c
          where c.delivery_id = d.id) as changes
        from delivery.deliveries d where d.id = ${deliveries[which].delivery_id}`,
    ).toEqual([{ ordered: null, changes: 0 }]);
    for (const { delivery_id } of deliveries) await bring(shop, delivery_id, "delivered");
    expect(await orderAt(shop, id)).toMatchObject({ status: "delivered", fulfilment: "full" });
    await checkAll(shop.tenant);
  },
);

test("asked twice at once, one delivery is made; another tenant and a customer make none", async () => {
  const { shop, id, ids: [first] } = await ordered("wallet");
  await bring(shop, first, "cancelled");
  const { tenant: stranger } = await newSplitShop({ first: 1, second: 0 });
  expect(await stranger.admin.post(at(id, "redeliver"))).toFailWith(404, "order_not_found");
  expect(await shop.tenant.customer.post(at(id, "redeliver"))).toFailWith(403, "forbidden");
  const answers = await Promise.all([1, 2, 3].map(() => redeliver(shop, id)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  expect(await cashOf(id)).toHaveLength(1);
  await checkAll(shop.tenant);
});

test("the shop may send it itself: then no cancelled delivery stands for it", async () => {
  const { shop, id, ids: [first] } = await ordered("cash");
  await bring(shop, first, "cancelled");
  for (const step of ["ship", "deliver"]) {
    expect(await shop.tenant.admin.put(at(id, step))).toSucceed(200);
  }
  expect(await orderAt(shop, id)).toMatchObject({
    status: "delivered",
    delivery_assignment: null,
    deliveries: [],
  });
  await checkAll(shop.tenant);
});

test("a delivery that ends with its order asks nobody to deliver anew", async () => {
  const { shop, id, ids } = await ordered("cash", 5);
  expect(await shop.tenant.admin.put(at(id, "cancel"), { reason: "other" })).toSucceed(200);
  const states = await sql`select distinct status from delivery.deliveries where id = any(${ids})`;
  expect(states).toEqual([{ status: "cancelled" }]);
  expect(await noticesOf(shop)).toEqual([]);
  expect(await redeliver(shop, id)).toFailWith(409, "order_nothing_to_redeliver");
  await checkAll(shop.tenant);
});

test("goods that were accepted as short do not travel in the new parcel", async () => {
  const { shop, id, ids: [first] } = await ordered("wallet", 3, true);
  const [task] = await picksOf(id);
  expect(await pick(shop, task.id, 2)).toSucceed(200);
  expect(await shop.tenant.admin.post(at(id, "accept-short"))).toSucceed(200);
  await moves(shop.tenant.ops, first, ["cancel", { reason: "Not this one" }]);
  const { order } = (await redeliver(shop, id)).body.data;
  const [{ delivery_id }] = order.deliveries;
  const items = await sql`select position, quantity::int from delivery.delivery_items
    where delivery_id = ${delivery_id}`;
  expect(items).toEqual([{ position: 1, quantity: 2 }]);
  await bring(shop, delivery_id, "delivered");
  expect(await orderAt(shop, id)).toMatchObject({ status: "delivered", fulfilment: "partial" });
  await checkAll(shop.tenant);
});

test("each parcel goes where its own was to go, to the receiver that it was redirected to", async () => {
  const { shop, id, ids: [first, second] } = await ordered("wallet", 5);
  const { ops } = shop.tenant;
  const elsewhere = await newAddress(shop.tenant, { city: "Erbil" });
  const redirect = await ops.post(`/delivery/deliveries/${second}/redirect`, {
    dropoff_address_id: elsewhere,
    recipient: { name: "Neighbour", phone: "+9647701112233" },
  });
  expect(redirect).toSucceed(200);
  const ends = () =>
    sql`select dropoff_address_id as at, recipient ->> 'name' as receiver, d.status from delivery.deliveries d
      join storefront.storefront_order_parts p on p.delivery_id = d.id
      where d.order_id = ${id} order by p.position`;
  const before = await ends();
  expect(before[1]).toMatchObject({ at: elsewhere, receiver: "Neighbour" });
  for (const one of [first, second]) await bring(shop, one, "cancelled");
  expect(await redeliver(shop, id)).toSucceed(200);
  const after = await ends();
  expect(after.map(({ at, receiver }) => [at, receiver]))
    .toEqual(before.map(({ at, receiver }) => [at, receiver]));
  expect(after.map(({ status }) => status)).toEqual(["pending", "pending"]);
  await checkAll(shop.tenant);
});
