/**
 * The invariants of money, stock, orders and assignments in every committed state: each by a name, as a query whose rows
 * are the breaches. Those of one tenant (`$1`, one file for each topic) read what its keys lead to and may be asked after every step
 * of a test; the others read whole tables.
 */
import type postgres from "postgres";
import { books } from "./invariants/books.ts";
import { cash } from "./invariants/cash.ts";
import { deliveries } from "./invariants/deliveries.ts";
import { holds } from "./invariants/holds.ts";
import type { Invariant } from "./invariants/invariant.ts";
import { orders } from "./invariants/orders.ts";
import { pay } from "./invariants/pay.ts";
import { statements } from "./invariants/statements.ts";
import { stock } from "./invariants/stock.ts";

/** About one tenant, cheap. */
export const ofTenant: readonly Invariant[] = [
  ...books,
  ...cash,
  ...holds,
  ...statements,
  ...pay,
  ...stock,
  ...orders,
  ...deliveries,
];

/** About everything, by what the system checks itself with every night. */
export const ofAll: readonly Invariant[] = [
  { name: "the books (money.verify_books)", sql: "select * from money.verify_books()" },
  { name: "the stock (warehousing.verify_stock)", sql: "select * from warehousing.verify_stock()" },
  {
    name: "the cash of every tenant (money.cod_differences)",
    sql:
      "select d.* from tenancy.tenants t cross join lateral money.cod_differences(t.id, 'infinity') d",
  },
  {
    name: "the kept totals of lists (private.tallies_verify)",
    sql: "select * from private.tallies_verify()",
  },
  {
    name: "no row points into another tenant's",
    sql:
      `select e.id from money.ledger_entries e join money.accounts a on a.id = e.account_id where a.tenant_id <> e.tenant_id
      union all
      select t.id from warehousing.inventory_transactions t join warehousing.stock s on s.id in (t.from_stock_id, t.to_stock_id)
      where s.tenant_id <> t.tenant_id`,
  },
];

// One statement, so that all see one state of the database.
const together = ofTenant
  .map(({ sql }, index) =>
    `select ${index} as nr, to_jsonb(x) as breach from (${sql.replaceAll("$1", "$1::uuid")}) x`
  ).join("\nunion all\n");

const named = (rows: { nr?: number; breach?: unknown }[]): string[] =>
  rows.map(({ nr, breach }) => `${ofTenant[nr!]!.name}: ${JSON.stringify(breach)}`);

/** The breaches of a tenant's invariants in one state of the database, by name; empty when all hold. */
export async function breachesOf(sql: postgres.Sql, tenant: string): Promise<string[]> {
  return named(await sql.unsafe(together, [tenant], { prepare: true }));
}

/**
 * `breachesOf` for who asks after every step, on a connection whose plans serve every tenant (`openReader`), with the body of
 * `warehousing.stock_differences` in its place: PostgreSQL plans a call of it each time, which costs more than what it reads.
 */
export async function openBreaches(
  sql: postgres.Sql,
): Promise<(tenant: string) => Promise<string[]>> {
  const [{ body }] = await sql`select prosrc as body from pg_proc
    where oid = 'warehousing.stock_differences(uuid, timestamptz)'::regprocedure`;
  const call = "warehousing.stock_differences($1::uuid, 'infinity')";
  const inPlace = body.replace(/\btenant\b/g, "$1::uuid").replace(/\bas_of\b/g, "'infinity'");
  const statement = together.replace(call, `(${inPlace})`);
  if (statement === together) throw new Error(`No invariant asks ${call}.`);
  return async (tenant) => named(await sql.unsafe(statement, [tenant], { prepare: true }));
}

/** All breaches of all tenants. */
export async function allBreaches(sql: postgres.Sql): Promise<string[]> {
  const found: string[] = [];
  for (const { name, sql: query } of ofAll) {
    for (const row of await sql.unsafe(query)) found.push(`${name}: ${JSON.stringify(row)}`);
  }
  for (const { id } of await sql`select id from tenancy.tenants`) {
    found.push(...await breachesOf(sql, id));
  }
  return found;
}
