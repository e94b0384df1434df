import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import {
  equip,
  move,
  newDeliveries,
  newDelivery,
  newDriver,
  newStaged,
  rowsOf,
  statusOf,
  usedBy,
} from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded, expectRefused } from "../../support/promises.ts";

const path = "/delivery/assignments";
let tenant: Tenant;
let other: Tenant;
let driver: Person;

beforeAll(async () => {
  tenant = await newTenant();
  other = await newTenant();
  driver = await newDriver(tenant, { capacity: 1000 });
  await equip(tenant, tenant.driver2.id, { capacity: 1000 });
  await equip(other, other.driver.id);
});

async function given(delivery_id: string, to = driver): Promise<string> {
  const answer = await tenant.ops.post(path, { delivery_id, driver_id: to.id });
  expect(answer).toSucceed(201);
  return answer.body.id;
}

async function givenMany(delivery_ids: string[], to = driver): Promise<string> {
  const answer = await tenant.ops.post(`${path}/bulk`, { delivery_ids, driver_id: to.id });
  expect(answer).toSucceed(201);
  return answer.body.bulk_assignment_id;
}

const realtimeOf = async (column: "assignment_id" | "bulk_assignment_id", id: string) =>
  (await sql`select assignment_status, requires_driver_response
    from public.delivery_realtime_assignments where ${sql(column)} = ${id}`)[0];

describe("the driver's answer", () => {
  test("accepting updates the assignment, the delivery and the driver's app together", async () => {
    const delivery = await newDelivery(tenant);
    const id = await given(delivery);
    const answer = await driver.put(`${path}/${id}`, { status: "accepted" });
    expect(answer).toSucceed(200);
    expect(answer.body).toEqual({
      success: true,
      message: expect.any(String),
      id,
      status: "accepted",
      updated_count: 1,
    });
    expect((await rowsOf(delivery))[0]).toMatchObject({ status: "accepted", ended_at: null });
    expect(await statusOf(delivery)).toBe("accepted");
    expect(await realtimeOf("assignment_id", id))
      .toEqual({ assignment_status: "accepted", requires_driver_response: false });
    // Again the same is no mistake, the opposite is.
    expect(await driver.put(`${path}/${id}`, { status: "accepted" })).toSucceed(200);
    expect(await driver.put(`${path}/${id}`, { status: "rejected" }))
      .toFailWith(409, "assignment_not_pending");
  });

  test("rejected: the delivery waits again, the load is gone, the reason stays", async () => {
    const own = await newDriver(tenant);
    const delivery = await newDelivery(tenant, { unit_size: 4 });
    const id = await given(delivery, own);
    expect(await usedBy(tenant, own.id)).toBe(4);
    expect(await own.put(`${path}/${id}`, { status: "rejected", reason: "Too far" })).toSucceed(
      200,
    );
    expect((await rowsOf(delivery))[0]).toMatchObject({
      status: "rejected",
      response_reason: "Too far",
      responded_at: expect.any(Date),
      ended_at: expect.any(Date),
    });
    expect(await statusOf(delivery)).toBe("pending");
    expect(await usedBy(tenant, own.id)).toBe(0);
    expect(await own.put(`${path}/${id}`, { status: "rejected" })).toSucceed(200);
    expect(await given(delivery, tenant.driver2)).toBeTruthy();
    expect(await own.put(`${path}/${id}`, { status: "accepted" }))
      .toFailWith(409, "assignment_not_pending");
  });

  test("to a bulk is one for all of it, staged legs and their parcels included", async () => {
    for (const status of ["accepted", "rejected"] as const) {
      const own = await newDriver(tenant);
      const staged = await newStaged(tenant);
      const plain = await newDeliveries(tenant, 2);
      const bulk = await givenMany([staged.parent, ...plain], own);
      const answer = await own.put(`${path}/bulk/${bulk}`, { status });
      expect(answer).toSucceed(200);
      expect(answer.body).toEqual({
        success: true,
        message: expect.any(String),
        bulk_assignment_id: bulk,
        status,
        updated_count: 3,
      });
      const shown = status === "accepted" ? "accepted" : "pending";
      for (const id of [staged.parent, staged.a, ...plain]) expect(await statusOf(id)).toBe(shown);
      expect(await usedBy(tenant, own.id)).toBe(status === "accepted" ? 3 : 0);
      expect((await realtimeOf("bulk_assignment_id", bulk)).assignment_status).toBe(status);
      const again = await own.put(`${path}/bulk/${bulk}`, { status });
      expect(again).toSucceed(200);
      expect(again.body.updated_count).toBe(3);
    }
  });

  test("to a bulk of which one row is answered already changes nothing", async () => {
    const ids = await newDeliveries(tenant, 3);
    const bulk = await givenMany(ids);
    const [row] = await rowsOf(ids[1]);
    expect(await driver.put(`${path}/${row.id}`, { status: "accepted" })).toSucceed(200);
    expect((await realtimeOf("bulk_assignment_id", bulk)).assignment_status).toBe("pending");
    for (const status of ["accepted", "rejected"]) {
      expect(await driver.put(`${path}/bulk/${bulk}`, { status }))
        .toFailWith(409, "assignment_not_pending");
    }
    expect(await statusOf(ids[0])).toBe("assigned");
  });

  test("is the driver's alone", async () => {
    const id = await given(await newDelivery(tenant));
    const bulk = await givenMany(await newDeliveries(tenant, 2));
    const body = { status: "accepted" };
    for (const which of [id, `bulk/${bulk}`]) {
      await expectGuarded({ method: "PUT", path: `${path}/${which}`, body }, {
        denied: [tenant.driver2, tenant.ops, tenant.admin, tenant.customer],
      });
      expect(await other.driver.put(`${path}/${which}`, body)).toFailWith(
        404,
        which === id ? "assignment_not_found" : "bulk_assignment_not_found",
      );
    }
    expect(await driver.put(`${path}/${randomUUID()}`, body))
      .toFailWith(404, "assignment_not_found");
    await expectRefused(driver, { method: "PUT", path: `${path}/${id}` }, [
      [{}, "status"],
      [{ status: "completed" }, "status"],
      [{ status: "rejected", reason: 7 }, "reason"],
    ]);
    expect(await driver.put(`${path}/no-id`, body)).toFailWith(400, "invalid_uuid");
    expect((await driver.in("ku").put(`${path}/${randomUUID()}`, body)).body.message)
      .toMatch(/[\u0600-\u06ff]/);
  });
});

