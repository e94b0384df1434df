/** A part of an order that its carrier does not take: it waits for another, and each part collects the price of its own goods. */
import { expect, test } from "vitest";
import { enable, external, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { checkAll, path } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { approveOrder, newSplitShop, pick, picksOf } from "../../support/order-goods.ts";
import { placeOrder, standing } from "../../support/orders.ts";

test("it is sent in another way, and less of the other part is accepted meanwhile", async () => {
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
  const book = () => tenant.ops.post(`/carriers/shipments/${first}`, { carrier_code: "simulated" });
  const booked = await book();
  const { tracking_number, cash_due } = booked.body.shipment;
  expect(cash_due).toBe(3 * 5_000 + 5_000);
  const told = await report(tenant, secret, { tracking_number, status: "cancelled" });
  expect(told.body.outcome).toBe("applied");
  expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 5 });
  expect(await pick(shop, other.id, 1)).toSucceed(200);
  expect(await tenant.admin.post(`/storefront/orders/${id}/accept-short`)).toSucceed(200);
  const due = await sql`select cod_amount::int as due from delivery.deliveries
    where id in (${first}, ${second}) order by id = ${second}`;
  expect(due).toEqual([{ due: 3 * 5_000 + 5_000 }, { due: 5_000 }]);
  const again = (await book()).body.shipment;
  expect(again.cash_due).toBe(3 * 5_000 + 5_000);
  for (const status of ["in_transit", "delivered"]) {
    const { body } = await report(tenant, secret, {
      tracking_number: again.tracking_number,
      status,
    });
    expect(body.outcome).toBe("applied");
  }
  await checkAll(tenant);
});
