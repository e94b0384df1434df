/** The delivery service of an order that waits for approval: its price was agreed, whatever becomes of it. */
import { expect, test } from "vitest";
import { addService, newType } from "../../support/services.ts";
import { sql } from "../../support/db.ts";
import { newGround, order, path as deliveries } from "../../support/deliveries.ts";
import { checkAll, newShop, placeOrder, type Shop, standing } from "../../support/orders.ts";
import { newTenant } from "../../support/people.ts";

const serviceOf = ({ service }: Shop) => `/delivery/services/${service}`;
const approve = ({ tenant }: Shop, id: string) =>
  tenant.admin.put(`/storefront/orders/${id}/approve`);

test.each(
  [
    ["switched off", { active: false }],
    ["for larger parcels only", { unit_min: 20, unit_max: 30 }],
    ["for nobody", { access_mode: "exclude_users" }],
    ["dearer by the kilometre", { price_per_km: 100 }],
  ],
)("an order is approved with a service that is now %s", async (_what, change) => {
  const shop = await newShop();
  const { id } = await placeOrder(shop, "wallet");
  const [{ shipping_cost }] =
    await sql`select shipping_cost from storefront.storefront_orders where id = ${id}`;
  const sent = "access_mode" in change
    ? { ...change, user_ids: [shop.tenant.customer.id] }
    : change;
  expect(await shop.tenant.ops.put(serviceOf(shop), sent)).toSucceed(200);
  expect(await approve(shop, id)).toSucceed(200);
  const [delivery] =
    await sql`select delivery_fee, status, delivery_service_id from delivery.deliveries where order_id = ${id}`;
  expect(delivery).toEqual({
    delivery_fee: shipping_cost,
    status: "pending",
    delivery_service_id: shop.service,
  });
  await checkAll(shop.tenant);
});

test("a service is not deleted before its orders are approved or cancelled", async () => {
  const shop = await newShop();
  const orders = [await placeOrder(shop, "wallet"), await placeOrder(shop)];
  const refused = await shop.tenant.ops.delete(serviceOf(shop));
  expect(refused).toFailWith(409, "delivery_service_in_use");
  expect(await approve(shop, orders[0].id)).toSucceed(200);
  expect(await shop.tenant.ops.delete(serviceOf(shop))).toFailWith(409, "delivery_service_in_use");
  expect(
    await shop.tenant.admin.put(`/storefront/orders/${orders[1].id}/cancel`, { reason: "other" }),
  ).toSucceed(200);
  expect((await standing(orders[1].id)).status).toBe("cancelled");
  expect(await shop.tenant.ops.delete(serviceOf(shop))).toSucceed(200);
});

test("a draft keeps its service from deletion; deliveries under way, and their later legs, do not", async () => {
  const tenant = await newTenant();
  const ground = await newGround(tenant);
  const service = await addService(tenant, await newType(tenant));
  const made = await tenant.ops.post(
    deliveries,
    order(ground, { delivery_service_id: service, status: "draft" }),
  );
  expect(made).toSucceed(201);
  expect(await tenant.ops.delete(`/delivery/services/${service}`))
    .toFailWith(409, "delivery_service_in_use");
  expect(await tenant.ops.post(`${deliveries}/${made.body.id}/submit`)).toSucceed(200);
  const staged = order(ground, {
    delivery_service_id: service,
    staged: true,
    warehouse_id: ground.warehouse,
  });
  expect(await tenant.ops.post(deliveries, staged)).toSucceed(201);
  expect(await tenant.ops.delete(`/delivery/services/${service}`)).toSucceed(200);
});

test("the deletion waits for an order in another transaction, and then checks the orders", async () => {
  const shop = await newShop();
  const { id } = await placeOrder(shop);
  let answer: ReturnType<Shop["tenant"]["ops"]["delete"]>;
  await sql.begin(async (tx) => {
    await tx`update storefront.storefront_orders set status = 'cancelled', cancelled_at = now(), cancel_reason = 'other' where id = ${id}`;
    await tx`select from delivery.delivery_services where id = ${shop.service} for key share`;
    answer = shop.tenant.ops.delete(serviceOf(shop));
    await new Promise((resolve) => setTimeout(resolve, 300));
  });
  expect(await answer!).toSucceed(200);
});
