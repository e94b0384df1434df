/** Customers' returns of parcels that no store sold: ordered by the office, carried by the first driver. */
import { expect } from "vitest";
import type { Person } from "./api.ts";
import { sql } from "./db.ts";
import { assign, deliveryIn, type Ground, moves, path } from "./deliveries.ts";
import { priced } from "./kept-parts.ts";
import { newYard, type Yard } from "./packages.ts";
import { newTenant } from "./people.ts";
import { received } from "./send-back.ts";

/** A yard whose service may be chosen for returns. */
export async function newReturning(): Promise<Yard> {
  const yard = await newYard(await newTenant());
  await sql`update delivery.delivery_services set allow_returns = true where id = ${yard.service}`;
  return yard;
}

/** Orders the return of a parcel, or of some of it. */
export const returnOf = (
  { tenant, service }: Ground,
  original_delivery_id: string,
  more: object = {},
  by: Person = tenant.ops,
) =>
  by.post(path, {
    delivery_flow: "customer_return",
    original_delivery_id,
    delivery_service_id: service,
    payer_type: "sender",
    payment_method: "cash",
    unit_size: 1,
    ...more,
  });

/** A parcel of two shirts and a cap that was delivered, and its return on the road. */
export async function returning(ground: Ground, more: object = {}, of: object = {}) {
  const { id: parcel } = await deliveryIn(ground, "delivered", { ...priced, ...of });
  const made = await returnOf(ground, parcel, more);
  expect(made).toSucceed(201);
  const { id } = made.body;
  await assign(ground.tenant, id);
  await moves(ground.tenant.driver, id, "pickup", "depart");
  return { parcel: parcel as string, id: id as string };
}

/** The same, brought into a warehouse by its driver and received there. */
export async function waiting(yard: Yard, warehouse_id = yard.there, more: object = {}) {
  const made = await returning(yard, more);
  const { receiving_order_id } = await moves(yard.tenant.driver, made.id, [
    "return",
    { warehouse_id },
  ]);
  await received(yard, receiving_order_id);
  return made;
}
