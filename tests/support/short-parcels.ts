/** Parcels of which a warehouse received less than was sent, or not sound. */
import { expect } from "vitest";
import type { Body } from "./api.ts";
import { sql } from "./db.ts";
import { assign, type Ground, move, moves, newDelivery } from "./deliveries.ts";
import { priced } from "./kept-parts.ts";
import { saveSettings, type Tenant } from "./people.ts";

/** Of two shirts and a cap: what is received of each. */
export const received = {
  short: [{ received_quantity: 1 }, { received_quantity: 0 }],
  damaged: [{ received_quantity: 2, damaged_quantity: 1 }, { received_quantity: 1 }],
  allDamaged: [{ received_quantity: 2, condition: "damaged" }, { received_quantity: 0 }],
  nothing: [{ received_quantity: 0 }, { received_quantity: 0 }],
};
export type Received = keyof typeof received;

/** Receives what is expected of a delivery. */
export async function receiveOf(
  tenant: Tenant,
  delivery: string,
  bin: string | null,
  how: Body[],
): Promise<void> {
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${delivery} and status = 'pending'`;
  expect(
    await tenant.ops.put(`/warehousing/receiving-orders/${receipt.id}`, {
      status: "received",
      item_details: how.map((line) => ({ ...line, bin_id: bin })),
    }),
  ).toSucceed(200);
}

/** The units by name that the latest receipt of a delivery expects. */
export async function expected(delivery: string): Promise<Record<string, number>> {
  const rows = await sql`select i.name, o.quantity::int from warehousing.receiving_order_items o
    join warehousing.inventory_items i on i.id = o.item_id
    where o.receiving_order_id = (select r.id from warehousing.receiving_orders r
      where r.delivery_id = ${delivery} order by r.created_at desc limit 1)`;
  return Object.fromEntries(rows.map(({ name, quantity }) => [name, quantity]));
}

/** A staged parcel with two shirts and a cap, of which its warehouse received this much; its second leg waits. */
export async function receivedIn(ground: Ground, how: Received, more: Body = {}) {
  const { tenant } = ground;
  await saveSettings(tenant.id, "general.warehouse", { handoff_required: true });
  const parent = await newDelivery(ground, {
    staged: true,
    warehouse_id: ground.warehouse,
    ...priced,
    ...more,
  });
  const [a, b] = parent.legs.map(({ id }: Body) => id as string);
  await assign(tenant, a);
  await moves(tenant.driver, a, "pickup", "depart", "complete");
  await receiveOf(tenant, a, ground.bin, received[how]);
  return { parent, a, b };
}

/** The same, cancelled: the id of its operational return. */
export async function sentBack(ground: Ground, how: Received, more: Body = {}) {
  const { parent, b } = await receivedIn(ground, how);
  const answer = await move(ground.tenant.ops, parent.id, "cancel", { reason: "short", ...more });
  expect(answer).toSucceed(200);
  return { parcel: parent.id as string, b, back: answer.body.operational_return.id as string };
}

/** How the units of a parcel left, by the status that they had. */
export async function leftAs(parcel: string): Promise<Record<string, number>> {
  const rows = await sql`select t.from_status, sum(t.quantity)::int as units
    from warehousing.inventory_transactions t join warehousing.inventory_items i on i.id = t.item_id
    where i.parcel_delivery_id = ${parcel} and t.transaction_type in ('pick', 'transfer_out')
    group by t.from_status`;
  return Object.fromEntries(rows.map(({ from_status, units }) => [from_status, units]));
}
