/** Statements of merchants for tests: companies that hold COD, statements, and their payouts. */
import { expect } from "vitest";
import type { Answer, Body, CallOptions, Person } from "./api.ts";
import { remit, selected } from "./cod.ts";
import { delivered, newHolder, sound as cashSound } from "./cod-holds.ts";
import { sql } from "./db.ts";
import type { Ground } from "./deliveries.ts";
import type { Tenant } from "./people.ts";
import { breachesIn } from "./reconciled.ts";
import { key } from "./wallets.ts";

export const statementPath = "/delivery/merchant-statements";

/** A company whose customer has this COD on the wallet, remitted to the dispatcher: rows of cash by their ids. */
export async function newMerchant(
  cods: number[] = [7_000],
  rule: Record<string, unknown> = {},
): Promise<{ ground: Ground; tenant: Tenant; rows: string[] }> {
  const ground = await newHolder({ release: "on_remit", ...rule });
  const rows = cods.length ? await broughtIn(ground, cods) : [];
  return { ground, tenant: ground.tenant, rows };
}

/** Parcels with this COD each that were delivered, and their cash remitted. */
export async function broughtIn(
  ground: Ground,
  cods: number[],
  more: Record<string, unknown> = {},
): Promise<string[]> {
  const rows = await delivered(ground, cods, more);
  expect(await ground.tenant.dispatcher.post(remit, selected(...rows))).toSucceed(200);
  return rows;
}

/** Asks for a statement of the customer, or of another owner. */
export const open = (
  tenant: Tenant,
  more: Record<string, unknown> = {},
  by: Person = tenant.ops,
  options: CallOptions = {},
): Promise<Answer> =>
  by.post(statementPath, { owner_user_id: tenant.customer.id, ...more }, options);

/** A statement that was made. */
export async function opened(tenant: Tenant, more: Record<string, unknown> = {}): Promise<Body> {
  const answer = await open(tenant, more);
  expect(answer).toSucceed(201);
  return answer.body.data.statement;
}

export const pay = (
  by: Person,
  id: string,
  body: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<Answer> => by.post(`${statementPath}/${id}/pay`, { method: "bank", ...body }, options);

export const reverse = (by: Person, id: string, reason: unknown = "Typed twice") =>
  by.post(`${statementPath}/${id}/reverse`, { reason });
export const cancel = (by: Person, id: string, body: object = {}) =>
  by.post(`${statementPath}/${id}/void`, body);
export const confirm = (by: Person, id: string) => by.post(`${statementPath}/${id}/confirm`, {});

/** The lines of a statement, by their kind and amount. */
export async function linesOf(by: Person, id: string): Promise<[string, number][]> {
  const { body } = await by.get(`${statementPath}/${id}`);
  return body.data.statement.lines.map(({ kind, amount }: Body) => [kind, amount]);
}

/** The amounts that a wallet shows: balance, held, stated, available. */
export async function shownOf(person: Person): Promise<number[]> {
  const { wallet } = (await person.get("/delivery/wallets/me")).body;
  return [
    wallet.balance,
    wallet.held_balance,
    wallet.stated_balance,
    wallet.available_balance,
  ];
}

/** The books, the cash, the desks and every invariant about holds and statements hold. */
export async function sound(tenant: Tenant): Promise<void> {
  await cashSound(tenant);
  const breaches = await breachesIn(tenant);
  expect(breaches.filter((one) => one.startsWith("statements:"))).toEqual([]);
}

/** Reverses the settlement of a row of cash. */
export async function reverseSettlement(tenant: Tenant, row: string): Promise<Answer> {
  const [{ settlement_payment_id: id }] =
    await sql`select settlement_payment_id from money.cod_collections where id = ${row}`;
  return await tenant.admin.post(`/delivery/cod-settlements/${id}/reverse`, {
    reason: "Typed twice",
  }, key());
}
