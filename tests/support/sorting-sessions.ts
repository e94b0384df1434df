/** Sorting sessions with a cage for each destination, and the packages that are scanned into them. */
import { expect } from "vitest";
import { sql } from "./db.ts";
import { newAddress } from "./make.ts";
import { newPackage, newStaff, newYard } from "./packages.ts";
import { newTenant } from "./people.ts";

export const sortingSessions = "/warehousing/sorting-sessions";

/** Where a cage's packages go, and how many of them it takes. */
type Destination = [type: string, value: string, capacity?: number];

export type Sorting = Awaited<ReturnType<typeof newSorting>>;

/** A tenant's yard, in whose first warehouse one member of the staff, E-7, fills all cages. */
export async function newSorting() {
  const tenant = await newTenant();
  const yard = await newYard(tenant);
  const staff = await newStaff(tenant, yard.warehouse, tenant.staff.id, "E-7");
  const assigned = (destination_type: string, destination_value: string, more: object = {}) => ({
    staff_id: staff,
    destination_type,
    destination_value,
    ...more,
  });
  async function newSession(...destinations: Destination[]) {
    const answer = await tenant.staff.post(sortingSessions, {
      warehouse_id: yard.warehouse,
      assignments: destinations.map(([type, value, capacity]) =>
        assigned(type, value, { capacity })
      ),
    });
    expect(answer).toSucceed(201);
    return answer.body.session;
  }
  const packageTo = async (city: string, more: object = {}) =>
    await newPackage(yard, { dropoff_address_id: await newAddress(tenant, { city }), ...more });
  const scan = (session: { id: string }, delivery_barcode: string, more: object = {}) =>
    tenant.staff.post(`${sortingSessions}/${session.id}/scan`, { delivery_barcode, ...more });
  return { tenant, yard, staff, assigned, newSession, packageTo, scan };
}

/** How many packages a cage counts. */
export async function filledOf(bin: string): Promise<number> {
  const [row] = await sql`select filled_capacity from warehousing.bins where id = ${bin}`;
  return Number(row.filled_capacity);
}

/** Each cage of a tenant counts the parcels that lie in it by their scans. */
export async function checkCages(tenant: { id: string }): Promise<void> {
  expect(
    await sql`select b.code, b.filled_capacity, count(c.id) from warehousing.sorting_assignments a
      join warehousing.bins b on b.id = a.cage_location_id
      left join warehousing.sorting_scans c on c.assignment_id = a.id and c.left_at is null
      where a.tenant_id = ${tenant.id} group by b.id having b.filled_capacity <> count(c.id)`,
  ).toEqual([]);
}
