/** Settlements for tests, and taking them back. */
import { expect } from "vitest";
import type { CallOptions, Person } from "./api.ts";
import { cashDifferences, newCash, remit, selected, settle } from "./cod.ts";
import { checkBooks, fundWallet } from "./money.ts";
import type { Tenant } from "./people.ts";
import { breachesIn } from "./reconciled.ts";

export const settlements = "/delivery/cod-settlements";

export const takeBack = (
  person: Person,
  payment: string,
  reason: unknown = "Wrong driver",
  options: CallOptions = {},
) => person.post(`${settlements}/${payment}/reverse`, { reason }, options);

/** The dispatcher takes this much from the driver: 1,000 COD and 250 fee a row. */
export async function remitted(
  tenant: Tenant,
  { rows = 1, body = {}, by = tenant.dispatcher }: { rows?: number; body?: object; by?: Person } =
    {},
): Promise<{ payment: string; ids: string[] }> {
  const ids: string[] = [];
  for (let row = 0; row < rows; row++) ids.push((await newCash(tenant)).id);
  const answer = await by.post(remit, { ...selected(...ids), ...body });
  expect(answer).toSucceed(200);
  return { payment: answer.body.data.settlement_payment_id, ids };
}

/** The driver pays 1,250 from the wallet, which has just that. */
export async function paid(tenant: Tenant): Promise<{ payment: string; ids: string[] }> {
  await fundWallet(tenant, "driver", tenant.driver.id, 1250);
  const { id } = await newCash(tenant);
  const answer = await tenant.driver.post(settle, selected(id));
  expect(answer).toSucceed(200);
  return { payment: answer.body.data.settlement_payment_id, ids: [id] };
}

/** The books, the cash and every invariant of the tenant hold. */
export async function sound(tenant: Tenant): Promise<void> {
  expect(await checkBooks(tenant)).toEqual([]);
  expect(await cashDifferences(tenant)).toEqual([]);
  const breaches = await breachesIn(tenant);
  expect(breaches.filter((one) => /^(cash|desks|money):/.test(one))).toEqual([]);
}
