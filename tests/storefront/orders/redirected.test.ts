/** The parcel of a store's order goes to another place. */
import { expect, test } from "vitest";
import "../../support/expect.ts";
import { approveOrder, newSplitShop } from "../../support/order-goods.ts";
import { home, newCart, orderOf } from "../../support/orders.ts";
import { newZone, square } from "../../support/zones.ts";

test("operations redirect it for the agreed fee where its service goes, and nowhere else", async () => {
  const shop = await newSplitShop({ first: 5, second: 0 });
  const { customer, ops } = shop.tenant;
  const zone = await newZone(shop.tenant, square(44.4, 33.3, 0.05));
  const service = (body: object) => ops.put(`/delivery/services/${shop.service}`, body);
  expect(await service({ zone_access_mode: "select_zones", zone_ids: [zone] })).toSucceed(200);
  const placed = await customer.post("/storefront/orders/confirm", {
    ...orderOf(shop, await newCart(shop)),
    address: { ...home, lat: 33.3, long: 44.4 },
  });
  expect(placed).toSucceed(201);
  const { deliveries: [{ delivery_id }] } = await approveOrder(shop, placed.body.order.id);
  const redirect = (latitude: number, longitude: number) =>
    ops.post(`/delivery/deliveries/${delivery_id}/redirect`, {
      dropoff_address: { latitude, longitude, full_address: "Another house" },
    });
  const refused = await redirect(1, 1);
  expect(refused).toFailWith(400, "delivery_service_not_available");
  expect(refused.body.field).toBe("dropoff_address_id");
  expect(await service({ active: false, default_price: 9_000 })).toSucceed(200);
  expect((await redirect(33.31, 44.41)).body.data.price)
    .toMatchObject({ before: 1_000, after: 1_000, charged: "none" });
  const there = { full_address: "Another house", latitude: 33.31, longitude: 44.41 };
  const path = `/storefront/orders/${placed.body.order.id}`;
  const { order } = (await shop.tenant.admin.get(path)).body.data;
  expect(order.shipping_address).toMatchObject({ full_address: home.full_address });
  expect(order.delivery_assignment.delivery_address).toMatchObject(there);
  expect(order.deliveries).toMatchObject([{ delivery_address: there }]);
  const seen = (await customer.get(`${path}/payment-status`)).body.order;
  expect(seen.shippingAddress).toMatchObject({ full_address: home.full_address });
  expect(seen.deliveryAddresses).toMatchObject([there]);
});
