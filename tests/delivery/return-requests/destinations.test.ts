/** Where returns go that name no place: to the sender, to the default warehouse, or nowhere unless they name one. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  deliveryIn,
  type Ground,
  move,
  newGround,
  newWarehouse,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { newAddress } from "../../support/make.ts";
import { approveOrder, withDriver } from "../../support/order-goods.ts";
import { newShop, placeOrder } from "../../support/orders.ts";
import { newTenant, saveSettings } from "../../support/people.ts";

interface Returning extends Ground {
  /** The default warehouse, and where it stands. */
  home: string;
  stands: string;
}

/** A company whose returns go as this word says; its default warehouse is another than where its parcels lie. */
async function newReturning(destination_mode?: string): Promise<Returning> {
  const ground = await newGround(await newTenant());
  const { tenant } = ground;
  const stands = await newAddress(tenant);
  const { warehouse: home } = await newWarehouse(tenant, stands);
  await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: home });
  if (destination_mode) {
    await saveSettings(tenant.id, "general.delivery", { return_requests: { destination_mode } });
  }
  await sql`update delivery.delivery_services set allow_returns = true where id = ${ground.service}`;
  return { ...ground, home, stands };
}

const placeOf = async (id: string) => {
  const [row] = await sql`select dropoff_address_id as address, dropoff_warehouse_id as warehouse
    from delivery.deliveries where id = ${id}`;
  return { ...row };
};

async function customerReturn(ground: Ground, more: object = {}) {
  const { id } = await deliveryIn(ground, "delivered");
  return await ground.tenant.customer.post(path, {
    delivery_flow: "customer_return",
    original_delivery_id: id,
    delivery_service_id: ground.service,
    payer_type: "sender",
    payment_method: "cash",
    unit_size: 2,
    ...more,
  });
}

async function sentBack(ground: Ground, body: object = {}) {
  const { parent } = await stagedInWarehouse(ground);
  return await move(ground.tenant.ops, parent.id, "operational-return", { ...body });
}

describe.each([undefined, "sender", "company"])("with the mode %s", (mode) => {
  test("returns go to their senders", async () => {
    const ground = await newReturning(mode);
    for (const made of [await customerReturn(ground), await sentBack(ground)]) {
      expect(made).toSucceed(201);
      expect(await placeOf(made.body.id)).toEqual({ address: ground.from, warehouse: null });
    }
  });
});

test("a return that names nobody is for who takes it back: the sender, or the warehouse", async () => {
  const receiverOf = async (ground: Returning, more: object = {}) => {
    const made = await customerReturn(ground, more);
    expect(made).toSucceed(201);
    return (await ground.tenant.ops.get(`${path}/${made.body.id}`)).body.delivery.recipient;
  };
  const toSender = await newReturning();
  const [{ full_name }] = await sql`select full_name from tenancy.profiles
    where id = ${toSender.tenant.customer.id}`;
  expect((await receiverOf(toSender)).name).toBe(full_name);
  expect(await receiverOf(toSender, { recipient: { name: "The neighbour" } }))
    .toEqual({ name: "The neighbour" });
  const toWarehouse = await newReturning("warehouse");
  const [{ name }] = await sql`select name from warehousing.warehouses
    where id = ${toWarehouse.home}`;
  expect(await receiverOf(toWarehouse)).toEqual({ name });
});

describe("with the mode warehouse", () => {
  test("returns go to the default warehouse, and are back when it has received them", async () => {
    const ground = await newReturning("warehouse");
    const { home, stands, tenant } = ground;
    for (const made of [await customerReturn(ground), await sentBack(ground)]) {
      expect(made).toSucceed(201);
      expect(await placeOf(made.body.id)).toEqual({ address: stands, warehouse: home });
    }
    const { parent } = await stagedInWarehouse(ground);
    const cancelled = await move(tenant.ops, parent.id, "cancel", { reason: "Lost interest" });
    const { id, recipient } = cancelled.body.operational_return;
    expect(await placeOf(id)).toEqual({ address: stands, warehouse: home });
    expect(recipient.name).toBe("Central");
  });

  test("a parcel that lies there goes to its sender", async () => {
    const ground = await newReturning("warehouse");
    const { tenant, warehouse } = ground;
    await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: warehouse });
    const made = await sentBack(ground);
    expect(made).toSucceed(201);
    expect(await placeOf(made.body.id)).toEqual({ address: ground.from, warehouse: null });
  });

  test.each(["inactive", "maintenance"])(
    "a return goes to the default warehouse also while it is %s",
    async (status) => {
      const ground = await newReturning("warehouse");
      const house = `/warehousing/warehouses/${ground.home}`;
      expect(await ground.tenant.ops.put(house, { status })).toSucceed(200);
      for (const ask of [customerReturn, sentBack]) {
        const made = await ask(ground);
        expect(made).toSucceed(201);
        expect(await placeOf(made.body.delivery?.id ?? made.body.id))
          .toEqual({ address: ground.stands, warehouse: ground.home });
      }
    },
  );

  test("without a default warehouse a return has to name a place", async () => {
    const ground = await newReturning("warehouse");
    const { tenant } = ground;
    await sql`update warehousing.warehouses set deleted_at = now() where id = ${ground.home}`;
    for (const ask of [customerReturn, sentBack]) {
      const refused = await ask(ground);
      expect(refused).toFailWith(400, "return_destination_required");
      expect(refused.body.field).toBe("dropoff_warehouse_id");
      expect(await ask(ground, { dropoff_address_id: ground.from })).toSucceed(201);
    }
    await saveSettings(tenant.id, "general.warehouse", { default_warehouse_id: null });
    expect(await sentBack(ground)).toFailWith(400, "return_destination_required");
  });
});

