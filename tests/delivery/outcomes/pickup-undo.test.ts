/** The undo of a pickup: the parcel waits at its sender's, nobody holds its cash, and the driver who really has it takes both. */
import type postgres from "postgres";
import { beforeEach, expect, test } from "vitest";
import type { Answer, Person } from "../../support/api.ts";
import { handOver } from "../../support/assignments.ts";
import { remit } from "../../support/cod.ts";
import {
  assign,
  bookOf,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { sql } from "../../support/db.ts";
import { fundWallet } from "../../support/money.ts";
import { eventsOf, failed, report, sound, standing, undo } from "../../support/outcomes.ts";
import { queuedBehind, queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import {
  expectGuarded,
  expectNoSuch,
  expectRefused,
  expectReplayed,
} from "../../support/promises.ts";
import { newRoads, redirect } from "../../support/redirects.ts";

type Session = postgres.ReservedSql;

let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

/** Its sender pays the fee of 2,000 in cash, its receiver 5,000 for the goods. */
const bySender = { payer_type: "sender", cod_amount: 5000 };
const fee = { cod: 0, delivery_fee: 2000 };
const parcel = async (status = "picked_up", more: Record<string, unknown> = {}) =>
  (await deliveryIn(ground, status, { ...bySender, ...more })).id as string;
const undoPickup = (by: Person, id: string, reason: unknown = "Wrong parcel") =>
  by.post(`${path}/${id}/pickup/undo`, { reason });
const dueOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.cash_due.pickup.delivery_fee;
const paymentsOf = async (id: string) =>
  (await sql`select type, status from money.payments where delivery_id = ${id} order by created_at, type`)
    .map(({ type, status }) => `${type} ${status}`);

test.each(["picked_up", "in_transit"])(
  "from %s it is in its driver's list as before; another driver takes it, and it lives its whole life",
  async (status) => {
    const before = await standing(tenant);
    const id = await parcel(status);
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(2000);
    const answer = await undoPickup(tenant.driver, id);
    expect(answer).toSucceed(200);
    expect(answer.body.data).toMatchObject({
      delivery: {
        id,
        status: "accepted",
        status_reason: "pickup_undone",
        status_notes: "Wrong parcel",
        picked_up_at: null,
        assignment: { status: "accepted", driver: { id: tenant.driver.id } },
        cash_due: { pickup: { delivery_fee: 2000 } },
      },
      cash: { ...fee, currency: "IQD" },
    });
    expect(await standing(tenant)).toEqual({ ...before, load: (await standing(tenant)).load });
    expect(await paymentsOf(id)).toEqual(["DELIVERY_FEE CANCELLED"]);
    expect(await eventsOf(id, "delivery.pickup_undone")).toMatchObject([{
      reason: "Wrong parcel",
      actor_id: tenant.driver.id,
    }]);
    const { history } = (await tenant.ops.get(`${path}/${id}`)).body.delivery;
    expect(history.at(-1)).toMatchObject({
      to_status: "accepted",
      note: "pickup_undone: Wrong parcel",
    });
    await sound(tenant);

    const [held] = await sql`select id from delivery.assignments where delivery_id = ${id}`;
    expect(await tenant.ops.post(`/delivery/assignments/${held.id}/unassign`, {}))
      .toSucceed(200);
    await assign(tenant, id, tenant.driver2);
    await moves(tenant.driver2, id, ["pickup", { cash_collected: fee }], "depart", [
      "complete",
      { cash_collected: { cod: 5000, delivery_fee: 0 } },
    ]);
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(0);
    expect(await bookOf(tenant, "driver_cash", tenant.driver2.id)).toBe(7000);
    expect(await bookOf(tenant, "wallet", tenant.customer.id)).toBe(5000);
    await sound(tenant);
  },
);

test("picked up once more by the same driver, its cash is taken once more; one undo after the other", async () => {
  const id = await parcel("assigned");
  for (let life = 0; life < 2; life++) {
    await moves(tenant.driver, id, ["pickup", { cash_collected: fee }], "depart");
    expect(await undoPickup(tenant.ops, id)).toSucceed(200);
    expect(await statusOf(id)).toBe("assigned");
    expect(await dueOf(id)).toBe(2000);
  }
  const notices = (await tenant.driver.get("/tenants/me/notifications")).body.data;
  expect(notices.filter(({ type }: { type: string }) => type === "pickup_undone")).toHaveLength(2);
  await moves(tenant.driver, id, "pickup", "depart", "complete");
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(7000);
  await sound(tenant);
});

test("the first leg of a parcel: both are back at the sender's, with the time of no pickup", async () => {
  const parent = await newDelivery(ground, {
    ...bySender,
    staged: true,
    warehouse_id: ground.warehouse,
  });
  const [first] = parent.legs;
  await assign(tenant, first.id);
  await moves(tenant.driver, first.id, "pickup", "depart");
  // By the parcel or by its leg.
  expect(await undoPickup(tenant.ops, parent.id)).toSucceed(200);
  const rows =
    await sql`select status, picked_up_at from delivery.deliveries where id in (${parent.id}, ${first.id})`;
  expect(rows).toEqual(Array(2).fill({ status: "accepted", picked_up_at: null }));
  await moves(tenant.driver, first.id, ["pickup", { cash_collected: fee }], "depart", "complete");
  expect(await undoPickup(tenant.ops, parent.id)).toFailWith(409, "no_pickup_to_undo");
  await sound(tenant);
});

test("an outcome is undone first, and then the pickup", async () => {
  for (const body of [failed, { result: "delivered" }]) {
    const id = await parcel("in_transit");
    expect(await report(tenant.driver, id, body)).toSucceed(200);
    expect(await undoPickup(tenant.ops, id)).toFailWith(409, "no_pickup_to_undo");
    expect(await undo(tenant.driver, id)).toSucceed(200);
    expect(await undoPickup(tenant.driver, id)).toSucceed(200);
    expect(await statusOf(id)).toBe("accepted");
  }
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(0);
  await sound(tenant);
});

test("a parcel that was retried, or that goes to another warehouse, went on", async () => {
  const retried = await parcel("failed");
  await moves(tenant.ops, retried, ["retry", { override_reason: "The customer called" }]);
  expect(await undoPickup(tenant.ops, retried)).toFailWith(409, "pickup_went_on");
  const back = await parcel("in_transit");
  await moves(tenant.driver, back, ["return", { warehouse_id: ground.warehouse }]);
  expect(await undoPickup(tenant.ops, back)).toFailWith(409, "pickup_went_on");
});

test("a wallet bore a change of its fee: it went on", async () => {
  const roads = await newRoads();
  await fundWallet(roads.tenant, "customer", roads.tenant.customer.id, 10_000);
  const { id } = await deliveryIn(roads, "picked_up", bySender);
  expect(await redirect(roads.tenant.ops, id, roads.far, { charge: "wallet" })).toSucceed(200);
  expect(await undoPickup(roads.tenant.ops, id)).toFailWith(409, "pickup_went_on");
  // Nearby it costs the same.
  const near = (await deliveryIn(roads, "picked_up", bySender)).id;
  expect(await redirect(roads.tenant.ops, near, roads.near)).toSucceed(200);
  expect(await undoPickup(roads.tenant.ops, near)).toSucceed(200);
  await sound(roads.tenant);
});

test("beside what ends it, one of the two comes first and the other is refused", async () => {
  const all = { scope: "all", driver_id: tenant.driver.id };
  const rivals: [string, (id: string) => Promise<Answer>][] = [
    [
      "pickup_went_on",
      (id) => move(tenant.driver, id, "return", { warehouse_id: ground.warehouse }),
    ],
    ["no_pickup_to_undo", (id) => move(tenant.driver, id, "complete")],
    ["no_pickup_to_undo", (id) => undoPickup(tenant.driver, id)],
  ];
  for (const [code, rival] of rivals) {
    const [first, second] = [await parcel(), await parcel()];
    const [done, late] = await queuedOn(first, [
      () => rival(first),
      () => undoPickup(tenant.ops, first),
    ]);
    expect(done).toSucceed(200);
    expect(late).toFailWith(409, code);
    const [undone, refused] = await queuedOn(second, [
      () => undoPickup(tenant.ops, second),
      () => rival(second),
    ]);
    expect(undone).toSucceed(200);
    expect(refused!.status).toBe(409);
    expect(await statusOf(second)).toBe("accepted");
  }
  // A settlement holds the driver, and so does the undo before it reads the cash.
  const settled = await parcel();
  const driver = (session: Session) =>
    session`select from delivery.drivers where user_id = ${tenant.driver.id} for update`;
  const [remitted, refused] = await queuedBehind(driver, [
    () => tenant.dispatcher.post(remit, all),
    () => undoPickup(tenant.ops, settled),
  ]);
  expect(remitted).toSucceed(200);
  expect(refused).toFailWith(409, "outcome_is_settled");
  const free = await parcel();
  const [undone, empty] = await queuedBehind(driver, [
    () => undoPickup(tenant.ops, free),
    () => tenant.dispatcher.post(remit, all),
  ]);
  expect(undone).toSucceed(200);
  expect(empty).toFailWith(400, "no_pending_collections");
  await sound(tenant);
});

test("a parcel with another driver, or on its way to one, went on", async () => {
  const id = await parcel();
  const given = await handOver(tenant.ops, tenant.driver, tenant.driver2, [id]);
  expect(given).toSucceed(201);
  expect(await undoPickup(tenant.ops, id)).toFailWith(409, "assignment_not_accepted");
  const hand = `/delivery/assignments/bulk/${given.body.bulk_assignment_id}`;
  expect(await tenant.driver2.put(hand, { status: "accepted" })).toSucceed(200);
  expect(await undoPickup(tenant.driver, id)).toFailWith(409, "assignment_ended");
  expect(await undoPickup(tenant.driver2, id)).toFailWith(409, "pickup_went_on");
  expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(2000);
});

test("what came from a warehouse goes back into one", async () => {
  const { b } = await stagedInWarehouse(ground, bySender);
  await takenOver(ground, b);
  expect(await undoPickup(tenant.ops, b)).toFailWith(409, "pickup_not_at_sender");
  const direct = await newDelivery(ground, bySender);
  await sql`update delivery.deliveries set pickup_warehouse_id = ${ground.warehouse},
    current_warehouse_id = ${ground.warehouse} where id = ${direct.id}`;
  await assign(tenant, direct.id);
  await moves(tenant.driver, direct.id, "pickup");
  expect(await undoPickup(tenant.ops, direct.id)).toFailWith(409, "pickup_not_at_sender");
});

test("its cash in the office comes first: declared is cancelled, counted and remitted refuse", async () => {
  const declare = () => tenant.driver.post("/delivery/cod-collections/handover", { amount: 2000 });
  const first = await parcel();
  const declared = (await declare()).body.data.id;
  expect(await undoPickup(tenant.driver, first)).toSucceed(200);
  expect(await sql`select status from money.cash_handovers where id = ${declared}`)
    .toEqual([{ status: "cancelled" }]);

  const second = await parcel();
  const counted = (await declare()).body.data.id;
  const count = `/delivery/cod-collections/handovers/${counted}/count`;
  expect(await tenant.dispatcher.post(count, { counted_amount: 2000 })).toSucceed(200);
  expect(await undoPickup(tenant.ops, second)).toFailWith(409, "outcome_is_settled");
  const all = { scope: "all", driver_id: tenant.driver.id };
  expect(await tenant.dispatcher.post(remit, all)).toSucceed(200);
  expect(await undoPickup(tenant.ops, second)).toFailWith(409, "outcome_is_settled");
  expect(await statusOf(second)).toBe("picked_up");
  await sound(tenant);
});

test("its driver for the minutes of the setting, operations for 72 hours", async () => {
  const id = await parcel();
  const age = (minutes: number) =>
    sql`update delivery.deliveries set picked_up_at = picked_up_at - make_interval(mins => ${minutes}) where id = ${id}`;
  await age(11);
  const late = await undoPickup(tenant.driver, id);
  expect(late).toFailWith(409, "undo_period_over");
  expect(late.body.undo_until).toEqual(expect.any(String));
  await age(72 * 60);
  expect(await undoPickup(tenant.ops, id)).toFailWith(409, "undo_period_over");
});

test("another driver, an owner and nobody may not; a reason is needed; of another tenant nothing is known", async () => {
  const id = await parcel();
  const call = {
    method: "POST",
    path: `${path}/${id}/pickup/undo`,
    body: { reason: "Wrong" },
  } as const;
  await expectGuarded(call, { denied: [tenant.customer, tenant.institution] });
  expect([403, 404]).toContain((await undoPickup(tenant.driver2, id)).status);
  await expectRefused(tenant.driver, call, [
    [{}, "reason"],
    [{ reason: "" }, "reason"],
    [{ reason: 7 }, "reason"],
  ]);
  const theirs = await newDelivery(await newGround(await newTenant()));
  await expectNoSuch(
    tenant.ops,
    { ...call, path: `${path}/{id}/pickup/undo` },
    "delivery_id",
    "delivery_not_found",
    theirs.id,
  );
  expect(await statusOf(id)).toBe("picked_up");
});

test("what is not on its way has no pickup to undo, and what a carrier brings is the carrier's to report", async () => {
  for (const status of ["pending", "accepted", "delivered", "failed", "cancelled"]) {
    const id = await parcel(status);
    const call = await undoPickup(tenant.ops, id);
    expect(call).toFailWith(409, "no_pickup_to_undo");
    expect(call.body.status).toBe(status);
  }
  const carried = await parcel();
  await sql`update delivery.deliveries set carrier_type = 'external' where id = ${carried}`;
  expect(await undoPickup(tenant.ops, carried)).toFailWith(409, "carrier_reports_outcome");
});

test("again with the same key it is one undo; a late pickup that is sent again stays undone", async () => {
  const id = await parcel("accepted");
  const pickup = { occurred_at: new Date(Date.now() - 60_000).toISOString() };
  await moves(tenant.driver, id, ["pickup", pickup]);
  await expectReplayed(tenant.driver, `${path}/${id}/pickup/undo`, { reason: "Wrong" }, {
    reason: "Other",
  });
  expect(await eventsOf(id, "delivery.pickup_undone")).toHaveLength(1);
  expect(await tenant.driver.post(`${path}/${id}/pickup`, pickup))
    .toFailWith(409, "delivery_status_changed");
  expect(await statusOf(id)).toBe("accepted");
});
