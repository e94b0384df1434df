/** The writer of stock, as cores call it. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  checkStock,
  inTenant,
  movementsOf,
  newBin,
  newItem,
  newShelf,
  newWarehouse,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const reserve = (id: string, lines: unknown[], type = "order") =>
  inTenant<{ taken: { lot_number: string | null; bin_id: string; quantity: number }[] }>(
    tenant,
    "select warehousing.stock_reserve($1, $2::uuid, $3::text::jsonb) as taken",
    [type, id, lines],
  ).then(([row]) => row.taken);
const post = (movements: unknown[]) =>
  inTenant(tenant, "select warehousing.stock_post($1::text::jsonb)", [movements]);
const release = (id: string, lines?: unknown[]) =>
  inTenant(tenant, "select warehousing.stock_release('order', $1::uuid, $2::text::jsonb)", [
    id,
    lines ?? null,
  ]);
const exit = (id: string, type = "pick") =>
  inTenant(tenant, "select warehousing.stock_exit('order', $1::uuid, $2)", [id, type]);

/** The code and the parameters of a refusal. */
async function refusal(call: Promise<unknown>) {
  const error = await call.then(() => undefined, (reason) => reason);
  const detail = error?.detail?.startsWith("{") ? JSON.parse(error.detail) : {};
  return { code: error?.message, ...detail };
}

describe("reserving", () => {
  test("what is set aside is free again, whatever became of its bin", async () => {
    const { bin, item } = await newShelf(tenant, 3);
    const id = randomUUID();
    await reserve(id, [{ item_id: item, quantity: 2 }]);
    await sql`update warehousing.bins set is_active = false where id = ${bin}`;
    await release(id);
    expect(await unitsOf(item)).toEqual({ available: 3 });
    await checkStock(tenant);
  });

  test("takes what is available, oldest first, and gives it back to where it lay", async () => {
    const { warehouse, bin, item } = await newShelf(tenant, 3);
    const later = await newBin(tenant, warehouse);
    await stockIn(tenant, { item_id: item, warehouse_id: warehouse, bin_id: later, quantity: 5 });
    const id = randomUUID();
    const taken = await reserve(id, [{ item_id: item, quantity: 4 }]);
    expect(taken.map(({ bin_id, quantity }) => [bin_id, quantity])).toEqual([[bin, 3], [later, 1]]);
    expect(await unitsOf(item)).toEqual({ available: 4, reserved: 4 });
    await release(id);
    expect(await unitsOf(item, bin)).toEqual({ available: 3 });
    expect(await unitsOf(item, later)).toEqual({ available: 5 });
    await checkStock(tenant, "reservation");
  });

  test("never takes what is damaged, expired, reserved, written off or elsewhere", async () => {
    const { warehouse, bin, item } = await newShelf(tenant, 2);
    const at = { item_id: item, warehouse_id: warehouse, bin_id: bin };
    await stockIn(tenant, { ...at, quantity: 5, status: "damaged" });
    await stockIn(tenant, { ...at, quantity: 5, status: "quarantine" });
    const other = await newShelf(tenant, 0);
    await stockIn(tenant, {
      item_id: item,
      warehouse_id: other.warehouse,
      bin_id: other.bin,
      quantity: 5,
    });
    const line = { item_id: item, quantity: 3, warehouse_id: warehouse, field: "lines.0" };
    expect(await refusal(reserve(randomUUID(), [line]))).toMatchObject({
      code: "insufficient_stock",
      item_id: item,
      field: "lines.0",
      requested: 3,
      available: 2,
    });
    await post([{
      type: "write_off",
      item_id: item,
      warehouse_id: warehouse,
      quantity: 2,
      from: { bin_id: bin },
    }]);
    expect(await refusal(reserve(randomUUID(), [{ ...line, quantity: 1 }]))).toMatchObject({
      code: "insufficient_stock",
    });
    const [dead] = await sql`select quantity, written_off_at from warehousing.stock
      where bin_id = ${bin} and status = 'available'`;
    expect(dead).toEqual({ quantity: 0n, written_off_at: expect.any(Date) });
    // Stock that arrives later gets a new row; the closed one stays closed.
    await stockIn(tenant, { ...at, quantity: 1 });
    expect(await reserve(randomUUID(), [{ ...line, quantity: 1 }])).toHaveLength(1);
    const rows = await sql`select written_off_at is not null as off from warehousing.stock
      where bin_id = ${bin} and status = 'available' order by 1`;
    expect(rows.map(({ off }) => off)).toEqual([false, true]);
    await checkStock(tenant, "reservation");
  });

  test("is all or nothing", async () => {
    const { bin, item } = await newShelf(tenant, 3);
    const scarce = await newItem(tenant);
    const found = await refusal(reserve(randomUUID(), [
      { item_id: item, quantity: 2, bin_id: bin },
      { item_id: scarce, quantity: 1 },
    ]));
    expect(found).toMatchObject({ code: "insufficient_stock", item_id: scarce });
    expect(await unitsOf(item)).toEqual({ available: 3 });
  });

  test("lines that name a lot choose before lines that do not", async () => {
    const { warehouse, bin, item } = await newShelf(tenant, 0);
    const at = { item_id: item, warehouse_id: warehouse, bin_id: bin };
    await stockIn(tenant, { ...at, quantity: 4, lot_number: "A" });
    await stockIn(tenant, { ...at, quantity: 4, lot_number: "B" });
    const taken = await reserve(randomUUID(), [
      { item_id: item, quantity: 4 },
      { item_id: item, quantity: 4, lot_number: "A" },
    ]);
    expect(taken.map(({ lot_number, quantity }) => [lot_number, quantity]))
      .toEqual([["B", 4], ["A", 4]]);
    await checkStock(tenant, "reservation");
  });

  test("lines that ask for the same place count together", async () => {
    const { bin, item } = await newShelf(tenant, 5);
    const line = { item_id: item, bin_id: bin, quantity: 3 };
    expect(await refusal(reserve(randomUUID(), [line, line]))).toMatchObject({
      code: "insufficient_stock",
    });
    expect(await reserve(randomUUID(), [line, { ...line, quantity: 2 }])).toHaveLength(2);
  });
});

