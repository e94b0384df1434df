/** Goods that a carrier takes from a warehouse are booked out as a driver's pickup books them out, once; those it brings back are received. */
import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { enable, external, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  move,
  moves,
  newDelivery,
  parcelStock,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import "../../support/expect.ts";
import {
  approveOrder,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { placeOrder, type Shop, standing } from "../../support/orders.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { broughtInto, fromWarehouse, received } from "../../support/send-back.ts";

let tenant: Tenant;
let yard: Yard;
let secret: string;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
  secret = (await enable(tenant)).secret;
});

const leftOf = async (parcel: string): Promise<number> =>
  (await sql`select from warehousing.inventory_transactions t
    join warehousing.inventory_items i on i.id = t.item_id
    where i.parcel_delivery_id = ${parcel} and t.transaction_type = 'pick'`).length;

/** Gives it to the carrier and books it; returns a function that sends its reports. */
async function given(id: string, who = tenant, signed = secret) {
  const tracking_number = await givenToCarrier(who, id);
  return async (status: string, event_id: string = randomUUID()) =>
    (await report(who, signed, { event_id, tracking_number, status })).body;
}

const receiptOf = async (delivery: string): Promise<string> =>
  (await sql`select id from warehousing.receiving_orders
    where delivery_id = ${delivery} and status = 'pending'`)[0].id;

/** From door to door, brought into the warehouse by a driver: it waits there, and is stock. */
async function waiting(): Promise<string> {
  const { id } = await newDelivery(yard, { payer_type: "receiver" });
  await received(yard, await broughtInto(yard, id, yard.warehouse));
  expect(await parcelStock(id)).toEqual({ available: 1 });
  return id;
}

test("a parcel that waits in a warehouse leaves its stock by the first report, and by no other", async () => {
  for (const first of ["picked_up", "in_transit", "delivered", "failed", "returned"]) {
    const id = await waiting();
    const reports = await given(id);
    const event = randomUUID();
    expect(await reports(first, event)).toMatchObject({ outcome: "applied", duplicate: false });
    // It comes back here, and is expected until it is received.
    expect(await statusOf(id)).toBe(first === "returned" ? "in_transit" : first);
    expect(await reports(first, event)).toMatchObject({ outcome: "applied", duplicate: true });
    await reports("in_transit");
    expect(await parcelStock(id)).toEqual({});
    expect(await leftOf(id)).toBe(1);
    expect((await whereIs(id)).at).toBeNull();
  }
  await checkAll(tenant);
});

test("a carrier that will not take it leaves it in stock, to be booked again", async () => {
  const id = await waiting();
  expect(await (await given(id))("cancelled")).toMatchObject({ outcome: "applied" });
  expect(await parcelStock(id)).toEqual({ available: 1 });
  expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.warehouse });
  expect(await (await given(id))("delivered")).toMatchObject({ outcome: "applied" });
  expect(await parcelStock(id)).toEqual({});
  await checkAll(tenant);
});

test("a leg leaves by its pick, or without one; it comes back by a receiving order and sets out again", async () => {
  for (const picked of [true, false]) {
    const { parent, b } = await stagedInWarehouse(yard);
    if (picked) expect(await move(tenant.ops, b, "execute")).toSucceed(200);
    expect(await parcelStock(parent.id)).toEqual(picked ? { reserved: 1 } : { available: 1 });
    const reports = await given(b);
    expect(await reports("picked_up")).toMatchObject({ outcome: "applied" });
    expect(await parcelStock(parent.id)).toEqual({});
    expect(await leftOf(parent.id)).toBe(1);
    const picks = await sql`select status from warehousing.picking_orders where delivery_id = ${b}`;
    expect(picks).toEqual(picked ? [{ status: "handed_off" }] : []);
    expect(await reports("returned")).toMatchObject({ outcome: "applied" });
    expect(await parcelStock(parent.id)).toEqual({});
    await received(yard, await receiptOf(b));
    expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.warehouse });
    expect(await parcelStock(parent.id)).toEqual({ available: 1 });
  }
  await checkAll(tenant);
});

test("what is reported returned without ever being picked up was taken all the same: one unit comes back, not two", async () => {
  const { parent, b } = await stagedInWarehouse(yard);
  expect(await move(tenant.ops, b, "execute")).toSucceed(200);
  expect(await (await given(b))("returned")).toMatchObject({ outcome: "applied" });
  expect(await parcelStock(parent.id)).toEqual({});
  await received(yard, await receiptOf(b));
  expect(await parcelStock(parent.id)).toEqual({ available: 1 });
  await checkAll(tenant);
});

