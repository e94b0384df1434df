/** An offer lapses when its time is over: the run of jobs that cron wakes stays until then, on a clock of the test's own. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { stayForJobs as StayForJobs } from "../../../shared/db/jobs.ts";
import type { searchDrivers as SearchDrivers } from "../../../shared/dispatch/driver-searches.ts";
import { driverOf, newSearching, onDuty, ordered } from "../../support/auto-assignment.ts";
import { sql, stack } from "../../support/db.ts";

let stayForJobs: typeof StayForJobs;
let searchDrivers: typeof SearchDrivers;
beforeAll(async () => {
  const { host, pathname } = new URL(stack.dbUrl);
  // Read once, when the first of these modules is loaded; files after this one load them anew.
  vi.resetModules();
  vi.stubEnv("BARID_DB_URL", `postgresql://barid_api:barid-local@${host}${pathname}`);
  ({ stayForJobs } = await import("../../../shared/db/jobs.ts"));
  ({ searchDrivers } = await import("../../../shared/dispatch/driver-searches.ts"));
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

/** Jobs under this kind are this test's alone. */
const kind = "test.lapse";

test("the next driver is asked when the time of the first is over, by the job that waits for it", async () => {
  const { tenant, ...ground } = await newSearching({ retry_after_minutes: 5 });
  const drivers = [await onDuty(tenant), await onDuty(tenant)];
  const { id } = await ordered({ tenant, ...ground });
  const silent = await driverOf(id);
  const passes = async (ms: number) => {
    const by = sql`${ms} * interval '1 millisecond'`;
    await sql`update app.jobs set run_at = run_at - ${by} where tenant_id = ${tenant.id} and status = 'queued'`;
    await sql`update delivery.driver_searches set next_attempt_at = next_attempt_at - ${by} where tenant_id = ${tenant.id}`;
  };
  await sql`update app.jobs set kind = ${kind} where tenant_id = ${tenant.id} and status = 'queued'`;
  let now = 0;
  const clock = {
    now: () => now,
    async rest(ms: number, _woken: Promise<void>) {
      expect(await driverOf(id)).toBe(silent);
      now += ms;
      await passes(ms);
    },
  };
  await passes(4.5 * 60_000);
  const jobs = { [kind]: searchDrivers };
  expect(await stayForJobs(jobs, clock)).toEqual({ done: 1, failed: 0 });
  expect(now).toBeGreaterThan(0);
  expect(now).toBeLessThanOrEqual(30_000);
  expect(await driverOf(id)).toBe(drivers.find((driver) => driver.id !== silent)!.id);
});
