/** Pay of drivers for tests: companies that pay it, deliveries that earn it, and its payouts. */
import { expect } from "vitest";
import type { CallOptions, Person } from "./api.ts";
import { cashDifferences } from "./cod.ts";
import { sql } from "./db.ts";
import { assign, type Ground, moves, newDelivery, newGround } from "./deliveries.ts";
import { checkBooks } from "./money.ts";
import { newTenant, saveSettings, type Tenant } from "./people.ts";
import { breachesIn } from "./reconciled.ts";

export const payPath = "/delivery/driver-pay";

/** How a company pays: this percentage of the fee. */
export const percentageOf = (percentage: number) => ({
  mode: "percentage",
  percentage: { percentage_of_delivery_fee: percentage },
});

/** How a company pays: this amount for each delivery. */
export const perDelivery = (amount: number) => ({
  mode: "per_delivery",
  per_delivery: { base_amount: amount },
});

export const setRule = (tenant: Tenant, rule: object) =>
  saveSettings(tenant.id, "general.driver", rule as Record<string, unknown>);

/** A company that pays by this rule; 500 for each delivery unless said. */
export async function newPayer(rule: object = perDelivery(500)): Promise<Ground> {
  const ground = await newGround(await newTenant());
  await setRule(ground.tenant, rule);
  return ground;
}

/** A delivery that this driver brought: of a fee of 2,000 that the receiver pays; its id. */
export async function brought(
  ground: Ground,
  driver: Person = ground.tenant.driver,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await newDelivery(ground, more);
  await assign(ground.tenant, id, driver);
  await moves(driver, id, "pickup", "complete");
  return id;
}

/** The pay for a delivery or leg, by who earned it. */
export const payFor = async (delivery: string) =>
  (await sql`select driver_id, amount, status from money.driver_pay where delivery_id = ${delivery}
    order by accrued_at`).map((row) => ({ ...row }));

export const payOut = (person: Person, body: object, options: CallOptions = {}) =>
  person.post(`${payPath}/payouts`, { method: "cash", ...body }, options);

export const reverse = (
  person: Person,
  id: string,
  reason: unknown = "Typed twice",
  options: CallOptions = {},
) => person.post(`${payPath}/payouts/${id}/reverse`, { reason }, options);

/** The books, the cash and every invariant about pay of the tenant hold. */
export async function sound(tenant: Tenant): Promise<void> {
  expect(await checkBooks(tenant)).toEqual([]);
  expect(await cashDifferences(tenant)).toEqual([]);
  const breaches = await breachesIn(tenant);
  expect(breaches.filter((one) => /^(cash|desks|money|pay):/.test(one))).toEqual([]);
}
