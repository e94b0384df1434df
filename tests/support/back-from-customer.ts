/** Goods of an order that their customer had received, and sends back. */
import { expect } from "vitest";
import { sql } from "./db.ts";
import { assign, moves } from "./deliveries.ts";
import { newService } from "./money.ts";
import { approveOrder, bring, newSplitShop } from "./order-goods.ts";
import { placeOrder } from "./orders.ts";
import type { Tenant } from "./people.ts";

/** An order that its customer has received, and who may send it back. */
export async function received(quantity: number, stock = { first: 10, second: 0 }) {
  const shop = await newSplitShop(stock);
  const { tenant } = shop;
  const { id } = await placeOrder(shop, "wallet", quantity);
  const { deliveries } = await approveOrder(shop, id);
  const delivery: string = deliveries[0].delivery_id;
  await bring(shop, delivery, "delivered");
  const [item] = await sql`select id from delivery.delivery_items where delivery_id = ${delivery}`;
  const service = await newService(tenant, { allow_returns: true });
  const order = (units?: number, more: object = {}, by = tenant.customer) =>
    by.post("/delivery/deliveries", {
      delivery_flow: "customer_return",
      original_delivery_id: delivery,
      delivery_service_id: service,
      unit_size: 1,
      payer_type: "sender",
      payment_method: "cash",
      ...(units ? { return_items: [{ delivery_item_id: item.id, quantity: units }] } : {}),
      ...more,
    });
  /** Ordered, and brought by the driver to where it goes; its id. */
  const sentBack = async (units?: number, more: object = {}) => {
    const made = await order(units, more);
    expect(made).toSucceed(201);
    await assign(tenant, made.body.id);
    await moves(tenant.driver, made.body.id, "pickup", "depart", "complete");
    return made.body.id as string;
  };
  return { shop, tenant, id, delivery, second: deliveries[1]?.delivery_id, order, sentBack };
}

/** The receipt by which a return is expected, or was received. */
export async function receiptOf(delivery_id: string) {
  const [receipt, ...more] = await sql`select id, warehouse_id, status
    from warehousing.receiving_orders where delivery_id = ${delivery_id} and status <> 'cancelled'`;
  expect(more).toEqual([]);
  return receipt;
}

export const receive = (
  { tenant }: { tenant: Tenant },
  id: string,
  body: object = {},
) => tenant.ops.put(`/warehousing/receiving-orders/${id}`, { status: "received", ...body });
