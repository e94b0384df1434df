/** Picking orders of one shelf, made by the tenant's operations unless said. */
import { expect } from "vitest";
import { newTenant, type Tenant, type TenantOptions } from "./people.ts";
import { newShelf, type Shelf } from "./warehouses.ts";

export const pickingOrders = "/warehousing/picking-orders";

/** Two units of what lies on a shelf. */
export const line = (at: Shelf, more: object = {}) => ({
  item_id: at.item,
  bin_id: at.bin,
  quantity: 2,
  ...more,
});

/** The request, and the order created by it. */
export function pickingSteps(tenant: Tenant, shelf: Shelf) {
  const wanted = (more: Record<string, unknown> = {}, at = shelf) => ({
    warehouse_id: at.warehouse,
    order_type: "individual",
    status: "pending",
    item_details: [line(at)],
    ...more,
  });
  async function newOrder(more: Record<string, unknown> = {}, at = shelf) {
    const answer = await tenant.ops.post(pickingOrders, wanted(more, at));
    expect(answer).toSucceed(201);
    return answer.body.order;
  }
  return { wanted, newOrder };
}

export type Picking = Awaited<ReturnType<typeof newPicking>>;

/** A tenant with a shelf of so many units, and the orders that are picked from it. */
export async function newPicking(quantity = 1_000, options: TenantOptions = {}) {
  const tenant = await newTenant(options);
  const shelf = await newShelf(tenant, quantity);
  return { tenant, shelf, ...pickingSteps(tenant, shelf) };
}
