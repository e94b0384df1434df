import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";

const receipts = "/warehousing/receiving-orders";
const queue = "/delivery/delivery-exceptions";
let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

async function problemOf(id: string): Promise<string | undefined> {
  return await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const [row] = await tx`select code from delivery.preparation_problem(array[${id}]::uuid[])`;
    return row?.code;
  });
}

const open = async (id: string, body: Record<string, unknown> = {}, person = tenant.ops) => {
  const answer = await move(person, id, "exceptions", { type: "damaged", ...body });
  expect(answer).toSucceed(201);
  return answer.body;
};

describe("an exception", () => {
  test("keeps a delivery from being assigned until it is resolved", async () => {
    const { id } = await newDelivery(ground);
    expect(await problemOf(id)).toBeUndefined();
    const { exception, receiving_order_id } = await open(id, { notes: "Wet box" });
    expect(exception).toMatchObject({
      type: "damaged",
      status: "open",
      notes: "Wet box",
      delivery_id: id,
    });
    expect(receiving_order_id).toBeNull();
    expect(await problemOf(id)).toBe("delivery_has_open_exception");
    const { exceptions } = (await tenant.ops.get(`${path}/${id}`)).body.delivery;
    expect(exceptions).toMatchObject([{ id: exception.id, status: "open" }]);
    const resolve = () =>
      tenant.warehouse.post(`${queue}/${exception.id}/resolve`, { resolution: "repacked" });
    const answers = await Promise.all([resolve(), resolve(), resolve()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(await resolve()).toFailWith(409, "delivery_exception_resolved");
    expect(await problemOf(id)).toBeUndefined();
    const events =
      await sql`select event_type from integration.system_events where entity_id = ${exception.id} order by id`;
    expect(events.map(({ event_type }) => event_type).sort()).toEqual([
      "delivery_exception.opened",
      "delivery_exception.resolved",
    ]);
  });

  test("of the parcel, of its items elsewhere and of the preparation have their own names", async () => {
    const { parent, a, b } = await stagedInWarehouse(ground);
    expect(await problemOf(b)).toBe("warehouse_preparation_inconsistent");
    expect(await move(tenant.ops, b, "execute")).toSucceed();
    expect(await problemOf(b)).toBeUndefined();
    expect(await problemOf(a)).toBeUndefined();
    const [{ id: item }] =
      await sql`select id from delivery.delivery_items where delivery_id = ${parent.id}`;
    // A leg that has been delivered takes no new exceptions; one it had earlier still counts.
    expect(await move(tenant.ops, a, "exceptions", { type: "wet" })).toFailWith(
      409,
      "delivery_ended",
    );
    await sql`insert into delivery.delivery_exceptions (tenant_id, delivery_id, type, items)
      values (${tenant.id}, ${a}, 'wet', ${sql.json([{ delivery_item_id: item }])})`;
    expect(await problemOf(b)).toBe("warehouse_item_exception_open");
    await open(parent.id);
    expect(await problemOf(b)).toBe("parent_exception_open");
    await open(b, { items: [{ delivery_item_id: item, quantity: 1, condition: "broken" }] });
    expect(await problemOf(b)).toBe("delivery_has_open_exception");
  });

  test("names items of the parcel only, and of a delivery the caller has", async () => {
    const { id } = await newDelivery(ground);
    const answer = await move(tenant.ops, id, "exceptions", {
      type: "lost",
      items: [{ delivery_item_id: randomUUID() }],
    });
    expect(answer).toFailWith(404, "delivery_item_not_found");
    expect(answer.body.field).toBe("items.0.delivery_item_id");
    expect(await move(tenant.driver, id, "exceptions", { type: "lost" })).toFailWith(
      404,
      "delivery_not_found",
    );
    expect(await move(tenant.customer, id, "exceptions", { type: "lost" })).toFailWith(
      403,
      "forbidden",
    );
    expect(await move(tenant.ops, id, "exceptions", { type: "" })).toFailWith(
      400,
      "validation_failed",
    );
    expect(await tenant.ops.post(`${queue}/${randomUUID()}/resolve`, { resolution: "x" }))
      .toFailWith(404, "delivery_exception_not_found");
  });

  test("on the road makes the warehouse expect the parcel, and stays open when it is received", async () => {
    const { parent, b } = await outboundOnRoad(ground);
    const { exception, receiving_order_id } = await open(b, {}, tenant.driver);
    const order = (await tenant.ops.get(`${receipts}/${receiving_order_id}`)).body.order;
    expect(order).toMatchObject({
      source: "failed_delivery_return",
      status: "pending",
      custody: "awaiting_warehouse_receipt",
      exception_id: exception.id,
    });
    expect(await statusOf(b)).toBe("in_transit");
    // The return that follows is the same receipt.
    expect((await moves(tenant.driver, b, "return")).receiving_order_id).toBe(receiving_order_id);
    await received(ground, receiving_order_id);
    expect([await statusOf(b), await statusOf(parent.id)]).toEqual(["pending", "in_transit"]);
    expect(await problemOf(b)).toBe("delivery_has_open_exception");
    expect(await tenant.ops.post(`${queue}/${exception.id}/resolve`, { resolution: "fine" }))
      .toSucceed();
    await handedTo(ground, b, tenant.driver2);
    expect(await problemOf(b)).toBeUndefined();
  });

  test("received without a return brings the delivery back all the same", async () => {
    const { b } = await outboundOnRoad(ground);
    const { receiving_order_id } = await open(b);
    await received(ground, receiving_order_id);
    expect(await statusOf(b)).toBe("pending");
    const [a] = await sql`select status from delivery.assignments where delivery_id = ${b}`;
    expect(a.status).toBe("returned");
  });

  test("resolved on the road, or delivered in spite of it, expects nothing any more", async () => {
    const first = await outboundOnRoad(ground);
    const { exception, receiving_order_id } = await open(first.b);
    expect(await tenant.ops.post(`${queue}/${exception.id}/resolve`, { resolution: "fine" }))
      .toSucceed();
    expect((await tenant.ops.get(`${receipts}/${receiving_order_id}`)).body.order.status).toBe(
      "cancelled",
    );
    await moves(tenant.driver, first.b, "complete");
    const second = await outboundOnRoad(ground);
    const late = await open(second.b);
    await moves(tenant.driver, second.b, "complete");
    expect(
      await tenant.warehouse.put(`${receipts}/${late.receiving_order_id}`, { status: "received" }),
    )
      .toFailWith(409, "invalid_status_transition");
  });
});

describe("a receipt", () => {
  test("that is cancelled lets the driver continue", async () => {
    const { parent, b } = await outboundOnRoad(ground);
    const { receiving_order_id } = await moves(tenant.driver, b, "return");
    expect([await statusOf(b), await statusOf(parent.id)]).toEqual(["returned", "returned"]);
    const one = `${receipts}/${receiving_order_id}`;
    expect(await tenant.warehouse.put(one, { status: "cancelled" })).toSucceed();
    expect(await statusOf(b)).toBe("in_transit");
    expect(await tenant.warehouse.put(one, { status: "received" })).toFailWith(
      409,
      "invalid_status_transition",
    );
    await moves(tenant.driver, b, "complete");
    expect(await statusOf(parent.id)).toBe("delivered");
  });

  test("of damaged goods keeps them apart, and they cannot be sent out", async () => {
    const { b } = await outboundOnRoad(ground);
    const { receiving_order_id } = await moves(tenant.driver, b, "return");
    const received = await tenant.warehouse.put(`${receipts}/${receiving_order_id}`, {
      status: "received",
      item_details: [{ bin_id: ground.bin, condition: "damaged" }],
      notes: "Torn",
    });
    expect(received).toSucceed();
    expect(received.body.order).toMatchObject({
      notes: "Torn",
      item_details: [{
        condition: "damaged",
        bin_id: ground.bin,
        received_quantity: 1,
        quantity: 1,
      }],
      receiver: { id: tenant.warehouse.id },
    });
    expect(await move(tenant.ops, b, "execute")).toFailWith(
      409,
      "warehouse_preparation_inconsistent",
    );
  });

  test("refuses what was not sent: another bin, another item, more than there was", async () => {
    const { b } = await outboundOnRoad(ground);
    const { receiving_order_id } = await moves(tenant.driver, b, "return");
    const other = await newGround(tenant);
    const wrong: [Record<string, unknown>, number, string][] = [
      [{ bin_id: other.bin }, 404, "bin_not_found"],
      [{ bin_id: randomUUID() }, 404, "bin_not_found"],
      [{ item_id: randomUUID() }, 404, "inventory_item_not_found"],
      [{ received_quantity: 2 }, 400, "received_too_much"],
      [{ received_quantity: -1 }, 400, "validation_failed"],
      [{ condition: "lost" }, 400, "validation_failed"],
    ];
    for (const [detail, status, code] of wrong) {
      const answer = await tenant.warehouse.put(`${receipts}/${receiving_order_id}`, {
        status: "received",
        item_details: [detail],
      });
      expect(answer).toFailWith(status, code);
    }
    expect(await statusOf(b)).toBe("returned");
    expect(await tenant.customer.put(`${receipts}/${receiving_order_id}`, { status: "received" }))
      .toFailWith(403, "forbidden");
    await sql`insert into warehousing.warehouse_staff (tenant_id, warehouse_id, user_id)
      values (${tenant.id}, ${ground.warehouse}, ${tenant.staff.id})`;
    expect(await tenant.staff.put(`${receipts}/${receiving_order_id}`, { status: "received" }))
      .toSucceed();
    expect(await tenant.staff.put(`${receipts}/${randomUUID()}`, { status: "received" }))
      .toFailWith(404, "receiving_order_not_found");
  });
});

describe("execute", () => {
  test("is for what leaves a warehouse, when it is there", async () => {
    const { id } = await newDelivery(ground);
    expect(await move(tenant.ops, id, "execute")).toFailWith(409, "delivery_not_executable");
    const staged = await newDelivery(ground, { staged: true, warehouse_id: ground.warehouse });
    expect(await move(tenant.ops, staged.legs[1].id, "execute")).toFailWith(
      409,
      "invalid_status_transition",
    );
    const there = await stagedInWarehouse(ground);
    const other = await newGround(tenant);
    expect(await move(tenant.ops, there.b, "execute", { warehouse_id: other.warehouse }))
      .toFailWith(409, "warehouse_preparation_inconsistent");
    expect(await move(tenant.driver, there.b, "execute")).toFailWith(403, "forbidden");
    expect(await move(tenant.warehouse, there.b, "execute", { warehouse_id: ground.warehouse }))
      .toSucceed();
  });
});
