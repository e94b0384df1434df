import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";
import { newShelf, type Shelf } from "../../support/warehouses.ts";

const path = "/warehousing/picking-orders";
const statuses = ["pending", "in_progress", "completed", "handed_off", "cancelled"] as const;
let tenant: Tenant;
let other: Tenant;
let here: Shelf;
let there: Shelf;

/** Two orders of each status here (priorities 0 and 5), one pending there; another tenant has one. */
beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
  here = await newShelf(tenant, 100);
  there = await newShelf(tenant, 100);
  const foreign = await newShelf(other, 100);
  const add = (of: Tenant, at: Shelf, reference_number: string, more: object) =>
    sql`insert into warehousing.picking_orders ${
      sql({
        tenant_id: of.id,
        warehouse_id: at.warehouse,
        order_type: "batch",
        reference_number,
        ...more,
      })
    }`;
  let n = 0;
  for (const status of statuses) {
    for (const priority of [0, 5]) {
      await add(tenant, here, `PKO-000${100 + ++n}`, { status, priority });
    }
  }
  await add(tenant, there, "x-50%_Off", { order_type: "waybill", priority: -2 });
  await add(other, foreign, "PKO-000101", {});
});

const list = async (query: Record<string, string | number> = {}) => {
  const answer = await tenant.warehouse.get(path, { query });
  expect(answer, JSON.stringify(query)).toSucceed(200);
  return answer.body;
};
const references = (body: { orders: { reference_number: string }[] }) =>
  body.orders.map((order) => order.reference_number);

describe("the list", () => {
  test("shows a page with stats of the tenant; rows are orders with names", async () => {
    const body = await list();
    expect(Object.keys(body).sort()).toEqual(
      ["limit", "message", "orders", "page", "stats", "status_matrix", "success", "total"],
    );
    expect(body).toMatchObject({ page: 1, limit: 20, total: 11 });
    expect(body.stats).toEqual({
      pending: 3,
      in_progress: 2,
      completed: 2,
      handed_off: 2,
      cancelled: 2,
      total: 11,
    });
    expect(body.status_matrix).toEqual(body.stats);
    expect(body.orders[0]).toMatchObject({
      reference_number: "x-50%_Off",
      priority: -2,
      item_details: [],
      created_by_user: null,
      warehouse: { id: there.warehouse },
    });
  });

  test("stats follow the warehouse and nothing else; total follows everything", async () => {
    const stats = {
      pending: 2,
      in_progress: 2,
      completed: 2,
      handed_off: 2,
      cancelled: 2,
      total: 10,
    };
    for (const warehouse_id of [here.warehouse, here.warehouse.toUpperCase()]) {
      const body = await list({ warehouse_id, status: "completed" });
      expect(body.stats).toEqual(stats);
      expect(body.total).toBe(2);
    }
    const narrow = await list({
      status: "pending",
      order_type: "batch",
      priority: 5,
      search: "10",
    });
    expect(narrow.stats.total).toBe(11);
    expect(narrow.total).toBe(1);
  });

  test("filters by type, by completion and by a priority level", async () => {
    expect((await list({ order_type: "waybill" })).total).toBe(1);
    expect((await list({ completed: "true" })).total).toBe(4);
    expect((await list({ completed: "false" })).total).toBe(7);
    expect((await list({ priority: 5 })).total).toBe(5);
    expect((await list({ priority: -2 })).total).toBe(1);
    expect((await list({ status: "pending", completed: "true" })).total).toBe(0);
  });

  test("reads either order of priority off an index", async () => {
    for (const direction of ["asc", "desc"]) {
      const plan = await sql.begin(async (tx) => {
        await tx`select set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true),
          set_config('enable_bitmapscan', 'off', true)`;
        return await tx.unsafe(`explain select id from warehousing.picking_orders
          where tenant_id = '${tenant.id}' order by priority ${direction} nulls last, id ${direction} limit 20`);
      });
      expect(JSON.stringify(plan), direction).not.toContain("Sort");
    }
  });

  test("sorts by priority when asked in words", async () => {
    const up = (await list({ priority: "asc" })).orders.map((o: { priority: number }) =>
      o.priority
    );
    expect(up).toEqual([-2, 0, 0, 0, 0, 0, 5, 5, 5, 5, 5]);
    const down = (await list({ priority: "desc" })).orders.map((o: { priority: number }) =>
      o.priority
    );
    expect(down).toEqual([...up].reverse());
  });

  test("finds references anywhere in any case, wildcards being characters", async () => {
    for (const search of ["000103", "pko-000103", "0103", "103", "٠١٠٣"]) {
      expect(references(await list({ search })), search).toEqual(["PKO-000103"]);
    }
    for (const search of ["%", "50%_o", "X-50", "_"]) {
      expect(references(await list({ search })), search).toEqual(["x-50%_Off"]);
    }
    expect((await list({ search: "pko" })).total).toBe(10);
    expect((await list({ search: "10" })).total).toBe(10);
    expect((await list({ search: "00010%" })).total).toBe(0);
    expect((await list({ search: "000103", status: "pending" })).total).toBe(0);
    // The way to the index is not the client's to take.
    expect((await list({ found: "000103" })).total).toBe(11);
  });

  test("pages: clamped, each row once", async () => {
    const seen: string[] = [];
    for (let page = 1; page <= 4; page++) seen.push(...references(await list({ page, limit: 3 })));
    expect(new Set(seen).size).toBe(11);
    expect(seen).toHaveLength(11);
    expect((await list({ limit: 500 })).limit).toBe(100);
    expect(await list({ limit: 0, page: -1 })).toMatchObject({ page: 1, limit: 20 });
    expect((await list({ page: 99 })).orders).toEqual([]);
  });

  test("another tenant's warehouse has no orders here", async () => {
    const theirs = await other.ops.get(path);
    expect(theirs.body.total).toBe(1);
    const body = await list({ warehouse_id: theirs.body.orders[0].warehouse_id });
    expect(body).toMatchObject({ total: 0, stats: { total: 0 } });
  });

  test("refuses wrong queries and wrong people", async () => {
    for (
      const [query, field, code] of [
        [{ status: "open" }, "status", "validation_failed"],
        [{ order_type: "single" }, "order_type", "validation_failed"],
        [{ priority: "high" }, "priority", "validation_failed"],
        [{ completed: "maybe" }, "completed", "validation_failed"],
        [{ warehouse_id: "W1" }, "warehouse_id", "invalid_uuid"],
      ] as const
    ) {
      const answer = await tenant.warehouse.get(path, { query });
      expect(answer).toFailWith(400, code);
      expect(answer.body.field).toBe(field);
    }
    const { driver, institution, customer } = tenant;
    await expectGuarded({ method: "GET", path }, { denied: [driver, institution, customer] });
  });
});
