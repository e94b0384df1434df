/** Drivers and vehicles of a fleet, added by the API. */
import { expect } from "vitest";
import type { Body } from "./api.ts";
import { sql } from "./db.ts";
import { newPerson, type Tenant } from "./people.ts";

/** A vehicle that operations add. */
export async function addVehicle(tenant: Tenant, unit_capacity = 50): Promise<string> {
  const answer = await tenant.ops.post("/delivery/vehicles", { name: "Van", unit_capacity });
  expect(answer).toSucceed(201);
  return answer.body.data.id;
}

/** One more driver who is equipped with this. */
export async function equippedDriver(
  tenant: Tenant,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await newPerson(tenant.id, "driver", "driver");
  expect(await tenant.ops.post("/delivery/drivers", { user_id: id, ...more })).toSucceed(201);
  return id;
}

/** A driver as the office sees them in the list. */
export async function listedDriver(tenant: Tenant, id: string): Promise<Body> {
  const { data } = (await tenant.ops.get("/delivery/drivers", { query: { limit: 100 } })).body;
  return data.find((driver: Body) => driver.id === id);
}

/** A driver's row with the zones, and the default driver of its tenant; nothing without a row. */
export async function storedDriver(id: string) {
  const [row] = await sql`select d.*, (select coalesce(array_agg(z.zone_id), '{}')
    from delivery.driver_zones z where z.driver_id = d.user_id) as zones,
    (select s.settings ->> 'default_driver_id' from tenancy.tenant_settings s
      where s.tenant_id = d.tenant_id and s.group_key = 'assignment_change_settings') as default_driver
    from delivery.drivers d where d.user_id = ${id}`;
  return row;
}
