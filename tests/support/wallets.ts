/** Wallets as tests open, fill and look at them. */
import type { CallOptions, Person } from "./api.ts";
import { sql } from "./db.ts";
import { newPerson } from "./people.ts";

/** A wallet straight in the database, as adding its owner through the API would open it. */
export async function newWallet(
  tenant: { id: string },
  owner: Person | null,
  type: string,
  currency = "IQD",
) {
  const [row] =
    await sql`insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    values (${tenant.id}, 'wallet', ${type}, ${owner?.id ?? null}, ${currency}, 0) returning id`;
  return row.id as string;
}
export const freshWallet = async (tenant: { id: string }) =>
  await newWallet(tenant, await newPerson(tenant.id, "institution", "institution"), "institution");

export const key = (): { headers: Record<string, string> } => ({
  headers: { "idempotency-key": crypto.randomUUID() },
});
export const adjust = (
  person: Person,
  wallet: string,
  amount: unknown,
  direction: unknown = "credit",
  options: CallOptions = key(),
  reason: unknown = "Cash desk",
) => person.post(`/delivery/wallets/${wallet}/adjust`, { amount, direction, reason }, options);
export const balanceOf = async (wallet: string): Promise<number> =>
  (await sql`select balance from money.accounts where id = ${wallet}`)[0].balance;
export const entriesOf = (wallet: string) =>
  sql`select * from money.ledger_entries where account_id = ${wallet} order by version`;
