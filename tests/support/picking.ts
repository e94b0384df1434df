/** Picking orders of one shelf, made by the tenant's operations unless said. */
import { expect } from "vitest";
import type { Tenant } from "./people.ts";
import type { Shelf } from "./warehouses.ts";

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
