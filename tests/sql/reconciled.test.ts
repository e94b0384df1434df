/** The checks of one tenant that tests end with find what the checks of the database itself find. */
import type postgres from "postgres";
import { expect, test } from "vitest";
import { makeDrivers, newCash } from "../support/cod.ts";
import { sql } from "../support/db.ts";
import { newTenant } from "../support/people.ts";
import { copyChecks } from "../support/reconciled.ts";
import { newShelf } from "../support/warehouses.ts";

const checks = [
  [
    "select * from pg_temp.money_verify_books($1)",
    "select * from money.verify_books() where tenant_id = $1",
  ],
  [
    "select * from pg_temp.warehousing_stock_differences($1, 'infinity')",
    "select * from warehousing.stock_differences($1, 'infinity')",
  ],
  [
    "select * from pg_temp.money_cod_differences($1, 'infinity')",
    "select * from money.cod_differences($1, 'infinity')",
  ],
  [
    "select * from pg_temp.private_tallies_verify($1)",
    "select * from private.tallies_verify() where tenant_id = $1",
  ],
] as const;

test("a fault in books, stock, cash or totals is found by the copy as by the check itself", async () => {
  const tenant = await newTenant();
  const { item } = await newShelf(tenant, 5);
  await makeDrivers(tenant);
  const { id, delivery } = await newCash(tenant, { cod: 5000, fee: 1000, release: "on_remit" });
  const seen = await sql.begin(async (tx) => {
    await copyChecks(tx);
    const before = await both(tx, tenant.id);
    // Only with its guards taken away can anything be wrong; all of this is undone.
    await tx`set local session_replication_role = replica`;
    await tx`update money.accounts set balance = balance + 1, version = version + 1
      where tenant_id = ${tenant.id} and kind = 'driver_cash'`;
    await tx`update money.ledger_entries set amount = amount + 1, currency = 'USD'
      where tenant_id = ${tenant.id} and account_id in (select id from money.accounts where kind = 'wallet')`;
    await tx`update warehousing.stock set quantity = 6, status = 'damaged' where item_id = ${item}`;
    await tx`update money.cod_collections set amount = amount + 7, cod_amount = cod_amount + 7 where id = ${id}`;
    await tx`update money.wallet_holds set amount = amount + 1 where tenant_id = ${tenant.id}`;
    await tx`update delivery.deliveries set status = 'in_transit' where id = ${delivery}`;
    throw Object.assign(new Error("undo"), { seen: { before, after: await both(tx, tenant.id) } });
  }).catch((error) => {
    if (!error.seen) throw error;
    return error.seen as Record<"before" | "after", Found[]>;
  });
  for (const { copied, own } of [...seen.before, ...seen.after]) expect(copied).toEqual(own);
  expect(seen.before.flatMap(({ own }) => own)).toEqual([]);
  expect(
    seen.after.map(({ own }) =>
      [...new Set(own.map((row) => row.problem ?? row.kind ?? row.tally))].sort()
    ),
  ).toEqual([
    ["balance", "currency", "journal", "running", "version"],
    ["place", "quantity"],
    [
      "cod_credit",
      "collection_journal",
      "driver_cash",
      "held_cash",
      "held_row",
      "held_total",
      "ledger",
    ],
    [
      "cod_collections",
      "cod_collections_rollup",
      "deliveries",
      "held_cash",
      "stock",
      "wallet_holds",
    ],
  ]);
});

interface Found {
  copied: Record<string, unknown>[];
  own: Record<string, unknown>[];
}

/** The rows of each copy and of its check, in one order. */
async function both(tx: postgres.TransactionSql, tenant: string): Promise<Found[]> {
  const rows = async (statement: string) =>
    (await tx.unsafe(`select to_jsonb(x) as row from (${statement}) x order by 1`, [tenant]))
      .map(({ row }) => row);
  const found: Found[] = [];
  for (const [copied, own] of checks) {
    found.push({ copied: await rows(copied), own: await rows(own) });
  }
  return found;
}
