/** A door-to-door parcel that a transfer left in another warehouse goes back to where it was ordered from. */
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  handedTo,
  move,
  moves,
  parcelStock,
  path,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newYard, whereIs, type Yard } from "../../support/packages.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  fromSender,
  fromWarehouse,
  received,
  sentBackBy,
  transferNoted,
  transferred,
} from "../../support/send-back.ts";
import { waybillSteps } from "../../support/waybills.ts";

let tenant: Tenant;
let yard: Yard;
beforeAll(async () => {
  tenant = await newTenant();
  yard = await newYard(tenant);
});

const addressOf = async (warehouse: string) =>
  (await sql`select address_id from warehousing.warehouses where id = ${warehouse}`)[0].address_id;

const detail = async (id: string) => (await tenant.ops.get(`${path}/${id}`)).body.delivery;

describe.each(["operational-return", "cancel"] as const)("sent back by %s", (call) => {
  const ended = call === "cancel" ? "cancelled" : "returned";

  test("one of a sender goes from where it lies to the sender's door", async () => {
    const parcel = await fromSender(yard, { cod_amount: 25 });
    const { id } = await sentBackBy(yard, parcel.id, call);
    expect(await detail(id)).toMatchObject({
      pickup_address_id: await addressOf(yard.there),
      pickup_warehouse_id: yard.there,
      current_warehouse_id: yard.there,
      sender: null,
      dropoff_address_id: yard.from,
      dropoff_warehouse_id: null,
      price: 0,
      cod_amount: 0,
    });
    expect(await statusOf(parcel.id)).toBe(call === "cancel" ? "cancelled" : "pending");
    await takenOver(yard, id, tenant.driver2);
    await moves(tenant.driver2, id, "depart", "complete");
    expect([await statusOf(id), await statusOf(parcel.id)]).toEqual(["delivered", ended]);
    expect(await whereIs(parcel.id)).toMatchObject({ at: null });
    await checkAll(tenant);
  });

  test("one of a warehouse is received there", async () => {
    const parcel = await fromWarehouse(yard);
    await transferred(yard, parcel);
    const { id } = await sentBackBy(yard, parcel.id, call);
    expect(await detail(id)).toMatchObject({
      pickup_address_id: await addressOf(yard.there),
      sender: null,
      dropoff_address_id: await addressOf(yard.warehouse),
      dropoff_warehouse_id: yard.warehouse,
    });
    await takenOver(yard, id, tenant.driver2);
    await moves(tenant.driver2, id, "depart", "complete");
    expect([await statusOf(id), await statusOf(parcel.id)]).toEqual(["delivered", ended]);
    expect(await whereIs(parcel.id)).toMatchObject({ at: yard.warehouse });
    await checkAll(tenant);
  });
});

describe("a return that did not leave", () => {
  test("is cancelled, and the parcel waits where it lies as before and continues", async () => {
    for (const parcel of [await fromSender(yard), await fromWarehouse(yard)]) {
      if ((await whereIs(parcel.id)).at === null) await transferred(yard, parcel);
      const before = await detail(parcel.id);
      const { id } = await sentBackBy(yard, parcel.id, "operational-return");
      await handedTo(yard, id, tenant.driver2);
      await moves(tenant.ops, id, ["cancel", { reason: "wanted after all" }]);
      expect(await statusOf(id)).toBe("cancelled");
      const after = await detail(parcel.id);
      for (const field of ["status", "pickup_address", "pickup_warehouse_id", "status_reason"]) {
        expect(after[field], field).toEqual(before[field]);
      }
      expect(after.current_warehouse_id).toBe(yard.there);
      const again = await sentBackBy(yard, parcel.id, "operational-return");
      await moves(tenant.ops, again.id, ["cancel", { reason: "once more" }]);
      await assign(tenant, parcel.id, tenant.driver2);
      await moves(tenant.driver2, parcel.id, "pickup", "depart", "complete");
      expect(await statusOf(parcel.id)).toBe("delivered");
      expect(await parcelStock(parcel.id)).toEqual({});
      await checkAll(tenant);
    }
  });

  test("of a cancelled order is cancelled only when nothing of its parcel is left", async () => {
    const parcel = await fromSender(yard);
    const { id } = await sentBackBy(yard, parcel.id, "cancel");
    expect(await move(tenant.ops, id, "cancel", { reason: "no" }))
      .toFailWith(409, "invalid_status_transition");
    await takenOver(yard, id, tenant.driver2);
    await moves(tenant.driver2, id, "fail");
    const { receiving_order_id } = await moves(tenant.driver2, id, "return");
    expect(
      await tenant.warehouse.put(`/warehousing/receiving-orders/${receiving_order_id}`, {
        status: "received",
        item_details: [{ received_quantity: 0 }],
      }),
    ).toSucceed();
    await moves(tenant.ops, id, ["cancel", { reason: "lost" }]);
    expect([await statusOf(id), await statusOf(parcel.id)]).toEqual(["cancelled", "cancelled"]);
  });

  test("fails at the sender's door and comes back to where it lay", async () => {
    const parcel = await fromSender(yard);
    const { id } = await sentBackBy(yard, parcel.id, "operational-return");
    await takenOver(yard, id, tenant.driver2);
    await moves(tenant.driver2, id, "depart", "fail");
    await received(yard, (await moves(tenant.driver2, id, "return")).receiving_order_id);
    expect(await whereIs(id)).toMatchObject({ status: "pending", at: yard.there });
    expect(await whereIs(parcel.id)).toMatchObject({ status: "pending", at: yard.there });
    await takenOver(yard, id, tenant.driver);
    await moves(tenant.driver, id, "complete");
    expect(await statusOf(parcel.id)).toBe("returned");
    await checkAll(tenant);
  });

  test("goes by waybill to the warehouse of its order, and ends there", async () => {
    const parcel = await fromWarehouse(yard);
    await transferred(yard, parcel);
    const { id } = await sentBackBy(yard, parcel.id, "operational-return");
    const opposite = { ...yard, warehouse: yard.there, there: yard.warehouse };
    const { onTheRoad, step } = waybillSteps(tenant, opposite);
    expect(await step(await onTheRoad(id), "receive")).toSucceed(200);
    expect(await whereIs(id)).toMatchObject({ status: "delivered", at: yard.warehouse });
    expect(await whereIs(parcel.id)).toMatchObject({ status: "returned", at: yard.warehouse });
    await checkAll(tenant);
  });
});