describe("leaving", () => {
  test("part may be given back, and the rest goes out with its kind of movement", async () => {
    const { item } = await newShelf(tenant, 10);
    const id = randomUUID();
    await reserve(id, [{ item_id: item, quantity: 6 }]);
    await release(id, [{ item_id: item, quantity: 2 }]);
    expect(await unitsOf(item)).toEqual({ available: 6, reserved: 4 });
    expect(await refusal(release(id, [{ item_id: item, quantity: 5 }]))).toMatchObject({
      code: "insufficient_stock",
    });
    await exit(id);
    expect(await unitsOf(item)).toEqual({ available: 6 });
    expect(await movementsOf(item)).toEqual([
      ["initial_stock", 10],
      ["reserve", 6],
      ["release", 2],
      ["pick", 4],
    ]);
    await exit(id);
    expect(await unitsOf(item)).toEqual({ available: 6 });
    await checkStock(tenant, "reservation");
  });
});

describe("serial numbers", () => {
  test("are in one place, one piece each, and asked for where the item has them", async () => {
    const { warehouse, bin } = await newShelf(tenant, 0);
    const other = await newBin(tenant, warehouse);
    const item = await newItem(tenant, { is_serialized: true });
    const at = { item_id: item, warehouse_id: warehouse, quantity: 1 };
    const come = (to: object, quantity = 1) =>
      refusal(post([{ ...at, quantity, type: "receive", to }]));
    expect(await come({ bin_id: bin })).toMatchObject({ code: "serial_number_required" });
    expect(await come({ bin_id: bin, serial_number: "S1" }, 2)).toMatchObject({
      code: "serial_quantity_must_be_one",
    });
    expect(await come({ bin_id: bin, serial_number: "S1" })).toMatchObject({ code: undefined });
    expect(await come({ bin_id: bin, serial_number: "S1" })).toMatchObject({
      code: "serial_number_taken",
    });
    expect((await come({ bin_id: other, serial_number: "S1" })).code).toMatch(
      /serial_number_taken/,
    );
    // Moved at a stroke it is never in two places.
    await post([{
      ...at,
      type: "move",
      from: { bin_id: bin, serial_number: "S1" },
      to: { bin_id: other, serial_number: "S1" },
    }]);
    expect(await unitsOf(item, other)).toEqual({ available: 1 });
    await checkStock(tenant, "reservation");
  });
});

