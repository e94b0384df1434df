/** Outcomes at the door and their undo for tests. */
import { expect } from "vitest";
import type { Person } from "./api.ts";
import { cashDifferences } from "./cod.ts";
import { sql } from "./db.ts";
import { bookOf, checkAll, deliveryIn, type Ground, move, moves, path } from "./deliveries.ts";
import type { Tenant } from "./people.ts";
import { breachesIn } from "./reconciled.ts";
import { received } from "./send-back.ts";

export const label = { en: "A", ar: "B", ku: "C" };

/** The cash that a parcel of `onItsWay` owes at the door, and none. */
export const cash = { cod: 5000, delivery_fee: 2000 };
export const nothing = { cod: 0, delivery_fee: 0, currency: "IQD" };

export const failed = { result: "failed", reason_code: "no_answer" };
export const refused = { result: "refused", reason_code: "refused" };

/** Reports the outcome of a delivery. */
export const report = (by: Person, id: string, body: Record<string, unknown>) =>
  move(by, id, "outcome", body);

/** Undoes the last outcome of a delivery. */
export const undo = (by: Person, id: string, reason: unknown = "Wrong parcel") =>
  by.post(`${path}/${id}/outcome/undo`, { reason });

/** All that money and the driver's hands hold of a tenant. */
export const standing = async ({ id, customer, driver }: Tenant) => ({
  wallet: await bookOf({ id }, "wallet", customer.id),
  held: await bookOf({ id }, "driver_cash", driver.id),
  clearing: await bookOf({ id }, "cod_clearing"),
  outside: await bookOf({ id }, "external"),
  payable: await bookOf({ id }, "driver_payable", driver.id),
  cost: await bookOf({ id }, "driver_cost"),
  load: (await sql`select capacity_used, live_stops from delivery.drivers
    where tenant_id = ${id} and user_id = ${driver.id}`)[0],
});

/** Books, stock, cash and every invariant of a tenant hold. */
export async function sound(tenant: Tenant): Promise<void> {
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
  expect(await cashDifferences(tenant)).toEqual([]);
}

/** A parcel with 5,000 to collect and a fee of 2,000 that its receiver pays, on its way with the driver. */
export const onItsWay = async (
  at: Ground,
  status = "in_transit",
  more: Record<string, unknown> = {},
): Promise<string> => (await deliveryIn(at, status, { cod_amount: 5000, ...more })).id;

/** The data of a delivery's events of a type, the oldest first. */
export const eventsOf = async (id: string, type = "delivery.outcome") =>
  (await sql`select event_data from integration.system_events
    where entity_id = ${id} and event_type = ${type} order by position`).map(({ event_data }) =>
    event_data
  );

/** The day so many days from today in a time zone, YYYY-MM-DD. */
export const dayIn = (days: number, timeZone = "UTC") =>
  new Intl.DateTimeFormat("en-CA", { timeZone }).format(Date.now() + days * 86_400_000);

/** A photo of a delivery that was uploaded by its driver, as `proof` names it. */
export async function photoOf(driver: Person, id: string) {
  const answer = await driver.post(`/delivery/deliveries/${id}/proof-uploads`, {
    stage: "delivery",
    kind: "photo",
    content_type: "image/jpeg",
  });
  return { photo_urls: [answer.body.data.path] };
}

/** The driver brings a parcel into the warehouse, where it is received. */
export async function broughtIn(ground: Ground, id: string): Promise<void> {
  const to = { warehouse_id: ground.warehouse };
  const { receiving_order_id } = await moves(ground.tenant.driver, id, ["return", to]);
  await received(ground, receiving_order_id);
}
