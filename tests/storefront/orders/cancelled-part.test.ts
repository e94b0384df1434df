/** A part of an order that its carrier does not take: what the other part collects stays the price of its own goods. */
import { expect, test } from "vitest";
import { enable, external, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { checkAll, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { placeOrder } from "../../support/orders.ts";

test("less of the rest is accepted, and nothing of the part that does not come is collected with it", async () => {
  const shop = await newSplitShop({ first: 3, second: 2 });
  const { tenant } = shop;
  const { secret } = await enable(tenant);
  const { id } = await placeOrder(shop, "cash", 5);
  const { deliveries: [{ delivery_id: first }, { delivery_id: second }] } = await approveOrder(
    shop,
    id,
  );
  const [task, other] = await picksOf(id);
  expect(await pick(shop, task.id)).toSucceed(200);
  expect(await tenant.ops.patch(`${path}/${first}/carrier`, external)).toSucceed(200);
  const booked = await tenant.ops.post(`/carriers/shipments/${first}`, {
    carrier_code: "simulated",
  });
  const { tracking_number } = booked.body.shipment;
  const told = await report(tenant, secret, { tracking_number, status: "cancelled" });
  expect(told.body.outcome).toBe("applied");
  const due = async () =>
    Number(
      (await sql`select cod_amount from delivery.deliveries where id = ${second}`)[0].cod_amount,
    );
  expect(await due()).toBe(2 * 5_000);
  expect(booked.body.shipment.cash_due).toBe(3 * 5_000 + 5_000);
  expect(await pick(shop, other.id, 1)).toSucceed(200);
  const accepted = await tenant.admin.post(`/storefront/orders/${id}/accept-short`);
  expect(accepted).toSucceed(200);
  // One of the two units, and the fee, which the other parcel would have collected.
  expect(await due()).toBe(5_000 + 5_000);
  await checkAll(tenant);
});
