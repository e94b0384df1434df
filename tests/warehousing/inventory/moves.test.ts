/** Stock that changes its place within a warehouse. */
import { beforeAll, describe, expect, test } from "vitest";
import { anId } from "../../support/expect.ts";
import { newStaff, newStagedPackage, newYard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import { move as act } from "../../support/deliveries.ts";
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
import { itemOf } from "../../support/waybills.ts";

const path = "/warehousing/inventory/moves";
let tenant: Tenant;
let foreign: Shelf;

beforeAll(async () => {
  tenant = await newTenant();
  foreign = await newShelf(await newTenant(), 5);
});

/** Ten units in one bin, an empty bin beside it. */
async function twoBins() {
  const at = await newShelf(tenant, 10);
  const to_bin_id = await newBin(tenant, at.warehouse);
  const line = (more: object = {}) => ({
    item_id: at.item,
    from_bin_id: at.bin,
    to_bin_id,
    quantity: 4,
    ...more,
  });
  const body = (...lines: object[]) => ({
    warehouse_id: at.warehouse,
    items: lines.length ? lines : [line()],
  });
  return { ...at, beside: to_bin_id, line, body };
}

describe("a move", () => {
  test("is one step: there is as much as before, at another place", async () => {
    const at = await twoBins();
    const { line } = at;
    const status = "damaged";
    const answer = await tenant.warehouse.post(path, {
      ...at.body(line(), line({ quantity: 1, to_bin_id: at.bin, to_status: status })),
      notes: "put away",
    });
    expect(answer).toSucceed(201);
    const movement = {
      id: anId,
      transaction_type: "move",
      warehouse_id: at.warehouse,
      lot_number: null,
      serial_number: null,
      item: { id: at.item, name: expect.any(String), sku: expect.any(String) },
      from_bin: { id: at.bin, code: expect.any(String), name: expect.any(String) },
    };
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      move_id: anId,
      transactions: [
        { ...movement, quantity: 4, to_bin: expect.objectContaining({ id: at.beside }) },
        { ...movement, quantity: 1, to_bin: movement.from_bin },
      ],
    });
    expect(await unitsOf(at.item, at.bin)).toEqual({ available: 5, damaged: 1 });
    expect(await unitsOf(at.item, at.beside)).toEqual({ available: 4 });
    expect(await eventsOf(at.warehouse)).toEqual(["inventory.moved"]);
    // And back to where and what it was.
    const mended = line({ quantity: 1, status, to_status: "available" });
    expect(await tenant.ops.post(path, at.body(mended))).toSucceed(201);
    expect(await unitsOf(at.item)).toEqual({ available: 10 });
    expect((await movementsOf(at.item)).map(([type]) => type))
      .toEqual(["initial_stock", "move", "move", "move"]);
    await newStaff(tenant, at.warehouse, tenant.staff.id);
    const seen = await tenant.staff.get("/warehousing/dashboard", {
      query: { warehouse_id: at.warehouse },
    });
    expect(seen.body.recent_activity[0]).toMatchObject({
      type: "inventory_moved",
      label: "Moved",
      from_location: { id: at.bin },
      to_location: { id: at.beside },
      reference: { type: "move" },
    });
    await checkStock(tenant);
  });

  test("takes lots and pieces by their numbers, and keeps them", async () => {
    const at = await twoBins();
    const place = { warehouse_id: at.warehouse, bin_id: at.bin };
    await stockIn(tenant, { ...place, item_id: at.item, quantity: 3, lot_number: "L1" });
    const piece = await newItem(tenant, { is_serialized: true });
    await stockIn(tenant, { ...place, item_id: piece, quantity: 1, serial_number: "S1" });
    const of = { item_id: piece, quantity: 1 };
    expect(await tenant.ops.post(path, at.body(at.line({ lot_number: "L1", quantity: 4 }))))
      .toFailWith(409, "insufficient_stock");
    expect(await tenant.ops.post(path, at.body(at.line(of))))
      .toFailWith(400, "serial_number_required");
    const moved = await tenant.ops.post(
      path,
      at.body(at.line({ lot_number: "L1", quantity: 3 }), at.line({ ...of, serial_number: "S1" })),
    );
    expect(moved).toSucceed(201);
    expect(moved.body.transactions).toMatchObject([
      { lot_number: "L1", quantity: 3 },
      { serial_number: "S1", quantity: 1 },
    ]);
    expect(await unitsOf(at.item, at.bin)).toEqual({ available: 10 });
    await checkStock(tenant);
  });

  test("of a parcel from the dock to a shelf leaves it to be prepared from there", async () => {
    const yard = await newYard(tenant);
    const { parent, b } = await newStagedPackage(yard);
    const item_id = await itemOf(parent.id);
    const [dock] = (await tenant.warehouse.get("/warehousing/inventory", { query: { item_id } }))
      .body.data;
    const to_bin_id = await newBin(tenant, yard.warehouse);
    const put = await tenant.warehouse.post(path, {
      warehouse_id: yard.warehouse,
      items: [{ item_id, from_bin_id: dock.bin_id, to_bin_id, quantity: 1 }],
    });
    expect(put).toSucceed(201);
    const executed = await act(tenant.ops, b, "execute");
    expect(executed).toSucceed(200);
    expect(executed.body.picking_order.item_details).toMatchObject([{ bin_id: to_bin_id }]);
    // Reserved stock stays where its order expects it.
    const away = { item_id, from_bin_id: to_bin_id, to_bin_id: dock.bin_id, quantity: 1 };
    expect(await tenant.warehouse.post(path, { warehouse_id: yard.warehouse, items: [away] }))
      .toFailWith(409, "insufficient_stock");
    await checkStock(tenant);
  });

  test("is whole or nothing, however many want the same and in whatever direction", async () => {
    const at = await twoBins();
    const short = await tenant.ops.post(path, at.body(at.line(), at.line({ quantity: 7 })));
    expect(short).toFailWith(409, "insufficient_stock");
    expect(await unitsOf(at.item, at.bin)).toEqual({ available: 10 });
    const there = at.line({ quantity: 3 });
    const back = { ...there, from_bin_id: at.beside, to_bin_id: at.bin };
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => tenant.ops.post(path, at.body(i % 3 ? there : back))),
    );
    for (const answer of answers) {
      if (answer.status !== 201) expect(answer).toFailWith(409, "insufficient_stock");
    }
    expect(await unitsOf(at.item)).toEqual({ available: 10 });
    await checkStock(tenant);
  });
});