test("what was ordered from a warehouse is back when that has received it, not when the carrier says so", async () => {
  const { id } = await fromWarehouse(yard, { payer_type: "receiver" });
  const reports = await given(id);
  for (const status of ["picked_up", "failed", "returned", "returned"]) {
    expect(await reports(status)).toMatchObject({ outcome: "applied" });
  }
  expect(await statusOf(id)).toBe("in_transit");
  expect(await parcelStock(id)).toEqual({});
  await received(yard, await receiptOf(id));
  expect(await whereIs(id)).toMatchObject({ status: "returned", at: yard.warehouse });
  expect(await parcelStock(id)).toEqual({ available: 1 });
  expect(await reports("returned")).toMatchObject({ outcome: "unchanged" });
  await checkAll(tenant);
});

test("departing it by hand books it out as well", async () => {
  const id = await waiting();
  expect(await tenant.ops.patch(`${path}/${id}/carrier`, external)).toSucceed(200);
  await moves(tenant.ops, id, "depart");
  expect(await parcelStock(id)).toEqual({});
  expect((await whereIs(id)).at).toBeNull();
  await checkAll(tenant);
});

test("reports and the warehouse's preparation at the same moment book it out once", async () => {
  for (let round = 0; round < 4; round++) {
    const { parent, b } = await stagedInWarehouse(yard);
    const reports = await given(b);
    const answers = await Promise.all([
      move(tenant.ops, b, "execute"),
      ...["picked_up", "in_transit", "picked_up", "in_transit"].map((status) => reports(status)),
    ]);
    expect(answers).toHaveLength(5);
    expect(await statusOf(b)).toBe("in_transit");
    expect(await parcelStock(parent.id)).toEqual({});
    expect(await leftOf(parent.id)).toBe(1);
  }
  await checkAll(tenant);
});

test("carried from a door, nothing is booked", async () => {
  const { id } = await deliveryIn(yard, "pending");
  expect(await (await given(id))("picked_up")).toMatchObject({ outcome: "applied" });
  expect(await leftOf(id)).toBe(0);
});

test("no carrier is booked for goods that were not picked; picked, they leave and come back as a driver's do", async () => {
  const shop: Shop = await newSplitShop({ first: 20, second: 0, picking: true });
  const signed = (await enable(shop.tenant)).secret;
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  const [task] = await picksOf(id);
  expect(await shop.tenant.ops.patch(`${path}/${delivery_id}/carrier`, external)).toSucceed(200);
  const early = await shop.tenant.ops.post(`/carriers/shipments/${delivery_id}`, {
    carrier_code: "simulated",
  });
  expect(early).toFailWith(409, "goods_not_picked");
  expect(early.body.picking_order_id).toBe(task!.id);
  expect(
    await sql`select from integration.carrier_shipments where delivery_id = ${delivery_id}`,
  ).toHaveLength(0);
  expect(await pick(shop, task!.id)).toSucceed(200);
  const reports = await given(delivery_id, shop.tenant, signed);
  expect(await whereabouts(id)).toEqual({ picked: 2 });
  expect(await reports("in_transit")).toMatchObject({ outcome: "applied" });
  expect(await whereabouts(id)).toEqual({ out: 2 });
  expect(await standing(id)).toMatchObject({ status: "shipped", reserved: 0 });
  expect((await picksOf(id))[0]!.status).toBe("handed_off");
  expect(await reports("returned")).toMatchObject({ outcome: "applied" });
  const back = await shop.tenant.ops.put(
    `/warehousing/receiving-orders/${await receiptOf(delivery_id)}`,
    { status: "received", item_details: [{ bin_id: shop.shelf.bin }] },
  );
  expect(back).toSucceed(200);
  expect(await whereabouts(id)).toEqual({ back: 2 });
  await checkAll(shop.tenant);
});

test("goods reported returned before anything else went out and come back once", async () => {
  const shop: Shop = await newSplitShop({ first: 20, second: 0, picking: true });
  const signed = (await enable(shop.tenant)).secret;
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  expect(await pick(shop, (await picksOf(id))[0]!.id)).toSucceed(200);
  const reports = await given(delivery_id, shop.tenant, signed);
  expect(await reports("returned")).toMatchObject({ outcome: "applied" });
  expect(await standing(id)).toMatchObject({ status: "cancelled", reserved: 0 });
  const back = await shop.tenant.ops.put(
    `/warehousing/receiving-orders/${await receiptOf(delivery_id)}`,
    { status: "received", item_details: [{ bin_id: shop.shelf.bin }] },
  );
  expect(back).toSucceed(200);
  expect(await whereabouts(id)).toEqual({ back: 2 });
  await checkAll(shop.tenant);
});

