/** The end of tests that change deliveries. */
import { expect } from "vitest";
import { checkAll } from "./deliveries.ts";
import { breachesIn } from "./reconciled.ts";

/** As checkAll, and no invariant of a tenant's deliveries is broken. */
export async function checkDeliveries(tenant: { id: string }): Promise<void> {
  await checkAll(tenant);
  const breaches = await breachesIn(tenant);
  expect(breaches.filter((breach) => breach.startsWith("deliveries:"))).toEqual([]);
}
