/** Items from a file; what every import promises stands in tests/shared/import.test.ts. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import { fingerprintOf } from "../../support/everything.ts";
import { faultsOf, sendFile } from "../../support/files.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { newItem } from "../../support/warehouses.ts";

const list = "/warehousing/inventory-items";
const path = `${list}/import`;

let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
});

const sku = () => `S-${randomUUID().slice(0, 12)}`;

test("items come in with all their parts, and go to another tenant by our own export", async () => {
  const rows = [
    { name: "قهوة", sku: sku(), barcode: "0012345", unit_size: 0.25, is_serialized: "TRUE" },
    { name: "چای", sku: "'=A1", brand: "ئەحمەد", is_active: false },
  ];
  const answer = await sendFile(tenant.ops, path, rows);
  expect(answer).toSucceed(201);
  const stored = async (
    of: Tenant,
  ) => [
    ...await sql`select name, sku, barcode, brand, model, unit_size, is_serialized, is_active
      from warehousing.inventory_items where tenant_id = ${of.id} order by name`,
  ];
  expect(await stored(tenant)).toMatchObject([
    { name: "قهوة", barcode: "0012345", unit_size: 0.25, is_serialized: true, is_active: true },
    { name: "چای", sku: "=A1", brand: "ئەحمەد", is_serialized: false, is_active: false },
  ]);
  const file = await tenant.ops.get(list, { query: { format: "csv" } });
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(file.body);
  expect(await sendFile(other.ops, path, text)).toSucceed(201);
  expect(await stored(other)).toEqual(await stored(tenant));
});

test("a code that exists, in the file or before it, is a fault of its line and nothing is written", async () => {
  const [taken, twice] = [sku(), sku()];
  await newItem(tenant, { sku: taken });
  const rows = [
    { name: "A", sku: twice },
    { name: "B", sku: taken },
    { name: "C", sku: twice },
    { name: "D", sku: sku(), unit_size: -1 },
    { name: "E", sku: sku(), is_active: "perhaps" },
    { name: "F", sku: sku() },
  ];
  const faults = [
    [3, "sku", "item_sku_exists"],
    [4, "sku", "item_sku_exists"],
    [5, "unit_size", "validation_failed"],
    [6, "is_active", "validation_failed"],
  ];
  const before = await fingerprintOf(tenant.id);
  const refused = await sendFile(tenant.ops, path, rows);
  expect(refused).toFailWith(400, "import_has_errors");
  expect(faultsOf(refused)).toEqual(faults);
  const dry = await sendFile(tenant.ops, path, rows, { query: { dry_run: true } });
  expect(faultsOf(dry)).toEqual(faults);
  expect(dry.body).toMatchObject({ lines: 6, valid: 2, imported: 0 });
  expect(await fingerprintOf(tenant.id)).toEqual(before);
});

test("only by who may add one", async () => {
  const rows = [{ name: "A", sku: sku() }];
  expect(await sendFile(nobody, path, rows)).toFailWith(401, "unauthorized");
  for (const person of [tenant.staff, tenant.customer]) {
    expect(await sendFile(person, path, rows)).toFailWith(403, "forbidden");
  }
});
