/** Barcodes of goods, as scanners and keyboards of any language send them. */
import { beforeAll, expect, test } from "vitest";
import { newTenant, type Tenant } from "../../support/people.ts";

const path = "/warehousing/inventory-items";
let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const found = async (barcode: string) =>
  (await tenant.warehouse.get(path, { query: { barcode } })).body.data
    .map(({ sku }: { sku: string }) => sku);

test("an item is found by its barcode in the digits of any keyboard, whichever it was added with", async () => {
  const ways = ["6281000000018", "٦٢٨١٠٠٠٠٠٠٠١٨", "۶۲۸۱۰۰۰۰۰۰۰۱۸", " \u200f6281000000018\u202c "];
  for (const [place, barcode] of ways.entries()) {
    const made = await tenant.warehouse.post(path, { name: "Tea", sku: `T-${place}`, barcode });
    expect(made).toSucceed(201);
    expect(made.body.inventory_item.barcode).toBe(ways[0]);
  }
  for (const barcode of ways) expect(await found(barcode), barcode).toHaveLength(ways.length);
  const [last] = (await tenant.warehouse.get(path, { query: { search: "T-3" } })).body.data;
  expect(await tenant.warehouse.put(`${path}/${last.id}`, { barcode: "٤٢" })).toSucceed(200);
  expect(await found("42")).toEqual(["T-3"]);
});

test("letters and spaces within are the supplier's", async () => {
  const barcode = "ab 12-Cd";
  expect(await tenant.warehouse.post(path, { name: "Tea", sku: "L", barcode })).toSucceed(201);
  expect(await found(barcode)).toEqual(["L"]);
  expect(await found(barcode.toUpperCase())).toEqual([]);
  const blank = await tenant.warehouse.post(path, { name: "Tea", sku: "M", barcode: "\u200f " });
  expect(blank).toFailWith(400, "validation_failed");
  expect(blank.body.field).toBe("barcode");
});
