/** A parcel that was received short or damaged and goes back takes along what of it lies in its warehouse. */
import { beforeEach, expect, test } from "vitest";
import { enable, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  handedTo,
  move,
  moves,
  parcelStock,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { priced } from "../../support/kept-parts.ts";
import { photoOf, refused, report as outcome, undo } from "../../support/outcomes.ts";
import { newYard, type Yard } from "../../support/packages.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";
import {
  expected,
  leftAs,
  received,
  receivedIn,
  receiveOf,
  sentBack,
} from "../../support/short-parcels.ts";

let tenant: Tenant;
let ground: Yard;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newYard(tenant);
});

const sound = async () => {
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
};
const inconsistent = "warehouse_preparation_inconsistent";
const assignment = (id: string) =>
  tenant.dispatcher.post("/delivery/assignments", {
    delivery_id: id,
    driver_id: tenant.driver.id,
  });
const found = (item_id: string, from: object) =>
  tenant.warehouse.post("/warehousing/inventory/moves", {
    warehouse_id: ground.warehouse,
    items: [{ item_id, from_bin_id: ground.bin, to_bin_id: ground.bin, quantity: 1, ...from }],
  });
const itemsIn = async (parcel: string) =>
  (await sql`select item_id from delivery.delivery_items where delivery_id = ${parcel}
    order by position`).map(({ item_id }) => item_id as string);

test("its second leg does not leave, and what came goes back to its sender's door", async () => {
  const { parcel, b, back } = await sentBack(ground, "short");
  expect(await statusOf(b)).toBe("cancelled");
  expect(await assignment(back)).toFailWith(409, inconsistent);
  const done = await move(tenant.ops, back, "execute");
  expect(done).toSucceed(200);
  expect(done.body.picking_order.item_details).toMatchObject([{ quantity: 1 }]);
  expect((await move(tenant.ops, back, "execute")).body.picking_order)
    .toEqual(done.body.picking_order);
  expect(await parcelStock(parcel)).toEqual({ reserved: 1 });
  expect(await move(tenant.ops, back, "cancel", { reason: "no" }))
    .toFailWith(409, "invalid_status_transition");
  await takenOver(ground, back);
  expect(await parcelStock(parcel)).toEqual({});
  await moves(tenant.driver, back, "depart", "complete");
  expect(await undo(tenant.driver, back)).toSucceed(200);
  expect(await parcelStock(parcel)).toEqual({});
  await moves(tenant.driver, back, "complete");
  await sound();
});

test("a short parcel is not prepared for its receiver", async () => {
  const { b } = await receivedIn(ground, "short");
  expect(await move(tenant.ops, b, "execute")).toFailWith(409, inconsistent);
  expect(await assignment(b)).toFailWith(409, inconsistent);
});

test("damaged units are not picked, and leave with the parcel when it is picked up", async () => {
  const { parcel, back } = await sentBack(ground, "damaged");
  const handoff = await handedTo(ground, back);
  expect(await parcelStock(parcel)).toEqual({ reserved: 2, damaged: 1 });
  expect(await tenant.driver.post(`/delivery/handoffs/${handoff}/pickup`)).toSucceed(200);
  expect(await parcelStock(parcel)).toEqual({});
  expect(await leftAs(parcel)).toEqual({ reserved: 2, damaged: 1 });
  await moves(tenant.driver, back, "depart", "complete");
  await sound();
});

test("of which all is damaged goes back by an empty picking order", async () => {
  const { parcel, back } = await sentBack(ground, "allDamaged");
  const done = await move(tenant.ops, back, "execute");
  expect(done).toSucceed(200);
  expect(done.body.picking_order.item_details).toEqual([]);
  await takenOver(ground, back);
  expect(await leftAs(parcel)).toEqual({ damaged: 2 });
  await moves(tenant.driver, back, "depart", "complete");
  await sound();
});

test("what turns out to be sound after all is picked as well before a driver gets it", async () => {
  const { parcel, back } = await sentBack(ground, "damaged");
  expect(await move(tenant.ops, back, "execute")).toSucceed(200);
  const [shirt] = await itemsIn(parcel);
  expect(await found(shirt!, { status: "damaged", to_status: "available" })).toSucceed(201);
  expect(await assignment(back)).toFailWith(409, inconsistent);
  await takenOver(ground, back);
  expect(await leftAs(parcel)).toEqual({ reserved: 3 });
  await sound();
});

test("brought back by its driver, what left is expected, and leaves again", async () => {
  const { parcel, back } = await sentBack(ground, "damaged");
  await takenOver(ground, back);
  await moves(tenant.driver, back, "depart", "fail", "return");
  expect(await expected(back)).toEqual({ Shirt: 2, Cap: 1 });
  await receiveOf(tenant, back, ground.bin, [{ damaged_quantity: 1 }, { received_quantity: 0 }]);
  expect(await parcelStock(parcel)).toEqual({ available: 1, damaged: 1 });
  await takenOver(ground, back);
  await moves(tenant.driver, back, "depart", "fail", "return");
  expect(await expected(back)).toEqual({ Shirt: 2 });
  await receiveOf(tenant, back, ground.bin, [{ received_quantity: 1 }]);
  await takenOver(ground, back);
  await moves(tenant.driver, back, "depart", "complete");
  await sound();
});