describe("on the road between warehouses", () => {
  test("by its driver, both calls wait and name the transfer", async () => {
    const parcel = await fromWarehouse(yard);
    const transfer_id = await transferNoted(yard, parcel.barcode);
    await assign(tenant, parcel.id);
    await moves(tenant.driver, parcel.id, "pickup", "depart");
    const named = { transfer_id, waybill_id: null, destination_warehouse_id: yard.there };
    const back = await move(tenant.ops, parcel.id, "operational-return");
    expect(back).toFailWith(409, "delivery_not_in_warehouse");
    expect(back.body).toMatchObject(named);
    const off = await move(tenant.ops, parcel.id, "cancel", { reason: "no" });
    expect(off).toFailWith(409, "invalid_status_transition");
    expect(off.body).toMatchObject(named);
    expect(off.body.message).toContain("on its way to");
    await moves(tenant.driver, parcel.id, "complete");
    await sentBackBy(yard, parcel.id, "cancel");
  });

  test.each(["operational-return", "cancel"] as const)("by waybill, %s waits", async (call) => {
    const parcel = await fromWarehouse(yard);
    const { onTheRoad, step } = waybillSteps(tenant, yard);
    const waybill_id = await onTheRoad(parcel.id);
    const early = await move(tenant.ops, parcel.id, call, { reason: "no" });
    expect(early.status).toBe(409);
    expect(early.body).toMatchObject({ waybill_id, destination_warehouse_id: yard.there });
    expect(await step(waybill_id, "receive")).toSucceed(200);
    // Never in a driver's own hands, and not where it was ordered from: it goes back as well.
    const { id } = await sentBackBy(yard, parcel.id, call);
    expect(await move(tenant.customer, parcel.id, "cancel", { reason: "no" })).toFailWith(
      409,
      "invalid_status_transition",
    );
    await takenOver(yard, id, tenant.driver2);
    await moves(tenant.driver2, id, "complete");
    expect(await statusOf(parcel.id)).toBe(call === "cancel" ? "cancelled" : "returned");
    await checkAll(tenant);
  });
});

test("in the warehouse of its order again, it is cancelled there and not sent back", async () => {
  const parcel = await fromWarehouse(yard);
  await transferred(yard, parcel);
  await transferNoted(yard, parcel.barcode, true);
  await assign(tenant, parcel.id);
  await moves(tenant.driver, parcel.id, "pickup", "complete");
  const refused = await move(tenant.ops, parcel.id, "operational-return");
  expect(refused).toFailWith(409, "invalid_status_transition");
  expect(refused.body.message).toContain("already lies");
  const off = await moves(tenant.ops, parcel.id, ["cancel", { reason: "no" }]);
  expect(off).toMatchObject({ delivery: { status: "cancelled" }, operational_return: null });
});
