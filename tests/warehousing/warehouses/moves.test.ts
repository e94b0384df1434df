/** A warehouse gets another address while parcels are on their way to it, from it, and back: each comes to its end, where it stands now. */
import { beforeEach, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  type Ground,
  moves,
  newDelivery,
  newGround,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { approveOrder, bring, withDriver } from "../../support/order-goods.ts";
import { newShop, placeOrder } from "../../support/orders.ts";
import { newTransferring } from "../../support/package-transfers.ts";
import { newPackage } from "../../support/packages.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";
import { transferNoted } from "../../support/send-back.ts";

let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** Moves the warehouse to a new address, and answers it. */
async function moved(): Promise<string> {
  const address_id = await newAddress(tenant, { city: "Erbil" });
  const answer = await tenant.ops.put(`/warehousing/warehouses/${ground.warehouse}`, {
    address_id,
  });
  expect(answer).toSucceed(200);
  return address_id;
}
const placesOf = async (id: string) =>
  (await sql`select pickup_address_id as from, pickup_snapshot ->> 'id' as fetched,
    dropoff_address_id as to, dropoff_snapshot ->> 'id' as brought, ordered_from_address_id as kept
    from delivery.deliveries where id = ${id}`)[0];
const receivedIn = async (id: string, warehouse: string) => {
  const [{ receipt }] = await sql`select id as receipt from warehousing.receiving_orders
    where delivery_id = ${id} and warehouse_id = ${warehouse} and status = 'pending'`;
  const answer = await tenant.ops.put(`/warehousing/receiving-orders/${receipt}`, {
    status: "received",
  });
  expect(answer).toSucceed(200);
};

test("what waits there is fetched from, and what goes there is brought to, the new address; its driver learns of it", async () => {
  const { id: leaves } = await newDelivery(ground, {
    pickup_address_id: undefined,
    pickup_warehouse_id: ground.warehouse,
  });
  const { id: comes } = await newDelivery(ground, {
    dropoff_address_id: undefined,
    dropoff_warehouse_id: ground.warehouse,
  });
  const { id: elsewhere } = await newDelivery(ground);
  const before = await placesOf(elsewhere);
  await assign(tenant, comes);
  const now = await moved();
  expect(await placesOf(leaves)).toMatchObject({ from: now, fetched: now, kept: null });
  expect(await placesOf(comes)).toMatchObject({ to: now, brought: now });
  expect(await placesOf(elsewhere)).toEqual(before);
  const { body } = await tenant.driver.get("/tenants/me/notifications", {
    query: { type: "delivery_changed" },
  });
  expect(body.data.map((one: { payload: { delivery_id: string } }) => one.payload.delivery_id))
    .toEqual([comes]);
});

test("what came from there and failed is returned when it is back, and not sent out again", async () => {
  const { id } = await newDelivery(ground, {
    pickup_address_id: undefined,
    pickup_warehouse_id: ground.warehouse,
  });
  await assign(tenant, id);
  await moves(tenant.driver, id, "pickup", "depart", "fail");
  await moved();
  await moves(tenant.driver, id, ["return", { warehouse_id: ground.warehouse }]);
  await receivedIn(id, ground.warehouse);
  expect(await statusOf(id)).toBe("returned");
});

test("what another warehouse sends there ends there", async () => {
  const { tenant: own, yard } = await newTransferring();
  for (const follows of [true, false]) {
    const parcel = await newPackage(yard, {
      dropoff_address_id: undefined,
      dropoff_warehouse_id: yard.there,
      payer_type: "sender",
      cod_amount: 0,
    });
    await transferNoted(yard, parcel.barcode);
    const before = await placesOf(parcel.id);
    const address_id = await newAddress(own);
    expect(await own.ops.put(`/warehousing/warehouses/${yard.there}`, { address_id }))
      .toSucceed(200);
    expect((await placesOf(parcel.id)).to).toBe(address_id);
    // One that was ordered while the warehouse moved has the address of before.
    if (!follows) {
      await sql`update delivery.deliveries set dropoff_address_id = ${before.to} where id = ${parcel.id}`;
    }
    await assign(own, parcel.id);
    await moves(own.driver, parcel.id, "pickup", "depart", "complete");
    expect(await statusOf(parcel.id)).toBe("delivered");
  }
});

test("goods of a store that a customer sends back go to where the warehouse stands now", async () => {
  const shop = await newShop();
  await withDriver(shop);
  const customer = await newPerson(shop.tenant.id, "customer", "customer");
  const { id: order } = await placeOrder(shop, "cash", 2, customer);
  const { deliveries: [{ delivery_id: id }] } = await approveOrder(shop, order);
  await bring(shop, id, "delivered");
  const address_id = await newAddress(shop.tenant);
  const answer = await shop.tenant.ops.put(`/warehousing/warehouses/${shop.shelf.warehouse}`, {
    address_id,
  });
  expect(answer).toSucceed(200);
  const [{ service }] = await sql`update delivery.delivery_services set allow_returns = true
    where tenant_id = ${shop.tenant.id} returning id as service`;
  for (const by of [customer, shop.tenant.ops]) {
    const made = await by.post(path, {
      delivery_flow: "customer_return",
      original_delivery_id: id,
      delivery_service_id: service,
      payer_type: "sender",
      payment_method: "cash",
      return_items: await halfOf(id),
    });
    expect(made).toSucceed(201);
    expect((await placesOf(made.body.delivery.id)).to).toBe(address_id);
  }
});

/** One of two units of what was in a delivery. */
const halfOf = async (id: string) =>
  (await sql`select id as delivery_item_id, 1 as quantity from delivery.delivery_items where delivery_id = ${id}`)
    .map((one) => ({ ...one }));
