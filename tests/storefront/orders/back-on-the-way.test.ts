/** Goods that a customer sends back, redirected, transferred or given back on their way: their warehouse expects them wherever they end there. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { receiptOf, receive, received } from "../../support/back-from-customer.ts";
import { sql } from "../../support/db.ts";
import { assign, checkAll, moves, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newAddress } from "../../support/make.ts";
import { whereabouts } from "../../support/order-goods.ts";
import { whereIs, type Yard } from "../../support/packages.ts";
import { saveSettings } from "../../support/people.ts";
import { redirect } from "../../support/redirects.ts";
import { newBin, newWarehouse, unitsOf } from "../../support/warehouses.ts";
import { waybillSteps } from "../../support/waybills.ts";

type All = Awaited<ReturnType<typeof received>>;

/** A return that is ordered, and the address that it goes to. */
async function ordered(all: All, more: object = {}, units?: number) {
  const made = await all.order(units, more, all.tenant.ops);
  expect(made).toSucceed(201);
  const { id } = made.body;
  const [{ home, barcode }] = await sql`select dropoff_address_id as home, barcode
    from delivery.deliveries where id = ${id}`;
  return { id: id as string, home: home as string, barcode: barcode as string };
}

/** Brought to its end by the driver, where it is received; the warehouse. */
async function broughtHome(all: All, id: string) {
  await assign(all.tenant, id);
  await moves(all.tenant.driver, id, "pickup", "depart", "complete");
  const receipt = await receiptOf(id);
  expect(await receive(all, receipt.id)).toSucceed(200);
  return receipt.warehouse_id;
}

test("redirected away and back they are received, and not where they are sent elsewhere", async () => {
  const all = await received(3);
  const { shop: { shelf }, tenant } = all;
  const { id, home } = await ordered(all, {}, 2);
  expect(await redirect(tenant.ops, id, await newAddress(tenant))).toSucceed(200);
  expect((await whereIs(id)).to).toBeNull();
  expect(await redirect(tenant.ops, id, home)).toSucceed(200);
  expect(await broughtHome(all, id)).toBe(shelf.warehouse);
  expect(await whereabouts(all.id)).toEqual({ back: 2, delivered: 1 });
  const away = await ordered(all);
  expect(await redirect(tenant.ops, away.id, await newAddress(tenant))).toSucceed(200);
  await assign(tenant, away.id);
  await moves(tenant.driver, away.id, "pickup", "depart", "complete");
  expect(await receiptOf(away.id)).toBeUndefined();
  expect(await unitsOf(shelf.item)).toEqual({ available: 9 });
  await checkAll(tenant);
});

test("a redirect to where they go already, for another recipient, changes no warehouse", async () => {
  const all = await received(1);
  const { id, home } = await ordered(all);
  const recipient = { name: "The shop", phone: "+9647701234567" };
  expect(await redirect(all.tenant.ops, id, home, { recipient })).toSucceed(200);
  expect(await broughtHome(all, id)).toBe(all.shop.shelf.warehouse);
});

test("redirected away and back while a transfer is recorded, they end in their warehouse", async () => {
  const all = await received(1);
  const { tenant } = all;
  const [from, via] = [await newWarehouse(tenant), await newWarehouse(tenant)];
  const { id, home, barcode } = await ordered(all, { pickup_warehouse_id: from });
  const recorded = await tenant.warehouse.post("/warehousing/package-transfers", {
    mode: "system_only",
    source_warehouse_id: from,
    destination_warehouse_id: via,
    package_barcodes: [barcode],
  }, { headers: { "idempotency-key": randomUUID() } });
  expect(recorded).toSucceed(201);
  for (const to of [await newAddress(tenant), home]) {
    expect(await redirect(tenant.ops, id, to)).toSucceed(200);
  }
  expect((await whereIs(id)).to).toBe(via);
  expect(await broughtHome(all, id)).toBe(all.shop.shelf.warehouse);
  await checkAll(tenant);
});

test("brought to their warehouse by a waybill they are received there as goods", async () => {
  const all = await received(2);
  const { shop: { shelf, service }, tenant } = all;
  const from = await newWarehouse(tenant);
  const { id } = await ordered(all, { pickup_warehouse_id: from });
  const ends = { warehouse: from, there: shelf.warehouse, service } as Yard;
  const { onTheRoad, step } = waybillSteps(tenant, ends);
  expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
  const receipt = await receiptOf(id);
  expect(receipt).toMatchObject({ warehouse_id: shelf.warehouse, status: "pending" });
  expect(await whereabouts(all.id)).toEqual({ out: 2 });
  expect(await receive(all, receipt.id)).toSucceed(200);
  expect(await whereIs(id)).toMatchObject({ status: "delivered", at: null });
  expect(await unitsOf(shelf.item)).toEqual({ available: 10 });
  expect(await whereabouts(all.id)).toEqual({ back: 2 });
  await checkAll(tenant);
});

test("given back to their customer they are theirs, and are sent back again; received they are not", async () => {
  const all = await received(3);
  const { shop: { shelf }, tenant } = all;
  const first = await ordered(all, {}, 2);
  await assign(tenant, first.id);
  await moves(tenant.driver, first.id, "pickup", "depart", "return");
  expect(await whereabouts(all.id)).toEqual({ delivered: 3 });
  expect(await receiptOf(first.id)).toBeUndefined();
  expect(await broughtHome(all, (await ordered(all, {}, 3)).id)).toBe(shelf.warehouse);
  expect(await whereabouts(all.id)).toEqual({ back: 3 });
  expect(await all.order()).toFailWith(409, "return_already_exists");

  const other = await received(2);
  const there = await newWarehouse(other.tenant);
  await newBin(other.tenant, there, { is_default_receiving: true });
  const { id } = await ordered(other);
  await assign(other.tenant, id);
  await moves(other.tenant.driver, id, "pickup", "depart", ["return", { warehouse_id: there }]);
  expect(await receive(other, (await receiptOf(id)).id)).toSucceed(200);
  expect((await whereIs(id)).status).toBe("delivered");
  expect(await other.order()).toFailWith(409, "return_already_exists");
  expect(await other.order(1)).toFailWith(409, "return_already_exists");
  await checkAll(other.tenant);
});

test("they go to the default warehouse when the one that sold them is no more", async () => {
  const all = await received(1);
  const { shop: { shelf }, tenant } = all;
  const there = await newWarehouse(tenant);
  const bin = await newBin(tenant, there, { is_default_receiving: true });
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: there });
  // As it is once nothing lies there any more.
  await sql`update warehousing.warehouses set deleted_at = now() where id = ${shelf.warehouse}`;
  const { id } = await ordered(all);
  expect(await broughtHome(all, id)).toBe(there);
  expect(await unitsOf(shelf.item, bin)).toEqual({ available: 1 });
  const { body } = await tenant.ops.get(`${path}/${id}`);
  expect(body.delivery.dropoff_warehouse_id).toBe(there);
});
