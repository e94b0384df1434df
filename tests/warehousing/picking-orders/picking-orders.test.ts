import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";
import { line, newPicking, type Picking, pickingOrders as path } from "../../support/picking.ts";
import { expectGuarded, expectRefused, expectReplayed } from "../../support/promises.ts";
import {
  checkStock,
  eventsOf,
  newBin,
  newItem,
  newShelf,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

let { tenant, shelf, wanted, newOrder } = {} as Picking;
let { tenant: other, shelf: foreign } = {} as Picking;
beforeAll(async () => {
  ({ tenant, shelf, wanted, newOrder } = await newPicking());
  ({ tenant: other, shelf: foreign } = await newPicking());
});

async function countOf(tenantId: string): Promise<number> {
  const [row] = await sql`select count(*)::int as n from warehousing.picking_orders
    where tenant_id = ${tenantId}`;
  return row.n;
}

describe("making an order", () => {
  test("answers the whole order, with a number of its own", async () => {
    const answer = await tenant.ops.post(
      path,
      wanted({
        external_reference: "ERP-1",
        priority: 3,
        notes: "fragile",
        due_date: "2026-12-01T10:00:00Z",
        assigned_to: tenant.staff.id,
        picking_progress: { picker_notes: "left shelf" },
      }),
    );
    expect(answer).toSucceed(201);
    const person = { first_name: null, last_name: null, email: expect.any(String) };
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      order: {
        id: expect.any(String),
        tenant_id: tenant.id,
        warehouse_id: shelf.warehouse,
        reference_number: expect.stringMatching(/^PKO-\d+$/),
        external_reference: "ERP-1",
        order_type: "individual",
        priority: 3,
        status: "pending",
        item_details: [{ ...line(shelf), picked_quantity: 0, status: "pending" }],
        picking_progress: {
          total_items: 2,
          picked_items: 0,
          start_time: null,
          end_time: null,
          picker_notes: "left shelf",
        },
        notes: "fragile",
        due_date: expect.stringMatching(/^2026-12-01T10:00:00/),
        completed_date: null,
        assigned_to: tenant.staff.id,
        created_by: tenant.ops.id,
        delivery_id: null,
        order_id: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        created_by_user: { id: tenant.ops.id, full_name: expect.any(String), ...person },
        assigned_to_user: { id: tenant.staff.id, full_name: expect.any(String), ...person },
        warehouse: { id: shelf.warehouse, name: expect.any(String), code: expect.any(String) },
      },
    });
    const read = await tenant.warehouse.get(`${path}/${answer.body.order.id}`);
    expect(read.body.order).toEqual(answer.body.order);
  });

  test("numbers continue after the millionth", async () => {
    const busy = await newTenant();
    const at = await newShelf(busy, 10);
    const numberOf = async () =>
      (await busy.ops.post(path, wanted({}, at))).body.order.reference_number;
    expect(await numberOf()).toBe("PKO-000001");
    await sql`update app.counters set value = 999999
      where tenant_id = ${busy.id} and counter = 'picking_order'`;
    expect([await numberOf(), await numberOf()]).toEqual(["PKO-1000000", "PKO-1000001"]);
  });

  test("takes a number of the client's once, and steps over it when its own turn comes", async () => {
    const { reference_number } = await newOrder();
    const next = `PKO-${String(Number(reference_number.slice(4)) + 1).padStart(6, "0")}`;
    await newOrder({ reference_number: next });
    expect(await tenant.ops.post(path, wanted({ reference_number: next })))
      .toFailWith(409, "picking_reference_exists");
    expect((await newOrder()).reference_number > next).toBe(true);
  });

  test("in progress reserves, completed takes out, cancelled and pending touch nothing", async () => {
    const at = await newShelf(tenant, 10);
    await newOrder({}, at);
    await newOrder({ status: "cancelled" }, at);
    expect(await unitsOf(at.item)).toEqual({ available: 10 });
    await newOrder({ status: "in_progress" }, at);
    expect(await unitsOf(at.item)).toEqual({ available: 8, reserved: 2 });
    const done = await newOrder({ status: "completed" }, at);
    expect(await unitsOf(at.item)).toEqual({ available: 6, reserved: 2 });
    expect(done.completed_date).toEqual(expect.any(String));
    expect(done.item_details).toEqual([{ ...line(at), picked_quantity: 2, status: "picked" }]);
    expect(done.picking_progress).toMatchObject({ total_items: 2, picked_items: 2 });
    expect(await eventsOf(done.id)).toEqual(["picking_order.completed"]);
    await checkStock(tenant);
  });

  test("counts only what is available, unreserved and in that bin", async () => {
    const at = await newShelf(tenant, 3);
    const place = { item_id: at.item, warehouse_id: at.warehouse, bin_id: at.bin };
    await stockIn(tenant, { ...place, quantity: 9, status: "damaged" });
    await newOrder({ status: "in_progress", item_details: [line(at, { quantity: 1 })] }, at);
    const otherBin = await newBin(tenant, at.warehouse);
    await stockIn(tenant, { ...place, bin_id: otherBin, quantity: 9 });
    const short = async (item_details: unknown[], field: string) => {
      const answer = await tenant.ops.post(path, wanted({ item_details }, at));
      expect(answer).toFailWith(409, "insufficient_stock");
      expect(answer.body).toMatchObject({ field, item_id: at.item });
    };
    await short([line(at, { quantity: 3 })], "item_details.0.quantity");
    await short([line(at, { quantity: 1 }), line(at)], "item_details.0.quantity");
    await newOrder({ item_details: [line(at)] }, at);
  });

  test("names what is not there", async () => {
    const before = await countOf(tenant.id);
    const beside = await newShelf(tenant, 5);
    const unknown = await newItem(tenant);
    for (
      const [more, status, code, field] of [
        [{ warehouse_id: foreign.warehouse }, 404, "warehouse_not_found", "warehouse_id"],
        [{ warehouse_id: randomUUID() }, 404, "warehouse_not_found", "warehouse_id"],
        [{ assigned_to: other.staff.id }, 404, "assignee_not_found", "assigned_to"],
        [
          { item_details: [line(shelf, { bin_id: beside.bin })] },
          404,
          "bin_not_found",
          "item_details.0.bin_id",
        ],
        [
          { item_details: [line(shelf), line(shelf, { bin_id: foreign.bin })] },
          404,
          "bin_not_found",
          "item_details.1.bin_id",
        ],
        [
          { item_details: [line(shelf, { item_id: foreign.item })] },
          404,
          "inventory_item_not_found",
          "item_details.0.item_id",
        ],
        [
          { item_details: [line(shelf, { item_id: unknown })] },
          400,
          "item_not_in_bin",
          "item_details.0.quantity",
        ],
        [
          { item_details: [line(shelf, { picked_quantity: 3 })] },
          400,
          "picked_too_much",
          "item_details.0.picked_quantity",
        ],
      ] as const
    ) {
      const answer = await tenant.ops.post(path, wanted(more));
      expect(answer, JSON.stringify(more)).toFailWith(status, code);
      expect(answer.body.field).toBe(field);
    }
    expect(await countOf(tenant.id)).toBe(before);
  });

  test("refuses wrong input, naming the field", async () => {
    await expectRefused(tenant.ops, { method: "POST", path }, [
      [{}, "warehouse_id", "validation_failed"],
      [wanted({ order_type: "single" }), "order_type"],
      [wanted({ status: "handed_off" }), "status"],
      [wanted({ status: undefined }), "status"],
      [wanted({ item_details: [] }), "item_details"],
      [wanted({ item_details: undefined }), "item_details"],
      [wanted({ item_details: [line(shelf, { quantity: 0 })] }), "item_details.0.quantity"],
      [wanted({ item_details: [line(shelf, { quantity: -1 })] }), "item_details.0.quantity"],
      [wanted({ item_details: [line(shelf, { quantity: "2" })] }), "item_details.0.quantity"],
      [
        wanted({ item_details: [line(shelf, { bin_id: "B" })] }),
        "item_details.0.bin_id",
        "invalid_uuid",
      ],
      [wanted({ priority: 1.5 }), "priority"],
      [wanted({ reference_number: "" }), "reference_number"],
      [wanted({ reference_number: "x".repeat(101) }), "reference_number"],
      [wanted({ due_date: "tomorrow" }), "due_date"],
      [wanted({ picking_progress: { total_items: -1 } }), "picking_progress.total_items"],
    ]);
    expect((await tenant.ops.post(path, wanted({ notes: "a\u0000b" }))).status).toBe(400);
  });

  test("is for operations, once per key, and refused in the caller's language", async () => {
    const { warehouse, staff, driver, institution, customer } = tenant;
    await expectGuarded({ method: "POST", path, body: wanted() }, {
      denied: [warehouse, staff, driver, institution, customer],
    });
    await expectReplayed(tenant.ops, path, wanted(), wanted({ priority: 9 }));
    const none = wanted({ item_details: [line(shelf, { quantity: 5_000 })] });
    const said = await Promise.all(
      (["en", "ar", "ku"] as const).map((language) => tenant.ops.in(language).post(path, none)),
    );
    expect(new Set(said.map(({ body }) => body.message)).size).toBe(3);
  });
});
