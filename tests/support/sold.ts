/** Deliveries of a store's order. */
import { sql } from "./db.ts";
import { newOrder, newProduct, newStore } from "./storefront.ts";
import type { Tenant } from "./people.ts";

/** Lets a delivery be that of a new order of a store; answers a function that undoes it. */
export async function soldInStore(tenant: Tenant, delivery: string): Promise<() => Promise<void>> {
  const store = await newStore(tenant);
  const order = await newOrder(tenant, store, await newProduct(tenant, store), {
    status: "completed",
  });
  await sql`update delivery.deliveries set order_id = ${order.id} where id = ${delivery}`;
  return async () => {
    await sql`update delivery.deliveries set order_id = null where id = ${delivery}`;
  };
}
