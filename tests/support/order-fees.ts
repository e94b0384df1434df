/** Orders of which two deliveries bring the goods and one collects the fee. */
import { expect } from "vitest";
import type { Body } from "./api.ts";
import { sql } from "./db.ts";
import { path } from "./deliveries.ts";
import "./expect.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "./order-goods.ts";
import { placeOrder } from "./orders.ts";
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
