/** Write-offs are found again: by warehouse, item, reason, person and day, a page at a time or as a file; each with its lines. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { anId } from "../../support/expect.ts";
import { newStaff } from "../../support/packages.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { newItem, newShelf, type Shelf, stockIn } from "../../support/warehouses.ts";

const path = "/warehousing/inventory/write-offs";
let tenant: Tenant;
let other: Tenant;
let here: Shelf;
let there: Shelf;
let lamp: string;
/** The write-offs by their reasons, oldest first. */
const made: Record<string, string> = {};

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  [here, there] = [await newShelf(tenant, 100), await newShelf(tenant, 100)];
  lamp = await newItem(tenant, { name: "Brass lamp", sku: "LAMP-8" });
  await stockIn(tenant, {
    item_id: lamp,
    warehouse_id: here.warehouse,
    bin_id: here.bin,
    quantity: 9,
    status: "damaged",
    lot_number: "L7",
  });
  const writeOff = async (reason: string, at: Shelf, items: object[], by = tenant.ops) => {
    const answer = await by.post(path, {
      warehouse_id: at.warehouse,
      reason,
      items: items.map((line) => ({ item_id: at.item, bin_id: at.bin, quantity: 1, ...line })),
    });
    expect(answer).toSucceed(201);
    made[reason] = answer.body.write_off_id;
  };
  const lamps = { item_id: lamp, status: "damaged", lot: "L7", quantity: 3, note: "no glass" };
  await writeOff("Burst pipe", here, [{ quantity: 4 }, lamps]);
  await writeOff("Lost 50%", there, [{ quantity: 2 }], tenant.admin);
  await writeOff("تلف بالماء", here, [{ ...lamps, quantity: 1, note: null }]);
});

async function list(query: Record<string, string | number> = {}, person = tenant.warehouse) {
  const answer = await person.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
}
const reasons = async (query: Record<string, string | number> = {}) =>
  (await list(query)).data.map(({ reason }: { reason: string }) => reason);

test("rows say what was written off, newest first, without the lines", async () => {
  expect(await reasons()).toEqual(["تلف بالماء", "Lost 50%", "Burst pipe"]);
  const all = await list();
  expect(all).toMatchObject({ pagination: { page: 1, limit: 20, total: 3 } });
  expect(all.data.at(-1)).toEqual({
    id: made["Burst pipe"],
    warehouse: { id: here.warehouse, name: expect.any(String), code: expect.any(String) },
    reason: "Burst pipe",
    written_off_by: { id: tenant.ops.id, full_name: expect.stringContaining("ops") },
    created_at: expect.any(String),
    lines: 2,
    units: 7,
  });
});

test("one is read with its lines in their order", async () => {
  const answer = await tenant.warehouse.get(`${path}/${made["Burst pipe"]}`);
  expect(answer).toSucceed(200);
  const bin = { id: here.bin, code: expect.any(String), name: expect.any(String) };
  const line = { id: anId, bin, serial_number: null };
  expect(answer.body.write_off).toEqual({
    ...(await list({ item_id: here.item })).data[0],
    items: [
      {
        ...line,
        item: { id: here.item, name: expect.any(String), sku: expect.any(String) },
        status: "available",
        lot_number: null,
        quantity: 4,
        note: null,
      },
      {
        ...line,
        item: { id: lamp, name: "Brass lamp", sku: "LAMP-8" },
        status: "damaged",
        lot_number: "L7",
        quantity: 3,
        note: "no glass",
      },
    ],
  });
});

