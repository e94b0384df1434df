/** The undo of `execute`: a parcel that was prepared for a driver lies open again, and travels in another way. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  handedTo,
  move,
  moves,
  path,
  takenOver,
} from "../../support/deliveries.ts";
import { eventsOf } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTransferring, type Transferring } from "../../support/package-transfers.ts";
import { newStaff, newStagedPackage, newYard, whereIs } from "../../support/packages.ts";
import { newPerson, newTenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { withKey } from "../../support/waybills.ts";
import { unitsOf } from "../../support/warehouses.ts";

let { tenant, yard, body, post } = {} as Transferring;
beforeAll(async () => {
  ({ tenant, yard, body, post } = await newTransferring());
});

const undo = (leg: string, said: object = {}, by = tenant.warehouse) =>
  by.post(`${path}/${leg}/execute/undo`, said);
const itemOf = async (parcel: string) =>
  (await sql`select item_id from delivery.delivery_items where delivery_id = ${parcel}`)[0].item_id;
const prepared = async () => {
  const { parent, b } = await newStagedPackage(yard);
  expect(await move(tenant.ops, b, "execute")).toSucceed(200);
  return { parent, leg: b, item: await itemOf(parent.id) };
};

test("its stock is free, its pick is cancelled with the reason, and it leaves by a waybill, which it could not before", async () => {
  const { parent, leg, item } = await prepared();
  const waybill = () =>
    post(
      body("delivery_operation", { operation_type: "waybill", delivery_ids: [parent.id] }),
      withKey(),
    );
  expect(await waybill()).toFailWith(400, "no_transferable_packages");
  const answer = await undo(leg, { reason: "It goes to Basra by waybill" });
  expect(answer).toSucceed(200);
  expect(answer.body).toMatchObject({
    delivery: { id: leg, status: "pending" },
    picking_order: { status: "cancelled", delivery_id: leg, item_details: [{ quantity: 1 }] },
  });
  expect(await unitsOf(item)).toEqual({ available: 1 });
  const pick = await tenant.ops.get(
    `/warehousing/picking-orders/${answer.body.picking_order.id}`,
  );
  expect(pick.body.order.notes).toBe("It goes to Basra by waybill");
  expect(await eventsOf(answer.body.picking_order.id, "picking_order.cancelled")).toEqual([
    expect.objectContaining({ delivery_id: leg, from: "completed", actor_id: tenant.warehouse.id }),
  ]);
  expect(await waybill()).toSucceed(201);
  await checkAll(tenant);
});

test("prepared again it goes to its driver and to its door, with one handoff", async () => {
  const { leg } = await prepared();
  expect(await undo(leg)).toSucceed(200);
  expect(await undo(leg)).toFailWith(409, "delivery_not_prepared");
  expect(
    await tenant.ops.post("/delivery/assignments", {
      delivery_id: leg,
      driver_id: tenant.driver.id,
    }),
  ).toFailWith(409, "warehouse_preparation_inconsistent");
  await takenOver(yard, leg);
  await moves(tenant.driver, leg, "depart", "complete");
  expect(
    await sql`select status from delivery.package_handoffs where delivery_id = ${leg}`,
  ).toEqual([{ status: "completed" }]);
  await checkAll(tenant);
});

test("a handoff whose driver declined waits no more", async () => {
  const { leg } = await prepared();
  const assignment = await assign(tenant, leg, tenant.driver, "pending");
  expect(await tenant.driver.put(`/delivery/assignments/${assignment}`, { status: "rejected" }))
    .toSucceed(200);
  expect(await undo(leg)).toSucceed(200);
  expect(
    await sql`select status from delivery.package_handoffs where delivery_id = ${leg}`,
  ).toEqual([{ status: "cancelled" }]);
  await handedTo(yard, leg);
  await checkAll(tenant);
});

test("a return that was prepared is cancelled as before, or prepared anew", async () => {
  const { parent, b } = await newStagedPackage(yard);
  const made = await tenant.ops.post(`${path}/${parent.id}/operational-return`, {
    reason: "Wrong",
  });
  expect(made).toSucceed(201);
  const back = made.body.delivery.id;
  const item = await itemOf(parent.id);
  for (let round = 0; round < 2; round++) {
    expect(await move(tenant.ops, back, "execute")).toSucceed(200);
    expect(await unitsOf(item)).toEqual({ reserved: 1 });
    expect(await undo(back)).toSucceed(200);
    expect(await unitsOf(item)).toEqual({ available: 1 });
  }
  expect(await move(tenant.ops, back, "cancel", { reason: "Kept" })).toSucceed(200);
  expect(await whereIs(b)).toMatchObject({ status: "pending", at: yard.warehouse });
  await checkAll(tenant);
});

test("with a driver, or from door to door, there is nothing to undo", async () => {
  const { leg, item } = await prepared();
  await handedTo(yard, leg);
  const refused = await undo(leg);
  expect(refused).toFailWith(409, "invalid_status_transition");
  expect(await unitsOf(item)).toEqual({ reserved: 1 });
  const standard = await deliveryIn(yard, "pending");
  expect(await undo(standard.id)).toFailWith(409, "delivery_not_executable");
});

test("an assignment and an undo at once: one comes through, and what is assigned is prepared", async () => {
  for (const first of ["assign", "undo"]) {
    const { leg, item } = await prepared();
    const calls = [
      () =>
        tenant.ops.post("/delivery/assignments", { delivery_id: leg, driver_id: tenant.driver.id }),
      () => undo(leg),
    ];
    const answers = await queuedOn(leg, first === "assign" ? calls : calls.reverse());
    expect(answers.map(({ status }) => status < 300), first).toEqual([true, false]);
    expect(await unitsOf(item)).toEqual(first === "assign" ? { reserved: 1 } : { available: 1 });
  }
  await checkAll(tenant);
});

test("who prepares may undo it: not others, not another warehouse's staff, not another company", async () => {
  const { leg } = await prepared();
  const call = { method: "POST" as const, path: `${path}/${leg}/execute/undo` };
  await expectGuarded(call, { denied: [tenant.customer, tenant.institution, tenant.driver] });
  await expectRefused(tenant.warehouse, call, [
    [{ reason: 7 }, "reason"],
    [{ reason: "x".repeat(2_001) }, "reason"],
  ]);
  const foreign = await newYard(await newTenant());
  const theirs = await newStagedPackage(foreign);
  await expectNoSuch(
    tenant.ops,
    { ...call, path: `${path}/{id}/execute/undo` },
    "delivery_id",
    "delivery_not_found",
    theirs.b,
  );
  const elsewhere = await newPerson(tenant.id, "staff", "warehouse_staff");
  await newStaff(tenant, yard.there, elsewhere.id, "E-7");
  expect(await undo(leg, {}, elsewhere)).not.toSucceed();
  await expectReplayed(tenant.warehouse, `${path}/${leg}/execute/undo`, {});
});
