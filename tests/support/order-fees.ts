/** Orders of which two deliveries bring the goods and one collects the fee. */
import { expect } from "vitest";
import type { Body } from "./api.ts";
import { sql } from "./db.ts";
import { assign, moves, path } from "./deliveries.ts";
import "./expect.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "./order-goods.ts";
import { placeOrder } from "./orders.ts";
import { refused, report } from "./outcomes.ts";
import { newPerson, type Tenant } from "./people.ts";

/** Four units at 5,000 and a fee of 4,000, two of them from each of two warehouses, where they have been picked. */
export async function split(
  method: "cash" | "wallet" = "cash",
  options: Parameters<typeof newSplitShop>[0] = {},
) {
  const shop = await newSplitShop({ first: 2, second: 2, picking: true, ...options });
  const { tenant } = shop;
  const customer = await newPerson(tenant.id, "customer", "customer");
  const { id } = await placeOrder(shop, method, 4, customer);
  const { deliveries } = await approveOrder(shop, id);
  const [first, second] = deliveries.map(({ delivery_id }: Body) => delivery_id) as [
    string,
    string,
  ];
  for (const task of await picksOf(id)) expect(await pick(shop, task.id)).toSucceed(200);
  const cancel = (delivery: string) =>
    tenant.ops.post(`${path}/${delivery}/cancel`, { reason: "Not this one" });
  return { shop, tenant, customer, id, first, second, cancel };
}

/** The first delivery is refused at its door and goes back at once; its driver may undo that. */
export async function refusedFirst() {
  const all = await split("cash", {
    settings: { "delivery.attempts": { after_last: "return" } },
  });
  const { tenant: { driver }, first } = all;
  await assign(all.tenant, first);
  await moves(driver, first, "pickup", "depart");
  expect(await report(driver, first, refused)).toSucceed(200);
  const undone = () => driver.post(`${path}/${first}/outcome/undo`, { reason: "The wrong one" });
  return { ...all, undone };
}

/** The receipts by which goods are expected. */
export const goodsExpected = async ({ id }: Tenant): Promise<string[]> =>
  (await sql`select id from warehousing.receiving_orders
    where tenant_id = ${id} and status = 'pending'`).map((receipt) => receipt.id);

/** [cod_amount, delivery_fee] of each delivery of an order. */
export const dues = async (id: string) =>
  (await sql`select cod_amount, delivery_fee from delivery.deliveries
    where order_id = ${id} order by delivery_code`).map((
    row,
  ) => [row.cod_amount, row.delivery_fee]);

/** The cash that was taken for an order. */
export const taken = async (id: string) =>
  Number(
    (await sql`select coalesce(sum(amount), 0) as taken from money.cod_collections c
    join delivery.deliveries d on d.id = c.delivery_id where d.order_id = ${id}`)[0].taken,
  );

/** The deliveries whose change the tenant's driver was notified of. */
export const changesNotified = async ({ driver }: Tenant) =>
  (await driver.get("/tenants/me/notifications", { query: { type: "delivery_changed" } }))
    .body.data.map((one: Body) => one.payload.delivery_id);
