/** Counts of whole bins, which hold what was named and nothing else. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newStagedPackage, newYard } from "../../support/packages.ts";
import { body, countsPath, differences, line, sendCount } from "../../support/inventory-counts.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { pickingSteps } from "../../support/picking.ts";
import {
  checkStock,
  newBin,
  newItem,
  newShelf,
  type Shelf,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";
import { itemOf } from "../../support/waybills.ts";

let tenant: Tenant;

beforeAll(async () => {
  tenant = await newTenant();
});

const counted = (at: Shelf, items: object[], more: object = {}) =>
  sendCount(tenant.warehouse, at, items, more);

describe("whole bins", () => {
  test("hold what was named and nothing else", async () => {
    const at = await newShelf(tenant, 10);
    const place = { warehouse_id: at.warehouse, bin_id: at.bin };
    const beside = await newBin(tenant, at.warehouse);
    await stockIn(tenant, { ...place, item_id: at.item, quantity: 2, status: "expired" });
    await stockIn(tenant, { ...place, item_id: at.item, quantity: 3, lot_number: "L1" });
    await stockIn(tenant, { ...place, item_id: at.item, quantity: 5, bin_id: beside });
    const other = await newItem(tenant);
    await stockIn(tenant, { ...place, item_id: other, quantity: 1 });
    const count = await counted(at, [line(at, 9)], { whole_bins: true });
    expect(count).toMatchObject({ whole_bins: true, lines: 4, differences: 4, units_missing: 7 });
    expect(count.items.map((row: Record<string, unknown>) => [row.counted, row.difference]))
      .toEqual([[9, -1], ...count.items.slice(1).map(() => [0, expect.any(Number)])]);
    expect(await unitsOf(at.item, at.bin)).toEqual({ available: 9 });
    expect(await unitsOf(at.item, beside)).toEqual({ available: 5 });
    expect(await unitsOf(other)).toEqual({});
    expect((await tenant.ops.get(`${countsPath}/${count.id}`)).body.count).toEqual(count);
    await checkStock(tenant);
  });

  test("hold what is set aside there all the same", async () => {
    const at = await newShelf(tenant, 10);
    const order = await newShelf(tenant, 0);
    const other = { ...at, item: order.item };
    const place = { warehouse_id: at.warehouse, bin_id: at.bin, item_id: other.item };
    await stockIn(tenant, { ...place, quantity: 3 });
    await pickingSteps(tenant, other).newOrder({ status: "in_progress" });
    const refused = await tenant.ops.post(countsPath, {
      ...body(at, line(at, 10)),
      whole_bins: true,
    });
    expect(refused).toFailWith(409, "count_below_reserved");
    expect(refused.body).toMatchObject({ field: "whole_bins", reserved: 2, item_id: other.item });
    const count = await counted(at, [line(at, 10), line(other, 2)], { whole_bins: true });
    expect(differences(count)).toEqual([0, -1]);
    expect(await unitsOf(other.item)).toEqual({ reserved: 2 });
    await checkStock(tenant);
  });

  test("keep what is in parcels, which nobody counts by its items", async () => {
    const yard = await newYard(tenant);
    const { parent } = await newStagedPackage(yard);
    const parcel = await itemOf(parent.id);
    const [{ bin_id: bin }] = await sql`select bin_id from warehousing.stock
      where item_id = ${parcel} and quantity > 0`;
    const at = { warehouse: yard.warehouse, bin, item: await newItem(tenant) };
    const count = await counted(at, [line(at, 1)], { whole_bins: true });
    expect(count.items).toHaveLength(1);
    expect(await unitsOf(parcel)).toEqual({ available: 1 });
    const refused = await tenant.ops.post(countsPath, body(at, line({ ...at, item: parcel }, 0)));
    expect(refused).toFailWith(409, "item_of_parcel");
    expect(refused.body.field).toBe("items.0.item_id");
    await checkStock(tenant);
  });
});
