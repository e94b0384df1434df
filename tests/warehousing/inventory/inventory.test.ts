/** Items, receipts, adjustments and what lies where. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { anId } from "../../support/expect.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import {
  checkStock,
  eventsOf,
  newBin,
  newItem,
  newShelf,
  type Shelf,
  unitsOf,
} from "../../support/warehouses.ts";

const items = "/warehousing/inventory-items";
const receipts = "/warehousing/inventory/receipts";
let tenant: Tenant;
let other: Tenant;
let shelf: Shelf;
let foreign: Shelf;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  [shelf, foreign] = [await newShelf(tenant, 0), await newShelf(other, 5)];
});

let serial = 0;
const anItem = (more: object = {}) => ({ name: "Phone", sku: `PHONE-${++serial}`, ...more });

describe("items", () => {
  test("are added with defaults, read and changed", async () => {
    const body = anItem({ barcode: "123", brand: "Noor", unit_size: 0.25 });
    const answer = await tenant.warehouse.post(items, body);
    expect(answer).toSucceed(201);
    const { inventory_item: item } = answer.body;
    expect(item).toEqual({
      id: expect.any(String),
      ...body,
      model: null,
      is_serialized: false,
      is_active: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const path = `${items}/${item.id}`;
    expect((await tenant.warehouse.get(path)).body.inventory_item).toEqual(item);
    const changed = await tenant.warehouse.put(path, { brand: null, model: "X", is_active: false });
    expect(changed.body.inventory_item).toEqual({
      ...item,
      brand: null,
      model: "X",
      is_active: false,
      updated_at: expect.any(String),
    });
    expect(await tenant.ops.post(items, anItem({ sku: body.sku }))).toFailWith(
      409,
      "item_sku_exists",
    );
    expect(await other.ops.post(items, body)).toSucceed(201);
  });

  test("begin to have serial numbers only without stock", async () => {
    const at = await newShelf(tenant, 1);
    expect(await tenant.ops.put(`${items}/${at.item}`, { is_serialized: true }))
      .toFailWith(409, "item_has_stock");
    const fresh = await newItem(tenant);
    expect(await tenant.ops.put(`${items}/${fresh}`, { is_serialized: true })).toSucceed(200);
  });

  test("are listed by words, code and page", async () => {
    const mine = await newTenant();
    for (const sku of ["A-1", "A-2", "50%"]) await newItem(mine, { sku, barcode: `bar${sku}` });
    const list = async (query = {}) => (await mine.warehouse.get(items, { query })).body;
    expect(await list()).toMatchObject({ pagination: { page: 1, limit: 20, total: 3 } });
    const skus = async (query = {}) =>
      (await list({ sort_by: "sku", sort_order: "asc", ...query })).data
        .map((item: { sku: string }) => item.sku);
    expect(await skus()).toEqual(["50%", "A-1", "A-2"]);
    expect(await skus({ search: "%" })).toEqual(["50%"]);
    expect(await skus({ sku: "A-2" })).toEqual(["A-2"]);
    expect(await skus({ barcode: "barA-1" })).toEqual(["A-1"]);
    expect(await skus({ is_active: "false" })).toEqual([]);
  });

  test("refuse wrong input, unknown ids and the wrong people", async () => {
    await expectRefused(tenant.ops, { method: "POST", path: items }, [
      [{}, "name"],
      [anItem({ sku: " " }), "sku"],
      [anItem({ unit_size: 0 }), "unit_size"],
      [anItem({ unit_size: 0.0001 }), "unit_size"],
      [anItem({ is_serialized: 1 }), "is_serialized"],
    ]);
    for (const method of ["GET", "PUT"] as const) {
      await expectNoSuch(
        tenant.ops,
        { method, path: `${items}/{id}`, body: { name: "x" } },
        "inventory_item_id",
        "inventory_item_not_found",
        foreign.item,
      );
    }
    await expectReplayed(tenant.ops, items, anItem(), anItem());
    await expectGuarded({ method: "POST", path: items, body: anItem() }, {
      denied: [tenant.staff, tenant.driver, tenant.customer],
    });
    await expectGuarded({ method: "GET", path: items }, {
      denied: [tenant.driver, tenant.customer],
    });
  });
});

const receipt = (more: object = {}, at = shelf) => ({
  warehouse_id: at.warehouse,
  items: [{ item_id: at.item, bin_id: at.bin, quantity: 5, ...more }],
});

describe("receipts", () => {
  test("put every line where it says, and say what moved", async () => {
    const at = await newShelf(tenant, 0);
    const body = receipt({}, at);
    const answer = await tenant.warehouse.post(receipts, {
      ...body,
      items: [...body.items, {
        ...body.items[0],
        quantity: 2,
        status: "damaged",
        lot_number: "L1",
      }],
    });
    expect(answer).toSucceed(201);
    const bin = { id: at.bin, code: expect.any(String), name: expect.any(String) };
    const movement = {
      id: anId,
      transaction_type: "receive",
      warehouse_id: at.warehouse,
      serial_number: null,
      item: { id: at.item, name: expect.any(String), sku: expect.any(String) },
      from_bin: null,
      to_bin: bin,
    };
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      receipt_id: expect.any(String),
      transactions: [
        { ...movement, quantity: 5, lot_number: null },
        { ...movement, quantity: 2, lot_number: "L1" },
      ],
    });
    expect(await unitsOf(at.item)).toEqual({ available: 5, damaged: 2 });
    expect(await eventsOf(at.warehouse)).toEqual(["inventory.received"]);
    const again = await tenant.ops.post(receipts, {
      ...receipt({}, at),
      transaction_type: "initial_stock",
    });
    expect(again.body.transactions[0].transaction_type).toBe("initial_stock");
    expect(await unitsOf(at.item)).toEqual({ available: 10, damaged: 2 });
    await checkStock(tenant);
  });

  test("are taken whole or not at all", async () => {
    const at = await newShelf(tenant, 0);
    const serialized = await newItem(tenant, { is_serialized: true });
    const piece = { item_id: serialized, bin_id: at.bin, quantity: 1 };
    const take = (...lines: object[]) =>
      tenant.ops.post(receipts, {
        warehouse_id: at.warehouse,
        items: [...receipt({}, at).items, ...lines],
      });
    expect(await take(piece)).toFailWith(400, "serial_number_required");
    expect(await take({ ...piece, serial_number: "S", quantity: 2 }))
      .toFailWith(400, "serial_quantity_must_be_one");
    const twice = { ...piece, serial_number: "S" };
    expect(await take(twice, twice)).toFailWith(409, "serial_number_taken");
    expect(await unitsOf(at.item)).toEqual({});
    expect(await take(twice)).toSucceed(201);
    const beside = await newBin(tenant, at.warehouse);
    expect(await take({ ...twice, bin_id: beside })).toFailWith(409, "serial_number_taken");
    expect(await unitsOf(at.item)).toEqual({ available: 5 });
    await checkStock(tenant);
  });

  test("name what is not there or not in use", async () => {
    const closed = await newBin(tenant, shelf.warehouse, { is_active: false });
    const retired = await newItem(tenant, { is_active: false });
    const beside = await newShelf(tenant, 0);
    for (
      const [body, status, code, field] of [
        [
          { ...receipt(), warehouse_id: foreign.warehouse },
          404,
          "warehouse_not_found",
          "warehouse_id",
        ],
        [receipt({ bin_id: foreign.bin }), 404, "bin_not_found", "items.0.bin_id"],
        [receipt({ bin_id: beside.bin }), 404, "bin_not_found", "items.0.bin_id"],
        [receipt({ item_id: foreign.item }), 404, "inventory_item_not_found", "items.0.item_id"],
        [receipt({ item_id: randomUUID() }), 404, "inventory_item_not_found", "items.0.item_id"],
        [receipt({ item_id: retired }), 409, "inventory_item_inactive", "items.0.item_id"],
        [receipt({ bin_id: closed }), 409, "bin_inactive", "items.0.bin_id"],
      ] as const
    ) {
      const answer = await tenant.ops.post(receipts, body);
      expect(answer, JSON.stringify(body)).toFailWith(status, code);
      expect(answer.body.field).toBe(field);
    }
    expect(await unitsOf(shelf.item)).toEqual({});
    expect(await unitsOf(foreign.item)).toEqual({ available: 5 });
  });

  test("refuse wrong input and the wrong people; once per key", async () => {
    await expectRefused(tenant.ops, { method: "POST", path: receipts }, [
      [{}, "warehouse_id", "validation_failed"],
      [{ ...receipt(), items: [] }, "items"],
      [{ ...receipt(), transaction_type: "gift" }, "transaction_type"],
      [receipt({ quantity: 0 }), "items.0.quantity"],
      [receipt({ quantity: -3 }), "items.0.quantity"],
      [receipt({ quantity: 1.5 }), "items.0.quantity"],
      [receipt({ quantity: 1e10 }), "items.0.quantity"],
      [receipt({ status: "reserved" }), "items.0.status"],
      [receipt({ status: "" }), "items.0.status"],
      [receipt({ bin_id: "B" }), "items.0.bin_id", "invalid_uuid"],
    ]);
    const at = await newShelf(tenant, 0);
    await expectReplayed(tenant.ops, receipts, receipt({}, at), receipt({ quantity: 6 }, at));
    expect(await unitsOf(at.item)).toEqual({ available: 5 });
    await expectGuarded({ method: "POST", path: receipts, body: receipt() }, {
      denied: [tenant.staff, tenant.driver, tenant.customer],
    });
  });
});

test("the inventory lists what lies where, and nothing of other tenants", async () => {
  const at = await newShelf(tenant, 3);
  const list = async (query: Record<string, string | number | undefined>) => {
    const answer = await tenant.warehouse.get("/warehousing/inventory", { query });
    expect(answer).toSucceed(200);
    return answer.body;
  };
  const found = await list({ warehouse_id: at.warehouse });
  expect(found).toMatchObject({ pagination: { page: 1, limit: 20, total: 1 } });
  expect(found.data).toEqual([{
    id: expect.any(String),
    warehouse_id: at.warehouse,
    bin_id: at.bin,
    item_id: at.item,
    status: "available",
    lot_number: null,
    serial_number: null,
    quantity: 3,
    reserved_for_type: null,
    reserved_for_id: null,
    item: { id: at.item, name: expect.any(String), sku: expect.any(String) },
    bin: { id: at.bin, code: expect.any(String), name: expect.any(String) },
    warehouse: { id: at.warehouse, name: expect.any(String), code: expect.any(String) },
    created_at: expect.any(String),
    updated_at: expect.any(String),
  }]);
  for (const query of [{ item_id: at.item }, { bin_id: at.bin }]) {
    expect((await list(query)).pagination.total).toBe(1);
  }
  const { name, sku } = found.data[0].item;
  const barcode = `B${Date.now()}`;
  await tenant.ops.put(`/warehousing/inventory-items/${at.item}`, { barcode });
  const [letter] = "٠١٢٣٤٥٦٧٨٩".slice(Number(barcode.at(-1)));
  for (const search of [name, sku.toLowerCase().slice(1), barcode, barcode.slice(0, -1) + letter]) {
    expect((await list({ warehouse_id: at.warehouse, search })).pagination.total, search).toBe(1);
  }
  expect((await list({ warehouse_id: at.warehouse, search: " " })).pagination.total).toBe(1);
  expect((await list({ warehouse_id: at.warehouse, search: "%" })).pagination.total).toBe(0);
  expect((await list({ item_id: at.item, status: "reserved" })).pagination.total).toBe(0);
  expect((await list({ item_id: foreign.item })).pagination.total).toBe(0);
  expect((await list({ limit: 1_000 })).pagination.limit).toBe(100);
  const wrong = await tenant.ops.get("/warehousing/inventory", { query: { bin_id: "B" } });
  expect(wrong).toFailWith(400, "invalid_uuid");
  await expectGuarded({ method: "GET", path: "/warehousing/inventory" }, {
    denied: [tenant.driver, tenant.institution, tenant.customer],
  });
});