test("to another warehouse, which expects what left, and not what never came", async () => {
  const { parcel, back } = await sentBack(ground, "short", {
    dropoff_warehouse_id: ground.there,
  });
  await takenOver(ground, back);
  await moves(tenant.driver, back, "depart", "complete");
  expect(await expected(back)).toEqual({ Shirt: 1 });
  await receiveOf(tenant, back, ground.thereBin, [{ received_quantity: 1 }]);
  expect(await parcelStock(parcel)).toEqual({ available: 1 });
  await sound();
});

test.each([
  ["received without a word", undefined],
  ["received with nothing but bins", [{}, {}]],
])("%s, what left damaged is damaged there", async (_, lines) => {
  const { parcel, back } = await sentBack(ground, "damaged", {
    dropoff_warehouse_id: ground.there,
  });
  await takenOver(ground, back);
  await moves(tenant.driver, back, "depart", "complete");
  const [receipt] = await sql`select id from warehousing.receiving_orders
    where delivery_id = ${back} and status = 'pending'`;
  const body = {
    status: "received",
    item_details: lines?.map(() => ({ bin_id: ground.thereBin })),
  };
  const path = `/warehousing/receiving-orders/${receipt.id}`;
  const first = await tenant.ops.put(path, body);
  expect(first).toSucceed(200);
  expect(await parcelStock(parcel)).toEqual({ available: 2, damaged: 1 });
  expect((await tenant.ops.put(path, body)).body.order).toEqual(first.body.order);
  const [one] = first.body.order.item_details;
  expect(
    await tenant.ops.put(path, {
      ...body,
      item_details: [{ bin_id: one.bin_id, damaged_quantity: one.damaged_quantity ? 0 : 1 }],
    }),
  ).toFailWith(409, "invalid_status_transition");
  await sound();
});

test("by a carrier, picked before or not", async () => {
  const { secret } = await enable(tenant);
  for (const picked of [true, false]) {
    const { parcel, back } = await sentBack(ground, "damaged");
    if (picked) expect(await move(tenant.ops, back, "execute")).toSucceed(200);
    const tracking_number = await givenToCarrier(tenant, back);
    for (const status of ["in_transit", "delivered"]) {
      expect(await report(tenant, secret, { tracking_number, status })).toSucceed(200);
    }
    expect(await statusOf(back)).toBe("delivered");
    expect(await parcelStock(parcel)).toEqual({});
    expect(await leftAs(parcel)).toMatchObject({ damaged: 1 });
  }
  await sound();
});

test("of a door-to-door parcel too; cancelled after it was picked, damaged units are damaged still", async () => {
  const d = await deliveryIn(ground, "in_transit", priced);
  await moves(tenant.driver, d.id, "fail", ["return", { warehouse_id: ground.warehouse }]);
  await receiveOf(tenant, d.id, ground.bin, [{ damaged_quantity: 1 }, { received_quantity: 0 }]);
  const sent = await move(tenant.ops, d.id, "operational-return", {});
  expect(sent).toSucceed(201);
  expect(await move(tenant.ops, sent.body.id, "execute")).toSucceed(200);
  expect(await parcelStock(d.id)).toEqual({ reserved: 1, damaged: 1 });
  expect(await move(tenant.ops, sent.body.id, "cancel", { reason: "no" })).toSucceed(200);
  expect(await parcelStock(d.id)).toEqual({ available: 1, damaged: 1 });
  const again = await move(tenant.ops, d.id, "operational-return", {});
  await takenOver(ground, again.body.id);
  expect(await leftAs(d.id)).toEqual({ reserved: 1, damaged: 1 });
  await moves(tenant.driver, again.body.id, "depart", "complete");
  expect(await statusOf(d.id)).toBe("returned");
  await sound();
});

test("made at the door and received short on its way, it continues with what came", async () => {
  await saveSettings(tenant.id, "delivery.attempts", { after_last: "return" });
  const d = await deliveryIn(ground, "in_transit", priced);
  expect(await outcome(tenant.driver, d.id, refused)).toSucceed(200);
  const [back] = await sql`select id from delivery.deliveries
    where original_delivery_id = ${d.id} and made_at_door`;
  await moves(tenant.driver, back.id, ["return", { warehouse_id: ground.there }]);
  expect(await expected(back.id)).toEqual({ Shirt: 2, Cap: 1 });
  await receiveOf(tenant, back.id, ground.thereBin, received.short);
  await takenOver(ground, back.id);
  await moves(tenant.driver, back.id, "depart", [
    "complete",
    { proof: await photoOf(tenant.driver, back.id) },
  ]);
  await sound();
});
