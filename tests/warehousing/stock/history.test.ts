/** Rows of stock outlive their quantity. What lay somewhere once may not make today's work slower. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newItem, newShelf } from "../../support/warehouses.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  // The usual item has a row or two: by such a mean a plan for any item takes any index that names the item for as good.
  const { warehouse, bin } = await newShelf(tenant, 1);
  await sql`with usual as (
      insert into warehousing.inventory_items (tenant_id, name, sku) select ${tenant.id}, 'Usual', 'usual-' || n from generate_series(1, 20000) n returning id)
    insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, quantity)
    select ${tenant.id}, ${warehouse}, ${bin}, id, 1 from usual`;
});

const past = 3_000;

/** Rows of stock that a statement looks up by an index or reads one after the other, itself as the tenant. */
async function rowsRead(statement: string, parameters: unknown[]): Promise<number> {
  return await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    // As calls that write run it: a plan for the values at hand depends on what other tests have in the table.
    await tx`set local plan_cache_mode = 'force_generic_plan'`;
    const read = async () => {
      const [{ rows }] =
        await tx`select pg_stat_get_xact_tuples_returned(c) + pg_stat_get_xact_tuples_fetched(c)
        + coalesce((select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = c), 0) as rows
        from (select 'warehousing.stock'::regclass::oid as c) t`;
      return Number(rows);
    };
    const before = await read();
    await tx.unsafe(statement, parameters as string[]);
    return await read() - before;
  }) as number;
}

test("an item that was set aside for three thousand orders is set aside, given back, let go and picked as on the first day", async () => {
  const { warehouse, bin, item } = await newShelf(tenant, 10);
  await sql`insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, status, reserved_for_type, reserved_for_id, quantity)
    select ${tenant.id}, ${warehouse}, ${bin}, ${item}, 'reserved', 'order', gen_random_uuid(), n % 2 from generate_series(1, ${past}::int) n`;
  await sql`analyze warehousing.stock`;
  const id = randomUUID();
  const line = JSON.stringify([{ item_id: item, quantity: 2, bin_id: bin }]);
  for (
    const [statement, parameters] of [
      ["select warehousing.stock_reserve('order', $1, $2::text::jsonb)", [id, line]],
      ["select warehousing.stock_release('order', $1, $2::text::jsonb)", [id, line]],
      ["select warehousing.stock_reserve('order', $1, $2::text::jsonb)", [id, line]],
      ["select warehousing.stock_exit('order', $1)", [id]],
      ["select warehousing.require_picking_state($1, $2::text::jsonb)", [warehouse, line]],
    ] as const
  ) {
    expect(await rowsRead(statement, [...parameters]), statement).toBeLessThan(200);
  }
});

test("one of three thousand pieces is found by its number", async () => {
  const { warehouse, bin } = await newShelf(tenant, 1);
  const item = await newItem(tenant, { is_serialized: true });
  await sql`insert into warehousing.stock (tenant_id, warehouse_id, bin_id, item_id, serial_number, quantity)
    select ${tenant.id}, ${warehouse}, ${bin}, ${item}, 'S-' || n, n % 2 from generate_series(1, ${past}::int) n`;
  await sql`analyze warehousing.stock`;
  const movement = JSON.stringify([{
    type: "receive",
    item_id: item,
    warehouse_id: warehouse,
    quantity: 1,
    to: { bin_id: bin, serial_number: "S-78" },
  }]);
  expect(await rowsRead("select warehousing.stock_post($1::text::jsonb)", [movement]))
    .toBeLessThan(200);
});
