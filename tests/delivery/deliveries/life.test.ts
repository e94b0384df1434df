import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  deliveryIn,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  outboundOnRoad,
  parcelStock,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;

beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

describe("a delivery from door to door", () => {
  test("goes through its statuses, leaves its history and frees its driver", async () => {
    const { id } = await newDelivery(ground);
    expect(await statusOf(id)).toBe("pending");
    const assignment = await assign(tenant, id);
    const done = await moves(tenant.driver, id, "pickup", "depart", ["complete", {
      recipient_name: "Neighbour",
      proof: { photo_urls: ["https://example.com/door.jpg"], signature_url: null },
    }]);
    expect(done.delivery).toMatchObject({
      id,
      status: "delivered",
      recipient: { name: "Recipient", received_by: "Neighbour" },
      assignment: { id: assignment, status: "completed", driver_id: tenant.driver.id },
    });
    const detail = (await tenant.ops.get(`${path}/${id}`)).body.delivery;
    expect(detail.history.map((h: { to_status: string }) => h.to_status)).toEqual([
      "pending",
      "accepted",
      "picked_up",
      "in_transit",
      "delivered",
    ]);
    expect(detail.proofs).toMatchObject([{ stage: "delivery", kind: "photo" }]);
    expect(detail.items).toMatchObject([{ name: `Parcel ${detail.delivery_code}`, quantity: 1 }]);
    const events = await sql`select event_type from integration.system_events
      where entity_id = ${id} order by created_at, id`;
    expect(events.map(({ event_type }) => event_type)).toEqual([
      "delivery.created",
      "delivery.accepted",
      "delivery.picked_up",
      "delivery.in_transit",
      "delivery.delivered",
    ]);
  });

  test("may be completed without a departure", async () => {
    const { id } = await deliveryIn(ground, "picked_up");
    await moves(tenant.driver, id, "complete");
    expect(await statusOf(id)).toBe("delivered");
  });

  test("comes back to its sender for good", async () => {
    const { id } = await deliveryIn(ground, "in_transit");
    const { receiving_order_id } = await moves(tenant.driver, id, ["return", {
      reason: "refused",
    }]);
    expect(receiving_order_id).toBeNull();
    const [row] = await sql`select d.status, d.status_reason, a.status as assignment
      from delivery.deliveries d join delivery.assignments a on a.delivery_id = d.id where d.id = ${id}`;
    expect(row).toEqual({ status: "returned", status_reason: "refused", assignment: "returned" });
    for (const step of ["pickup", "depart", "complete", "return"]) {
      expect(await move(tenant.ops, id, step)).toFailWith(409, "invalid_status_transition");
    }
  });

  test("after a return into a warehouse it is sent back from there as a new delivery", async () => {
    const { id } = await deliveryIn(ground, "failed");
    const { receiving_order_id } = await moves(tenant.driver, id, ["return", {
      warehouse_id: ground.warehouse,
    }]);
    const received = await tenant.warehouse.put(
      `/warehousing/receiving-orders/${receiving_order_id}`,
      { status: "received" },
    );
    expect(received).toSucceed();
    expect(received.body.order).toMatchObject({ source: "failed_delivery_return" });
    expect(await parcelStock(id)).toEqual({ available: 1 });
    const back = await move(tenant.warehouse, id, "operational-return", { reason: "refused" });
    expect(back).toSucceed(201);
    const { delivery } = back.body;
    expect(delivery).toMatchObject({
      delivery_flow: "operational_return",
      original_delivery_id: id,
      status: "pending",
      price: 0,
    });
    expect(delivery.barcode).not.toBe(
      (await tenant.ops.get(`${path}/${id}`)).body.delivery.barcode,
    );
    expect(await move(tenant.ops, id, "operational-return")).toFailWith(
      409,
      "return_already_exists",
    );
    await takenOver(ground, delivery.id, tenant.driver2);
    expect(await parcelStock(id)).toEqual({});
    await moves(tenant.driver2, delivery.id, "depart", "complete");
    expect(await statusOf(delivery.id)).toBe("delivered");
  });
});

