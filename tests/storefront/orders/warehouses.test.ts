/** Where an order leaves from: one warehouse that has all of it, or as few as have it together. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { newAddress } from "../../support/make.ts";
import { approveOrder, newSplitShop, picksOf, whereabouts } from "../../support/order-goods.ts";
import { checkAll, home, newCart, orderOf, placeOrder, standing } from "../../support/orders.ts";
import { stockIn, unitsOf } from "../../support/warehouses.ts";

test("the nearest warehouse with all goods is chosen, although another has more and is older", async () => {
  const shop = await newSplitShop({ first: 9, second: 5 });
  const places = [{ latitude: 36.19, longitude: 44.01 }, { latitude: 33.31, longitude: 44.37 }];
  for (const [index, at] of [shop.shelf.warehouse, shop.second.warehouse].entries()) {
    const address = await newAddress(shop.tenant, places[index]);
    await sql`update warehousing.warehouses set address_id = ${address} where id = ${at}`;
  }
  const place = async (quantity: number) => {
    const cart = await newCart(shop, quantity);
    const answer = await shop.tenant.customer.post("/storefront/orders/confirm", {
      ...orderOf(shop, cart),
      address: { ...home, lat: 33.3, long: 44.4 },
    });
    expect(answer).toSucceed(201);
    return (await approveOrder(shop, answer.body.order.id)).deliveries;
  };
  expect((await place(5)).map((one: { warehouse_id: string }) => one.warehouse_id))
    .toEqual([shop.second.warehouse]);
  expect((await place(2)).map((one: { warehouse_id: string }) => one.warehouse_id))
    .toEqual([shop.shelf.warehouse]);
  await checkAll(shop.tenant);
});

test("three here and two there: two deliveries, each with its warehouse's goods, and the fee once", async () => {
  const shop = await newSplitShop();
  const { id } = await placeOrder(shop, "cash", 5);
  const { order, deliveries, delivery_assigned } = await approveOrder(shop, id);
  expect(deliveries).toHaveLength(2);
  expect(order.deliveries).toEqual(deliveries);
  expect(delivery_assigned.delivery_id).toBe(deliveries[0].delivery_id);
  expect(deliveries).toMatchObject([
    {
      warehouse_id: shop.shelf.warehouse,
      status: "pending",
      items: [{ sku: shop.product.sku, quantity: 3 }],
    },
    { warehouse_id: shop.second.warehouse, status: "pending", items: [{ quantity: 2 }] },
  ]);
  const rows =
    await sql`select d.id, d.cod_amount, d.delivery_fee, d.pickup_warehouse_id, d.unit_size from delivery.deliveries d
    where d.order_id = ${id} order by d.delivery_code`;
  expect(rows).toMatchObject([
    { id: deliveries[0].delivery_id, cod_amount: 20_000, delivery_fee: 5_000, unit_size: 3 },
    { id: deliveries[1].delivery_id, cod_amount: 10_000, delivery_fee: 0, unit_size: 2 },
  ]);
  expect(rows.map((row) => row.pickup_warehouse_id))
    .toEqual([shop.shelf.warehouse, shop.second.warehouse]);
  const { delivery } =
    (await shop.tenant.ops.get(`/delivery/deliveries/${deliveries[1].delivery_id}`)).body;
  expect(delivery.items).toMatchObject([{
    item_id: shop.shelf.item,
    name: "Kleicha",
    sku: shop.product.sku,
    quantity: 2,
  }]);
  expect(await picksOf(id)).toMatchObject([
    {
      reference_number: order.order_number,
      order_id: id,
      delivery_id: rows[0].id,
      status: "pending",
    },
    {
      reference_number: order.order_number,
      order_id: id,
      delivery_id: rows[1].id,
      status: "pending",
    },
  ]);
  expect(await whereabouts(id)).toEqual({ reserved: 5 });

  // Each pickup books out of its own warehouse.
  await assign(shop.tenant, rows[0].id);
  await moves(shop.tenant.driver, rows[0].id, "pickup");
  expect(await unitsOf(shop.shelf.item, shop.shelf.bin)).toEqual({});
  expect(await unitsOf(shop.shelf.item, shop.second.bin)).toEqual({ reserved: 2 });
  expect(await whereabouts(id)).toEqual({ reserved: 2, out: 3 });
  expect(await standing(id)).toMatchObject({ status: "shipped" });
  await checkAll(shop.tenant);
});

test("with a line that no warehouse has alone, and one that one has: no unit is reserved twice", async () => {
  const shop = await newSplitShop({ first: 1, second: 1 });
  const one = await placeOrder(shop, "cash", 2);
  await stockIn(shop.tenant, {
    item_id: shop.shelf.item,
    warehouse_id: shop.second.warehouse,
    bin_id: shop.second.bin,
    quantity: 1,
  });
  // Now the second warehouse has all of it.
  expect((await approveOrder(shop, one.id)).deliveries).toMatchObject([
    { warehouse_id: shop.second.warehouse, items: [{ quantity: 2 }] },
  ]);
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: 1, reserved: 2 });
});

test("concurrent approvals over both warehouses: as many as the stock allows, and no deadlock", async () => {
  const shop = await newSplitShop({ first: 12, second: 8 });
  const orders: string[] = [];
  for (let n = 0; n < 8; n++) orders.push((await placeOrder(shop, "cash", 5)).id);
  const answers = await Promise.all(
    orders.map((id) => shop.tenant.admin.put(`/storefront/orders/${id}/approve`)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([
    200,
    200,
    200,
    200,
    409,
    409,
    409,
    409,
  ]);
  expect(await unitsOf(shop.shelf.item)).toEqual({ reserved: 20 });
  for (const id of orders) await whereabouts(id);
  await checkAll(shop.tenant);
});

test.each([
  ["100", "{1,1,1}", 0, [33, 34, 33]],
  ["100", "{1,1,1}", 3, [33.333, 33.334, 33.333]],
  ["2", "{1,1,1,1}", 0, [1, 0, 1, 0]],
  ["30", "{15000,10000,5000}", 0, [15, 10, 5]],
  ["0", "{0,0}", 0, []],
])("%s by %s in %i decimals", async (amount, weights, decimals, wanted) => {
  const [{ shares }] =
    await sql`select storefront.shares(${amount}::numeric, ${weights}::numeric[], ${decimals}) as shares`;
  const parts = shares.map(Number);
  expect(parts).toEqual(wanted);
});
