/** The setting picking_required is switched while orders are being picked. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { enable, external, givenToCarrier, report } from "../../support/carriers.ts";
import { assign, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop, picksOf, whereabouts } from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop, standing, walletOf } from "../../support/orders.ts";
import { saveSettings } from "../../support/people.ts";

const require = ({ tenant }: Shop, picking_required: boolean) =>
  saveSettings(tenant.id, "general.storefront", { picking_required });

/** Three units of an order, assigned to the driver, and its pick. */
async function assigned(shop: Shop) {
  const { id } = await placeOrder(shop, "cash", 3);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await assign(shop.tenant, delivery_id);
  return { id, delivery: delivery_id as string, pick: (await picksOf(id))[0]!.id as string };
}

/** Reports what was found of the only line, while the picking continues. */
async function reports({ tenant }: Shop, pick: string, picked_quantity: number, status?: string) {
  const path = `/warehousing/picking-orders/${pick}`;
  const [{ item_id, bin_id, quantity }] = (await tenant.ops.get(path)).body.order.item_details;
  const item_details = [{ item_id, bin_id, quantity, picked_quantity, status }];
  expect(await tenant.ops.put(path, { status: "in_progress", item_details })).toSucceed(200);
}

test("off: what a picker reported as missing does not leave, and the shop decides", async () => {
  const shop = await newSplitShop({ first: 10, second: 0, picking: true });
  const { id, delivery, pick } = await assigned(shop);
  await reports(shop, pick, 1, "missing");
  await require(shop, false);
  expect(await move(shop.tenant.driver, delivery, "pickup")).toFailWith(409, "goods_not_picked");
  expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 3 });
  const done = { status: "completed" };
  expect(await shop.tenant.ops.put(`/warehousing/picking-orders/${pick}`, done)).toSucceed(200);
  expect(await shop.tenant.admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  await moves(shop.tenant.driver, delivery, "pickup");
  const [{ cod_amount }] =
    await sql`select cod_amount from delivery.deliveries where id = ${delivery}`;
  expect(cod_amount).toBe(3_000 + 5_000);
  expect(await whereabouts(id)).toMatchObject({ out: 1 });
  await checkAll(shop.tenant);
});

test("off: no carrier is booked for what a picker reported as missing, nor leaves with it by hand", async () => {
  const shop = await newSplitShop({ first: 10, second: 0, picking: false });
  const { ops, admin } = shop.tenant;
  const { secret } = await enable(shop.tenant);
  const { id } = await placeOrder(shop, "cash", 3);
  const { deliveries: [{ delivery_id: delivery }] } = await approveOrder(shop, id);
  const pick = (await picksOf(id))[0]!.id as string;
  await reports(shop, pick, 1, "missing");
  expect(await ops.patch(`/delivery/deliveries/${delivery}/carrier`, external)).toSucceed(200);
  const book = () =>
    ops.post(`/carriers/shipments/${delivery}`, { carrier_code: external.carrier_code });
  const refused = await book();
  expect(refused).toFailWith(409, "goods_not_picked");
  expect(refused.body.picking_order_id).toBe(pick);
  expect(await move(ops, delivery, "depart")).toFailWith(409, "goods_not_picked");

  const done = { status: "completed" };
  expect(await ops.put(`/warehousing/picking-orders/${pick}`, done)).toSucceed(200);
  expect(await book()).toFailWith(409, "goods_not_picked");
  expect(await admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  const { shipment } = (await book()).body;
  expect(shipment.cash_due).toBe(3_000 + 5_000);
  const news = { tracking_number: shipment.tracking_number, status: "delivered" };
  expect((await report(shop.tenant, secret, news)).body.outcome).toBe("applied");
  expect(await whereabouts(id)).toEqual({ delivered: 1, short: 2 });
  expect(await walletOf(shop.tenant, shop.tenant.customer.id)).toBe(0);
  await checkAll(shop.tenant);
});

test.for(["cash", "wallet"] as const)(
  "off: what is reported as missing after a carrier was booked is given back at the end (%s)",
  async (method) => {
    const shop = await newSplitShop({ first: 10, second: 0, picking: false });
    const { secret } = await enable(shop.tenant);
    const { id } = await placeOrder(shop, method, 3);
    const before = await walletOf(shop.tenant, shop.tenant.customer.id);
    const { deliveries: [{ delivery_id: delivery }] } = await approveOrder(shop, id);
    const tracking_number = await givenToCarrier(shop.tenant, delivery);
    await reports(shop, (await picksOf(id))[0]!.id, 1, "missing");
    const news = { tracking_number, status: "delivered" };
    expect((await report(shop.tenant, secret, news)).body.outcome).toBe("applied");
    expect(await whereabouts(id)).toEqual({ delivered: 1, short: 2 });
    expect(await standing(id)).toMatchObject({ status: "delivered", refunds: 1 });
    expect(await walletOf(shop.tenant, shop.tenant.customer.id)).toBe(before + 10_000);
    await checkAll(shop.tenant);
  },
);

test("off: what is being picked leaves whole, as what nobody has begun to pick", async () => {
  const shop = await newSplitShop({ first: 10, second: 0, picking: true });
  const [begun, untouched] = [await assigned(shop), await assigned(shop)];
  await reports(shop, begun.pick, 1);
  await require(shop, false);
  for (const { id, delivery } of [begun, untouched]) {
    await moves(shop.tenant.driver, delivery, "pickup");
    expect(await whereabouts(id)).toEqual({ out: 3 });
  }
  await checkAll(shop.tenant);
});

test("on: what was promised without picking waits for the warehouse", async () => {
  const shop = await newSplitShop({ first: 10, second: 0, picking: false });
  const { id, delivery, pick } = await assigned(shop);
  await require(shop, true);
  expect(await move(shop.tenant.driver, delivery, "pickup")).toFailWith(409, "goods_not_picked");
  const done = { status: "completed" };
  expect(await shop.tenant.ops.put(`/warehousing/picking-orders/${pick}`, done)).toSucceed(200);
  await moves(shop.tenant.driver, delivery, "pickup");
  expect(await whereabouts(id)).toEqual({ out: 3 });
  await checkAll(shop.tenant);
});
