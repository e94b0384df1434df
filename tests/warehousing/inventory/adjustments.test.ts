/** Adjustments of stock. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";
import {
  checkStock,
  movementsOf,
  newShelf,
  type Shelf,
  unitsOf,
} from "../../support/warehouses.ts";

const adjustments = "/warehousing/inventory/adjustments";
let tenant: Tenant;
let other: Tenant;
let shelf: Shelf;
let foreign: Shelf;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  [shelf, foreign] = [await newShelf(tenant, 0), await newShelf(other, 5)];
});

describe("adjustments", () => {
  const adjust = (at: Shelf, more: object = {}) => ({
    warehouse_id: at.warehouse,
    item_id: at.item,
    bin_id: at.bin,
    delta: -1,
    reason: "counted",
    ...more,
  });

  test("add and take away in one place, never below nothing", async () => {
    const at = await newShelf(tenant, 3);
    const put = (more: object = {}) => tenant.warehouse.post(adjustments, adjust(at, more));
    const down = await put();
    expect(down).toSucceed(201);
    expect(down.body.transactions).toMatchObject([
      { transaction_type: "adjust", quantity: 1, from_bin: { id: at.bin }, to_bin: null },
    ]);
    expect(await put({ delta: 4, status: "damaged" })).toSucceed(201);
    expect(await unitsOf(at.item)).toEqual({ available: 2, damaged: 4 });
    const short = await put({ delta: -3 });
    expect(short).toFailWith(409, "insufficient_stock");
    expect(short.body).toMatchObject({ field: "delta", item_id: at.item });
    expect(await put({ lot_number: "none" })).toFailWith(409, "insufficient_stock");
    expect(await movementsOf(at.item)).toEqual([["initial_stock", 3], ["adjust", 1], [
      "adjust",
      4,
    ]]);
    const [{ reason }] = await sql`select reason from warehousing.inventory_transactions
      where item_id = ${at.item} and transaction_type = 'adjust' limit 1`;
    expect(reason).toBe("counted");
    await checkStock(tenant);
  });

  test("refuse wrong input, other places and the wrong people", async () => {
    const at = await newShelf(tenant, 3);
    await expectRefused(tenant.ops, { method: "POST", path: adjustments }, [
      [adjust(at, { delta: 0 }), "delta"],
      [adjust(at, { delta: 0.5 }), "delta"],
      [adjust(at, { reason: "" }), "reason"],
      [adjust(at, { status: "reserved" }), "status"],
    ]);
    for (
      const [more, code] of [
        [{ warehouse_id: foreign.warehouse }, "warehouse_not_found"],
        [{ bin_id: shelf.bin }, "bin_not_found"],
        [{ item_id: foreign.item }, "inventory_item_not_found"],
      ] as const
    ) {
      expect(await tenant.ops.post(adjustments, adjust(at, more))).toFailWith(404, code);
    }
    await expectGuarded({ method: "POST", path: adjustments, body: adjust(at) }, {
      denied: [tenant.staff, tenant.driver],
    });
  });
});
