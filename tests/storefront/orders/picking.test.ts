/** The warehouse's part in an order: it is told, it picks, and nothing leaves before. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { assign, move, moves } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import {
  approveOrder,
  newSplitShop,
  pick,
  picksOf,
  whereabouts,
} from "../../support/order-goods.ts";
import { checkAll, newShop, placeOrder, type Shop, standing } from "../../support/orders.ts";
import { eventsOf, movementsOf, unitsOf } from "../../support/warehouses.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await newSplitShop({ first: 200, second: 0, picking: true });
});
const scan = async (barcode: string) => {
  const answer = await shop.tenant.warehouse.get(`/warehousing/package-scan/${barcode}`);
  expect(answer).toSucceed(200);
  return answer.body;
};
const putPick = (id: string, body: object) =>
  shop.tenant.ops.put(`/warehousing/picking-orders/${id}`, body);

test("picked, then handed over: the label scan shows the next step, and only then it leaves", async () => {
  const { id } = await placeOrder(shop, "cash", 2);
  const { order, deliveries: [{ delivery_id, tracking_number }] } = await approveOrder(shop, id);
  const [task] = await picksOf(id);
  const { orders } = (await shop.tenant.warehouse.get("/warehousing/picking-orders", {
    query: { search: order.order_number },
  })).body;
  expect(orders).toMatchObject([{
    id: task!.id,
    reference_number: order.order_number,
    order_id: id,
    delivery_id,
    warehouse_id: shop.shelf.warehouse,
    status: "pending",
    item_details: [{ item_id: shop.shelf.item, bin_id: shop.shelf.bin, quantity: 2 }],
  }]);
  expect(await scan(tracking_number)).toMatchObject({
    action: "open_picking_order",
    entity_id: task!.id,
    reason: "goods_to_pick",
    delivery: { next_action: "pick" },
    warehouse_context: { warehouse_id: shop.shelf.warehouse, relation: "source", can_act: true },
    items: [{ name: "Kleicha", sku: shop.product.sku, quantity: 2 }],
  });
  await assign(shop.tenant, delivery_id);
  const early = await move(shop.tenant.driver, delivery_id, "pickup");
  expect(early).toFailWith(409, "goods_not_picked");
  expect(early.body.picking_order_id).toBe(task!.id);
  expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 2 });

  expect(await putPick(task!.id, { status: "in_progress" })).toSucceed(200);
  expect(await move(shop.tenant.driver, delivery_id, "pickup")).toFailWith(409, "goods_not_picked");
  expect((await scan(tracking_number)).delivery.next_action).toBe("pick");
  expect(await putPick(task!.id, { status: "completed" })).toSucceed(200);
  expect(await whereabouts(id)).toEqual({ picked: 2 });
  expect(await standing(id)).toMatchObject({ reserved: 2 });
  expect(await scan(tracking_number)).toMatchObject({
    action: "open_delivery",
    delivery: { next_action: "handoff" },
  });

  await moves(shop.tenant.driver, delivery_id, "pickup");
  expect((await picksOf(id))[0]!.status).toBe("handed_off");
  expect(await standing(id)).toMatchObject({ status: "shipped", reserved: 0 });
  expect((await movementsOf(shop.shelf.item)).at(-1)).toEqual(["pick", 2]);
  expect(await whereabouts(id)).toEqual({ out: 2 });
  expect(await eventsOf(task!.id)).toEqual([
    "picking_order.started",
    "picking_order.completed",
    "picking_order.handed_off",
  ]);
  await checkAll(shop.tenant);
});

test("a picked order without a driver waits for one", async () => {
  const { id } = await placeOrder(shop);
  const { deliveries: [{ tracking_number }] } = await approveOrder(shop, id);
  expect(await pick(shop, (await picksOf(id))[0]!.id)).toSucceed(200);
  expect((await scan(tracking_number)).delivery.next_action).toBe("assign");
});

test("delivered by the shop itself: shipped once it is picked", async () => {
  const plain = await newShop({ auto: false, picking: true });
  const { id } = await placeOrder(plain, "cash", 3);
  const { deliveries } = await approveOrder(plain, id);
  expect(deliveries).toEqual([]);
  const [task] = await picksOf(id);
  expect(task).toMatchObject({ delivery_id: null, order_id: id, status: "pending" });
  const ship = () => plain.tenant.admin.put(`/storefront/orders/${id}/ship`);
  expect(await ship()).toFailWith(409, "goods_not_picked");
  expect(await unitsOf(plain.shelf.item)).toEqual({ available: 7, reserved: 3 });
  expect(await pick(plain, task!.id)).toSucceed(200);
  // Picked, it is still here.
  expect(await unitsOf(plain.shelf.item)).toEqual({ available: 7, reserved: 3 });
  expect(await ship()).toSucceed(200);
  expect(await unitsOf(plain.shelf.item)).toEqual({ available: 7 });
  expect((await picksOf(id))[0]!.status).toBe("handed_off");
  await plain.tenant.admin.put(`/storefront/orders/${id}/deliver`);
  expect(await whereabouts(id)).toEqual({ delivered: 3 });
  await checkAll(plain.tenant);
});

test("its pick is cancelled, changed and handed off only through the order", async () => {
  const { id } = await placeOrder(shop);
  await approveOrder(shop, id);
  const [task] = await picksOf(id);
  const cancelled = await putPick(task!.id, { status: "cancelled" });
  expect(cancelled).toFailWith(409, "picking_belongs_to_order");
  expect(cancelled.body).toMatchObject({ field: "status", order_id: id });
  const line = { item_id: shop.shelf.item, bin_id: shop.shelf.bin, quantity: 2 };
  const changed = await putPick(task!.id, { item_details: [line] });
  expect(changed).toFailWith(409, "picking_belongs_to_order");
  expect(changed.body.field).toBe("item_details");
  expect(await putPick(task!.id, { status: "handed_off" }))
    .toFailWith(409, "pnd_picking_handed_off_by_driver_pickup");
  const much = await putPick(task!.id, {
    item_details: [{ ...line, quantity: 1, picked_quantity: 2 }],
  });
  expect(much).toFailWith(400, "picked_too_much");
  // By whom, when and with what notes it is picked is the warehouse's.
  expect(await putPick(task!.id, { notes: "Top shelf", assigned_to: shop.tenant.warehouse.id }))
    .toSucceed(200);
  expect((await picksOf(id))[0]).toMatchObject({ status: "pending", notes: "Top shelf" });
  expect(await standing(id)).toMatchObject({ reserved: 1 });

  await shop.tenant.admin.put(`/storefront/orders/${id}/cancel`, { reason: "other" });
  expect((await picksOf(id))[0]!.status).toBe("cancelled");
  const told = await shop.tenant.warehouse.get("/tenants/me/notifications");
  expect(told.body.data[0]).toMatchObject({
    type: "picking_withdrawn",
    payload: { picking_order_id: task!.id, reason: "cancelled" },
  });
  expect(await whereabouts(id)).toEqual({ released: 1 });
  expect(await putPick(task!.id, { status: "in_progress" }))
    .toFailWith(409, "invalid_status_transition");
  await checkAll(shop.tenant);
});

test("cancelled after it was picked: the goods are free again", async () => {
  const { id } = await placeOrder(shop, "wallet", 2);
  const before = await unitsOf(shop.shelf.item);
  await approveOrder(shop, id);
  await pick(shop, (await picksOf(id))[0]!.id);
  const answer = await shop.tenant.admin.put(`/storefront/orders/${id}/cancel`, {
    reason: "other",
  });
  expect(answer.body.data).toMatchObject({ inventory_released: true, delivery_cancelled: true });
  expect(await unitsOf(shop.shelf.item)).toEqual(before);
  await checkAll(shop.tenant);
});

test("a cancelled delivery leaves the goods reserved for the order, which is then sent otherwise", async () => {
  const { id } = await placeOrder(shop);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await pick(shop, (await picksOf(id))[0]!.id);
  await moves(shop.tenant.ops, delivery_id, ["cancel", { reason: "Own van" }]);
  expect((await picksOf(id))[0]).toMatchObject({ status: "completed", delivery_id: null });
  expect(await whereabouts(id)).toEqual({ picked: 1 });
  const { admin } = shop.tenant;
  expect(await admin.put(`/storefront/orders/${id}/ship`)).toSucceed(200);
  expect(await whereabouts(id)).toEqual({ out: 1 });
  expect(await admin.put(`/storefront/orders/${id}/deliver`)).toSucceed(200);
  const { order } = (await admin.get(`/storefront/orders/${id}`)).body.data;
  expect(order).toMatchObject({ status: "delivered", fulfilment: "full", payment_status: "paid" });
  await checkAll(shop.tenant);
});

test("without required picking it is picked as it leaves", async () => {
  const easy = await newSplitShop({ first: 5, second: 0 });
  const { id } = await placeOrder(easy, "cash", 2);
  const { deliveries: [{ delivery_id }] } = await approveOrder(easy, id);
  const [task] = await picksOf(id);
  await easy.tenant.ops.put(`/warehousing/picking-orders/${task!.id}`, { status: "in_progress" });
  await assign(easy.tenant, delivery_id);
  await moves(easy.tenant.driver, delivery_id, "pickup");
  expect((await picksOf(id))[0]!.status).toBe("handed_off");
  const [line] = await sql`select picked_quantity::int from warehousing.picking_order_items
    where picking_order_id = ${task!.id}`;
  expect(line!.picked_quantity).toBe(2);
  await checkAll(easy.tenant);
});

test("a carrier's pickup is refused before the picking, unless it has the parcel already", async () => {
  const { id } = await placeOrder(shop);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
  await sql`update delivery.deliveries set carrier_type = 'external', carrier_code = 'simulated' where id = ${delivery_id}`;
  expect(await move(shop.tenant.ops, delivery_id, "depart")).toFailWith(409, "goods_not_picked");
  expect(await standing(id)).toMatchObject({ status: "confirmed", reserved: 1 });
  // A carrier's report is written to the same row, and is always accepted.
  await sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${shop.tenant.id}, true)`;
    await tx`update delivery.deliveries set status = 'in_transit' where id = ${delivery_id}`;
  });
  expect(await standing(id)).toMatchObject({ status: "shipped", reserved: 0 });
  expect(await whereabouts(id)).toEqual({ out: 1 });
  await checkAll(shop.tenant);
});

test("picking against pickup: the order left whole, or is still here", async () => {
  for (let round = 0; round < 6; round++) {
    const { id } = await placeOrder(shop);
    const { deliveries: [{ delivery_id }] } = await approveOrder(shop, id);
    const [task] = await picksOf(id);
    await assign(shop.tenant, delivery_id);
    const [picked, taken] = await Promise.all([
      putPick(task!.id, { status: "completed" }),
      move(shop.tenant.driver, delivery_id, "pickup"),
    ]);
    expect(picked.status).toBe(200);
    if (taken.status !== 200) expect(taken).toFailWith(409, "goods_not_picked");
    expect(await whereabouts(id)).toEqual(taken.status === 200 ? { out: 1 } : { picked: 1 });
  }
  await checkAll(shop.tenant);
});
