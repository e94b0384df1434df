/** A parcel that its warehouse received with nothing in it is cancelled for good, and so is a return of which nothing lies there. */
import { beforeEach, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newGround,
  parcelStock,
  path,
  statusOf,
} from "../../support/deliveries.ts";
import { priced } from "../../support/kept-parts.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { breachesIn } from "../../support/reconciled.ts";
import { received, receivedIn, receiveOf, sentBack } from "../../support/short-parcels.ts";

let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const sound = async () => {
  await checkAll(tenant);
  expect(await breachesIn(tenant)).toEqual([]);
};
const returnsOf = (parcel: string) =>
  sql`select id from delivery.deliveries where original_delivery_id = ${parcel}`;
const closed = () => tenant.ops.delete(`/warehousing/warehouses/${ground.warehouse}`);

/** A door-to-door parcel that came back into the warehouse with this in it. */
async function broughtBack(how: keyof typeof received): Promise<string> {
  const d = await deliveryIn(ground, "in_transit", priced);
  await moves(tenant.driver, d.id, "fail", ["return", { warehouse_id: ground.warehouse }]);
  await receiveOf(tenant, d.id, ground.bin, received[how]);
  return d.id;
}

test("by its parcel or its leg, without a return, and its warehouse can close", async () => {
  for (const which of ["parent", "leg"]) {
    const { parent, b } = await receivedIn(ground, "nothing");
    const id = which === "leg" ? b : parent.id;
    expect(await move(tenant.customer, id, "cancel", { reason: "lost" })).not.toSucceed(200);
    const answer = await move(tenant.ops, id, "cancel", { reason: "lost" });
    expect(answer).toSucceed(200);
    expect(answer.body).toMatchObject({
      operational_return: null,
      delivery: { status: "cancelled" },
    });
    expect([await statusOf(parent.id), await statusOf(b)]).toEqual(["cancelled", "cancelled"]);
    expect(await returnsOf(parent.id)).toEqual([]);
    expect((await tenant.ops.get(`${path}/${parent.id}`)).body.delivery.current_warehouse_id)
      .toBeNull();
    expect(await parcelStock(parent.id)).toEqual({});
    expect(await move(tenant.ops, id, "cancel", { reason: "lost" }))
      .toFailWith(409, "invalid_status_transition");
  }
  await sound();
  expect(await closed()).toSucceed(200);
});

test("of a door-to-door parcel that came back as an empty box as well", async () => {
  const id = await broughtBack("nothing");
  const answer = await move(tenant.ops, id, "cancel", { reason: "lost" });
  expect(answer).toSucceed(200);
  expect(answer.body.operational_return).toBeNull();
  expect(await statusOf(id)).toBe("cancelled");
  await sound();
  expect(await closed()).toSucceed(200);
});

test("its fee is refunded by the policy in force, as of any that is cancelled", async () => {
  await sql`update delivery.delivery_services
    set policy_mode = 'custom', policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_cancel": true}}'
    where id = ${ground.service}`;
  const { parent } = await receivedIn(ground, "nothing", { payer_type: "sender" });
  const answer = await move(tenant.ops, parent.id, "cancel", { reason: "lost" });
  expect(answer.body).toMatchObject({ operational_return: null, refunded: true });
  await sound();
});

test("its return is neither prepared nor given to a driver, but cancelled; then the parcel is", async () => {
  const id = await broughtBack("nothing");
  const { body: { id: back } } = await move(tenant.ops, id, "operational-return", {});
  expect(await move(tenant.ops, back, "execute"))
    .toFailWith(409, "warehouse_preparation_inconsistent");
  expect(
    await tenant.dispatcher.post("/delivery/assignments", {
      delivery_id: back,
      driver_id: tenant.driver.id,
    }),
  ).toFailWith(409, "warehouse_preparation_inconsistent");
  expect(await move(tenant.ops, id, "cancel", { reason: "lost" }))
    .toFailWith(409, "return_already_exists");
  expect(await move(tenant.ops, back, "cancel", { reason: "lost" })).toSucceed(200);
  expect(await move(tenant.ops, id, "cancel", { reason: "lost" })).toSucceed(200);
  await sound();
});

test("a return that an older release made of nothing is cancelled, also of a cancelled order", async () => {
  const id = await broughtBack("nothing");
  const { body: { id: back } } = await move(tenant.ops, id, "operational-return", {});
  await sql`update delivery.deliveries set status = 'cancelled' where id = ${id}`;
  expect(await move(tenant.ops, back, "execute"))
    .toFailWith(409, "warehouse_preparation_inconsistent");
  expect(await move(tenant.ops, back, "cancel", { reason: "lost" })).toSucceed(200);
  await sound();
  expect(await closed()).toSucceed(200);
});

test("what of a return is gone from its warehouse since lets it be cancelled as well", async () => {
  const { parcel, back } = await sentBack(ground, "short");
  const [{ item_id }] = await sql`select item_id from delivery.delivery_items
    where delivery_id = ${parcel} order by position limit 1`;
  expect(await move(tenant.ops, back, "cancel", { reason: "lost" }))
    .toFailWith(409, "invalid_status_transition");
  expect(
    await tenant.warehouse.post("/warehousing/inventory/adjustments", {
      warehouse_id: ground.warehouse,
      item_id,
      bin_id: ground.bin,
      delta: -1,
      reason: "lost",
    }),
  ).toSucceed(201);
  expect(await move(tenant.ops, back, "execute"))
    .toFailWith(409, "warehouse_preparation_inconsistent");
  expect(await move(tenant.ops, back, "cancel", { reason: "lost" })).toSucceed(200);
  await sound();
  expect(await closed()).toSucceed(200);
});

test("one that came back short goes back, and its return stays as long as something lies there", async () => {
  const id = await broughtBack("short");
  const answer = await move(tenant.ops, id, "cancel", { reason: "short" });
  expect(answer).toSucceed(200);
  expect(answer.body.operational_return).toMatchObject({ status: "pending" });
  expect(await move(tenant.ops, answer.body.operational_return.id, "cancel", { reason: "no" }))
    .toFailWith(409, "invalid_status_transition");
  await sound();
});
