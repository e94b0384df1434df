/** Open assignments are found by their delivery, whatever the last statistics knew of open ones. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newMigratedDatabase, type OwnDatabase } from "../../support/database.ts";

let own: OwnDatabase;

beforeAll(async () => {
  own = await newMigratedDatabase();
});
afterAll(() => own?.close());

test("a plan that was made while no assignment was open reads none of other deliveries", async () => {
  const plan = await own.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into delivery.assignments (tenant_id, delivery_id, driver_id, status, units)
      select '5a1e0000-0000-4000-8000-000000000001', gen_random_uuid(), gen_random_uuid(), 'completed', 1
      from generate_series(1, 2000)`;
    await tx`analyze delivery.assignments`;
    await tx`set local plan_cache_mode = force_generic_plan`;
    await tx`prepare of_delivery (uuid, uuid) as
      select a.driver_id from delivery.open_assignments a where a.tenant_id = $1 and a.delivery_id = $2`;
    await tx`prepare of_deliveries (uuid, uuid[]) as
      select a.driver_id from delivery.open_assignments a where a.tenant_id = $1 and a.delivery_id = any ($2)`;
    return [
      ...await tx.unsafe("explain execute of_delivery (null, null)"),
      ...await tx.unsafe("explain execute of_deliveries (null, null)"),
    ].map((row) => row["QUERY PLAN"] as string);
  });
  const conditions = plan.filter((line) => line.includes("Index Cond:"));
  expect(conditions).toEqual([
    expect.stringContaining("delivery_id = $2"),
    expect.stringContaining("delivery_id = ANY ($2)"),
  ]);
});
