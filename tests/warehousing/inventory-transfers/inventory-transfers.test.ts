import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newRoute } from "../../support/inventory-transfers.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectNoSuch, expectReplayed } from "../../support/promises.ts";
import {
  checkStock,
  eventsOf,
  movementsOf,
  newItem,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

const path = "/warehousing/inventory-transfers";
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
});

const route = (quantity?: number) => newRoute(tenant, quantity);

describe("a transfer", () => {
  test("moves stock at once, with paired movements, and is read back", async () => {
    const r = await route();
    const answer = await tenant.warehouse.post(path, r.body({ notes: "for Erbil" }));
    expect(answer).toSucceed(201);
    const bin = (id: string) => ({ id, code: expect.any(String), name: expect.any(String) });
    const item = { id: r.item_id, name: expect.any(String), sku: expect.any(String) };
    const movement = {
      id: anId,
      quantity: 4,
      lot_number: null,
      serial_number: null,
      item,
    };
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      inventory_transfer: {
        id: expect.any(String),
        tenant_id: tenant.id,
        reference_number: expect.stringMatching(/^INT-\d+$/),
        source_warehouse_id: r.source,
        destination_warehouse_id: r.destination,
        status: "completed",
        items: [{
          ...r.line(),
          lot_number: null,
          serial_number: null,
          item: { ...item, barcode: null, brand: null, model: null, unit_size: 1, is_active: true },
          source_bin: bin(r.source_bin_id),
          destination_bin: bin(r.destination_bin_id),
        }],
        notes: "for Erbil",
        performed_by: tenant.warehouse.id,
        created_at: expect.any(String),
        source_warehouse: bin(r.source),
        destination_warehouse: bin(r.destination),
        performer: { id: tenant.warehouse.id, full_name: expect.any(String) },
        transactions: [
          {
            ...movement,
            transaction_type: "transfer_out",
            warehouse_id: r.source,
            from_bin: bin(r.source_bin_id),
            to_bin: null,
          },
          {
            ...movement,
            transaction_type: "transfer_in",
            warehouse_id: r.destination,
            from_bin: null,
            to_bin: bin(r.destination_bin_id),
          },
        ],
      },
    });
    const { id } = answer.body.inventory_transfer;
    const read = await tenant.warehouse.get(`${path}/${id}`);
    expect(read.body.inventory_transfer).toEqual(answer.body.inventory_transfer);
    expect(await unitsOf(r.item_id, r.source_bin_id)).toEqual({ available: 6 });
    expect(await unitsOf(r.item_id, r.destination_bin_id)).toEqual({ available: 4 });
    const recorded =
      await sql`select distinct reference_type from warehousing.inventory_transactions
      where reference_id = ${id}`;
    expect(recorded.map(({ reference_type }) => reference_type)).toEqual(["transfer"]);
    expect(await eventsOf(id)).toEqual(["inventory_transfer.completed"]);
    expect(await tenant.ops.post(path, r.body())).toSucceed(201);
    expect(await unitsOf(r.item_id, r.destination_bin_id)).toEqual({ available: 8 });
    await checkStock(tenant);
  });

  test("takes lots and serial numbers along, and only those asked for", async () => {
    const r = await route(0);
    const at = { item_id: r.item_id, warehouse_id: r.source, bin_id: r.source_bin_id };
    await stockIn(tenant, { ...at, quantity: 3, lot_number: "A" });
    await stockIn(tenant, { ...at, quantity: 3, lot_number: "B" });
    const serial_item = await newItem(tenant, { is_serialized: true });
    for (const serial_number of ["S1", "S2"]) {
      await stockIn(tenant, { ...at, item_id: serial_item, quantity: 1, serial_number });
    }
    const short = await tenant.ops.post(path, r.body({}, r.line({ lot_number: "B" })));
    expect(short).toFailWith(409, "insufficient_stock");
    expect(short.body).toMatchObject({ field: "items.0.quantity", item_id: r.item_id });
    const answer = await tenant.ops.post(
      path,
      r.body(
        {},
        r.line({ lot_number: "B", quantity: 2 }),
        r.line({ quantity: 4 }),
        r.line({ item_id: serial_item, quantity: 1, serial_number: "S2" }),
      ),
    );
    expect(answer).toSucceed(201);
    const rows = await sql`select lot_number, serial_number, quantity::int from warehousing.stock
      where bin_id = ${r.destination_bin_id} and quantity > 0 order by 1, 2`;
    expect(rows.map((row) => Object.values(row))).toEqual([
      ["A", null, 3],
      ["B", null, 3],
      [null, "S2", 1],
    ]);
    expect(answer.body.inventory_transfer.items).toHaveLength(3);
    await checkStock(tenant);
  });

  test("is all or nothing, and takes nothing that is reserved or damaged", async () => {
    const r = await route(5);
    const scarce = await newItem(tenant);
    await stockIn(tenant, {
      item_id: r.item_id,
      warehouse_id: r.source,
      bin_id: r.source_bin_id,
      quantity: 9,
      status: "damaged",
    });
    const before = await movementsOf(r.item_id);
    for (
      const lines of [
        [r.line(), r.line({ item_id: scarce, quantity: 1 })],
        [r.line({ quantity: 6 })],
        [r.line({ quantity: 3 }), r.line({ quantity: 3 })],
      ]
    ) {
      expect(await tenant.ops.post(path, r.body({}, ...lines))).toFailWith(
        409,
        "insufficient_stock",
      );
    }
    expect(await movementsOf(r.item_id)).toEqual(before);
    expect(await unitsOf(r.item_id, r.destination_bin_id)).toEqual({});
    const [{ n }] = await sql`select count(*)::int as n from warehousing.inventory_transfers
      where source_warehouse_id = ${r.source}`;
    expect(n).toBe(0);
    expect(await unitsOf(r.item_id)).toEqual({ available: 5, damaged: 9 });
  });

  test("carries a number of its own or the client's, once", async () => {
    const r = await route();
    const one = r.body({ reference_number: "MOVE-1" }, r.line({ quantity: 1 }));
    const answer = await tenant.ops.post(path, one);
    expect(answer.body.inventory_transfer.reference_number).toBe("MOVE-1");
    expect(await tenant.ops.post(path, one)).toFailWith(409, "transfer_reference_exists");
    expect(await unitsOf(r.item_id, r.destination_bin_id)).toEqual({ available: 1 });
    await expectReplayed(tenant.ops, path, r.body(), r.body({ notes: "other" }));
    expect(await unitsOf(r.item_id, r.destination_bin_id)).toEqual({ available: 5 });
    const unnamed = await tenant.ops.post(
      path,
      r.body({ reference_number: null }, r.line({ quantity: 1 })),
    );
    expect(unnamed.body.inventory_transfer.reference_number).toMatch(/^INT-/);
  });
});

