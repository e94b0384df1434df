/** Redirects of deliveries: a service that costs by distance, and places near and far. */
import type { Answer, Person } from "./api.ts";
import { sql } from "./db.ts";
import { type Ground, newGround, path } from "./deliveries.ts";
import { newAddress, newProcessingPoint } from "./make.ts";
import { newTenant, type Tenant } from "./people.ts";
import { newZone, square } from "./zones.ts";

export interface Roads extends Ground {
  /** A place of the company 11.1 km north, in a zone of its own. */
  far: string;
  farZone: string;
  /** A place outside of every zone, where the fee is the same as at `to`. */
  near: string;
}

/** 2,000 at `to` and `near`; 3,112 at `far`. */
export const fee = { near: 2000, far: 3112 };

export async function newRoads(): Promise<Roads> {
  const ground = await newGround(await newTenant());
  const { tenant } = ground;
  await sql`update delivery.delivery_services set price_per_km = 100 where id = ${ground.service}`;
  const farZone = await newZone(tenant, square(44.36, 33.41, 0.01));
  const far = await newAddress(tenant, { latitude: 33.41 });
  const near = await newAddress(tenant);
  for (const address of [far, near]) await newProcessingPoint(tenant, address);
  return { ...ground, far, farZone, near };
}

export const redirect = (
  by: Person,
  id: string,
  dropoff_address_id: string,
  more: Record<string, unknown> = {},
): Promise<Answer> => by.post(`${path}/${id}/redirect`, { dropoff_address_id, ...more });

/** A driver who goes into these zones only. */
export async function confine(driver: Person, ...zones: string[]): Promise<void> {
  await sql`update delivery.drivers set all_zones = false where user_id = ${driver.id}`;
  await sql`delete from delivery.driver_zones where driver_id = ${driver.id}`;
  for (const zone of zones) {
    await sql`insert into delivery.driver_zones (tenant_id, driver_id, zone_id)
      select tenant_id, user_id, ${zone} from delivery.drivers where user_id = ${driver.id}
      on conflict do nothing`;
  }
}
export const free = (driver: Person) =>
  sql`update delivery.drivers set all_zones = true where user_id = ${driver.id}`;

/** The place, the fee and the recipient's name of a delivery, as the office reads them. */
export async function whereTo(tenant: Tenant, id: string) {
  const { delivery } = (await tenant.ops.get(`${path}/${id}`)).body;
  const { dropoff_address_id, delivery_fee, recipient } = delivery;
  return { dropoff_address_id, delivery_fee, name: recipient.name };
}

/** Notices of late reports of a redirected delivery to somebody: type and amount. */
export const redirectNotices = async (by: Person, id: string) =>
  (await by.get("/tenants/me/notifications?limit=100")).body.data
    .filter((one: { type: string; payload: { delivery_id: string } }) =>
      /^redirect_/.test(one.type) && one.payload.delivery_id === id
    ).map((one: { type: string; payload: Record<string, unknown> }) => [
      one.type,
      one.payload.amount,
    ]);