describe("a parcel out of the warehouse", () => {
  /** A leg that has been picked in full. */
  async function picked() {
    const { parent, b, warehouse } = await newStaged(tenant, ["delivered", "pending"]);
    const [bin] = await sql`insert into warehousing.bins (tenant_id, warehouse_id, code, name)
      values (${tenant.id}, ${warehouse}, 'B1', 'Bin') returning id`;
    const [item] = await sql`insert into warehousing.inventory_items (tenant_id, name, sku)
      values (${tenant.id}, 'Parcel', ${randomUUID()}) returning id`;
    await sql`insert into delivery.delivery_items (tenant_id, delivery_id, position, item_id, name)
      values (${tenant.id}, ${parent}, 1, ${item.id}, 'Parcel')`;
    const [order] = await sql`insert into warehousing.picking_orders
      (tenant_id, reference_number, warehouse_id, order_type, status, delivery_id)
      values (${tenant.id}, ${randomUUID()}, ${warehouse}, 'individual', 'completed', ${b}) returning id`;
    await sql`insert into warehousing.stock
      (tenant_id, warehouse_id, bin_id, item_id, status, quantity, reserved_for_type, reserved_for_id)
      values (${tenant.id}, ${warehouse}, ${bin.id}, ${item.id}, 'reserved', 1, 'picking_order', ${order.id})`;
    return { b, order: order.id, warehouse, item: item.id };
  }
  const handoffs = async (delivery: string) =>
    await sql`select * from delivery.package_handoffs where delivery_id = ${delivery}`;

  test("waits to be handed to its driver; after a rejection the next one takes the wait over", async () => {
    const { b, order, warehouse, item } = await picked();
    const first = await given(b);
    const [waiting] = await handoffs(b);
    expect(waiting).toMatchObject({
      picking_order_id: order,
      warehouse_id: warehouse,
      assignment_id: first,
      driver_id: driver.id,
      status: "pending",
      custody: "warehouse",
    });
    expect(await driver.put(`${path}/${first}`, { status: "rejected" })).toSucceed(200);
    expect((await handoffs(b))[0])
      .toMatchObject({ id: waiting.id, assignment_id: null, driver_id: null, status: "pending" });
    const [pick] = await sql`select status from warehousing.picking_orders where id = ${order}`;
    const [stock] = await sql`select quantity from warehousing.stock where item_id = ${item}`;
    expect([pick.status, Number(stock.quantity)]).toEqual(["completed", 1]);
    const second = await given(b, tenant.driver2);
    expect(await handoffs(b)).toMatchObject([
      { id: waiting.id, assignment_id: second, driver_id: tenant.driver2.id },
    ]);
    expect(await tenant.driver2.put(`${path}/${second}`, { status: "accepted" })).toSucceed(200);
    expect(await handoffs(b)).toMatchObject([{ assignment_id: second, status: "pending" }]);
    expect(await tenant.ops.post(`${path}/${second}/unassign`)).toSucceed(200);
    expect(await handoffs(b)).toMatchObject([{ assignment_id: null, status: "pending" }]);
  });

  test("in a bulk as well; the parcels that come straight have no hand-over", async () => {
    const one = await picked();
    const [plain] = await newDeliveries(tenant, 1);
    await givenMany([one.b, plain]);
    expect(await handoffs(one.b)).toHaveLength(1);
    expect(await handoffs(plain)).toHaveLength(0);
  });
});

describe("taking it back", () => {
  test("leaves the row as returned and the delivery waiting", async () => {
    const own = await newDriver(tenant);
    const delivery = await newDelivery(tenant);
    const id = await given(delivery, own);
    await own.put(`${path}/${id}`, { status: "accepted" });
    const answer = await tenant.dispatcher.post(`${path}/${id}/unassign`, { reason: "Ill" });
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({ id, delivery_id: delivery, status: "returned" });
    expect(await statusOf(delivery)).toBe("pending");
    expect((await rowsOf(delivery))[0]).toMatchObject({
      status: "returned",
      response_reason: "Ill",
    });
    expect(await usedBy(tenant, own.id)).toBe(0);
    expect((await realtimeOf("assignment_id", id)).assignment_status).toBe("returned");
    expect(await tenant.ops.post(`${path}/${id}/unassign`)).toFailWith(409, "assignment_ended");
  });

  test("is too late once it is picked up", async () => {
    const delivery = await newDelivery(tenant);
    const id = await given(delivery);
    await move(delivery, "picked_up");
    expect(await tenant.ops.post(`${path}/${id}/unassign`))
      .toFailWith(409, "delivery_already_picked_up");
    expect(await statusOf(delivery)).toBe("picked_up");
  });

  test("is for operations, of their own tenant", async () => {
    const id = await given(await newDelivery(tenant));
    await expectGuarded({ method: "POST", path: `${path}/${id}/unassign` }, {
      denied: [driver, tenant.customer, tenant.warehouse],
    });
    expect(await other.ops.post(`${path}/${id}/unassign`)).toFailWith(404, "assignment_not_found");
  });
});
