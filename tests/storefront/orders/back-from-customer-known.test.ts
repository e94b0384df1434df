/** Goods that a customer sent back: a carrier brings them, reviews and reconciliations know of them, and each is taken in once. */
import { expect, test } from "vitest";
import { receiptOf, receive, received } from "../../support/back-from-customer.ts";
import { enable, givenToCarrier, report } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import { checkAll, move, statusOf } from "../../support/deliveries.ts";
import "../../support/expect.ts";
import { whereabouts } from "../../support/order-goods.ts";
import { unitsOf } from "../../support/warehouses.ts";

test("a carrier that delivered the return makes their warehouse expect them", async () => {
  const all = await received(2);
  const { shop, tenant } = all;
  const { secret } = await enable(tenant);
  const { body: { id } } = await all.order(undefined, { payer_type: "receiver" }, tenant.ops);
  const tracking_number = await givenToCarrier(tenant, id);
  for (const status of ["in_transit", "delivered"]) {
    const answer = await report(tenant, secret, { tracking_number, status });
    expect(answer.body.outcome).toBe("applied");
  }
  const receipt = await receiptOf(id);
  expect(receipt).toMatchObject({ warehouse_id: shop.shelf.warehouse, status: "pending" });
  expect(await receive(all, receipt.id)).toSucceed(200);
  expect(await unitsOf(shop.shelf.item)).toEqual({ available: 10 });
  expect(await whereabouts(all.id)).toEqual({ back: 2 });
  await checkAll(tenant);
});

test("a customer reviews what they had, also after they sent it back", async () => {
  const all = await received(1);
  expect(await receive(all, (await receiptOf(await all.sentBack())).id)).toSucceed(200);
  const [{ product }] = await sql`select product_id as product
    from storefront.storefront_order_items where order_id = ${all.id}`;
  const reviews = `/storefront/products/${product}/reviews`;
  expect(await all.tenant.customer.post(reviews, { rating: 1 })).toSucceed(201);
});

test("a receipt that says otherwise than stock is named by the reconciliation", async () => {
  const all = await received(2);
  const receipt = await receiptOf(await all.sentBack());
  expect(await receive(all, receipt.id)).toSucceed(200);
  await sql`update warehousing.receiving_order_items set received_quantity = 1
    where receiving_order_id = ${receipt.id}`;
  const { body } = await all.tenant.ops.get("/warehousing/stock-reconciliation");
  expect(body.differences).toEqual([
    expect.objectContaining({ kind: "order_back", order_id: all.id, expected: 1, found: 2 }),
  ]);
  await sql`update warehousing.receiving_order_items set received_quantity = 2
    where receiving_order_id = ${receipt.id}`;
  await checkAll(all.tenant);
});

test("received and undone at once, they are either stock or on their way", async () => {
  for (let round = 0; round < 4; round++) {
    const all = await received(2);
    const back = await all.sentBack();
    const { id } = await receiptOf(back);
    const [taken, undone] = await Promise.all([
      receive(all, id),
      move(all.tenant.ops, back, "outcome/undo", { reason: "Not yet" }),
    ]);
    const delivered = await statusOf(back) === "delivered";
    expect([taken.status, undone.status]).toEqual(delivered ? [200, 409] : [409, 200]);
    expect(await unitsOf(all.shop.shelf.item)).toEqual({ available: delivered ? 10 : 8 });
    expect(await whereabouts(all.id)).toEqual(delivered ? { back: 2 } : { delivered: 2 });
    await checkAll(all.tenant);
  }
});

test("of two returns of the last unit at once one is ordered, and a receipt is taken in once", async () => {
  const all = await received(1);
  const answers = await Promise.all([all.order(1), all.order(1), all.order()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  await sql`update delivery.deliveries set status = 'cancelled' where original_delivery_id = ${all.delivery}`;
  const { id } = await receiptOf(await all.sentBack());
  const taken = await Promise.all([receive(all, id), receive(all, id), receive(all, id)]);
  for (const answer of taken) expect(answer).toSucceed(200);
  expect(await unitsOf(all.shop.shelf.item)).toEqual({ available: 10 });
  await checkAll(all.tenant);
});