test("transfers are listed newest first, by warehouse and by reference", async () => {
  const r = await route(100);
  const send = async (reference_number: string, back = false) => {
    const line = back
      ? r.line({
        source_bin_id: r.destination_bin_id,
        destination_bin_id: r.source_bin_id,
        quantity: 1,
      })
      : r.line();
    const ends = back
      ? { source_warehouse_id: r.destination, destination_warehouse_id: r.source }
      : {};
    expect(await tenant.ops.post(path, r.body({ ...ends, reference_number }, line))).toSucceed(201);
  };
  await send("LIST-1");
  await send("LIST-2");
  await send("list_50%", true);
  const list = async (query: Record<string, string | number>) => {
    const answer = await tenant.warehouse.get(path, { query });
    expect(answer).toSucceed(200);
    return answer.body;
  };
  const found = async (query: Record<string, string | number>) =>
    (await list(query)).inventory_transfers
      .map((row: { reference_number: string }) => row.reference_number);
  const here = { source_warehouse_id: r.source };
  expect(await list(here)).toMatchObject({ page: 1, limit: 20, total: 2 });
  expect(await found(here)).toEqual(["LIST-2", "LIST-1"]);
  expect(await found({ destination_warehouse_id: r.source })).toEqual(["list_50%"]);
  expect(await found({ search: "st-1", ...here })).toEqual(["LIST-1"]);
  expect(await found({ search: "%" })).toEqual(["list_50%"]);
  expect(await found({ ...here, limit: 1, page: 2 })).toEqual(["LIST-1"]);
  const [row] = (await list(here)).inventory_transfers;
  expect(row).not.toHaveProperty("transactions");
  expect(row.items).toEqual([{ ...r.line(), lot_number: null, serial_number: null }]);
  expect((await other.ops.get(path)).body.total).toBe(0);
  await expectNoSuch(
    other.ops,
    { method: "GET", path: `${path}/{id}` },
    "transfer_id",
    "inventory_transfer_not_found",
    row.id,
  );
  expect(await tenant.ops.get(path, { query: { source_warehouse_id: "W" } }))
    .toFailWith(400, "invalid_uuid");
  expect((await list({ source_warehouse_id: randomUUID() })).total).toBe(0);
});
