/** Accounts and journals in SQL, as the cores write them. */
import type postgres from "postgres";
import { sql } from "./db.ts";
import type { Tenant } from "./people.ts";

/** A connection, or a transaction on one. */
export type Sql = postgres.Sql | postgres.TransactionSql;
/** A line of a journal as a test writes it. */
export interface Posting {
  account: string;
  amount: number | string;
  journal?: string;
  kind?: string;
  reference?: string;
}

/** Runs work as a request of the tenant's administrator does; in another tenant where `id` names one. */
export function asAdminOf<T>(
  tenant: Tenant,
  work: (tx: postgres.TransactionSql) => Promise<T>,
  pool: Sql = sql,
  id = tenant.id,
): Promise<T> {
  return (pool as postgres.Sql).begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${id}, true), set_config('app.sees_tenant', 'on', true),
      set_config('app.user_id', ${tenant.admin.id}, true),
      set_config('role', 'barid_caller', true)`;
    return await work(tx);
  }) as Promise<T>;
}

/** Books as a core does that private.call runs: the caller's own role may not. */
export async function post(tx: Sql, postings: Posting[]) {
  const [{ role }] = await tx`select current_setting('role') as role`;
  await tx`select set_config('role', 'none', true)`;
  await posting(tx, postings);
  await tx`select set_config('role', ${role}, true)`;
}

/** The call itself, with the rights of the connection. */
export function posting(tx: Sql, postings: Posting[]) {
  const reference = crypto.randomUUID();
  return tx`select money.post(${
    tx.json(postings.map((posting) => ({
      journal: posting.journal ?? "one",
      kind: posting.kind ?? "TEST",
      reference_type: "test",
      reference_id: posting.reference ?? reference,
      description: "a test",
      account_id: posting.account,
      amount: posting.amount,
    })))
  })`;
}

/** An account of an institution of its own. */
export async function newAccount(
  tenant: { id: string },
  kind = "wallet",
  floor: number | null = 0,
  currency = "IQD",
  owner = crypto.randomUUID(),
) {
  await sql`insert into auth.users (id, email) values (${owner}, ${owner + "@barid.test"})`;
  await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type) values (${tenant.id}, ${owner}, 'institution')`;
  const [row] =
    await sql`insert into money.accounts (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    values (${tenant.id}, ${kind}, 'institution', ${owner}, ${currency}, ${floor}) returning id`;
  return row.id as string;
}

/** A wallet with money in it, and the book it came from. */
export async function fundedWallet(tenant: Tenant, amount: number) {
  const [wallet, outside] = [await newAccount(tenant), await newAccount(tenant, "external", null)];
  await asAdminOf(
    tenant,
    (tx) => post(tx, [{ account: wallet, amount }, { account: outside, amount: -amount }]),
  );
  return { wallet, outside };
}

/** The balance that an account's row says. */
export const balance = async (id: string) =>
  Number((await sql`select balance from money.accounts where id = ${id}`)[0].balance);