describe("a staged delivery", () => {
  test("goes into the warehouse, is picked there and goes out", async () => {
    const { parent, a, b } = await stagedInWarehouse(ground, {
      package: { items: [{ name: "Shoes", quantity: 2 }, { name: "Hat" }] },
    });
    expect(parent).toMatchObject({ status: "pending", delivery_flow: "pnd_parent" });
    expect([await statusOf(parent.id), await statusOf(a), await statusOf(b)]).toEqual([
      "in_transit",
      "delivered",
      "pending",
    ]);
    expect(await parcelStock(parent.id)).toEqual({ available: 3 });
    const places = await sql`select distinct current_warehouse_id from delivery.deliveries
      where id in ${sql([parent.id, a, b])}`;
    expect(places).toEqual([{ current_warehouse_id: ground.warehouse }]);
    const receipts = await sql`select t.quantity::int as n from warehousing.inventory_transactions t
      join warehousing.receiving_orders r on r.id = t.reference_id
      where r.delivery_id = ${a} and t.transaction_type = 'receive' order by 1`;
    expect(receipts).toEqual([{ n: 1 }, { n: 2 }]);

    const executed = await move(tenant.warehouse, parent.id, "execute");
    expect(executed).toSucceed();
    expect(executed.body.picking_order).toMatchObject({ status: "completed", delivery_id: b });
    const shown = await tenant.ops.get(
      `/warehousing/picking-orders/${executed.body.picking_order.id}`,
    );
    const { item_details, picking_progress } = shown.body.order;
    const units = item_details.reduce((sum: number, one: Body) => sum + one.quantity, 0);
    expect(picking_progress).toMatchObject({ total_items: units, picked_items: units });
    const again = await move(tenant.ops, b, "execute");
    expect(again.body.picking_order.id).toBe(executed.body.picking_order.id);
    expect(await parcelStock(parent.id)).toEqual({ reserved: 3 });

    await assign(tenant, b);
    const [handoff] = await sql`select id from delivery.package_handoffs where delivery_id = ${b}`;
    expect(await move(tenant.driver, b, "pickup")).toFailWith(409, "pickup_by_handoff");
    const taken = await tenant.driver.post(`/delivery/handoffs/${handoff.id}/pickup`);
    expect(taken).toSucceed();
    expect(taken.body.handoff).toMatchObject({ status: "completed", custody: "driver" });
    expect(await parcelStock(parent.id)).toEqual({});
    const [pick] =
      await sql`select status from warehousing.picking_orders where delivery_id = ${b}`;
    expect(pick.status).toBe("handed_off");
    const [place] =
      await sql`select current_warehouse_id from delivery.deliveries where id = ${parent.id}`;
    expect(place.current_warehouse_id).toBeNull();
    await moves(tenant.driver, b, "depart", "complete");
    expect(await statusOf(parent.id)).toBe("delivered");
  });

  test("returned on its way out waits for its receipt, then for another driver", async () => {
    const { parent, b } = await outboundOnRoad(ground);
    const { receiving_order_id } = await moves(tenant.driver, b, ["return", { reason: "closed" }]);
    const order =
      (await tenant.ops.get(`/warehousing/receiving-orders/${receiving_order_id}`)).body.order;
    expect(order).toMatchObject({
      source: "delivery_return_handoff",
      status: "pending",
      custody: "awaiting_warehouse_receipt",
      warehouse_id: ground.warehouse,
    });
    // Until then its driver answers for it.
    const [live] = await sql`select status from delivery.assignments where delivery_id = ${b}`;
    expect(live.status).toBe("accepted");
    const [problem] = await problemOf(b);
    expect(problem.code).toBe("warehouse_preparation_inconsistent");

    const received = await tenant.warehouse.put(
      `/warehousing/receiving-orders/${receiving_order_id}`,
      { status: "received", item_details: [{ condition: "good" }] },
    );
    expect(received).toSucceed();
    expect(received.body.order).toMatchObject({ status: "received", custody: "in_warehouse" });
    expect(
      await tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
        status: "received",
      }),
    ).toSucceed(200);
    const [after] = await sql`select d.status, a.status as assignment from delivery.deliveries d
      join delivery.assignments a on a.delivery_id = d.id where d.id = ${b}`;
    expect(after).toEqual({ status: "pending", assignment: "returned" });
    expect(await parcelStock(parent.id)).toEqual({ available: 1 });
    const second = await handedTo(ground, b, tenant.driver2);
    expect(await problemOf(b)).toEqual([]);
    expect(await tenant.driver2.post(`/delivery/handoffs/${second}/pickup`)).toSucceed();
    await moves(tenant.driver2, b, "complete");
    expect(await statusOf(parent.id)).toBe("delivered");
  });

  test("is received by staff where the setting asks for it", async () => {
    const careful = await newTenant({
      settings: { "general.warehouse": { handoff_required: true } },
    });
    const there = await newGround(careful, { bin: false });
    const { parent, b } = await stagedInWarehouse(there);
    expect(await statusOf(b)).toBe("draft");
    const { data: orders } = (await careful.warehouse.get("/warehousing/receiving-orders", {
      query: { warehouse_id: there.warehouse, status: "pending" },
    })).body;
    expect(orders).toMatchObject([{ source: "inbound" }]);
    const one = `/warehousing/receiving-orders/${orders[0].id}`;
    expect(await careful.warehouse.put(one, { status: "received" }))
      .toFailWith(400, "bin_id_required_for_received_items");
    const [bin] = await sql`insert into warehousing.bins (tenant_id, warehouse_id, code, name)
      values (${careful.id}, ${there.warehouse}, 'A1', 'Shelf') returning id`;
    expect(await careful.staff.put(one, { status: "received", item_details: [{ bin_id: bin.id }] }))
      .toFailWith(403, "forbidden");
    expect(await careful.warehouse.put(one, { status: "cancelled" }))
      .toFailWith(409, "invalid_status_transition");
    expect(
      await careful.warehouse.put(one, { status: "received", item_details: [{ bin_id: bin.id }] }),
    ).toSucceed();
    expect([await statusOf(parent.id), await statusOf(b)]).toEqual(["in_transit", "pending"]);
  });
});

