/** COD that is held for tests: companies that hold it, and what a wallet shows. */
import { expect } from "vitest";
import type { Body, Person } from "./api.ts";
import { transfer } from "./cash-desks.ts";
import { cashDifferences, remit, selected } from "./cod.ts";
import { sql } from "./db.ts";
import { assign, type Ground, moves, newDelivery, newGround } from "./deliveries.ts";
import { checkBooks } from "./money.ts";
import { newTenant, saveSettings, type Tenant } from "./people.ts";
import { breachesIn } from "./reconciled.ts";

/** How a company releases COD. */
export const setPayouts = (tenant: Tenant, rule: Record<string, unknown>) =>
  saveSettings(tenant.id, "delivery.payouts", rule);

/** A company that releases COD by this rule; when it is remitted unless said. */
export async function newHolder(
  rule: Record<string, unknown> = { release: "on_remit" },
): Promise<Ground> {
  const ground = await newGround(await newTenant());
  await setPayouts(ground.tenant, rule);
  return ground;
}

/** Parcels of the customer that a driver delivered, with this COD each: the ids of their rows of cash. */
export async function delivered(
  ground: Ground,
  cods: number[],
  { driver = ground.tenant.driver, ...more }: { driver?: Person } & Record<string, unknown> = {},
): Promise<string[]> {
  const rows: string[] = [];
  for (const cod_amount of cods) {
    const { id } = await newDelivery(ground, { cod_amount, ...more });
    await assign(ground.tenant, id, driver);
    await moves(driver, id, "pickup", "complete");
    const [row] = await sql`select id from money.cod_collections
      where delivery_id = ${id} and collection_stage = 'dropoff'`;
    rows.push(row.id);
  }
  return rows;
}

/** The wallet of a person as the API shows it to them. */
export async function walletOf(person: Person): Promise<Body> {
  const { body } = await person.get("/delivery/wallets/me");
  return body.wallet;
}

/** Balance, held and available of a person's wallet. */
export async function standing(person: Person): Promise<number[]> {
  const wallet = await walletOf(person);
  return [wallet.balance, wallet.held_balance, wallet.available_balance];
}

/** The steps of a row of cash: its holds and releases. */
export const stepsOf = async (row: string): Promise<number[]> =>
  (await sql`select amount from money.wallet_holds where reference_id = ${row} order by step`)
    .map(({ amount }) => amount);

/** The sums on the desks of a company of each row of cash, in the order of the rows that are asked for. */
export async function onDesks(tenant: { id: string }, ...rows: string[]): Promise<number[]> {
  const found = await sql`select reference_id, sum(amount) as amount from money.desk_parts
    where tenant_id = ${tenant.id} and reference_id = any (${rows}) group by reference_id`;
  return rows.map((row) => found.find((one) => one.reference_id === row)?.amount ?? 0);
}

/** Whether something of each of these rows of cash is held. */
export async function areHeld(...rows: string[]): Promise<boolean[]> {
  const found = await sql`select reference_id from money.wallet_holds
    where reference_id = any (${rows}) group by reference_id having sum(amount) > 0`;
  return rows.map((row) => found.some(({ reference_id }) => reference_id === row));
}

type Tx = Parameters<Parameters<typeof sql.begin>[1]>[0];

/** Below the guards of the tables, as a fault of the disk would. */
export const lawless = (harm: (tx: Tx) => Promise<unknown>) =>
  sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await harm(tx);
  });

/** Below the guards of the tables: all holds of a tenant as if they had been written so many days ago. */
export const daysLater = (tenant: { id: string }, days: number) =>
  lawless((tx) =>
    tx`update money.wallet_holds set created_at = created_at - make_interval(days => ${days}),
      due_at = due_at - make_interval(days => ${days}), counts_from = counts_from - make_interval(days => ${days})
      where tenant_id = ${tenant.id}`
  );

/** The books, the cash and every invariant about holds of the tenant hold. */
export async function sound(tenant: Tenant): Promise<void> {
  expect(await checkBooks(tenant)).toEqual([]);
  expect(await cashDifferences(tenant)).toEqual([]);
  const breaches = await breachesIn(tenant);
  expect(breaches.filter((one) => /^(cash|desks|holds|money|wallets):/.test(one))).toEqual([]);
}

/** A company that releases COD when its cash has left the desks. */
export const newBanker = (more: Record<string, unknown> = {}): Promise<Ground> =>
  newHolder({ release: "on_bank", ...more });

/** Cash of these rows is handed in to the dispatcher, or to whom is named: the settlement's id. */
export async function handIn(
  { tenant }: Ground,
  rows: string[],
  to: Person = tenant.dispatcher,
): Promise<string> {
  const answer = await to.post(remit, selected(...rows));
  expect(answer).toSucceed(200);
  return answer.body.data.settlement_payment_id;
}

/** Cash leaves a person's desk, to the bank unless said: the transfer's id. */
export async function leaves(
  by: Person,
  amount: number,
  more: Record<string, unknown> = {},
): Promise<string> {
  const answer = await transfer(by, { amount, ...more });
  expect(answer).toSucceed(201);
  return answer.body.data.id;
}