describe("write-offs are found", () => {
  test("by warehouse, by what was lost and by who wrote it off", async () => {
    expect(await reasons({ warehouse_id: there.warehouse })).toEqual(["Lost 50%"]);
    expect(await reasons({ item_id: lamp })).toEqual(["تلف بالماء", "Burst pipe"]);
    expect(await reasons({ item_id: lamp, warehouse_id: there.warehouse })).toEqual([]);
    expect(await reasons({ written_off_by: tenant.admin.id })).toEqual(["Lost 50%"]);
    for (const name of ["warehouse_id", "item_id", "written_off_by"]) {
      expect((await list({ [name]: randomUUID() })).pagination.total).toBe(0);
      expect(await tenant.ops.get(path, { query: { [name]: "W" } }))
        .toFailWith(400, "invalid_uuid");
    }
  });

  test("by words of the reason", async () => {
    expect(await reasons({ reason: "PIPE" })).toEqual(["Burst pipe"]);
    expect(await reasons({ reason: "%" })).toEqual(["Lost 50%"]);
    expect(await reasons({ reason: "بالماء" })).toEqual(["تلف بالماء"]);
    expect(await reasons({ reason: "no glass" })).toEqual([]);
  });

  test("by when", async () => {
    const [{ at }] = await sql`select min(created_at)::text as at
      from warehousing.inventory_transactions where reference_id = ${made["Lost 50%"]}`;
    const moment = new Date(at).toISOString();
    expect((await reasons({ date_from: moment }))[0]).toBe("تلف بالماء");
    expect((await reasons({ date_to: moment })).at(-1)).toBe("Burst pipe");
    expect(await reasons({ date_from: "2999-01-01" })).toEqual([]);
    expect(await reasons({ date_to: "2001-01-01" })).toEqual([]);
    expect(await reasons({ date_from: "2001-01-01", date_to: "2999-01-01" })).toHaveLength(3);
    expect(await tenant.ops.get(path, { query: { date_from: "soon" } }))
      .toFailWith(400, "validation_failed");
  });
});

test("they are read a page at a time, either way round, and as a file", async () => {
  expect(await reasons({ sort_order: "asc" })).toEqual(["Burst pipe", "Lost 50%", "تلف بالماء"]);
  const second = await list({ page: 2, limit: 2 });
  expect(second).toMatchObject({ pagination: { page: 2, limit: 2, total: 3 } });
  expect(second.data).toHaveLength(1);
  expect((await list({ limit: 1_000 })).pagination.limit).toBe(100);
  const file = await tenant.ops.get(path, {
    query: { format: "csv", warehouse_id: here.warehouse },
  });
  expect(file.status).toBe(200);
  const [heading, ...rows] = new TextDecoder().decode(file.body as unknown as Uint8Array)
    .replace("\ufeff", "").trim().split("\r\n");
  expect(heading.split(",")).toEqual([
    ...["id", "warehouse.id", "warehouse.name", "warehouse.code", "reason"],
    ...["written_off_by.id", "written_off_by.full_name", "created_at", "lines", "units"],
  ]);
  expect(rows.map((row) => row.split(",")[0])).toEqual([made["تلف بالماء"], made["Burst pipe"]]);
});

test("they are for those who look into warehouses, each company its own, staff those of theirs", async () => {
  const denied = [tenant.driver, tenant.institution, tenant.customer];
  await expectGuarded({ method: "GET", path }, { denied });
  const one = `${path}/${made["Lost 50%"]}`;
  await expectGuarded({ method: "GET", path: one }, { denied });
  expect((await list({}, other.ops)).pagination.total).toBe(0);
  expect((await list({ warehouse_id: here.warehouse }, other.ops)).pagination.total).toBe(0);
  expect((await list({ item_id: lamp }, other.ops)).pagination.total).toBe(0);
  await expectNoSuch(
    other.ops,
    { method: "GET", path: `${path}/{id}` },
    "write_off_id",
    "write_off_not_found",
    made["Lost 50%"],
  );
  // A movement that is not a write-off is not listed, whatever its type.
  const received = await tenant.ops.post("/warehousing/inventory/receipts", {
    warehouse_id: here.warehouse,
    items: [{ item_id: here.item, bin_id: here.bin, quantity: 1 }],
  });
  expect(await tenant.ops.get(`${path}/${received.body.receipt_id}`))
    .toFailWith(404, "write_off_not_found");
  const picker = await newPerson(tenant.id, "staff", "warehouse_staff");
  await newStaff(tenant, there.warehouse, picker.id);
  expect((await list({}, picker)).data.map(({ id }: { id: string }) => id))
    .toEqual([made["Lost 50%"]]);
  expect(await picker.get(`${path}/${made["Burst pipe"]}`))
    .toFailWith(404, "write_off_not_found");
});
