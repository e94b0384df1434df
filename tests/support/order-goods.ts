/** The goods of orders: the warehouses they lie in, who picks them, and where each unit is. */
import { expect } from "vitest";
import { sql } from "./db.ts";
import { assign, moves } from "./deliveries.ts";
import { newShop, type Shop } from "./orders.ts";
import { newBin, newWarehouse, stockIn } from "./warehouses.ts";

/** A shop with a driver, which has `first` units of its product in one warehouse and `second` in another. */
export async function newSplitShop(
  { first = 3, second = 2, ...options }: Parameters<typeof newShop>[0] & {
    first?: number;
    second?: number;
  } = {},
): Promise<Shop & { second: { warehouse: string; bin: string } }> {
  const shop = await newShop({ stock: first, ...options });
  const warehouse = await newWarehouse(shop.tenant);
  const bin = await newBin(shop.tenant, warehouse, { is_default_receiving: true });
  await sql`update warehousing.bins set is_default_receiving = true where id = ${shop.shelf.bin}`;
  if (second > 0) {
    await stockIn(shop.tenant, {
      item_id: shop.shelf.item,
      warehouse_id: warehouse,
      bin_id: bin,
      quantity: second,
    });
  }
  await withDriver(shop);
  return { ...shop, second: { warehouse, bin } };
}

/** Gives the shop's driver a van. */
export async function withDriver({ tenant }: Shop): Promise<void> {
  const [van] = await sql`insert into delivery.vehicles (tenant_id, name, unit_capacity)
    values (${tenant.id}, 'Van', 100000) returning id`;
  await sql`insert into delivery.drivers (tenant_id, user_id, vehicle_id, all_zones)
    values (${tenant.id}, ${tenant.driver.id}, ${van.id}, true)`;
}

/** Approves the order as the tenant's administrator; returns the `data` of the response. */
export async function approveOrder({ tenant }: Shop, id: string) {
  const answer = await tenant.admin.put(`/storefront/orders/${id}/approve`);
  expect(answer).toSucceed(200);
  return answer.body.data;
}

/** The picking orders of an order, in the order of its parts. */
export async function picksOf(order: string) {
  return await sql`select k.* from storefront.storefront_order_parts p
    join warehousing.picking_orders k on k.id = p.picking_order_id
    where p.order_id = ${order} order by p.position`;
}

/** Notes `picked` in the only line of a pick (all of it unless said), and ends the picking. */
export async function pick({ tenant }: Shop, id: string, picked?: number) {
  const path = `/warehousing/picking-orders/${id}`;
  const { order } = (await tenant.ops.get(path)).body;
  const [{ item_id, bin_id, quantity }] = order.item_details;
  return await tenant.ops.put(path, {
    status: "completed",
    item_details: [{
      item_id,
      bin_id,
      quantity,
      picked_quantity: picked ?? quantity,
      status: picked === undefined ? "picked" : "missing",
    }],
  });
}

/** Brings a delivery of the shop's driver to its end; `cancelled` before the driver has it. */
export async function bring({ tenant }: Shop, delivery: string, end: Ending): Promise<void> {
  if (end === "cancelled") {
    await moves(tenant.ops, delivery, ["cancel", { reason: "Not this one" }]);
    return;
  }
  await assign(tenant, delivery);
  await moves(tenant.driver, delivery, "pickup", "depart");
  if (end === "delivered") await moves(tenant.driver, delivery, "complete");
  else await moves(tenant.driver, delivery, "fail", "return");
}
export const endings = ["delivered", "returned", "cancelled"] as const;
export type Ending = typeof endings[number];

const states = [
  "to_reserve",
  "reserved",
  "picked",
  "out",
  "delivered",
  "back",
  "short",
  "released",
  "lost",
] as const;

/** Where the units of an order are, by state; together they are what was ordered. */
export async function whereabouts(order: string): Promise<Record<string, number>> {
  const [row] = await sql`select sum(ordered)::int as ordered, ${
    sql.unsafe(states.map((state) => `sum(${state})::int as ${state}`).join(", "))
  } from storefront.order_goods where order_id = ${order}`;
  expect(states.reduce((sum, state) => sum + row[state], 0)).toBe(row.ordered);
  return Object.fromEntries(
    states.filter((state) => row[state]).map((state) => [state, row[state]]),
  );
}
