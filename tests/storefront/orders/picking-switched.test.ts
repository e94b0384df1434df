/** The setting picking_required is switched while orders are being picked. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop, picksOf, whereabouts } from "../../support/order-goods.ts";
import { checkAll, placeOrder, type Shop, standing } from "../../support/orders.ts";
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