describe("the writer refuses", () => {
  test("bins of another warehouse, of another tenant or out of use, and quantities that are none", async () => {
    const { warehouse, bin, item } = await newShelf(tenant, 5);
    const elsewhere = await newShelf(tenant, 0);
    const closed = await newBin(tenant, warehouse, { is_active: false });
    const other = await newTenant();
    const foreign = await newShelf(other, 1);
    const move = { type: "move", item_id: item, warehouse_id: warehouse, quantity: 1 };
    const from = { bin_id: bin };
    for (
      const [change, code] of [
        [{ from, to: { bin_id: elsewhere.bin } }, "bin_not_found"],
        [{ from, to: { bin_id: foreign.bin } }, "bin_not_found"],
        [{ from: { bin_id: elsewhere.bin } }, "bin_not_found"],
        [{ from, to: { bin_id: closed } }, "bin_inactive"],
        [{ from, item_id: foreign.item }, "inventory_item_not_found"],
        [{ from, warehouse_id: foreign.warehouse }, "warehouse_not_found"],
        [{ from, quantity: 0 }, "validation_failed"],
        [{ from, quantity: -1 }, "validation_failed"],
        [{ from, quantity: 6 }, "insufficient_stock"],
        [{ from: { ...from, lot_number: "L" } }, "insufficient_stock"],
        [{ from: { ...from, status: "damaged" } }, "insufficient_stock"],
      ] as const
    ) {
      expect(await refusal(post([{ ...move, ...change }])), JSON.stringify(change))
        .toMatchObject({ code });
    }
    expect(await unitsOf(item)).toEqual({ available: 5 });
    expect(await unitsOf(foreign.item)).toEqual({ available: 1 });
  });

  test("what comes into a warehouse that was removed", async () => {
    const warehouse = await newWarehouse(tenant, { deleted_at: new Date() });
    const bin = await newBin(tenant, warehouse);
    const item = await newItem(tenant);
    const found = await refusal(
      stockIn(tenant, { item_id: item, warehouse_id: warehouse, bin_id: bin, quantity: 1 }),
    );
    expect(found).toMatchObject({ code: "warehouse_not_found" });
  });
});

describe("verify_stock", () => {
  test("finds a quantity and a place that no movement explains, and tells the tenant at night", async () => {
    const shaken = await newTenant();
    const { item, warehouse } = await newShelf(shaken, 5);
    await checkStock(shaken, "reservation");
    await sql`update warehousing.stock set quantity = 6 where item_id = ${item}`;
    const found = () =>
      sql`select kind, expected::int, found::int
        from warehousing.stock_differences(${shaken.id}, 'infinity') order by kind`;
    expect(await found()).toEqual([{ kind: "quantity", expected: 5, found: 6 }]);
    await sql`update warehousing.stock set status = 'damaged' where item_id = ${item}`;
    expect((await found()).map(({ kind }) => kind)).toEqual(["place", "quantity"]);
    await sql`select warehousing.report_stock(${shaken.id})`;
    const [event] = await sql`select event_type, event_data from integration.system_events
      where tenant_id = ${shaken.id} and event_type = 'stock.mismatch'`;
    const [{ id: stock_id }] = await sql`select id from warehousing.stock where item_id = ${item}`;
    const place = { stock_id, warehouse_id: warehouse, item_id: item };
    expect(event.event_data.differences).toEqual([
      { kind: "place", ...place, movement_id: anId },
      { kind: "quantity", ...place, expected: 5, found: 6 },
    ]);
    await sql`update warehousing.stock set status = 'available', quantity = 5 where item_id = ${item}`;
    await checkStock(shaken, "reservation");
  });

  test("callers reach stock through the writer alone", async () => {
    const rights =
      await sql`select table_name, privilege_type from information_schema.role_table_grants
      where grantee = 'barid_caller' and table_schema = 'warehousing'
        and table_name in ('stock', 'inventory_transactions') order by 1, 2`;
    expect(rights.map((right) => Object.values(right).join(" "))).toEqual([
      "inventory_transactions SELECT",
      "stock SELECT",
    ]);
  });
});
