/** A customer's return that its driver brings into a warehouse: it continues from there, ends there, or goes back to its customer. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { newReturning, returning, returnOf, waiting } from "../../support/customer-returns.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  move,
  moves,
  parcelStock,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { whereIs, type Yard } from "../../support/packages.ts";
import { saveSettings, type Tenant } from "../../support/people.ts";
import { received } from "../../support/send-back.ts";
import { newWarehouse } from "../../support/warehouses.ts";
import { waybillSteps } from "../../support/waybills.ts";

let yard: Yard;
let tenant: Tenant;
beforeAll(async () => {
  yard = await newReturning();
  tenant = yard.tenant;
});
afterAll(() => checkAll(tenant));

const cashOf = async (id: string) =>
  (await sql`select amount::int as amount from money.cod_collections
    where delivery_id = ${id}`).map(({ amount }) => amount);
const placeOf = async (id: string) => {
  const [row] = await sql`select dropoff_address_id as to, recipient ->> 'name' as name
    from delivery.deliveries where id = ${id}`;
  return { ...row };
};

describe("on its way into a warehouse that it does not go to", () => {
  test("it waits there and the next driver brings it on; its fee is taken once", async () => {
    const { id, parcel } = await waiting(yard);
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there });
    expect(await parcelStock(id)).toEqual({ available: 1 });
    expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
    const given = { delivery_id: id, driver_id: tenant.driver2.id };
    expect(await tenant.ops.post("/delivery/assignments", given)).toSucceed(201);
    await sql`update delivery.assignments set status = 'accepted'
      where delivery_id = ${id} and driver_id = ${tenant.driver2.id}`;
    await moves(tenant.driver2, id, "pickup", "depart", "complete");
    expect(await whereIs(id)).toMatchObject({ status: "delivered", at: null });
    expect(await parcelStock(id)).toEqual({});
    expect(await cashOf(id)).toEqual([1000]);
    await checkAll(tenant);
  });

  test("given back by the next driver, its units may be returned again", async () => {
    const { id, parcel } = await waiting(yard);
    await assign(tenant, id, tenant.driver2);
    await moves(tenant.driver2, id, "pickup", "depart", "return");
    expect(await whereIs(id)).toMatchObject({ status: "returned", at: null });
    expect(await returnOf(yard, parcel)).toSucceed(201);
  });

  test("cancelled there it goes back to its customer, and may be returned again then", async () => {
    const { id, parcel } = await waiting(yard);
    expect(await move(tenant.customer, id, "cancel", { reason: "kept" }))
      .toFailWith(409, "invalid_status_transition");
    const cancelled = await move(tenant.ops, id, "cancel", { reason: "kept" });
    expect(cancelled).toSucceed(200);
    const back = cancelled.body.operational_return;
    expect(await placeOf(back.id)).toEqual({ to: yard.to, name: "Recipient" });
    expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
    await takenOver(yard, back.id, tenant.driver2);
    await moves(tenant.driver2, back.id, "depart");
    expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
    await moves(tenant.driver2, back.id, "complete");
    expect(await statusOf(id)).toBe("cancelled");
    const again = await returnOf(yard, parcel);
    expect(again).toSucceed(201);
    const undo = (by: Person) => move(by, back.id, "outcome/undo", { reason: "Not there" });
    for (const by of [tenant.driver2, tenant.ops]) {
      expect(await undo(by)).toFailWith(409, "outcome_went_on");
    }
    expect(await move(tenant.ops, again.body.id, "cancel", { reason: "kept" })).toSucceed(200);
    expect(await undo(tenant.driver2)).toSucceed(200);
    expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
    await checkAll(tenant);
  });

  test("a waybill brings it on, and what it brought without stock goes back as well", async () => {
    const { id: parcel } = await deliveryIn(yard, "delivered");
    const { id } = (await returnOf(yard, parcel, { pickup_warehouse_id: yard.warehouse })).body;
    const { onTheRoad, step } = waybillSteps(tenant, yard);
    expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there });
    expect(await parcelStock(id)).toEqual({});
    const cancelled = await move(tenant.ops, id, "cancel", { reason: "kept" });
    const back = cancelled.body.operational_return.id;
    await takenOver(yard, back, tenant.driver2);
    await moves(tenant.driver2, back, "depart", "complete");
    expect(await whereIs(back)).toMatchObject({ status: "delivered", to: yard.warehouse });
    await checkAll(tenant);
  });

  test("of which the warehouse found nothing is cancelled, and counts as returned", async () => {
    const { id, parcel } = await returning(yard);
    const to = { warehouse_id: yard.there };
    const { receiving_order_id } = await moves(tenant.driver, id, ["return", to]);
    const nothing = { status: "received", item_details: [{ received_quantity: 0 }] };
    expect(await tenant.ops.put(`/warehousing/receiving-orders/${receiving_order_id}`, nothing))
      .toSucceed(200);
    const cancelled = await move(tenant.ops, id, "cancel", { reason: "lost" });
    expect(cancelled).toSucceed(200);
    expect(cancelled.body.operational_return).toBeNull();
    expect(await returnOf(yard, parcel)).toFailWith(409, "return_already_exists");
  });
});

describe("brought by its driver into the warehouse that it goes to", () => {
  const into = { dropoff_warehouse_id: "" };
  beforeAll(async () => {
    into.dropoff_warehouse_id = yard.there;
    await saveSettings(tenant.id, "general.driver", {
      mode: "per_delivery",
      per_delivery: { base_amount: 700 },
    });
    await sql`update delivery.delivery_services set policy_mode = 'custom',
      policy_overrides = '{"payment_policies": {"refund_delivery_fee_on_return": true}}'
      where id = ${yard.service}`;
  });

  test("it is completed: received there, its driver paid, and no fee given back", async () => {
    const { id } = await waiting(yard, yard.there, into);
    expect(await whereIs(id)).toMatchObject({ status: "delivered", at: yard.there });
    expect(await parcelStock(id)).toEqual({ available: 1 });
    expect(await sql`select from money.payments where delivery_id = ${id} and type = 'REFUND'`)
      .toEqual([]);
    expect(
      await sql`select driver_id, amount::int as amount from money.driver_pay
      where delivery_id = ${id}`,
    ).toEqual([{ driver_id: tenant.driver.id, amount: 700 }]);
  });

  test("the fee that is due there is taken, also after an attempt that failed", async () => {
    const { id } = await returning(yard, { ...into, payer_type: "receiver" });
    const to = { warehouse_id: yard.there, occurred_at: new Date().toISOString() };
    const { receiving_order_id, refunded, refund_due } = await moves(
      tenant.driver,
      id,
      ["fail", { reason: "closed" }],
      ["return", to],
    );
    const again = await move(tenant.driver, id, "return", to);
    expect(again).toFailWith(409, "delivery_status_changed");
    expect(again.body.status).toBe("delivered");
    expect({ refunded, refund_due }).toEqual({ refunded: false, refund_due: null });
    await received(yard, receiving_order_id);
    expect(await whereIs(id)).toMatchObject({ status: "delivered", at: yard.there });
    expect(await cashOf(id)).toEqual([1000]);
  });
});

test("a return from a door that a transfer brought without stock is not lost: nobody cancels it", async () => {
  const bare = await newWarehouse(tenant);
  const { id } = await deliveryIn(yard, "in_transit");
  const exchanged = { result: "exchanged", taken_back: [{ name: "Old phone", quantity: 1 }] };
  const answer = await move(tenant.driver, id, "outcome", exchanged);
  const [back] = answer.body.data.returns;
  const to = { warehouse_id: yard.warehouse };
  const { receiving_order_id } = await moves(tenant.driver, back.id, ["return", to]);
  await received(yard, receiving_order_id);
  const recorded = await tenant.ops.post("/warehousing/package-transfers", {
    mode: "delivery_operation",
    operation_type: "single_delivery",
    source_warehouse_id: yard.warehouse,
    destination_warehouse_id: bare,
    package_barcodes: [back.barcode],
  }, { headers: { "idempotency-key": back.id } });
  expect(recorded).toSucceed(201);
  await assign(tenant, back.id, tenant.driver2);
  await moves(tenant.driver2, back.id, "pickup", "depart", "complete");
  expect(await whereIs(back.id)).toMatchObject({ status: "pending", at: bare });
  expect(await move(tenant.ops, back.id, "cancel", { reason: "lost" }))
    .toFailWith(409, "invalid_status_transition");
});