test("wrong input, unknown places and the wrong people are refused", async () => {
  const at = await twoBins();
  const { line, body } = at;
  const closed = await newBin(tenant, at.warehouse, { is_active: false });
  const elsewhere = await newShelf(tenant, 0);
  await expectRefused(tenant.ops, { method: "POST", path }, [
    [{ ...body(), items: [] }, "items"],
    [body(line({ quantity: 0 })), "items.0.quantity"],
    [body(line(), line({ quantity: 1.5 })), "items.1.quantity"],
    [body(line({ status: "reserved" })), "items.0.status"],
    [body(line({ to_status: "reserved" })), "items.0.to_status"],
    [body(line({ to_bin_id: at.bin })), "items.0.to_bin_id"],
    [body(line({ to_bin_id: at.bin, to_status: "available" })), "items.0.to_bin_id"],
  ]);
  for (
    const [sent, status, code, field] of [
      [body(line({ from_bin_id: elsewhere.bin })), 404, "bin_not_found", "items.0.from_bin_id"],
      [
        body(line(), line({ to_bin_id: foreign.bin })),
        404,
        "bin_not_found",
        "items.1.to_bin_id",
      ],
      [
        body(line({ item_id: foreign.item })),
        404,
        "inventory_item_not_found",
        "items.0.item_id",
      ],
      [
        { ...body(), warehouse_id: foreign.warehouse },
        404,
        "warehouse_not_found",
        "warehouse_id",
      ],
      [body(line({ to_bin_id: closed })), 409, "bin_inactive", "items.0.to_bin_id"],
    ] as const
  ) {
    const answer = await tenant.ops.post(path, sent);
    expect(answer).toFailWith(status, code);
    expect(answer.body.field).toBe(field);
  }
  await expectReplayed(tenant.ops, path, body(), body(line({ quantity: 1 })));
  await expectGuarded({ method: "POST", path, body: body() }, {
    denied: [tenant.staff, tenant.driver, tenant.customer],
  });
});
