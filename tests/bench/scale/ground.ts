/** Two tenants with as many rows each, of everything the benchmark asks for. */
import type postgres from "postgres";
import { driversOf, fillCompleted, makeRoom } from "../assignments.ts";
import { type Bench, startBench } from "../bench-stack.ts";
import { fill as fillCollections, people } from "../cod/rows.ts";
import { hold } from "../cod/settlements.ts";
import { fillOrders, openShop } from "../orders.ts";
import { fillDeliveries, openWarehouses } from "../scan.ts";
import { fillItems } from "../search.ts";
import { fund } from "../set-destination.ts";
import { fillPicking } from "../stock.ts";
import type { Disk } from "./figures.ts";

export interface Ground {
  /** As a dispatcher. */
  bench: Bench;
  /** As an administrator. */
  admin: Pick<Bench, "stack" | "token">;
  /** Drivers who can be given everything; many, since assignments to one go one after the other. */
  driverIds: string[];
}

/** Number of transactions before the fills, so that their rows have many numbers of changes as in a database in use. */
const transactions = 20_000;

export async function openGround(): Promise<Ground> {
  const bench = await startBench();
  const { sql } = bench.stack;
  bench.tenants = (await sql`select id from tenancy.tenants order by id = ${bench.tenantId} desc`)
    .map((row) => row.id as string);
  await sql.unsafe(`do $$ begin
    for i in 1..${transactions} loop perform pg_current_xact_id(); commit; end loop; end $$`);
  await people(bench);
  await makeRoom(bench);
  const driverIds = await driversOf(bench);
  await openWarehouses(bench);
  await fund(bench);
  let token = "";
  for (const tenantId of [...bench.tenants].reverse()) token = await openShop(bench, tenantId);
  return { bench, admin: { stack: bench.stack, token }, driverIds };
}

/** Rows `from` to `to` of every table, and what makes them usable. */
export async function grow({ bench }: Ground, from: number, to: number): Promise<void> {
  const { sql } = bench.stack;
  // Loading writes whole pages into the log after each checkpoint, which says nothing about what is measured.
  await setting(sql, "full_page_writes = off");
  for (
    const fill of [
      fillDeliveries,
      fillCompleted,
      fillItems,
      fillOrders,
      fillPicking,
      fillCollections,
    ]
  ) {
    await fill(bench, from, to);
  }
  await hold(bench);
  await setting(sql, "full_page_writes = on");
  await sql`vacuum analyze`;
  await sql`checkpoint`;
}

async function setting(sql: postgres.Sql, ...settings: string[]): Promise<void> {
  for (const one of settings) await sql.unsafe(`alter system set ${one}`);
  await sql`select pg_reload_conf()`;
}

const measured = [
  "delivery.deliveries",
  "delivery.delivery_items",
  "delivery.transfer_manifest_items",
  "delivery.delivery_status_history",
  "delivery.assignments",
  "money.cod_collections",
  "money.payments",
  "money.ledger_transactions",
  "money.ledger_entries",
  "storefront.storefront_orders",
  "warehousing.picking_orders",
  "warehousing.picking_order_items",
  "integration.system_events",
  "app.audit_log",
];

/** Bytes a row takes, of tables with at least a thousand: fewer do not fill their pages. */
export async function diskOf({ bench: { stack: { sql } } }: Ground): Promise<Disk[]> {
  const sizes: Disk[] = [];
  for (const table of measured) {
    const [size] = await sql.unsafe(`select count(*)::int as rows,
      pg_total_relation_size('${table}')::float8 as bytes, pg_indexes_size('${table}')::float8 as index_bytes from ${table}`);
    if (size!.rows < 1_000) continue;
    sizes.push({
      table,
      rows: size!.rows,
      bytesPerRow: Math.round(size!.bytes / size!.rows),
      indexBytesPerRow: Math.round(size!.index_bytes / size!.rows),
    });
  }
  return sizes;
}
