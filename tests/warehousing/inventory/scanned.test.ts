/** Barcodes of goods, and numbers of lots and pieces, as scanners and keyboards of any language send them. */
import { beforeAll, describe, expect, test } from "vitest";
import { body, countsPath } from "../../support/inventory-counts.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { checkStock, newItem, newShelf, stockIn } from "../../support/warehouses.ts";

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

describe("the number of a piece", () => {
  const ascii = "SN-0042";
  const typed = ["SN-٠٠٤٢", "SN-۰۰۴۲", " \u200fSN-0042\u202c"];
  const pieces = async (item_id: string, query: object = {}) =>
    (await tenant.warehouse.get("/warehousing/inventory", { query: { item_id, ...query } })).body
      .data.map((one: { serial_number: string; lot_number: string }) => [
        one.serial_number,
        one.lot_number,
      ]);

  test("is one number on any keyboard: taken in once, found, moved and written off by each", async () => {
    const at = await newShelf(tenant, 0);
    const item_id = await newItem(tenant, { is_serialized: true });
    const receive = (serial_number: string) =>
      tenant.warehouse.post("/warehousing/inventory/receipts", {
        warehouse_id: at.warehouse,
        items: [{ item_id, bin_id: at.bin, quantity: 1, serial_number, lot_number: "٢٠٢٦" }],
      });
    expect(await receive(typed[0]!)).toSucceed(201);
    expect(await pieces(item_id)).toEqual([[ascii, "2026"]]);
    for (const serial_number of [ascii, ...typed]) {
      expect(await receive(serial_number)).toFailWith(409, "serial_number_taken");
      expect(await pieces(item_id, { serial_number, lot_number: "۲۰۲۶" })).toHaveLength(1);
    }
    const gone = await tenant.ops.post("/warehousing/inventory/write-offs", {
      warehouse_id: at.warehouse,
      reason: "damaged",
      items: [{ item_id, bin_id: at.bin, quantity: 1, serial: typed[1], lot: "2026" }],
    });
    expect(gone).toSucceed(201);
    expect(await pieces(item_id)).toEqual([]);
    await checkStock(tenant);
  });

  test("that an older version kept in other digits is put right by a count of its bin", async () => {
    const at = await newShelf(tenant, 0);
    const item_id = await newItem(tenant, { is_serialized: true });
    const place = { warehouse_id: at.warehouse, bin_id: at.bin };
    await stockIn(tenant, { ...place, item_id, quantity: 1, serial_number: typed[0]! });
    expect(await pieces(item_id)).toEqual([[typed[0], null]]);
    const counted = await tenant.warehouse.post(countsPath, {
      ...body(at, { item_id, bin_id: at.bin, counted: 1, serial_number: typed[0] }),
      whole_bins: true,
    });
    expect(counted).toSucceed(201);
    expect(await pieces(item_id)).toEqual([[ascii, null]]);
    await checkStock(tenant);
  });
});
