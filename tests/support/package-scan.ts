/** Package scans, as a warehouse's manager makes them unless said. */
import { expect } from "vitest";
import type { Body, Person } from "./api.ts";
import type { Tenant } from "./people.ts";

export const packageScan = "/warehousing/package-scan";

/** The fields of every scan response; that of a return also shows the original. */
export const scanKeys = [
  "action",
  "delivery",
  "delivery_target",
  "entity_id",
  "handoff",
  "inbound_deliveries",
  "items",
  "message",
  "outbound_deliveries",
  "reason",
  "receiving_order",
  "return_delivery",
  "return_target",
  "scanned_barcode",
  "success",
  "warehouse_context",
];

/** Scans a barcode that is somebody's. */
export async function scanned(
  tenant: Tenant,
  barcode: string,
  person: Person = tenant.warehouse,
): Promise<Body> {
  const answer = await person.get(`${packageScan}/${encodeURIComponent(barcode)}`);
  expect(answer).toSucceed(200);
  return answer.body;
}

/** The target of a delivery that has nothing more urgent than itself. */
export const itsDetails = (id: string) => ({
  action: "open_delivery",
  entity_id: id,
  reason: "delivery_details_available",
});
