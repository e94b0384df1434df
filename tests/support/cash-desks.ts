/** Cash on desks of the office for tests, and its way out. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { CallOptions, Person } from "./api.ts";
import { accountOf, cashDifferences, newCash, remit, selected } from "./cod.ts";
import { checkBooks } from "./money.ts";
import { newTenant, type Tenant } from "./people.ts";
import { breachesIn } from "./reconciled.ts";

export const desks = "/delivery/cash-desks";

export const key = (value: string = randomUUID()) => ({ headers: { "idempotency-key": value } });

/** To the bank unless said. */
export const transfer = (person: Person, body: object, options: CallOptions = key()) =>
  person.post(`${desks}/transfers`, { kind: "bank_deposit", ...body }, options);

export const reverse = (
  person: Person,
  id: string,
  options: CallOptions = key(),
  reason: unknown = "Typed twice",
) => person.post(`${desks}/transfers/${id}/reverse`, { reason }, options);

/** A tenant whose dispatcher took this much from a driver. */
export async function withCash(amount: number, tenant?: Tenant): Promise<Tenant> {
  const one = tenant ?? await newTenant();
  const { id } = await newCash(one, { cod: 0, fee: amount });
  expect(await one.dispatcher.post(remit, selected(id))).toSucceed(200);
  return one;
}

/** The balance of a person's desk; null: of the tenant's own till. */
export const heldBy = (tenant: Tenant, person: { id: string } | null) =>
  accountOf(tenant, "cash_on_hand", person && person.id);

/** Its books and its cash hold. */
export async function sound(tenant: Tenant): Promise<void> {
  expect(await checkBooks(tenant)).toEqual([]);
  expect(await cashDifferences(tenant)).toEqual([]);
  expect((await breachesIn(tenant)).filter((one) => one.startsWith("desks:"))).toEqual([]);
}
