/** Access to sending a parcel back from another warehouse, its races, and its effect on scans, labels and stores. */
import { beforeAll, describe, expect, test } from "vitest";
import { nobody } from "../../support/api.ts";
import { auto, searchOf } from "../../support/auto-assignment.ts";
import { external } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  handedTo,
  move,
  moves,
  newDelivery,
  path,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import {
  approveOrder,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { placeOrder, standing } from "../../support/orders.ts";
import { itsDetails, scanned } from "../../support/package-scan.ts";
import { newStaff, newYard, whereIs, type Yard } from "../../support/packages.ts";
import { openPdf } from "../../support/pdf.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  broughtInto,
  fromWarehouse,
  received,
  sentBackBy,
  transferred,
} from "../../support/send-back.ts";
import { newBin, newWarehouse, unitsOf } from "../../support/warehouses.ts";

let tenant: Tenant;
let other: Tenant;
let yard: Yard;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  yard = await newYard(tenant);
  await newStaff(tenant, yard.warehouse, tenant.staff.id);
});

async function waiting(at = yard) {
  const parcel = await fromWarehouse(at);
  await transferred(at, parcel);
  return parcel;
}

const returnsOf = (parcel: string) =>
  sql`select id from delivery.deliveries where original_delivery_id = ${parcel}`;

describe.each(["operational-return", "cancel"] as const)("%s", (call) => {
  const made = call === "cancel" ? 200 : 201;

  test("is for the office of this company, once, however many call at the same moment", async () => {
    const { id } = await waiting();
    const url = `${path}/${id}/${call}`;
    const body = { reason: "no" };
    expect((await nobody.post(url, body)).status).toBe(401);
    expect(await other.ops.post(url, body)).toFailWith(404, "delivery_not_found");
    for (const person of [tenant.driver, tenant.driver2, tenant.staff, tenant.customer]) {
      expect([403, 404, 409]).toContain((await person.post(url, body)).status);
    }
    expect(await returnsOf(id)).toHaveLength(0);
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there });
    const all = await Promise.all([1, 2, 3].map(() => tenant.ops.post(url, body)));
    expect(all.map(({ status }) => status).sort()).toEqual([made, 409, 409]);
    expect(await returnsOf(id)).toHaveLength(1);
    await checkAll(tenant);
  });

  test("is repeated with its key without a second return", async () => {
    const { id } = await waiting();
    const headers = { "idempotency-key": `${call}-${id}` };
    const once = await tenant.ops.post(`${path}/${id}/${call}`, { reason: "no" }, { headers });
    const again = await tenant.ops.post(`${path}/${id}/${call}`, { reason: "no" }, { headers });
    expect(again.status).toBe(made);
    expect(again.body).toEqual(once.body);
    expect(await returnsOf(id)).toHaveLength(1);
  });

  test("and its driver's pickup at the same moment: one of the two happens", async () => {
    for (let round = 0; round < 4; round++) {
      const { id } = await waiting();
      await assign(tenant, id, tenant.driver2);
      const [sent, picked] = await Promise.all([
        move(tenant.ops, id, call, { reason: "no" }),
        move(tenant.driver2, id, "pickup"),
      ]);
      const wasSent = sent.status === made;
      // Given to a driver it is cancelled, and not sent back.
      if (call === "operational-return") expect(wasSent).toBe(false);
      expect(picked.status === 200).toBe(!wasSent);
      expect(await statusOf(id)).toBe(wasSent ? "cancelled" : "picked_up");
      expect(await returnsOf(id)).toHaveLength(wasSent ? 1 : 0);
    }
    await checkAll(tenant);
  });
});

test("cancelled and picked up at the same moment, one of the two happens", async () => {
  for (let round = 0; round < 4; round++) {
    const { id } = await waiting();
    const back = await sentBackBy(yard, id, "operational-return");
    const handoff = await handedTo(yard, back.id, tenant.driver2);
    const [off, taken] = await Promise.all([
      move(tenant.ops, back.id, "cancel", { reason: "kept" }),
      tenant.driver2.post(`/delivery/handoffs/${handoff}/pickup`),
    ]);
    expect([off.status, taken.status].filter((status) => status === 200)).toHaveLength(1);
    expect(await whereIs(id)).toMatchObject({
      status: "pending",
      at: off.status === 200 ? yard.there : null,
    });
  }
  await checkAll(tenant);
});

test("scans and labels follow it: picked in one warehouse, received in the other", async () => {
  const parcel = await waiting();
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  expect(await scanned(tenant, parcel.barcode)).toMatchObject({
    delivery: { id: parcel.id, next_action: "none" },
    return_delivery: { id: back.id, next_action: "execute", sender: null },
    return_target: itsDetails(back.id),
    warehouse_context: { warehouse_id: yard.there },
  });
  const printed = await tenant.ops.post("/delivery/shipment-labels", {
    delivery_codes: [back.delivery_code],
  });
  const names = await sql`select id, name from warehousing.warehouses
    where id in ${sql([yard.warehouse, yard.there])}`;
  const text = await (await openPdf(printed.body)).text(1);
  for (const { name } of names) expect(text).toContain(name);
  await takenOver(yard, back.id, tenant.driver2);
  expect((await scanned(tenant, parcel.barcode)).return_delivery.next_action).toBe("in_delivery");
  await moves(tenant.driver2, back.id, "complete");
  expect(await scanned(tenant, parcel.barcode)).toMatchObject({
    delivery: { status: "returned", next_action: "none" },
    return_delivery: null,
  });
});

