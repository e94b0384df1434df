/** Orders of which money is due to their customer. */
import { expect } from "vitest";
import type { Person } from "./api.ts";
import type { Shop } from "./orders.ts";

/** Everybody reads of an order that so much is due to its customer. */
export async function isDue({ tenant }: Shop, id: string, customer: Person, amount: number) {
  const mine = await customer.get(`/storefront/orders/${id}/payment-status`);
  expect(mine.body.order.refund_due).toBe(amount > 0);
  const { order } = (await tenant.admin.get(`/storefront/orders/${id}`)).body.data;
  expect(order.refund_due_amount).toBe(amount);
  for (const refund_due of [true, false]) {
    const { orders } =
      (await tenant.admin.get("/storefront/orders", { query: { refund_due, limit: 100 } })).body;
    expect(orders.map((one: { id: string }) => one.id).includes(id)).toBe(
      refund_due === amount > 0,
    );
  }
}
