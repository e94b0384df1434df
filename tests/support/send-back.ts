/** Parcels that lie in another warehouse than they were ordered from, as the API brings them there. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Body } from "./api.ts";
import { assign, type Ground, move, moves, newDelivery } from "./deliveries.ts";
import { packageTransfers } from "./package-transfers.ts";
import { whereIs, type Yard } from "./packages.ts";

const key = () => ({ headers: { "idempotency-key": randomUUID() } });

/** Ordered from the first warehouse to a door. */
export const fromWarehouse = (yard: Yard, more: Record<string, unknown> = {}): Promise<Body> =>
  newDelivery(yard, { pickup_address_id: undefined, pickup_warehouse_id: yard.warehouse, ...more });

/** A transfer for a driver, written down and not begun. */
export async function transferNoted(yard: Yard, barcode: string, back = false): Promise<string> {
  const ends = back ? [yard.there, yard.warehouse] : [yard.warehouse, yard.there];
  const made = await yard.tenant.warehouse.post(packageTransfers, {
    mode: "delivery_operation",
    operation_type: "single_delivery",
    source_warehouse_id: ends[0],
    destination_warehouse_id: ends[1],
    package_barcodes: [barcode],
  }, key());
  expect(made).toSucceed(201);
  return made.body.transfer_id;
}

/** Brought to the second warehouse by a driver, where it waits. */
export async function transferred(yard: Yard, parcel: Body): Promise<void> {
  await transferNoted(yard, parcel.barcode);
  await assign(yard.tenant, parcel.id);
  await moves(yard.tenant.driver, parcel.id, "pickup", "depart", "complete");
  expect(await whereIs(parcel.id)).toMatchObject({ status: "pending", at: yard.there });
}

/** Refused at the door and brought into a warehouse; the receipt that waits for it. */
export async function broughtInto(yard: Yard, id: string, warehouse: string): Promise<string> {
  await assign(yard.tenant, id);
  await moves(yard.tenant.driver, id, "pickup", "depart", "fail");
  return (await moves(yard.tenant.driver, id, ["return", { warehouse_id: warehouse }]))
    .receiving_order_id;
}

export async function received({ tenant }: Ground, receipt: string): Promise<void> {
  const url = `/warehousing/receiving-orders/${receipt}`;
  expect(await tenant.warehouse.put(url, { status: "received" })).toSucceed(200);
}

/** Ordered from a sender's address, it lies in the second warehouse: brought into the first and transferred. */
export async function fromSender(yard: Yard, more: Record<string, unknown> = {}): Promise<Body> {
  const parcel = await newDelivery(yard, more);
  await received(yard, await broughtInto(yard, parcel.id, yard.warehouse));
  await transferred(yard, parcel);
  return parcel;
}

/** Sent back by either of the two calls; the return. */
export async function sentBackBy(
  yard: Yard,
  id: string,
  call: "operational-return" | "cancel",
): Promise<Body> {
  const answer = await move(yard.tenant.ops, id, call, { reason: "unwanted" });
  expect(answer).toSucceed(call === "cancel" ? 200 : 201);
  return call === "cancel" ? answer.body.operational_return : answer.body.delivery;
}