test("where nothing is received by itself, staff take it in before it is picked", async () => {
  const bare = { ...yard, there: await newWarehouse(tenant) };
  const parcel = await waiting(bare);
  const back = await sentBackBy(bare, parcel.id, "operational-return");
  const scan = await scanned(tenant, back.barcode);
  expect(scan).toMatchObject({
    action: "open_receiving_order",
    delivery: { next_action: "receive" },
  });
  const receipt = `/warehousing/receiving-orders/${scan.entity_id}`;
  expect(await tenant.warehouse.put(receipt, { status: "cancelled" }))
    .toFailWith(409, "invalid_status_transition");
  expect(await move(tenant.ops, back.id, "execute"))
    .toFailWith(409, "warehouse_preparation_inconsistent");
  await moves(tenant.ops, back.id, ["cancel", { reason: "kept" }]);
  expect((await tenant.warehouse.get(receipt)).body.order.status).toBe("cancelled");

  const again = await sentBackBy(bare, parcel.id, "operational-return");
  const bin_id = await newBin(tenant, bare.there);
  const { entity_id } = await scanned(tenant, again.barcode);
  expect(
    await tenant.warehouse.put(`/warehousing/receiving-orders/${entity_id}`, {
      status: "received",
      item_details: [{ bin_id }],
    }),
  ).toSucceed();
  await takenOver(bare, again.id, tenant.driver2);
  await moves(tenant.driver2, again.id, "complete");
  expect(await whereIs(parcel.id)).toMatchObject({ status: "returned", at: bare.warehouse });
  await checkAll(tenant);
});

test("goods of a store come back as goods to the warehouse they left", async () => {
  const shop = await newSplitShop({ first: 3, second: 2 });
  const owner = shop.tenant;
  const at = {
    tenant: owner,
    warehouse: shop.shelf.warehouse,
    there: shop.second.warehouse,
  } as Yard;
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  const [picking] = await picksOf(id);
  expect(await pick(shop, picking.id)).toSucceed(200);
  const [parcel] = await sql`select id, barcode from delivery.deliveries where id = ${delivery_id}`;
  await transferred(at, { id: parcel.id, barcode: parcel.barcode });
  expect(await whereabouts(id)).toEqual({ out: 2 });

  const back = await sentBackBy(at, parcel.id, "operational-return");
  // The stock that the store sells from the other warehouse is unchanged.
  expect(await unitsOf(shop.shelf.item, shop.second.bin)).toEqual({ available: 2 });
  await moves(owner.ops, back.id, ["cancel", { reason: "kept" }]);
  const again = await sentBackBy(at, parcel.id, "operational-return");
  const ground = { ...at, tenant: owner };
  await takenOver(ground, again.id, owner.driver);
  expect(await standing(id)).toMatchObject({ status: "shipped" });
  await moves(owner.driver, again.id, "complete");
  expect(await standing(id)).toMatchObject({ status: "cancelled" });
  const receipts = await sql`select id, warehouse_id from warehousing.receiving_orders
    where tenant_id = ${owner.id} and status = 'pending'`;
  expect(receipts).toMatchObject([{ warehouse_id: at.warehouse }]);
  await received(ground, receipts[0].id);
  expect(await unitsOf(shop.shelf.item, shop.shelf.bin)).toEqual({ available: 3 });
  expect(await unitsOf(shop.shelf.item, shop.second.bin)).toEqual({ available: 2 });
  expect(await whereabouts(id)).toEqual({ back: 2 });
  await checkAll(owner);
});

test("no driver is looked for any more who would bring it on", async () => {
  const searching = await newTenant();
  const there = await newYard(searching);
  const { id } = await newDelivery(there);
  const receipt = await broughtInto(there, id, there.warehouse);
  await auto(searching);
  await sql`update delivery.drivers set status = 'inactive' where tenant_id = ${searching.id}`;
  await received(there, receipt);
  expect(await searchOf(searching, id)).toMatchObject({ status: "searching" });
  expect(await move(searching.ops, id, "operational-return", { reason: "refused" })).toSucceed(201);
  expect(await searchOf(searching, id)).toMatchObject({ status: "off" });
});

test("no carrier departs with it, on whose paper it still is", async () => {
  const parcel = await waiting(yard);
  expect(await tenant.ops.patch(`${path}/${parcel.id}/carrier`, external)).toSucceed(200);
  const back = await sentBackBy(yard, parcel.id, "operational-return");
  const answer = await move(tenant.ops, parcel.id, "depart");
  expect(answer).toFailWith(409, "return_under_way");
  expect(answer.body.return_delivery_id).toBe(back.id);
  expect(await statusOf(parcel.id)).toBe("pending");
});
