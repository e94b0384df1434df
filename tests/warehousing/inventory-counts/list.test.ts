/** Counts are found again: by warehouse, person, day, words and what differed, a page at a time or as a file. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newStaff } from "../../support/packages.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectNoSuch } from "../../support/promises.ts";
import { newItem, newShelf, type Shelf, stockIn } from "../../support/warehouses.ts";

const path = "/warehousing/inventory/counts";
let tenant: Tenant;
let other: Tenant;
/** One warehouse where much was counted, and one where one bin was. */
let here: Shelf;
let there: Shelf;
/** The counts by their notes, oldest first. */
const made: Record<string, string> = {};

beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  [here, there] = [await newShelf(tenant, 100), await newShelf(tenant, 100)];
  const lamp = await newItem(tenant, { name: "Brass lamp", sku: "LAMP-7" });
  await stockIn(tenant, {
    item_id: lamp,
    warehouse_id: here.warehouse,
    bin_id: here.bin,
    quantity: 4,
  });
  const count = async (
    notes: string | null,
    at: Shelf,
    counted: [string, number][],
    by = tenant.ops,
  ) => {
    const answer = await by.post(path, {
      warehouse_id: at.warehouse,
      notes,
      items: counted.map(([item_id, n]) => ({ item_id, bin_id: at.bin, counted: n })),
    });
    expect(answer).toSucceed(201);
    made[notes ?? "none"] = answer.body.count.id;
  };
  await count("first", here, [[here.item, 90], [lamp, 5]]);
  await count("second 50%", here, [[here.item, 90]], tenant.warehouse);
  await count("third", there, [[there.item, 40]]);
  await count(null, here, [[here.item, 91]], tenant.warehouse);
  await count("ژماردنی ٢٠٢٦", here, [[here.item, 91], [lamp, 5]]);
});

async function list(query: Record<string, string | number> = {}, person = tenant.warehouse) {
  const answer = await person.get(path, { query });
  expect(answer).toSucceed(200);
  return answer.body;
}
const names = async (query: Record<string, string | number> = {}) =>
  (await list(query)).data.map((row: { notes: string | null }) => row.notes ?? "none");

test("rows say what a count found, newest first, without its lines", async () => {
  const all = await list();
  expect(all).toMatchObject({ pagination: { page: 1, limit: 20, total: 5 } });
  expect(await names()).toEqual(["ژماردنی ٢٠٢٦", "none", "third", "second 50%", "first"]);
  expect(all.data.at(-1)).toEqual({
    id: made.first,
    warehouse: { id: here.warehouse, name: expect.any(String), code: expect.any(String) },
    notes: "first",
    whole_bins: false,
    counted_by: { id: tenant.ops.id, full_name: expect.stringContaining("ops") },
    created_at: expect.any(String),
    lines: 2,
    differences: 2,
    units_found: 1,
    units_missing: 10,
  });
});

describe("counts are found", () => {
  test("by warehouse, by who counted and by what differed", async () => {
    expect(await names({ warehouse_id: there.warehouse })).toEqual(["third"]);
    expect(await names({ counted_by: tenant.warehouse.id })).toEqual(["none", "second 50%"]);
    expect(await names({ differing: "true" })).toEqual(["none", "third", "first"]);
    expect(await names({ differing: "false" })).toEqual(["ژماردنی ٢٠٢٦", "second 50%"]);
    expect(await names({ differing: "true", warehouse_id: here.warehouse }))
      .toEqual(["none", "first"]);
    for (const name of ["warehouse_id", "counted_by"]) {
      expect((await list({ [name]: randomUUID() })).pagination.total).toBe(0);
      expect(await tenant.ops.get(path, { query: { [name]: "W" } })).toFailWith(
        400,
        "invalid_uuid",
      );
    }
    expect(await tenant.ops.get(path, { query: { differing: "maybe" } }))
      .toFailWith(400, "validation_failed");
  });

  test("by when", async () => {
    const [{ created_at }] = await sql`select created_at::text from warehousing.inventory_counts
      where id = ${made.third}`;
    const at = new Date(created_at).toISOString();
    const since = await names({ date_from: at });
    expect(since.slice(0, 2)).toEqual(["ژماردنی ٢٠٢٦", "none"]);
    expect((await names({ date_to: at })).slice(-2)).toEqual(["second 50%", "first"]);
    expect(await names({ date_from: "2999-01-01" })).toEqual([]);
    expect(await names({ date_to: "2001-01-01" })).toEqual([]);
    expect(await names({ date_from: "2001-01-01", date_to: "2999-01-01" })).toHaveLength(5);
  });

  test("by words of their notes and of what was counted", async () => {
    expect(await names({ search: "seco" })).toEqual(["second 50%"]);
    expect(await names({ search: "%" })).toEqual(["second 50%"]);
    expect(await names({ search: "ژماردن" })).toEqual(["ژماردنی ٢٠٢٦"]);
    expect(await names({ search: "brass LAMP" })).toEqual(["ژماردنی ٢٠٢٦", "first"]);
    expect(await names({ search: "lamp-٧" })).toEqual(["ژماردنی ٢٠٢٦", "first"]);
    expect(await names({ search: "lamp", differing: "true" })).toEqual(["first"]);
    expect(await names({ search: "nothing like it" })).toEqual([]);
    expect(await names({ search: " " })).toHaveLength(5);
  });
});

