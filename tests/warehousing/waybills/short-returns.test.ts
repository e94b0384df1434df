/** A return of a parcel that was received short or damaged travels by waybill with what of it lies in the source. */
import { beforeEach, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  move,
  moves,
  newDelivery,
  parcelStock,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { priced } from "../../support/kept-parts.ts";
import { scanned } from "../../support/package-scan.ts";
import { breachesIn } from "../../support/reconciled.ts";
import {
  expected,
  leftAs,
  received,
  receivedIn,
  receiveOf,
  sentBack,
} from "../../support/short-parcels.ts";
import { type Hauling, newHauling } from "../../support/waybills.ts";

let hauling: Hauling;
beforeEach(async () => {
  hauling = await newHauling();
});

const sound = async () => {
  await checkAll(hauling.tenant);
  expect(await breachesIn(hauling.tenant)).toEqual([]);
};

/** Where the units of a parcel lie: by warehouse and status. */
const lying = async (parcel: string) => {
  const rows = await sql`select s.warehouse_id, s.status, sum(s.quantity)::int as units
    from warehousing.stock s join warehousing.inventory_items i on i.id = s.item_id
    where i.parcel_delivery_id = ${parcel} and s.quantity > 0 group by 1, 2`;
  return Object.fromEntries(rows.map((row) => [
    `${row.warehouse_id === hauling.yard.warehouse ? "here" : "there"} ${row.status}`,
    row.units,
  ]));
};

test("damaged units travel with it and are damaged where they arrive", async () => {
  const { tenant, yard, draft, step } = hauling;
  const { parcel, back } = await sentBack(yard, "damaged");
  const { id } = await draft(back);
  expect(await lying(parcel)).toEqual({ "here reserved": 2, "here damaged": 1 });
  expect(await step(id, "seal")).toSucceed(200);
  expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
  expect(await lying(parcel)).toEqual({});
  expect(await leftAs(parcel)).toEqual({ reserved: 2, damaged: 1 });
  expect(await step(id, "receive", {})).toSucceed(200);
  expect(await lying(parcel)).toEqual({ "there available": 2, "there damaged": 1 });
  await takenOver(yard, back);
  await moves(tenant.driver, back, "depart", "complete");
  expect(await lying(parcel)).toEqual({});
  await sound();
});

test("on a drafted waybill nothing of it is picked, not even what turns out to be sound", async () => {
  const { tenant, yard, draft, step } = hauling;
  const { parcel, back } = await sentBack(yard, "damaged");
  const { id } = await draft(back);
  const inconsistent = async () =>
    expect(await move(tenant.ops, back, "execute"))
      .toFailWith(409, "warehouse_preparation_inconsistent");
  await inconsistent();
  const [{ barcode }] = await sql`select barcode from delivery.deliveries where id = ${back}`;
  expect((await scanned(tenant, barcode)).delivery.next_action).toBe("none");
  const [{ item_id }] = await sql`select s.item_id from warehousing.stock s
    join warehousing.inventory_items i on i.id = s.item_id
    where i.parcel_delivery_id = ${parcel} and s.status = 'damaged' and s.quantity > 0`;
  const sound = {
    item_id,
    from_bin_id: yard.bin,
    to_bin_id: yard.bin,
    quantity: 1,
    status: "damaged",
    to_status: "available",
  };
  expect(
    await tenant.warehouse.post("/warehousing/inventory/moves", {
      warehouse_id: yard.warehouse,
      items: [sound],
    }),
  ).toSucceed(201);
  await inconsistent();
  expect(await step(id, "cancel")).toSucceed(200);
  expect(await move(tenant.ops, back, "execute")).toSucceed(200);
});

test("a waybill of which all is damaged sets nothing aside; cancelled, all lies as it was", async () => {
  const { yard, draft, step, onTheRoad } = hauling;
  const { parcel, back } = await sentBack(yard, "allDamaged");
  const { id } = await draft(back);
  expect(await step(id, "cancel")).toSucceed(200);
  expect(await lying(parcel)).toEqual({ "here damaged": 2 });
  const other = await onTheRoad(back);
  expect(await step(other, "receive", {})).toSucceed(200);
  expect(await lying(parcel)).toEqual({ "there damaged": 2 });
  await sound();
});

test("to the warehouse where it ends: what left lies there", async () => {
  const { yard, onTheRoad, step } = hauling;
  const { parcel, back } = await sentBack(yard, "short", { dropoff_warehouse_id: yard.there });
  const id = await onTheRoad(back);
  expect(await step(id, "receive", {})).toSucceed(200);
  expect(await statusOf(back)).toBe("delivered");
  expect(await lying(parcel)).toEqual({ "there available": 1 });
  await sound();
});

test("lost on the road and turned up, its receipt expects what left", async () => {
  const { tenant, yard, onTheRoad, step } = hauling;
  const { parcel, back } = await sentBack(yard, "short");
  const id = await onTheRoad(back);
  const { body } = await step(id, "receive", { missing_delivery_ids: [back] });
  const [{ id: missing }] = body.waybill.discrepancies;
  expect(await step(id, `discrepancies/${missing}/resolve`, { resolution: "lost" })).toSucceed(200);
  expect(await move(tenant.ops, back, "return", { warehouse_id: yard.there })).toSucceed(200);
  expect(await expected(back)).toEqual({ Shirt: 1 });
  await receiveOf(tenant, back, yard.thereBin, [{ received_quantity: 1 }]);
  expect(await parcelStock(parcel)).toEqual({ available: 1 });
  await takenOver(yard, back);
  await sound();
});

test("a parcel that was brought back damaged travels whole on its way out, too", async () => {
  const { tenant, yard, onTheRoad, step } = hauling;
  const { id } = await newDelivery(yard, { ...priced });
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart", "fail", ["return", {
    warehouse_id: yard.warehouse,
  }]);
  await receiveOf(tenant, id, yard.bin, received.damaged);
  expect(await lying(id)).toEqual({ "here available": 2, "here damaged": 1 });
  const waybill = await onTheRoad(id);
  expect(await lying(id)).toEqual({});
  expect(await step(waybill, "receive", {})).toSucceed(200);
  expect(await lying(id)).toEqual({ "there available": 2, "there damaged": 1 });
  await sound();
});

test("picked for its driver it does not travel, nor does a short parcel on its way out", async () => {
  const { tenant, yard, create } = hauling;
  const { parent } = await receivedIn(yard, "short");
  const out = await create({ delivery_ids: [parent.id] });
  expect(out).toFailWith(400, "no_transferable_packages");
  expect(out.body.rejected).toMatchObject([{ reason: "not_available" }]);
  const { back } = await sentBack(yard, "damaged");
  expect(await move(tenant.ops, back, "execute")).toSucceed(200);
  const answer = await create({ delivery_ids: [back] });
  expect(answer).toFailWith(400, "no_transferable_packages");
  expect(answer.body.rejected).toMatchObject([{ reason: "not_available" }]);
});
