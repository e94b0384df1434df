/** A store's parcel that is handed over in exchange: what the customer gives back ends in the warehouse that it goes to. */
import { describe, expect, test } from "vitest";
import { receiptOf, receive } from "../../support/back-from-customer.ts";
import { sql } from "../../support/db.ts";
import { assign, moves, newGround, statusOf } from "../../support/deliveries.ts";
import { approveOrder, newSplitShop, whereabouts } from "../../support/order-goods.ts";
import { checkAll as checkShop, placeOrder, standing } from "../../support/orders.ts";
import { cash, onItsWay, report, sound } from "../../support/outcomes.ts";
import { newTenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";

const exchanged = { result: "exchanged", taken_back: [{ name: "Old phone", quantity: 1 }] };

/** An order whose parcel was handed over against goods, and the return of these in the driver's hands. */
async function exchange() {
  const shop = await newSplitShop();
  const { id } = await placeOrder(shop, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await assign(shop.tenant, delivery_id);
  await moves(shop.tenant.driver, delivery_id, "pickup", "depart");
  const answer = await report(shop.tenant.driver, delivery_id, exchanged);
  expect(answer).toSucceed(200);
  const [back] = answer.body.data.returns;
  const [{ warehouse_id }] =
    await sql`select warehouse_id from storefront.storefront_order_parts where order_id = ${id}`;
  const [{ dropoff_warehouse_id }] =
    await sql`select dropoff_warehouse_id from delivery.deliveries where id = ${back.id}`;
  expect(dropoff_warehouse_id).toBe(warehouse_id);
  return { shop, id, back: back.id as string, warehouse_id };
}

async function ended({ shop, id, back }: Awaited<ReturnType<typeof exchange>>) {
  expect(await statusOf(back)).toBe("delivered");
  const [line] = await sql`select k.name, s.quantity::int from warehousing.inventory_items k
    join warehousing.stock s on s.item_id = k.id where k.parcel_delivery_id = ${back}`;
  expect(line).toEqual({ name: "Old phone", quantity: 1 });
  expect(await whereabouts(id)).toEqual({ delivered: 2 });
  expect(await standing(id)).toMatchObject({ status: "delivered", payment_status: "paid" });
  await checkShop(shop.tenant);
  expect(await breachesIn(shop.tenant)).toEqual([]);
}

describe("what was given in exchange for goods of an order", () => {
  test("is taken into the stock of their warehouse as a parcel, beside the goods that were kept", async () => {
    const all = await exchange();
    await moves(all.shop.tenant.driver, all.back, "depart", "complete");
    expect(await receiptOf(all.back)).toMatchObject({ warehouse_id: all.warehouse_id });
    await ended(all);
  });

  test("ends there as well when its driver brings it in as a parcel that comes back", async () => {
    const all = await exchange();
    const { receiving_order_id } = await moves(all.shop.tenant.driver, all.back, "depart", [
      "return",
      { warehouse_id: all.warehouse_id },
    ]);
    expect(await receive(all.shop, receiving_order_id)).toSucceed(200);
    await ended(all);
  });
});

test("what was ordered from the address of a warehouse, without naming it, comes back into that warehouse", async () => {
  const tenant = await newTenant();
  const ground = await newGround(tenant);
  const [{ address_id }] =
    await sql`select address_id from warehousing.warehouses where id = ${ground.warehouse}`;
  const id = await onItsWay(ground, "in_transit", { pickup_address_id: address_id });
  const answer = await report(tenant.driver, id, { ...exchanged, cash_collected: cash });
  const [back] = answer.body.data.returns;
  expect(back).toMatchObject({ dropoff_address_id: address_id });
  await moves(tenant.driver, back.id, "depart", "complete");
  expect(await receiptOf(back.id)).toMatchObject({ warehouse_id: ground.warehouse });
  await sound(tenant);
});
