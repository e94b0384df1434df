/** Stock that is lost or spoilt is written off; what is left empty by it is closed for good. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newStagedPackage, newYard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import {
  checkStock,
  movementsOf,
  newBin,
  newItem,
  newShelf,
  type Shelf,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";
import { itemOf } from "../../support/waybills.ts";

const path = "/warehousing/inventory/write-offs";
let tenant: Tenant;
let foreign: Shelf;

beforeAll(async () => {
  tenant = await newTenant();
  foreign = await newShelf(await newTenant(), 5);
});

const line = (at: Shelf, more: object = {}) => ({
  item_id: at.item,
  bin_id: at.bin,
  quantity: 4,
  ...more,
});
const body = (at: Shelf, ...lines: object[]) => ({
  warehouse_id: at.warehouse,
  reason: "Burst pipe",
  items: lines.length ? lines : [line(at)],
});
const pick = (at: Shelf, quantity: number) =>
  tenant.ops.post("/warehousing/picking-orders", {
    warehouse_id: at.warehouse,
    order_type: "individual",
    status: "in_progress",
    item_details: [line(at, { quantity })],
  });

describe("a write-off", () => {
  test("takes units out by movements that say why, and tells of it", async () => {
    const at = await newShelf(tenant, 10);
    await stockIn(tenant, {
      item_id: at.item,
      warehouse_id: at.warehouse,
      bin_id: at.bin,
      quantity: 3,
      status: "damaged",
    });
    const answer = await tenant.ops.post(
      path,
      body(at, line(at), line(at, { status: "damaged", quantity: 2, note: "mould" })),
    );
    expect(answer).toSucceed(201);
    const movement = {
      id: anId,
      transaction_type: "write_off",
      warehouse_id: at.warehouse,
      lot_number: null,
      serial_number: null,
      item: { id: at.item, name: expect.any(String), sku: expect.any(String) },
      from_bin: { id: at.bin, code: expect.any(String), name: expect.any(String) },
      to_bin: null,
    };
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      write_off_id: anId,
      transactions: [{ ...movement, quantity: 4 }, { ...movement, quantity: 2 }],
    });
    expect(await unitsOf(at.item)).toEqual({ available: 6, damaged: 1 });
    const said = await sql`select reason, note from warehousing.inventory_transactions
      where reference_id = ${answer.body.write_off_id} order by id`;
    expect(said).toEqual([
      { reason: "Burst pipe", note: null },
      { reason: "Burst pipe", note: "mould" },
    ]);
    const [event] = await sql`select event_type, event_data from integration.system_events
      where entity_id = ${at.warehouse}`;
    expect(event).toEqual({
      event_type: "inventory.written_off",
      event_data: {
        write_off_id: answer.body.write_off_id,
        warehouse_id: at.warehouse,
        reason: "Burst pipe",
        lines: 2,
        units: 6,
        actor_id: tenant.ops.id,
      },
    });
    await checkStock(tenant);
  });

  test("closes the row that it empties; what comes there later has a row of its own", async () => {
    const at = await newShelf(tenant, 4);
    expect(await tenant.ops.post(path, body(at))).toSucceed(201);
    const rows = () =>
      sql`select id, quantity::int, written_off_at is not null as closed from warehousing.stock
        where item_id = ${at.item} order by created_at`;
    const [closed, ...others] = await rows();
    expect([closed.quantity, closed.closed, others]).toEqual([0, true, []]);
    expect(await pick(at, 1)).toFailWith(409, "insufficient_stock");
    expect(await tenant.ops.post(path, body(at, line(at, { quantity: 1 }))))
      .toFailWith(409, "insufficient_stock");
    await stockIn(tenant, {
      item_id: at.item,
      warehouse_id: at.warehouse,
      bin_id: at.bin,
      quantity: 2,
    });
    expect(await pick(at, 2)).toSucceed(201);
    const [same, fresh, reserved] = await rows();
    expect(same).toEqual(closed);
    expect([fresh.quantity, reserved.quantity]).toEqual([0, 2]);
    const [{ n }] = await sql`select count(*)::int as n from warehousing.inventory_transactions
      where ${closed.id} in (from_stock_id, to_stock_id)`;
    expect(n).toBe(2);
    await checkStock(tenant);
  });

  test("of a part leaves the rest to be picked, and a released reservation comes back apart", async () => {
    const at = await newShelf(tenant, 6);
    const order = await pick(at, 2);
    expect(await tenant.ops.post(path, body(at, line(at, { quantity: 3 })))).toSucceed(201);
    expect(await tenant.ops.post(path, body(at, line(at, { quantity: 2 }))))
      .toFailWith(409, "insufficient_stock");
    expect(await tenant.ops.post(path, body(at, line(at, { quantity: 1 })))).toSucceed(201);
    expect(await unitsOf(at.item)).toEqual({ reserved: 2 });
    const cancelled = await tenant.ops.put(
      `/warehousing/picking-orders/${order.body.order.id}`,
      { status: "cancelled" },
    );
    expect(cancelled).toSucceed(200);
    expect(await unitsOf(at.item)).toEqual({ available: 2 });
    expect(await pick(at, 2)).toSucceed(201);
    await checkStock(tenant);
  });

  test("names lots and pieces by their numbers", async () => {
    const at = await newShelf(tenant, 10);
    const place = { warehouse_id: at.warehouse, bin_id: at.bin };
    await stockIn(tenant, { ...place, item_id: at.item, quantity: 3, lot_number: "L1" });
    const piece = await newItem(tenant, { is_serialized: true });
    await stockIn(tenant, { ...place, item_id: piece, quantity: 1, serial_number: "S1" });
    const of = { item_id: piece, quantity: 1 };
    expect(await tenant.ops.post(path, body(at, line(at, { lot: "L1" }))))
      .toFailWith(409, "insufficient_stock");
    expect(await tenant.ops.post(path, body(at, line(at, { ...of, serial: "S2" }))))
      .toFailWith(409, "insufficient_stock");
    const done = await tenant.ops.post(
      path,
      body(at, line(at, { lot: "L1", quantity: 3 }), line(at, { ...of, serial: "S1" })),
    );
    expect(done.body.transactions).toMatchObject([
      { lot_number: "L1", quantity: 3 },
      { serial_number: "S1", quantity: 1 },
    ]);
    expect(await unitsOf(at.item)).toEqual({ available: 10 });
    // The piece was found after all.
    await stockIn(tenant, { ...place, item_id: piece, quantity: 1, serial_number: "S1" });
    await checkStock(tenant);
  });

  test("is whole or nothing, and of twenty who want the same units those are right who get them", async () => {
    const at = await newShelf(tenant, 10);
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        (_, i) =>
          i % 2
            ? tenant.ops.post(path, body(at, line(at, { quantity: 1 }), line(at, { quantity: 2 })))
            : pick(at, 1),
      ),
    );
    for (const answer of answers) {
      if (answer.status !== 201) expect(answer).toFailWith(409, "insufficient_stock");
    }
    const done = (odd: number) =>
      answers.filter(({ status }, i) => i % 2 === odd && status === 201).length;
    const left = 10 - 3 * done(1) - done(0);
    expect(left).toBeGreaterThanOrEqual(0);
    const units = await unitsOf(at.item);
    expect([units.available ?? 0, units.reserved ?? 0]).toEqual([left, done(0)]);
    const written = (await movementsOf(at.item)).filter(([type]) => type === "write_off");
    expect(written).toHaveLength(2 * done(1));
    await checkStock(tenant);
  });
});

test("wrong input, unknown places, parcels and the wrong people are refused", async () => {
  const at = await newShelf(tenant, 30);
  const elsewhere = await newShelf(tenant, 5);
  const { reason: _, ...unexplained } = body(at);
  await expectRefused(tenant.ops, { method: "POST", path }, [
    [unexplained, "reason"],
    [{ ...body(at), reason: " " }, "reason"],
    [{ ...body(at), items: [] }, "items"],
    [body(at, line(at, { quantity: 0 })), "items.0.quantity"],
    [body(at, line(at), line(at, { quantity: 1.5 })), "items.1.quantity"],
    [body(at, line(at, { status: "reserved" })), "items.0.status"],
    [body(at, line(at, { lot_number: "L1" })), "items.0.lot_number", "unknown_field"],
    [body(at, line(at, { note: "x".repeat(501) })), "items.0.note"],
    [body(at, line(at, { bin_id: "B" })), "items.0.bin_id", "invalid_uuid"],
  ]);
  const yard = await newYard(tenant);
  const { parent } = await newStagedPackage(yard);
  const item_id = await itemOf(parent.id);
  for (
    const [sent, status, code, field] of [
      [body(at, line(at, { bin_id: elsewhere.bin })), 404, "bin_not_found", "items.0.bin_id"],
      [body(at, line(at), line(foreign)), 404, "inventory_item_not_found", "items.1.item_id"],
      [body(at, line(at, { bin_id: foreign.bin })), 404, "bin_not_found", "items.0.bin_id"],
      [
        { ...body(at), warehouse_id: foreign.warehouse },
        404,
        "warehouse_not_found",
        "warehouse_id",
      ],
      [
        { ...body(at, line(at, { item_id, bin_id: yard.bin })), warehouse_id: yard.warehouse },
        409,
        "item_of_parcel",
        "items.0.item_id",
      ],
      [
        body(at, line(at), line(at, { quantity: 27 })),
        409,
        "insufficient_stock",
        "items.0.quantity",
      ],
    ] as const
  ) {
    const answer = await tenant.ops.post(path, sent);
    expect(answer).toFailWith(status, code);
    expect(answer.body.field).toBe(field);
  }
  expect(await unitsOf(at.item)).toEqual({ available: 30 });
  await expectReplayed(tenant.ops, path, body(at), body(at, line(at, { quantity: 1 })));
  expect(await unitsOf(at.item)).toEqual({ available: 26 });
  await expectGuarded({ method: "POST", path, body: body(at) }, {
    denied: [tenant.warehouse, tenant.staff, tenant.driver, tenant.institution, tenant.customer],
  });
  // A bin that is out of use may be cleared.
  const closed = await newBin(tenant, at.warehouse);
  await stockIn(tenant, {
    item_id: at.item,
    warehouse_id: at.warehouse,
    bin_id: closed,
    quantity: 1,
  });
  await sql`update warehousing.bins set is_active = false where id = ${closed}`;
  expect(await tenant.ops.post(path, body(at, line(at, { bin_id: closed, quantity: 1 }))))
    .toSucceed(201);
});
