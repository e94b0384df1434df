/** Events that a background job writes are sent when it ends, though no request follows it. */
import { expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { newDriver } from "../../support/assignments.ts";
import { driverOf, newSearching, ordered } from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { startReceiver, until } from "../../support/receiver.ts";
import { statusesOf, subscribe, systemKey } from "../../support/webhooks.ts";

test("the offer of a search that a job made is heard at once", async () => {
  const [searching, receiver] = await Promise.all([newSearching(), startReceiver()]);
  const { tenant } = searching;
  const { id } = await subscribe(tenant, receiver.url);
  const made = await ordered(searching);
  const driver = await newDriver(tenant);
  await until(async () => {
    const statuses = await statusesOf(id);
    return statuses.length > 0 && statuses.every((status) => status === "success");
  });
  // The sender has ended by then.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const before = receiver.received.length;
  await sql`update delivery.driver_searches set next_attempt_at = now() - interval '1 second'
    where delivery_id = ${made.id}`;
  await sql`insert into app.jobs (tenant_id, kind, payload) values (${tenant.id}, 'delivery.auto_assignment', '{}')`;
  expect(await nobody.post("/delivery/internal/jobs", {}, systemKey)).toMatchObject({
    status: 200,
  });
  expect(await driverOf(made.id)).toBe(driver.id);
  await until(() => receiver.received.length > before, 5_000);
  await receiver.close();
});
