/** The end of tests that change deliveries. */
import { expect } from "vitest";
import { breachesOf } from "../prove/invariants.ts";
import { sql } from "./db.ts";
import { checkAll } from "./deliveries.ts";

/** As checkAll, and no invariant of a tenant's deliveries is broken. */
export async function checkDeliveries(tenant: { id: string }): Promise<void> {
  await checkAll(tenant);
  const breaches = await breachesOf(sql, tenant.id);
  expect(breaches.filter((breach) => breach.startsWith("deliveries:"))).toEqual([]);
}
