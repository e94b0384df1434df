/** Those who pick report what they picked: whom the order is given to, and who works in its warehouse. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, type Person, withKey } from "../../support/api.ts";
import { newKey } from "../../support/api-keys.ts";
import { sql } from "../../support/db.ts";
import { move } from "../../support/deliveries.ts";
import { newStaff, newStagedPackage, newYard } from "../../support/packages.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import {
  line,
  newPicking,
  type Picking,
  pickingOrders as path,
  pickingSteps,
} from "../../support/picking.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import {
  checkStock,
  eventsOf,
  newItem,
  newShelf,
  stockIn,
  unitsOf,
} from "../../support/warehouses.ts";

let other: Tenant;
let { tenant, shelf, newOrder } = {} as Picking;
beforeAll(async () => {
  ({ tenant, shelf, newOrder } = await newPicking());
  other = await newTenant();
  await newStaff(tenant, shelf.warehouse, tenant.staff.id);
});

const report = (
  person: Person,
  id: string,
  status: string,
  picked?: number,
  more: Body = {},
  at = shelf,
) =>
  person.post(`${path}/${id}/progress`, {
    status,
    items: picked === undefined
      ? []
      : [{ item_id: at.item, bin_id: at.bin, picked_quantity: picked }],
    ...more,
  });
const notesOf = (person: Person) =>
  sql`select type, payload from tenancy.notifications where user_id = ${person.id} order by created_at`;

describe("a report", () => {
  test("by staff of the warehouse begins the picking, records what was taken, and ends it", async () => {
    const at = await newShelf(tenant, 10);
    await newStaff(tenant, at.warehouse, tenant.staff.id);
    const order = await newOrder({ item_details: [line(at, { quantity: 5 })] }, at);
    const begun = await report(tenant.staff, order.id, "in_progress", 2, {
      picker_notes: "aisle 3",
    }, at);
    expect(begun).toSucceed(200);
    expect(begun.body.order).toMatchObject({
      id: order.id,
      status: "in_progress",
      item_details: [{ quantity: 5, picked_quantity: 2, status: "pending" }],
      picking_progress: { total_items: 5, picked_items: 2, picker_notes: "aisle 3" },
    });
    expect(await unitsOf(at.item)).toEqual({ available: 5, reserved: 5 });
    const ended = await report(tenant.staff, order.id, "completed", 4, {}, at);
    expect(ended.body.order).toMatchObject({
      status: "completed",
      item_details: [{ quantity: 5, picked_quantity: 4, status: "short" }],
      picking_progress: { picked_items: 4, picker_notes: "aisle 3" },
    });
    expect(await unitsOf(at.item)).toEqual({ available: 6 });
    expect(await eventsOf(order.id)).toEqual(["picking_order.started", "picking_order.completed"]);
    await checkStock(tenant);
  });

  test("of nothing found leaves it on the shelf; of no line says that all was picked", async () => {
    const at = await newShelf(tenant, 10);
    const none = await newOrder({}, at);
    const missing = await report(tenant.warehouse, none.id, "completed", 0, {}, at);
    expect(missing.body.order.item_details).toMatchObject([{
      picked_quantity: 0,
      status: "missing",
    }]);
    expect(await unitsOf(at.item)).toEqual({ available: 10 });
    const all = await newOrder({}, at);
    const whole = await report(tenant.warehouse, all.id, "completed", undefined, {}, at);
    expect(whole.body.order.item_details).toMatchObject([{ picked_quantity: 2, status: "picked" }]);
    expect(await unitsOf(at.item)).toEqual({ available: 8 });
    await checkStock(tenant);
  });

  test("names lines by their place: those of one place are filled in their order, others stay", async () => {
    const at = await newShelf(tenant, 10);
    const second = await newItem(tenant);
    const beside = { item_id: second, bin_id: at.bin };
    await stockIn(tenant, { ...beside, warehouse_id: at.warehouse, quantity: 4 });
    const order = await newOrder({
      item_details: [line(at), { ...beside, quantity: 4 }, line(at, { quantity: 3 })],
    }, at);
    const pickedOf = ({ body }: { body: Body }) =>
      body.order.item_details.map((one: Body) => [one.picked_quantity, one.status]);
    expect(pickedOf(await report(tenant.ops, order.id, "in_progress", 3, {}, at)))
      .toEqual([[2, "picked"], [0, "pending"], [1, "pending"]]);
    const more = { items: [{ ...beside, picked_quantity: 4 }] };
    expect(pickedOf(await report(tenant.ops, order.id, "completed", 0, more, at)))
      .toEqual([[2, "picked"], [4, "picked"], [1, "short"]]);
    expect(await unitsOf(at.item)).toEqual({ available: 7 });
    expect(await unitsOf(second)).toEqual({});
    await checkStock(tenant);
  });

  test("is for whom the order is given to, wherever they work, and for nobody who works elsewhere", async () => {
    const stranger = await newPerson(tenant.id, "staff", "warehouse_staff");
    const { reference_number, id } = await newOrder({ assigned_to: stranger.id });
    const theirs = await newOrder();
    expect(await report(stranger, theirs.id, "in_progress")).toFailWith(403, "forbidden");
    expect((await report(stranger, id, "in_progress", 1)).body.order.status).toBe("in_progress");
    const seen = await stranger.get(path);
    expect(seen.body.orders.map((order: Body) => order.reference_number)).toEqual([
      reference_number,
    ]);
    expect(seen.body.stats).toMatchObject({ in_progress: 1, total: 1 });
    expect((await stranger.get(`${path}/${id}`)).body.order.id).toBe(id);
    expect(await stranger.get(`${path}/${theirs.id}`)).toFailWith(404, "picking_order_not_found");
    // Given to somebody else meanwhile.
    expect(await tenant.ops.put(`${path}/${id}`, { assigned_to: tenant.staff.id })).toSucceed(200);
    expect(await report(stranger, id, "completed", 2)).toFailWith(403, "forbidden");
    await sql`update warehousing.warehouse_staff set is_active = false where user_id = ${tenant.staff.id}`;
    expect(await report(tenant.staff, theirs.id, "in_progress")).toFailWith(403, "forbidden");
    expect(await report(tenant.staff, id, "completed", 2)).toSucceed(200);
    await sql`update warehousing.warehouse_staff set is_active = true where user_id = ${tenant.staff.id}`;
    await expectGuarded(
      {
        method: "POST",
        path: `/warehousing/picking-orders/${theirs.id}/progress`,
        body: { status: "completed", items: [] },
      },
      { denied: [tenant.driver, tenant.institution, tenant.customer] },
    );
  });

  test("by a program that may only look is refused, of an order that is given to nobody too", async () => {
    const looks = withKey((await newKey(tenant, { scopes: ["view:tenant"] })).key);
    for (const more of [{}, { assigned_to: tenant.staff.id }]) {
      const { id } = await newOrder(more);
      for (const status of ["in_progress", "completed"]) {
        expect(await report(looks, id, status, 1)).toFailWith(403, "forbidden");
      }
      const { body } = await looks.get(`${path}/${id}`);
      expect(body.order).toMatchObject({
        status: "pending",
        item_details: [{ picked_quantity: 0 }],
      });
    }
    const keeps = withKey((await newKey(tenant, { scopes: ["manage:module:warehouse"] })).key);
    expect(await report(keeps, (await newOrder()).id, "completed", 2)).toSucceed(200);
  });

  test("of a parcel's pick that waits for its driver changes nothing", async () => {
    const yard = await newYard(tenant);
    const { b } = await newStagedPackage(yard);
    const { picking_order } = (await move(tenant.ops, b, "execute")).body;
    const [{ item_id, bin_id }] = picking_order.item_details;
    const items = [{ item_id, bin_id, picked_quantity: 0 }];
    const [{ status }] =
      await sql`select status from warehousing.picking_orders where id = ${picking_order.id}`;
    expect(status).toBe("completed");
    const again = await tenant.warehouse.post(`${path}/${picking_order.id}/progress`, {
      status,
      items,
    });
    expect(again).toFailWith(409, "picking_items_fixed");
  });

  test("is refused when it cannot be", async () => {
    const order = await newOrder();
    const at = `${path}/${order.id}/progress`;
    const place = { item_id: shelf.item, bin_id: shelf.bin };
    const said = (more: object) => ({
      status: "completed",
      items: [{ ...place, picked_quantity: 1, ...more }],
    });
    await expectRefused(tenant.staff, { method: "POST", path: at }, [
      [{ items: [] }, "status"],
      [{ status: "handed_off", items: [] }, "status"],
      [{ status: "completed" }, "items"],
      [said({ picked_quantity: -1 }), "items.0.picked_quantity"],
      [said({ picked_quantity: 1.5 }), "items.0.picked_quantity"],
      [said({ bin_id: "B" }), "items.0.bin_id", "invalid_uuid"],
      [{ status: "completed", items: [...said({}).items, ...said({}).items] }, "items"],
      [{ ...said({}), picker_notes: "x".repeat(2_001) }, "picker_notes"],
    ]);
    const foreign = await newShelf(other, 5);
    for (
      const [more, status, code, field] of [
        [{ picked_quantity: 3 }, 400, "picked_too_much", "items.0.picked_quantity"],
        [{ item_id: foreign.item }, 404, "picking_line_not_found", "items.0"],
        [{ bin_id: foreign.bin }, 404, "picking_line_not_found", "items.0"],
      ] as const
    ) {
      const answer = await tenant.staff.post(at, said(more));
      expect(answer).toFailWith(status, code);
      expect(answer.body.field).toBe(field);
    }
    const empty = await newShelf(tenant, 2);
    const late = await newOrder({}, empty);
    await newOrder({ status: "in_progress" }, empty);
    expect(await report(tenant.ops, late.id, "in_progress")).toFailWith(409, "insufficient_stock");
    const theirs = await pickingSteps(other, foreign).newOrder();
    await expectNoSuch(
      tenant.ops,
      { method: "POST", path: `${path}/{id}/progress`, body: { status: "completed", items: [] } },
      "picking_order_id",
      "picking_order_not_found",
      theirs.id,
    );
    expect(await report(tenant.staff, order.id, "completed", 2)).toSucceed(200);
    expect(await report(tenant.staff, order.id, "in_progress"))
      .toFailWith(409, "invalid_status_transition");
    expect(await report(tenant.staff, order.id, "completed", 1))
      .toFailWith(409, "picking_items_fixed");
  });

  test("is made once under a key, and of ten at the same moment stock leaves once", async () => {
    const at = await newShelf(tenant, 10);
    const place = { item_id: at.item, bin_id: at.bin };
    const first = await newOrder({}, at);
    await expectReplayed(
      tenant.ops,
      `${path}/${first.id}/progress`,
      { status: "completed", items: [{ ...place, picked_quantity: 2 }] },
      { status: "completed", items: [{ ...place, picked_quantity: 1 }] },
    );
    expect(await unitsOf(at.item)).toEqual({ available: 8 });
    const second = await newOrder({}, at);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => report(tenant.ops, second.id, "completed", 2, {}, at)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(await unitsOf(at.item)).toEqual({ available: 6 });
    expect(await eventsOf(second.id)).toEqual(["picking_order.completed"]);
    await checkStock(tenant);
  });
});

describe("whom an order is given to", () => {
  test("is notified when it is made and when it changes hands, not of what they do themselves", async () => {
    const [first, second] = [
      await newPerson(tenant.id, "staff", "warehouse_staff"),
      await newPerson(tenant.id, "staff", "warehouse_staff"),
    ];
    const { id, reference_number } = await newOrder({ assigned_to: first.id });
    const put = (body: object) => tenant.ops.put(`${path}/${id}`, body);
    expect(await put({ assigned_to: first.id, notes: "same" })).toSucceed(200);
    expect(await put({ assigned_to: second.id })).toSucceed(200);
    expect(await put({ assigned_to: tenant.ops.id })).toSucceed(200);
    expect(await put({ assigned_to: null })).toSucceed(200);
    const payload = { picking_order_id: id, reference_number, warehouse_id: shelf.warehouse };
    for (const person of [first, second]) {
      expect(await notesOf(person)).toEqual([
        { type: "picking_assigned", payload },
        { type: "picking_withdrawn", payload: { ...payload, reason: "reassigned" } },
      ]);
    }
    expect(await notesOf(tenant.ops)).toEqual([]);
    const read = await first.in("ar").get("/tenants/me/notifications");
    expect(read.body.data[1].message).toBe(`أُسند إليك أمر الالتقاط ${reference_number}.`);
    await newOrder({ assigned_to: first.id, status: "completed" });
    expect(await notesOf(first)).toHaveLength(2);
  });
});
