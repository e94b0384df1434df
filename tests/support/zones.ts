/** Zones for tests. */
import { randomUUID } from "node:crypto";
import { sql } from "./db.ts";

export type Ring = [number, number][];

/** A closed square ring around a middle, `half` degrees to each side. */
export function square(longitude: number, latitude: number, half: number): Ring {
  const [west, east] = [longitude - half, longitude + half];
  const [south, north] = [latitude - half, latitude + half];
  return [[west, south], [east, south], [east, north], [west, north], [west, south]];
}

/** A zone of the tenant straight in the database. */
export async function newZone(tenant: { id: string }, ...rings: Ring[]): Promise<string> {
  const [row] = await sql`insert into delivery.zones (tenant_id, name, polygon)
    values (${tenant.id}, ${"Zone " + randomUUID()}, ${sql.json(rings)}) returning id`;
  return row.id;
}
