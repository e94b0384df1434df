/** Warehouses with something in them, and what must hold of their stock. */
import { expect } from "vitest";
import { sql } from "./db.ts";
import { newAddress } from "./make.ts";
import type { Tenant } from "./people.ts";
import { stockOf } from "./reconciled.ts";

let serial = Date.now() % 1_000_000;

export async function newWarehouse(
  tenant: { id: string },
  more: Record<string, string | number | boolean | Date> = {},
): Promise<string> {
  const row = {
    tenant_id: tenant.id,
    name: `Warehouse ${++serial}`,
    code: `W-${serial}`,
    address_id: more.address_id ?? await newAddress(tenant),
    ...more,
  };
  const [made] = await sql`insert into warehousing.warehouses ${sql(row)} returning id`;
  return made.id;
}

export async function newBin(
  tenant: { id: string },
  warehouse: string,
  more: Record<string, string | number | boolean | Date> = {},
): Promise<string> {
  const row = {
    tenant_id: tenant.id,
    warehouse_id: warehouse,
    code: `B-${++serial}`,
    name: `Bin ${serial}`,
    ...more,
  };
  const [made] = await sql`insert into warehousing.bins ${sql(row)} returning id`;
  return made.id;
}

export async function newItem(
  tenant: { id: string },
  more: Record<string, string | number | boolean | Date> = {},
): Promise<string> {
  const row = { tenant_id: tenant.id, name: `Item ${++serial}`, sku: `SKU-${serial}`, ...more };
  const [made] = await sql`insert into warehousing.inventory_items ${sql(row)} returning id`;
  return made.id;
}

/** Calls a function of the stock as the tenant would: `inTenant(tenant, "select f($1::text::jsonb)", [..])`. */
export async function inTenant<T = Record<string, unknown>>(
  tenant: { id: string },
  statement: string,
  values: unknown[] = [],
  using = sql,
): Promise<T[]> {
  const rows: unknown = await using.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const sent = values.map((value) =>
      typeof value === "object" && value !== null ? JSON.stringify(value) : value
    );
    return await tx.unsafe(statement, sent as never[]);
  });
  return rows as T[];
}

/** Puts units of an item into a bin. */
export async function stockIn(
  tenant: { id: string },
  place: {
    item_id: string;
    warehouse_id: string;
    bin_id: string;
    quantity: number;
    status?: string;
    lot_number?: string;
    serial_number?: string;
  },
): Promise<void> {
  await inTenant(tenant, "select warehousing.stock_receive($1::text::jsonb, 'initial_stock')", [[
    place,
  ]]);
}

export interface Shelf {
  warehouse: string;
  bin: string;
  item: string;
}

/** A warehouse with one bin that holds units of one item. */
export async function newShelf(tenant: Tenant, quantity = 10): Promise<Shelf> {
  const warehouse = await newWarehouse(tenant);
  const bin = await newBin(tenant, warehouse);
  const item = await newItem(tenant);
  if (quantity > 0) {
    await stockIn(tenant, { item_id: item, warehouse_id: warehouse, bin_id: bin, quantity });
  }
  return { warehouse, bin, item };
}

/** Units of an item by status, wherever they lie or in one bin. */
export async function unitsOf(item: string, bin?: string): Promise<Record<string, number>> {
  const rows = await sql`select status, sum(quantity)::int as units from warehousing.stock
    where item_id = ${item} and quantity > 0 ${bin ? sql`and bin_id = ${bin}` : sql``}
    group by status order by status`;
  return Object.fromEntries(rows.map(({ status, units }) => [status, units]));
}

/** Stock is what was moved, in every row of the tenant. `madeUp`: a kind of difference that the test makes by itself. */
export async function checkStock(tenant: { id: string }, madeUp = ""): Promise<void> {
  const problems = await stockOf(tenant);
  expect(problems.filter((problem) => problem.kind !== madeUp)).toEqual([]);
}

/** The movements of an item, oldest first: `[type, quantity]`. */
export async function movementsOf(item: string): Promise<[string, number][]> {
  const rows =
    await sql`select transaction_type, quantity::int from warehousing.inventory_transactions
    where item_id = ${item} order by id`;
  return rows.map(({ transaction_type, quantity }) => [transaction_type, quantity]);
}

/** Types of the tenant's events about a thing, oldest first. */
export async function eventsOf(entity: string): Promise<string[]> {
  const rows = await sql`select event_type from integration.system_events
    where entity_id = ${entity} order by position`;
  return rows.map(({ event_type }) => event_type);
}