test.each(["delivered", "returned"])(
  "a carrier that takes a parcel in which nothing was found leaves with nothing; %s, all that was paid is refunded",
  async (end) => {
    const shop: Shop = await newSplitShop({ first: 20, second: 0, picking: false });
    const signed = (await enable(shop.tenant)).secret;
    const { id } = await placeOrder(shop, "wallet", 1);
    const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
    const reports = await given(delivery_id, shop.tenant, signed);
    expect(await pick(shop, (await picksOf(id))[0]!.id, 0)).toSucceed(200);
    expect(await reports("picked_up")).toMatchObject({ outcome: "applied" });
    expect(await whereabouts(id)).toEqual({ short: 1 });
    expect(await standing(id)).toMatchObject({ status: "shipped", reserved: 0, refunds: 0 });
    expect((await picksOf(id))[0]!.status).toBe("cancelled");
    expect(await reports(end)).toMatchObject({ outcome: "applied" });
    expect((await standing(id)).status).toBe(end === "delivered" ? "delivered" : "cancelled");
    const payments = await sql`select type, amount::int from money.payments
      where order_id = ${id} and status = 'SUCCESS' order by type`;
    expect(payments).toEqual([{ type: "ORDER", amount: 6_000 }, { type: "REFUND", amount: 6_000 }]);
    const events = await sql`select event_type from integration.system_events
      where tenant_id = ${shop.tenant.id} and event_type like 'picking_order.%' order by position`;
    expect(events.map(({ event_type }) => event_type).slice(-2)).toEqual([
      "picking_order.completed",
      "picking_order.cancelled",
    ]);
    expect(
      await sql`select from warehousing.receiving_orders where tenant_id = ${shop.tenant.id}`,
    ).toHaveLength(0);
    await checkAll(shop.tenant);
  },
);

test.each([[1, 5_000], [0, 12_000]])(
  "what a carrier collects for goods that were not found goes to the customer's wallet: %i of 2 found",
  async (found, refund) => {
    const shop: Shop = await newSplitShop({ first: 20, second: 0, picking: false });
    const signed = (await enable(shop.tenant)).secret;
    const { id } = await placeOrder(shop, "cash", 2);
    const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
    const reports = await given(delivery_id, shop.tenant, signed);
    expect(await pick(shop, (await picksOf(id))[0]!.id, found)).toSucceed(200);
    expect(await reports("delivered")).toMatchObject({ outcome: "applied" });
    expect(await standing(id)).toMatchObject({ status: "delivered", payment_status: "paid" });
    const payments = await sql`select type, payment_method, amount::int from money.payments
      where order_id = ${id} and status = 'SUCCESS' order by type`;
    expect(payments).toEqual([
      { type: "ORDER", payment_method: "cash", amount: 12_000 },
      { type: "REFUND", payment_method: "wallet", amount: refund },
    ]);
    const [{ balance }] = await sql`select balance::int from money.accounts
      where tenant_id = ${shop.tenant.id} and kind = 'wallet' and owner_user_id = ${shop.tenant.customer.id}`;
    expect(balance).toBe(refund);
    await checkAll(shop.tenant);
  },
);

test("less of the other part is accepted at the price of its own goods, beside one that a carrier took short", async () => {
  const shop: Shop = await newSplitShop({ first: 2, second: 2, picking: false });
  const signed = (await enable(shop.tenant)).secret;
  const { id } = await placeOrder(shop, "cash", 4);
  const { deliveries } = await approveOrder(shop, id);
  const [first, second] = await picksOf(id);
  const reports = await given(deliveries[0].delivery_id, shop.tenant, signed);
  expect(await pick(shop, first!.id, 1)).toSucceed(200);
  expect(await reports("picked_up")).toMatchObject({ outcome: "applied" });
  expect(await pick(shop, second!.id, 1)).toSucceed(200);
  expect(await shop.tenant.admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  const cash =
    await sql`select cod_amount::int from delivery.deliveries where order_id = ${id} order by delivery_code`;
  expect(cash.map(({ cod_amount }) => cod_amount)).toEqual([14_000, 5_000]);
});
