/** Bins are counted: what differs from the books is booked, and the count is kept. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newStaff } from "../../support/packages.ts";
import { body, countsPath, differences, line, sendCount } from "../../support/inventory-counts.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { line as picked, pickingSteps } from "../../support/picking.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import {
  checkStock,
  eventsOf,
  movementsOf,
  newBin,
  newItem,
  newShelf,
  type Shelf,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

let tenant: Tenant;
let foreign: Shelf;

beforeAll(async () => {
  tenant = await newTenant();
  foreign = await newShelf(await newTenant(), 5);
});

const counted = (at: Shelf, items: object[], more: object = {}) =>
  sendCount(tenant.warehouse, at, items, more);

describe("a count", () => {
  test("books what was found and what is missing, and keeps every line", async () => {
    const at = await newShelf(tenant, 10);
    const place = { warehouse_id: at.warehouse, bin_id: at.bin };
    const [same, fresh] = [await newItem(tenant), await newItem(tenant)];
    await stockIn(tenant, { ...place, item_id: same, quantity: 5 });
    const answer = await tenant.warehouse.post(countsPath, {
      ...body(
        at,
        line(at, 7),
        line(at, 5, { item_id: same }),
        line(at, 2, { item_id: fresh, status: "damaged" }),
      ),
      notes: "aisle 4",
    });
    expect(answer).toSucceed(201);
    const named = { name: expect.any(String), sku: expect.any(String) };
    const bin = { id: at.bin, code: expect.any(String), name: expect.any(String) };
    const plain = { bin, status: "available", lot_number: null, serial_number: null };
    const movement = {
      id: anId,
      transaction_type: "count",
      warehouse_id: at.warehouse,
      lot_number: null,
      serial_number: null,
    };
    const count = {
      id: anId,
      warehouse: { id: at.warehouse, name: expect.any(String), code: expect.any(String) },
      notes: "aisle 4",
      whole_bins: false,
      counted_by: { id: tenant.warehouse.id, full_name: expect.stringContaining("warehouse") },
      created_at: expect.any(String),
      lines: 3,
      differences: 2,
      units_found: 2,
      units_missing: 3,
      items: [
        { ...plain, item: { id: at.item, ...named }, expected: 10, counted: 7, difference: -3 },
        { ...plain, item: { id: same, ...named }, expected: 5, counted: 5, difference: 0 },
        {
          ...plain,
          item: { id: fresh, ...named },
          status: "damaged",
          expected: 0,
          counted: 2,
          difference: 2,
        },
      ],
    };
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      count,
      transactions: [
        { ...movement, item: count.items[0].item, quantity: 3, from_bin: bin, to_bin: null },
        { ...movement, item: count.items[2].item, quantity: 2, from_bin: null, to_bin: bin },
      ],
    });
    expect(await unitsOf(at.item)).toEqual({ available: 7 });
    expect(await unitsOf(fresh)).toEqual({ damaged: 2 });
    expect(await movementsOf(same)).toEqual([["initial_stock", 5]]);
    const read = await tenant.warehouse.get(`${countsPath}/${answer.body.count.id}`);
    expect(read).toSucceed(200);
    expect(read.body.count).toEqual(answer.body.count);
    const [{ reason, reference_type }] = await sql`
      select reason, reference_type from warehousing.inventory_transactions
      where reference_id = ${answer.body.count.id} limit 1`;
    expect([reason, reference_type]).toEqual(["aisle 4", "count"]);
    await newStaff(tenant, at.warehouse, tenant.staff.id);
    const seen = await tenant.staff.get("/warehousing/dashboard", {
      query: { warehouse_id: at.warehouse },
    });
    expect(seen.body.recent_activity[1]).toMatchObject({
      type: "inventory_counted",
      label: "Counted",
      quantity: 3,
      performed_by: { id: tenant.warehouse.id },
      from_location: { id: at.bin },
      to_location: null,
      reference: { type: "count", id: answer.body.count.id },
    });
    await checkStock(tenant);
  });

  test("in which nothing differs is kept as well, and moves nothing", async () => {
    const at = await newShelf(tenant, 4);
    const never = await newItem(tenant);
    const items = [line(at, 4), line(at, 0, { item_id: never })];
    const answer = await tenant.ops.post(countsPath, body(at, ...items));
    expect(answer).toSucceed(201);
    expect(answer.body.transactions).toEqual([]);
    expect(answer.body.count).toMatchObject({ lines: 2, differences: 0, notes: null });
    const [event] = await sql`select event_type, event_data from integration.system_events
      where entity_id = ${at.warehouse}`;
    expect(event).toEqual({
      event_type: "inventory.counted",
      event_data: {
        warehouse_id: at.warehouse,
        count_id: answer.body.count.id,
        lines: 2,
        differences: 0,
        units_found: 0,
        units_missing: 0,
        actor_id: tenant.ops.id,
      },
    });
    expect(await movementsOf(at.item)).toEqual([["initial_stock", 4]]);
    const change = sql`update warehousing.inventory_counts set notes = 'other'
      where id = ${answer.body.count.id}`;
    await expect(change).rejects.toThrow(/never changed or removed/);
  });

  test("is of one lot and one status, and leaves the others alone", async () => {
    const at = await newShelf(tenant, 10);
    const place = { warehouse_id: at.warehouse, bin_id: at.bin, item_id: at.item };
    await stockIn(tenant, { ...place, quantity: 3, lot_number: "L1" });
    await stockIn(tenant, { ...place, quantity: 6, status: "damaged" });
    const count = await counted(at, [
      line(at, 1, { lot_number: " L1 " }),
      line(at, 2, { lot_number: "L2" }),
      line(at, 8, { status: "damaged" }),
    ]);
    expect(differences(count)).toEqual([-2, 2, 2]);
    expect(count.items[0].lot_number).toBe("L1");
    const rows = await sql`select status, lot_number, quantity::int from warehousing.stock
      where item_id = ${at.item} order by status, lot_number nulls first`;
    expect(rows.map((row) => Object.values(row))).toEqual([
      ["available", null, 10],
      ["available", "L1", 1],
      ["available", "L2", 2],
      ["damaged", null, 8],
    ]);
    await checkStock(tenant);
  });

  test("of pieces has a line for each, and a piece is in one place", async () => {
    const at = await newShelf(tenant, 0);
    const beside = await newBin(tenant, at.warehouse);
    const item_id = await newItem(tenant, { is_serialized: true });
    const place = { warehouse_id: at.warehouse, bin_id: at.bin, item_id, quantity: 1 };
    for (const serial_number of ["S1", "S2"]) await stockIn(tenant, { ...place, serial_number });
    const piece = (serial_number: string | null, n: number, bin_id = at.bin) =>
      line(at, n, { item_id, serial_number, bin_id });
    for (
      const [sent, status, code, field] of [
        [piece(null, 0), 400, "serial_number_required", "items.1.serial_number"],
        [piece("S3", 2), 400, "serial_quantity_must_be_one", "items.1.counted"],
        [piece("S2", 1, beside), 409, "serial_number_taken", "items.1.serial_number"],
      ] as const
    ) {
      const answer = await tenant.ops.post(countsPath, body(at, piece("S1", 0), sent));
      expect(answer).toFailWith(status, code);
      if (field) expect(answer.body).toMatchObject({ field, item_id });
    }
    // Units that are missing in one bin and found in the other.
    const count = await counted(at, [
      piece("S1", 1),
      piece("S2", 1, beside),
      piece("S2", 0),
      piece("S3", 1),
    ]);
    expect(differences(count)).toEqual([0, 1, -1, 1]);
    expect(await unitsOf(item_id, at.bin)).toEqual({ available: 2 });
    expect(await unitsOf(item_id, beside)).toEqual({ available: 1 });
    await checkStock(tenant);
  });

  test("has what is set aside for orders in it, and never takes it away", async () => {
    const at = await newShelf(tenant, 10);
    const { newOrder } = pickingSteps(tenant, at);
    await newOrder({ status: "in_progress", item_details: [picked(at, { quantity: 4 })] });
    expect(differences(await counted(at, [line(at, 10)]))).toEqual([0]);
    const [more] = (await counted(at, [line(at, 12)])).items;
    expect(more).toMatchObject({ expected: 10, difference: 2 });
    expect(await unitsOf(at.item)).toEqual({ available: 8, reserved: 4 });
    await counted(at, [line(at, 4)]);
    expect(await unitsOf(at.item)).toEqual({ reserved: 4 });
    const other = await newItem(tenant);
    const refused = await tenant.ops.post(
      countsPath,
      body(at, line(at, 1, { item_id: other }), line(at, 3)),
    );
    expect(refused).toFailWith(409, "count_below_reserved");
    expect(refused.body).toMatchObject({ field: "items.1.counted", reserved: 4, item_id: at.item });
    expect(await unitsOf(other)).toEqual({});
    // Damaged ones are nobody's order's.
    expect(differences(await counted(at, [line(at, 3, { status: "damaged" })]))).toEqual([3]);
    await checkStock(tenant);
  });
});

test("wrong input, unknown places and the wrong people are refused", async () => {
  const at = await newShelf(tenant, 10);
  const closed = await newBin(tenant, at.warehouse, { is_active: false });
  const elsewhere = await newShelf(tenant, 0);
  const lot = { lot_number: "L" };
  await expectRefused(tenant.ops, { method: "POST", path: countsPath }, [
    [{}, "warehouse_id", "validation_failed"],
    [body(at), "items"],
    [body(at, line(at, -1)), "items.0.counted"],
    [body(at, line(at, 1), line(elsewhere, 1.5)), "items.1.counted"],
    [body(at, line(at, 1e10)), "items.0.counted"],
    [body(at, line(at, 1, { status: "reserved" })), "items.0.status"],
    [body(at, line(at, 1, { bin_id: "B" })), "items.0.bin_id", "invalid_uuid"],
    [{ ...body(at, line(at, 1)), whole_bins: "yes" }, "whole_bins"],
    [body(at, line(at, 1), line(at, 2, lot), line(at, 3, lot)), "items.2.item_id"],
    [
      body(at, line(at, 1), line(at, 1, { status: "available", lot_number: null })),
      "items.1.item_id",
    ],
  ]);
  for (
    const [sent, status, code, field] of [
      [body(at, line(elsewhere, 1)), 404, "bin_not_found", "items.0.bin_id"],
      [
        body(at, line(at, 1), line({ ...at, bin: foreign.bin }, 1)),
        404,
        "bin_not_found",
        "items.1.bin_id",
      ],
      [
        body(at, line(at, 1, { item_id: foreign.item })),
        404,
        "inventory_item_not_found",
        "items.0.item_id",
      ],
      [
        { ...body(at, line(at, 1)), warehouse_id: foreign.warehouse },
        404,
        "warehouse_not_found",
        "warehouse_id",
      ],
      [body(at, line(at, 1, { bin_id: closed })), 409, "bin_inactive", "items.0.bin_id"],
    ] as const
  ) {
    const answer = await tenant.ops.post(countsPath, sent);
    expect(answer, JSON.stringify(sent)).toFailWith(status, code);
    expect(answer.body.field).toBe(field);
  }
  expect(await unitsOf(at.item)).toEqual({ available: 10 });
  await expectReplayed(tenant.ops, countsPath, body(at, line(at, 7)), body(at, line(at, 6)));
  expect(await movementsOf(at.item)).toEqual([["initial_stock", 10], ["count", 3]]);
  expect(await eventsOf(at.warehouse)).toEqual(["inventory.counted"]);
  await newStaff(tenant, at.warehouse, tenant.staff.id, randomUUID());
  await expectGuarded({ method: "POST", path: countsPath, body: body(at, line(at, 1)) }, {
    denied: [tenant.staff, tenant.driver, tenant.customer],
  });
});
