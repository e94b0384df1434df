/** Packages that lie in warehouses, for tests of sorting, transfers, waybills and scans. */
import { expect } from "vitest";
import type { Body } from "./api.ts";
import { sql } from "./db.ts";
import { type Ground, newDelivery, newGround, stagedInWarehouse } from "./deliveries.ts";
import type { Tenant } from "./people.ts";
import { totalsOf } from "./reconciled.ts";
import { newBin, newWarehouse } from "./warehouses.ts";

export interface Yard extends Ground {
  /** A second warehouse with a default receiving bin. */
  there: string;
  thereBin: string;
}

/** A ground and a second warehouse. */
export async function newYard(tenant: Tenant): Promise<Yard> {
  const ground = await newGround(tenant);
  const there = await newWarehouse(tenant);
  const thereBin = await newBin(tenant, there, {
    location_type: "RECEIVING",
    is_default_receiving: true,
  });
  return { ...ground, there, thereBin };
}

/** A door-to-door delivery that lies in the first warehouse. */
export async function newPackage(yard: Yard, more: Record<string, unknown> = {}): Promise<Body> {
  const made = await newDelivery(yard, more);
  await sql`update delivery.deliveries set current_warehouse_id = ${yard.warehouse}
    where id = ${made.id}`;
  return made;
}

/** A staged parcel with stock in the first warehouse, its outbound leg waiting. */
export function newStagedPackage(yard: Yard, more: Record<string, unknown> = {}) {
  return stagedInWarehouse(yard, more);
}

export async function newStaff(
  tenant: { id: string },
  warehouse: string,
  user: string,
  employee_id = "E-1",
): Promise<string> {
  const [row] = await sql`insert into warehousing.warehouse_staff
    (tenant_id, warehouse_id, user_id, employee_id)
    values (${tenant.id}, ${warehouse}, ${user}, ${employee_id}) returning id`;
  return row.id;
}

export async function whereIs(id: string) {
  const [row] = await sql`select status, current_warehouse_id as at, pickup_warehouse_id as "from",
    dropoff_warehouse_id as "to" from delivery.deliveries where id = ${id}`;
  return row as { status: string; at: string | null; from: string | null; to: string | null };
}

/** Kept totals are what the rows add up to. */
export async function checkTallies(tenant: { id: string }): Promise<void> {
  expect(await totalsOf(tenant)).toEqual([]);
}
