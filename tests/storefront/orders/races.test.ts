/** The first request wins; goods and money suffice for one. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { withDriver } from "../../support/order-goods.ts";
import {
  checkAll,
  newShop,
  placeOrder,
  type Shop,
  standing,
  walletOf,
} from "../../support/orders.ts";
import { newCardShop } from "../../support/payments.ts";
import { newPerson } from "../../support/people.ts";
import { unitsOf } from "../../support/warehouses.ts";

const approve = ({ tenant }: Shop, id: string, by = tenant.admin) =>
  by.put(`/storefront/orders/${id}/approve`);
const cancel = ({ tenant }: Shop, id: string) =>
  tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" });

/** Orders that were placed when there was more. */
async function ordersFor(shop: Shop, count: number, stock: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push((await placeOrder(shop)).id);
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: stock });
  return ids;
}

let racing: Shop;
beforeAll(async () => {
  racing = await newCardShop(10_000);
});

test("two administrators, two orders, the last unit: one wins", async () => {
  const shop = await newShop({ stock: 1 });
  const second = await newPerson(shop.tenant.id, "staff", "tenant_admin");
  const [one, two] = await ordersFor(shop, 2, 1);
  const answers = await Promise.all([approve(shop, one), approve(shop, two, second)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(answers.find(({ status }) => status === 409)!.body.code).toBe("insufficient_stock");
  expect(await unitsOf(shop.shelf.item)).toEqual({ reserved: 1 });
  await checkAll(shop.tenant);
});

test(
  "fifty approvals for ten in stock: exactly ten succeed, the others fail with the reason",
  async () => {
    const shop = await newShop({ stock: 10 });
    const ids = await ordersFor(shop, 50, 10);
    const began = performance.now();
    const answers = await Promise.all(ids.map((id) => approve(shop, id)));
    console.log(`50 approvals in ${Math.round(performance.now() - began)} ms`);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(
      answers.filter(({ status, body }) => status === 409 && body.code === "insufficient_stock"),
    )
      .toHaveLength(40);
    expect(await unitsOf(shop.shelf.item)).toEqual({ reserved: 10 });
    const [{ confirmed, deliveries, numbers, addresses }] = await sql`select
    (select count(*)::int from storefront.storefront_orders where tenant_id = ${shop.tenant.id} and status = 'confirmed') as confirmed,
    (select count(*)::int from delivery.deliveries where tenant_id = ${shop.tenant.id}) as deliveries,
    (select array_agg(delivery_code::int order by delivery_code) from delivery.deliveries where tenant_id = ${shop.tenant.id}) as numbers,
    (select count(*)::int from delivery.addresses where tenant_id = ${shop.tenant.id}
      and owner_user_id = ${shop.tenant.customer.id}) as addresses`;
    expect([confirmed, deliveries, addresses]).toEqual([10, 10, 10]);
    expect(numbers).toEqual(Array.from({ length: 10 }, (_, index) => index + 1));
    await checkAll(shop.tenant);
  },
  180_000,
);

test("one order approved twenty times at once is approved once", async () => {
  const { id } = await placeOrder(racing, "cash", 2);
  const answers = await Promise.all(Array.from({ length: 20 }, () => approve(racing, id)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 2 });
  await checkAll(racing.tenant);
});

test("cancellation against pickup: one of them wins", async () => {
  const { tenant } = racing;
  await withDriver(racing);
  for (let round = 0; round < 8; round++) {
    const { id } = await placeOrder(racing, "wallet");
    const delivery = (await approve(racing, id)).body.data.delivery_assigned.delivery_id;
    await assign(tenant, delivery);
    const [pickup, cancelled] = await Promise.all([
      tenant.driver.post(`/delivery/deliveries/${delivery}/pickup`, {}),
      cancel(racing, id),
    ]);
    const end = await standing(id);
    if (cancelled.status === 200) {
      expect(pickup.status).not.toBe(200);
      expect(end).toMatchObject({ status: "cancelled", reserved: 0, refunds: 1 });
    } else {
      expect(pickup.status).toBe(200);
      expect(end).toMatchObject({ status: "shipped", reserved: 0, refunds: 0 });
    }
  }
  await checkAll(tenant);
}, 180_000);

test("ten refunds at once refund the payment once", async () => {
  const customer = await newPerson(racing.tenant.id, "customer", "customer");
  const { id } = await placeOrder(racing, "wallet", 1, customer);
  const answers = await Promise.all(
    Array.from(
      { length: 10 },
      () => racing.tenant.admin.post(`/storefront/orders/${id}/refund`, { amount: 4_000 }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(await walletOf(racing.tenant, customer.id)).toBe(4_000);
  await checkAll(racing.tenant);
});
