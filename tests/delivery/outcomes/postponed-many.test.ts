/** More parcels of one company are postponed to a morning than its schedule sends out at once. */
import { expect, test } from "vitest";
import { newDeliveries } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import "../../support/expect.ts";
import { runJobs } from "../../support/jobs.ts";
import { newTenant } from "../../support/people.ts";

test("all of them are on their way again: the first ones by the schedule, the rest by its job", async () => {
  const tenant = await newTenant();
  const count = 2_001;
  await newDeliveries(tenant, count, { status: "failed", postponed_to: "2026-01-02" });
  await sql`select delivery.postponed_resume()`;
  const jobs = await sql`select status from app.jobs
    where tenant_id = ${tenant.id} and kind = 'delivery.postponed_resume'`;
  expect(jobs.length).toBeGreaterThan(0);
  await runJobs("delivery", tenant.id);
  const states = await sql`select status, postponed_to, count(*)::integer from delivery.deliveries
    where tenant_id = ${tenant.id} group by 1, 2`;
  expect(states).toEqual([{ status: "in_transit", postponed_to: null, count }]);
});
