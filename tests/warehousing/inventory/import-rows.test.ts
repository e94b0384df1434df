/** A company's first file of items, before the table has statistics of it: no line reads those before it. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";

const lines = 600;

test("items of a file are added without reading those before them", async () => {
  const tenant = await newTenant();
  const claims = {
    sub: tenant.admin.id,
    tenant_id: tenant.id,
    tenant_mode: "required",
    issued_at: Math.floor(Date.now() / 1000),
  };
  const file = Array.from({ length: lines }, (_, index) => ({
    line: index + 2,
    input: { name: `صنف ${index}`, sku: `SKU-${index}` },
  }));
  const [made, read] = await sql.begin(async (tx) => {
    await tx`select private.enter(${sql.json(claims)}, '{"access": ["anyone"]}')`;
    const readItems = async () => {
      const [{ items }] = await tx`select pg_stat_get_xact_tuples_returned(c)
        + (select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = c) as items
        from (select 'warehousing.inventory_items'::regclass::oid as c) t`;
      return Number(items);
    };
    const before = await readItems();
    const [{ answer }] = await tx`select warehousing.inventory_item_import(${
      sql.json({ lines: file, dry_run: false })
    }) as answer`;
    return [answer, await readItems() - before];
  }) as [{ ids: string[] }, number];
  expect(made.ids).toHaveLength(lines);
  expect(read).toBeLessThan(4 * lines);
});

test("an item is answered as it is read", async () => {
  const tenant = await newTenant();
  const path = "/warehousing/inventory-items";
  const body = { name: "Tea", sku: "TEA", barcode: "628100", unit_size: 1.5, is_serialized: true };
  const made = await tenant.admin.post(path, body);
  expect(made).toSucceed(201);
  const item = made.body.inventory_item;
  const read = await tenant.admin.get(`${path}/${item.id}`);
  expect(read.body.inventory_item).toEqual(item);
});
