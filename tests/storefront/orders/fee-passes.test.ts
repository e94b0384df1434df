/** The fee of an order that is paid at the door, once the delivery that was to collect it is cancelled. */
import { expect, test } from "vitest";
import { enable, external } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { assign, move, moves, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { changesNotified, dues, split, taken } from "../../support/order-fees.ts";
import { bring } from "../../support/order-goods.ts";
import { checkAll, walletOf } from "../../support/orders.ts";
import { locksBefore } from "../../support/overlapping.ts";
import type { Yard } from "../../support/packages.ts";
import { sentBackBy, transferred } from "../../support/send-back.ts";
import { newBin, newWarehouse } from "../../support/warehouses.ts";

test("cancelled before pickup: the other collects it, its label is outdated and its driver notified", async () => {
  const { shop, tenant, id, first, second, cancel } = await split();
  expect(await dues(id)).toEqual([[14_000, 4_000], [10_000, 0]]);
  await assign(tenant, second);
  await sql`update delivery.deliveries set label_edition = 1 where id = ${second}`;
  expect(await cancel(first)).toSucceed(200);
  expect((await dues(id))[1]).toEqual([14_000, 4_000]);
  expect(await changesNotified(tenant)).toEqual([second]);
  const { delivery } = (await tenant.ops.get(`${path}/${second}`)).body;
  expect(delivery).toMatchObject({ cod_amount: 14_000, label_outdated: true });

  await moves(tenant.driver, second, "pickup", "depart", "complete");
  expect(await taken(id)).toBe(14_000);
  const { order } = (await tenant.admin.get(`/storefront/orders/${id}`)).body.data;
  expect(order).toMatchObject({
    status: "delivered",
    fulfilment: "partial",
    payments: [{ status: "SUCCESS", amount: 14_000 }],
  });
  await checkAll(shop.tenant);
});

test("paid before, its goods alone go back to the wallet", async () => {
  const { shop, tenant, customer, second, first, cancel } = await split("wallet");
  const before = await walletOf(tenant, customer.id);
  expect(await cancel(first)).toSucceed(200);
  await bring(shop, second, "delivered");
  expect(await walletOf(tenant, customer.id)).toBe(before + 10_000);
  await checkAll(tenant);
});

test("the other has left: it collects what it left with", async () => {
  const { shop, tenant, id, first, second, cancel } = await split();
  await assign(tenant, second);
  await moves(tenant.driver, second, "pickup");
  expect(await cancel(first)).toSucceed(200);
  await moves(tenant.driver, second, "depart", "complete");
  expect(await taken(id)).toBe(10_000);
  await checkAll(shop.tenant);
});

test("the one without it is cancelled, or all with their order: nothing changes", async () => {
  const other = await split();
  await assign(other.tenant, other.first);
  expect(await other.cancel(other.second)).toSucceed(200);
  expect(await dues(other.id)).toEqual([[14_000, 4_000], [10_000, 0]]);
  await moves(other.tenant.driver, other.first, "pickup", "depart", "complete");
  expect(await taken(other.id)).toBe(14_000);
  await checkAll(other.tenant);

  const { tenant, id, first, second } = await split();
  for (const delivery of [first, second]) await assign(tenant, delivery);
  expect(await tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" }))
    .toSucceed(200);
  expect(await dues(id)).toEqual([[14_000, 4_000], [10_000, 0]]);
  expect(await changesNotified(tenant)).toEqual([]);
  await checkAll(tenant);
});

test("sent back from another warehouse by its cancellation: the other collects it", async () => {
  const { shop, tenant, id, first, second } = await split();
  const there = await newWarehouse(tenant);
  await newBin(tenant, there, { location_type: "RECEIVING", is_default_receiving: true });
  const [parcel] = await sql`select id, barcode from delivery.deliveries where id = ${first}`;
  const yard = { tenant, warehouse: shop.shelf.warehouse, there } as Yard;
  await transferred(yard, { id: parcel.id, barcode: parcel.barcode });
  await sentBackBy(yard, first, "cancel");
  expect((await dues(id))[1]).toEqual([14_000, 4_000]);
  await bring(shop, second, "delivered");
  expect(await taken(id)).toBe(14_000);
  await checkAll(tenant);
});

test("a carrier that is booked to collect less takes no more: its shipment is cancelled first, and booked again", async () => {
  const { shop, tenant, id, first, second, cancel } = await split();
  await enable(tenant);
  expect(await tenant.ops.patch(`${path}/${second}/carrier`, external)).toSucceed(200);
  const shipment = (step = "", body: object = { carrier_code: "simulated" }) =>
    tenant.ops.post(`/carriers/shipments/${second}${step}`, body);
  expect((await shipment()).body.shipment.cash_due).toBe(10_000);
  const refused = await cancel(first);
  expect(refused).toFailWith(409, "shipment_cash_changes");
  expect(refused.body).toMatchObject({ delivery_id: second, amount: 10_000, currency: "IQD" });
  expect(await dues(id)).toEqual([[14_000, 4_000], [10_000, 0]]);
  expect(await shipment("/cancel")).toSucceed(200);
  expect(await cancel(first)).toSucceed(200);
  expect((await shipment()).body.shipment.cash_due).toBe(14_000);
  expect(await tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" }))
    .toSucceed(200);
  await checkAll(shop.tenant);
});

test("an order of which a carrier is booked for the other is cancelled as before", async () => {
  const { shop, tenant, id, second } = await split();
  await enable(tenant);
  expect(await tenant.ops.patch(`${path}/${second}/carrier`, external)).toSucceed(200);
  expect(await tenant.ops.post(`/carriers/shipments/${second}`, { carrier_code: "simulated" }))
    .toSucceed(200);
  expect(await tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" }))
    .toSucceed(200);
  await checkAll(shop.tenant);
});

test("all deliveries of an order are locked before the order", async () => {
  const { id, first, second, cancel } = await split();
  const answer = await locksBefore(
    (tx) => tx`select from delivery.deliveries where id = ${second} for no key update`,
    () => cancel(first),
    (tx) => tx`select from storefront.storefront_orders where id = ${id} for no key update nowait`,
  );
  expect(answer).toSucceed(200);
});

test("cancelled while the other is picked up: it is collected with the cash, or the other had left", async () => {
  for (let round = 0; round < 3; round++) {
    const { tenant, id, first, second, cancel } = await split();
    await assign(tenant, second);
    const [cancelled, pickup] = await Promise.all([
      cancel(first),
      move(tenant.driver, second, "pickup"),
    ]);
    expect(cancelled).toSucceed(200);
    expect(pickup).toSucceed(200);
    await moves(tenant.driver, second, "depart", "complete");
    const [, [due, fee]] = await dues(id);
    expect(due).toBe(10_000 + fee);
    expect([0, 4_000]).toContain(fee);
    expect(await taken(id)).toBe(due);
    await checkAll(tenant);
  }
});

test("both cancelled at once: the order waits without a delivery, and nothing is collected", async () => {
  const { shop, tenant, id, first, second, cancel } = await split();
  for (const answer of await Promise.all([cancel(first), cancel(second)])) {
    expect(answer).toSucceed(200);
  }
  expect(await tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" }))
    .toSucceed(200);
  expect(await taken(id)).toBe(0);
  await checkAll(shop.tenant);
});