const problemOf = (id: string) =>
  sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    return [...await tx`select code from delivery.preparation_problem(array[${id}]::uuid[])`];
  });

describe("a customer's return", () => {
  test("returns a delivered order with a service that allows it", async () => {
    const { id } = await deliveryIn(ground, "delivered");
    const ask = (more = {}) =>
      tenant.customer.post(path, {
        delivery_flow: "customer_return",
        original_delivery_id: id,
        delivery_service_id: ground.service,
        payer_type: "sender",
        payment_method: "cash",
        unit_size: 2,
        ...more,
      });
    expect(await ask()).toFailWith(400, "service_not_for_returns");
    await sql`update delivery.delivery_services set allow_returns = true where id = ${ground.service}`;
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const { delivery } = answers.find(({ status }) => status === 201)!.body;
    expect(delivery).toMatchObject({ delivery_flow: "customer_return", original_delivery_id: id });
    const detail = (await tenant.customer.get(`${path}/${delivery.id}`)).body.delivery;
    expect(detail.pickup_address_id).toBe(ground.to);
    expect(detail.dropoff_address_id).toBe(ground.from);
    await assign(tenant, delivery.id);
    const before = await bookOf(tenant, "driver_cash", tenant.driver.id);
    await moves(tenant.driver, delivery.id, "pickup", "fail", "retry");
    // The sender's fee was taken with the parcel; a return's failure is no attempt.
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id) - before).toBe(2000);
    await moves(tenant.driver, delivery.id, "complete");
    expect(await statusOf(delivery.id)).toBe("delivered");
  });

  test("of what was not delivered is refused", async () => {
    const { id } = await newDelivery(ground);
    expect(
      await tenant.customer.post(path, {
        delivery_flow: "customer_return",
        original_delivery_id: id,
        delivery_service_id: ground.service,
        payer_type: "sender",
        payment_method: "cash",
      }),
    ).toFailWith(409, "original_not_delivered");
  });
});
