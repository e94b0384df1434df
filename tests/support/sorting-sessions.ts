/** Sorting sessions with a cage for each destination. */
import { expect } from "vitest";
import { sql } from "./db.ts";
import type { Yard } from "./packages.ts";
import type { Tenant } from "./people.ts";

/** Where a cage's packages go, and how many of them it takes. */
export type Destination = [type: string, value: string, capacity?: number];

/** A session in the first warehouse of a yard; one member of its staff fills all cages. */
export async function newSortingSession(
  tenant: Tenant,
  yard: Yard,
  staff: string,
  destinations: Destination[],
) {
  const answer = await tenant.staff.post("/warehousing/sorting-sessions", {
    warehouse_id: yard.warehouse,
    assignments: destinations.map(([destination_type, destination_value, capacity]) => ({
      staff_id: staff,
      destination_type,
      destination_value,
      capacity,
    })),
  });
  expect(answer).toSucceed(201);
  return answer.body.session;
}

/** How many packages a cage counts. */
export async function filledOf(bin: string): Promise<number> {
  const [row] = await sql`select filled_capacity from warehousing.bins where id = ${bin}`;
  return Number(row.filled_capacity);
}
