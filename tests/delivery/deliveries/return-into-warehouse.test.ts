/** A driver brings a door-to-door parcel into a warehouse that it was not ordered from: it is not back yet. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  move,
  moves,
  newDelivery,
  parcelStock,
  path,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { dayIn, report } from "../../support/outcomes.ts";
import { scanned } from "../../support/package-scan.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { broughtInto, fromWarehouse, received, sentBackBy } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

const returnInto = (id: string, warehouse_id: string) =>
  moves(tenant.driver, id, ["return", { warehouse_id }]);

const eventsOf = async (id: string) =>
  (await sql`select event_type from integration.system_events where entity_id = ${id}
    order by created_at, id`).map(({ event_type }) => event_type);

const receiptsOf = async (id: string) =>
  await sql`select warehouse_id, status from warehousing.receiving_orders where delivery_id = ${id}
    order by created_at, id`;

test("it is on its way until it is received, waits there, and goes to its door with its attempt kept", async () => {
  const { id, barcode, price } = await newDelivery(yard, { cod_amount: 25 });
  const receipt = await broughtInto(yard, id, yard.warehouse);
  expect(await statusOf(id)).toBe("in_transit");
  expect(await scanned(tenant, barcode)).toMatchObject({
    action: "open_receiving_order",
    entity_id: receipt,
    delivery: { status: "in_transit", next_action: "receive" },
  });
  await received(yard, receipt);
  expect(await whereIs(id)).toEqual({
    status: "pending",
    at: yard.warehouse,
    from: yard.warehouse,
    to: null,
  });
  const { delivery } = (await tenant.ops.get(`${path}/${id}`)).body;
  expect(delivery).toMatchObject({ attempts_used: 1, assignment: { status: "returned" } });
  expect(await eventsOf(id)).not.toContain("delivery.returned");
  expect(await parcelStock(id)).toEqual({ available: 1 });

  const given = await tenant.ops.post("/delivery/assignments", {
    delivery_id: id,
    driver_id: tenant.driver2.id,
  });
  expect(given).toSucceed(201);
  await sql`update delivery.assignments set status = 'accepted'
    where delivery_id = ${id} and status = 'pending'`;
  await moves(tenant.driver2, id, "pickup", "depart");
  expect(await parcelStock(id)).toEqual({});
  const done = await moves(tenant.driver2, id, "complete");
  expect(done.cash.collected).toMatchObject({ cod: 25, delivery_fee: price });
  await checkAll(tenant);
});

test("its fee is given back when it is back with its sender, not before", async () => {
  const own = await newTenant();
  const place = await newYard(own);
  await sql`update delivery.delivery_services set policy_mode = 'custom',
    policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
    where id = ${place.service}`;
  const { id } = await newDelivery(place, { payer_type: "sender" });
  await assign(own, id);
  await moves(own.driver, id, "pickup");
  const stop = await moves(own.driver, id, ["return", { warehouse_id: place.warehouse }]);
  expect(stop).toMatchObject({ refunded: false, refund_due: null });
  await received(place, stop.receiving_order_id);
  const refunds = () =>
    sql`select from money.payments where delivery_id = ${id} and type = 'REFUND'`;
  expect(await refunds()).toHaveLength(0);
  const back = await sentBackBy(place, id, "operational-return");
  await takenOver(place, back.id, own.driver2);
  expect(await refunds()).toHaveLength(0);
  await moves(own.driver2, back.id, "complete");
  expect(await statusOf(id)).toBe("returned");
  expect(await refunds()).toHaveLength(1);
  await checkAll(own);
});

test("said twice, it is expected once; said of another warehouse, there", async () => {
  const { id } = await deliveryIn(yard, "in_transit");
  const first = await returnInto(id, yard.warehouse);
  expect((await returnInto(id, yard.warehouse)).receiving_order_id)
    .toBe(first.receiving_order_id);
  await returnInto(id, yard.there);
  expect(await receiptsOf(id)).toEqual([
    { warehouse_id: yard.warehouse, status: "cancelled" },
    { warehouse_id: yard.there, status: "pending" },
  ]);
  const headers = { "idempotency-key": `stop-${id}` };
  const url = `${path}/${id}/return`;
  const once = await tenant.driver.post(url, { warehouse_id: yard.there }, { headers });
  const again = await tenant.driver.post(url, { warehouse_id: yard.there }, { headers });
  expect(again.body).toEqual(once.body);
});

test("with its sender or its receiver after all, it is expected nowhere", async () => {
  for (const [step, status] of [["return", "returned"], ["complete", "delivered"]] as const) {
    const { id } = await deliveryIn(yard, "in_transit");
    await returnInto(id, yard.warehouse);
    await moves(tenant.driver, id, step);
    expect(await statusOf(id)).toBe(status);
    expect(await receiptsOf(id)).toEqual([{ warehouse_id: yard.warehouse, status: "cancelled" }]);
  }
  await checkAll(tenant);
});

test("on its way again after another attempt at its door, it is expected nowhere", async () => {
  const ways = [["retry", "in_transit", {}], ["retry", "pending", { reassign: true }]] as const;
  for (const [step, status, more] of ways) {
    const { id } = await deliveryIn(yard, "in_transit");
    await returnInto(id, yard.warehouse);
    await moves(tenant.driver, id, "fail");
    expect(await receiptsOf(id)).toEqual([{ warehouse_id: yard.warehouse, status: "pending" }]);
    await moves(tenant.ops, id, [step, { override_reason: "The receiver is back", ...more }]);
    expect(await statusOf(id)).toBe(status);
    expect(await receiptsOf(id)).toEqual([{ warehouse_id: yard.warehouse, status: "cancelled" }]);
  }
});

test("on its way again on the morning of its day, it is expected nowhere", async () => {
  const { id } = await deliveryIn(yard, "in_transit");
  await returnInto(id, yard.warehouse);
  const postponed = { result: "postponed", reason_code: "postponed", postponed_to: dayIn(1) };
  expect(await report(tenant.driver, id, postponed)).toSucceed(200);
  await sql`update delivery.deliveries set postponed_to = current_date - 1 where id = ${id}`;
  await sql`select delivery.postponed_resume()`;
  expect(await statusOf(id)).toBe("in_transit");
  expect(await receiptsOf(id)).toEqual([{ warehouse_id: yard.warehouse, status: "cancelled" }]);
  await moves(tenant.driver, id, "complete");
});

test("cancelled by the warehouse, it stays with its driver", async () => {
  const { id } = await deliveryIn(yard, "failed");
  const { receiving_order_id } = await returnInto(id, yard.warehouse);
  expect(
    await tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
      status: "cancelled",
    }),
  ).toSucceed();
  expect(await whereIs(id)).toMatchObject({ status: "in_transit", at: null });
  await moves(tenant.driver, id, "complete");
});

test("in the warehouse of its order it is back, and reads returned", async () => {
  const { id } = await fromWarehouse(yard);
  await received(yard, await broughtInto(yard, id, yard.warehouse));
  expect(await whereIs(id)).toMatchObject({ status: "returned", at: yard.warehouse });
  expect(await eventsOf(id)).toContain("delivery.returned");
  expect(await move(tenant.ops, id, "operational-return"))
    .toFailWith(409, "invalid_status_transition");
});

test("received and delivered at the same moment, one of the two happens", async () => {
  for (let round = 0; round < 4; round++) {
    const { id } = await deliveryIn(yard, "in_transit");
    const { receiving_order_id } = await returnInto(id, yard.warehouse);
    const [taken, done] = await Promise.all([
      tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
        status: "received",
      }),
      move(tenant.driver, id, "complete"),
    ]);
    expect([taken.status, done.status].filter((status) => status === 200)).toHaveLength(1);
    expect(await statusOf(id)).toBe(taken.status === 200 ? "pending" : "delivered");
  }
  await checkAll(tenant);
});