describe("with the mode choose", () => {
  test("a return has to name one", async () => {
    const ground = await newReturning("choose");
    for (const ask of [customerReturn, sentBack]) {
      const refused = await ask(ground);
      expect(refused).toFailWith(400, "return_destination_required");
      expect(refused.body.field).toBe("dropoff_address_id");
      const there = await ask(ground, { dropoff_warehouse_id: ground.home });
      expect(there).toSucceed(201);
      expect(await placeOf(there.body.id)).toEqual({
        address: ground.stands,
        warehouse: ground.home,
      });
      const elsewhere = await ask(ground, { dropoff_address_id: ground.to });
      expect(await placeOf(elsewhere.body.id)).toEqual({ address: ground.to, warehouse: null });
    }
    const { parent } = await stagedInWarehouse(ground);
    const cancel = (more: object) =>
      move(ground.tenant.ops, parent.id, "cancel", { reason: "Lost interest", ...more });
    expect(await cancel({})).toFailWith(400, "return_destination_required");
    const cancelled = await cancel({ dropoff_address_id: ground.from });
    expect(cancelled).toSucceed(200);
    expect(cancelled.body.operational_return.dropoff_address_id).toBe(ground.from);
  });

  test("the refusal is in the language of the request", async () => {
    const ground = await newReturning("choose");
    const { parent } = await stagedInWarehouse(ground);
    const answer = await ground.tenant.ops.in("ar").post(
      `${path}/${parent.id}/operational-return`,
      {},
    );
    expect(answer.body.message).toBe("يجب أن يحدد المرتجع وجهة الطرد.");
  });
});

test("the goods of a store's order go back to where they are sold from, whatever the setting says", async () => {
  const shop = await newShop({ settings: { "delivery.attempts": { after_last: "return" } } });
  const { tenant } = shop;
  await withDriver(shop);
  const { id: order } = await placeOrder(shop, "cash", 2);
  await approveOrder(shop, order);
  const [{ id, sold_from }] = await sql`select id, pickup_address_id as sold_from
    from delivery.deliveries where order_id = ${order}`;
  const elsewhere = await newAddress(tenant);
  const { warehouse } = await newWarehouse(tenant, elsewhere);
  await sql`update delivery.deliveries set current_warehouse_id = ${warehouse} where id = ${id}`;
  await saveSettings(tenant.id, "general.delivery", {
    return_requests: { destination_mode: "choose" },
  });
  for (const place of [{ dropoff_address_id: elsewhere }, { dropoff_warehouse_id: warehouse }]) {
    for (const by of [tenant.ops, tenant.admin]) {
      const refused = await move(by, id, "operational-return", place);
      expect(refused).toFailWith(409, "return_destination_fixed");
      expect(refused.body.field).toBe(Object.keys(place)[0]);
    }
  }
  const made = await move(tenant.ops, id, "operational-return");
  expect(made).toSucceed(201);
  expect((await placeOf(made.body.id)).address).toBe(sold_from);
});

test("a parcel that goes back to the address of a warehouse is expected there, and does not go where it lies", async () => {
  const ground = await newReturning();
  const named = await sentBack(ground, { dropoff_address_id: ground.stands });
  expect(named).toSucceed(201);
  expect(await placeOf(named.body.id)).toEqual({ address: ground.stands, warehouse: ground.home });
  const [{ address_id }] = await sql`select address_id from warehousing.warehouses
    where id = ${ground.warehouse}`;
  expect(await sentBack(ground, { dropoff_address_id: address_id }))
    .toFailWith(409, "invalid_status_transition");
});

test("a place that is named counts in every mode, and has to be the company's own", async () => {
  const ground = await newReturning("warehouse");
  const stranger = await newReturning();
  const named = await sentBack(ground, { dropoff_address_id: ground.from });
  expect(await placeOf(named.body.id)).toEqual({ address: ground.from, warehouse: null });
  for (const id of [stranger.from, randomUUID()]) {
    const refused = await sentBack(ground, { dropoff_address_id: id });
    expect(refused).toFailWith(404, "address_not_found");
    expect(refused.body.field).toBe("dropoff_address_id");
  }
  for (const id of [stranger.home, randomUUID()]) {
    const refused = await sentBack(ground, { dropoff_warehouse_id: id });
    expect(refused).toFailWith(404, "warehouse_not_found");
    expect(refused.body.field).toBe("dropoff_warehouse_id");
  }
  const { id: pending } = await deliveryIn(ground, "pending");
  for (const dropoff_address_id of [stranger.from, randomUUID()]) {
    const cancel = { reason: "No", dropoff_address_id };
    const refused = await move(ground.tenant.ops, pending, "cancel", cancel);
    expect(refused).toFailWith(404, "address_not_found");
  }
  const here = await sentBack(ground, { dropoff_warehouse_id: ground.warehouse });
  expect(here).toFailWith(409, "invalid_status_transition");
  expect(here.body.message).toContain("already lies in that warehouse");
  const both = { dropoff_address_id: ground.from, dropoff_warehouse_id: ground.home };
  const refused = await sentBack(ground, both);
  expect(refused).toFailWith(400, "validation_failed");
  expect(refused.body.field).toBe("dropoff_warehouse_id");
  expect(await sentBack(ground, { dropoff_address_id: "x" })).toFailWith(400, "invalid_uuid");
});
