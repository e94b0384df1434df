/** A parcel that leaves the warehouse while it is sorted there leaves its cage, and comes back into one as any other. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, move, moves } from "../../support/deliveries.ts";
import { pick, withDriver } from "../../support/order-goods.ts";
import { home, newShop, placeOrder } from "../../support/orders.ts";
import { newStaff } from "../../support/packages.ts";
import { broughtInto, received } from "../../support/send-back.ts";
import {
  checkCages,
  filledOf,
  newSorting,
  type Sorting,
  sortingSessions as path,
} from "../../support/sorting-sessions.ts";
import { waybillSteps } from "../../support/waybills.ts";

let { tenant, yard, newSession, packageTo, scan } = {} as Sorting;
beforeAll(async () => {
  ({ tenant, yard, newSession, packageTo, scan } = await newSorting());
});

afterAll(() => checkCages(tenant));

/** A session with one cage for one parcel, and how many lie in it. */
async function smallCage() {
  const session = await newSession(["city", "Basra", 1]);
  const [{ cage_location_id }] = session.assignments;
  return { session, lie: () => filledOf(cage_location_id) };
}

test("on a waybill or with a driver it makes room for the next one", async () => {
  const { session, lie } = await smallCage();
  const [one, two, three] = [
    await packageTo("Basra"),
    await packageTo("Basra"),
    await packageTo("Basra"),
  ];
  const first = await scan(session, one.barcode);
  expect(first).toSucceed(200);
  expect(await scan(session, two.barcode)).toFailWith(409, "cage_full");
  const { draft, step } = waybillSteps(tenant, yard);
  const { id } = await draft(one.id);
  await step(id, "seal");
  expect(await lie()).toBe(1);
  expect(await step(id, "driver-handover", { driver_id: tenant.driver.id })).toSucceed(200);
  expect(await lie()).toBe(0);
  expect(await scan(session, two.barcode)).toSucceed(200);
  await assign(tenant, two.id);
  await moves(tenant.driver, two.id, "pickup");
  expect(await lie()).toBe(0);
  expect(await scan(session, three.barcode)).toSucceed(200);
  expect(await lie()).toBe(1);
  // The session counts all that was sorted, wherever it is by now.
  expect(await tenant.staff.put(`${path}/${session.id}`, { status: "completed" })).toSucceed(200);
  const [{ event_data }] = await sql`select event_data from integration.system_events
    where entity_id = ${session.id} and event_type = 'sorting_session.completed'`;
  expect(event_data.sorted_count).toBe(3);
});

test("brought back and received, it is scanned anew", async () => {
  const { session, lie } = await smallCage();
  const parcel = await packageTo("Basra");
  const first = await scan(session, parcel.barcode);
  const receipt = await broughtInto(yard, parcel.id, yard.warehouse);
  expect(await lie()).toBe(0);
  expect(await scan(session, parcel.barcode)).toFailWith(409, "package_not_here");
  await received(yard, receipt);
  const again = await scan(session, parcel.barcode);
  expect(again).toSucceed(200);
  expect(again.body).toMatchObject({ already_sorted: false, scan_id: first.body.scan_id });
  expect(again.body.scanned_at > first.body.scanned_at).toBe(true);
  expect(await lie()).toBe(1);
  expect((await scan(session, parcel.barcode)).body.already_sorted).toBe(true);
});

test("a store's parcel, picked and put into a cage, leaves with the driver, or when its order is cancelled", async () => {
  const shop = await newShop();
  await withDriver(shop);
  const { admin, driver, ops } = shop.tenant;
  const { warehouse } = shop.shelf;
  const staff_id = await newStaff(shop.tenant, warehouse, shop.tenant.staff.id);
  const made = await admin.post(path, {
    warehouse_id: warehouse,
    assignments: [{ staff_id, destination_type: "city", destination_value: home.city }],
  });
  expect(made).toSucceed(201);
  const { id: session, assignments } = made.body.session;
  const lie = () => filledOf(assignments[0].cage_location_id);
  for (const leaves of ["pickup", "cancel"]) {
    const { id: order } = await placeOrder(shop);
    expect(await admin.put(`/storefront/orders/${order}/approve`)).toSucceed(200);
    const [parcel] = await sql`select d.id, d.barcode, k.id as pick from delivery.deliveries d
        join warehousing.picking_orders k on k.delivery_id = d.id where d.order_id = ${order}`;
    expect(await pick(shop, parcel.pick)).toSucceed(200);
    const scanned = await admin.post(`${path}/${session}/scan`, {
      delivery_barcode: parcel.barcode,
    });
    expect(scanned).toSucceed(200);
    expect(await lie()).toBe(1);
    if (leaves === "pickup") {
      await assign(shop.tenant, parcel.id);
      await moves(driver, parcel.id, "pickup");
    } else {
      expect(await move(ops, parcel.id, "cancel", { reason: "no" })).toSucceed(200);
    }
    expect(await lie(), leaves).toBe(0);
  }
});

test("scanned at the moment it leaves, it lies there or has left", async () => {
  for (let round = 0; round < 4; round++) {
    const { session, lie } = await smallCage();
    const parcel = await packageTo("Basra");
    await assign(tenant, parcel.id);
    const [scanned] = await Promise.all([
      scan(session, parcel.barcode),
      moves(tenant.driver, parcel.id, "pickup"),
      scan(session, parcel.barcode),
    ]);
    if (scanned.status !== 200) expect(scanned).toFailWith(409, "package_not_here");
    expect(await lie()).toBe(0);
  }
});