test("they are sorted both ways and read a page at a time", async () => {
  const missing = ["third", "first"];
  expect((await names({ sort_by: "units_missing" })).slice(0, 2)).toEqual(missing);
  expect((await names({ sort_by: "differences" }))[0]).toBe("first");
  for (const sort_by of ["created_at", "units_missing", "differences"]) {
    const down = await names({ sort_by, sort_order: "desc" });
    expect(await names({ sort_by, sort_order: "asc" })).toEqual([...down].reverse());
    const pages = [1, 2, 3].map((page) => names({ sort_by, page, limit: 2 }));
    expect((await Promise.all(pages)).flat()).toEqual(down);
  }
  expect(await list({ page: 4, limit: 2 })).toMatchObject({
    data: [],
    pagination: { total: 5, page: 4 },
  });
  expect((await list({ limit: 1_000 })).pagination.limit).toBe(100);
  expect(await tenant.ops.get(path, { query: { sort_by: "notes" } }))
    .toFailWith(400, "validation_failed");
});

test("they come as a file", async () => {
  const file = await tenant.warehouse.get(path, { query: { format: "csv", differing: "true" } });
  expect(file.status).toBe(200);
  const [heading, ...rows] = new TextDecoder().decode(file.body as unknown as Uint8Array)
    .replace("\ufeff", "").trim().split("\r\n");
  const columns = heading.split(",");
  expect(columns).toEqual([
    ...["id", "warehouse.id", "warehouse.name", "warehouse.code", "notes", "whole_bins"],
    ...["counted_by.id", "counted_by.full_name", "created_at", "lines", "differences"],
    ...["units_found", "units_missing"],
  ]);
  const ids = rows.map((row) => row.split(",")[0]);
  expect(ids).toEqual([made.none, made.third, made.first]);
});

describe("people", () => {
  test("who are limited to warehouses see the counts of theirs", async () => {
    const clerk = await newPerson(tenant.id, "staff", "warehouse_staff");
    expect((await list({}, clerk)).pagination.total).toBe(0);
    await newStaff(tenant, there.warehouse, clerk.id);
    const seen = await list({}, clerk);
    expect([seen.pagination.total, seen.data[0].id]).toEqual([1, made.third]);
    expect((await list({ warehouse_id: here.warehouse }, clerk)).pagination.total).toBe(0);
    expect((await list({ search: "lamp" }, clerk)).pagination.total).toBe(0);
    expect(await clerk.get(`${path}/${made.third}`)).toSucceed(200);
    expect(await clerk.get(`${path}/${made.first}`)).toFailWith(404, "inventory_count_not_found");
  });

  test("of another tenant see none, and the wrong ones nothing", async () => {
    expect((await list({}, other.ops)).pagination.total).toBe(0);
    expect((await list({ search: "lamp" }, other.ops)).pagination.total).toBe(0);
    expect((await list({ warehouse_id: here.warehouse }, other.ops)).pagination.total).toBe(0);
    await expectNoSuch(
      other.ops,
      { method: "GET", path: `${path}/{id}` },
      "count_id",
      "inventory_count_not_found",
      made.first,
    );
    for (const read of [path, `${path}/${made.first}`]) {
      await expectGuarded({ method: "GET", path: read }, {
        denied: [tenant.driver, tenant.institution, tenant.customer],
      });
    }
  });
});
