/** The answers to a phone that had no network: to a step that was taken already, and of a delivery that the office has given away meanwhile. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, Body, Person } from "../../support/api.ts";
import { handOver, newDriver } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  type Ground,
  handedTo,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
} from "../../support/deliveries.ts";
import { failed, undo } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let ground: Ground;
let tenant: Tenant;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const taken = async (driver: Person, ...steps: string[]) => {
  const { id } = await newDelivery(ground, { cod_amount: 4000 });
  const assignment = await assign(tenant, id, driver);
  await moves(driver, id, ...steps);
  return { id: id as string, assignment };
};

/** Everything that a driver's app sends of a delivery. */
const sendings: [string, (driver: Person, id: string) => Promise<Answer>][] = [
  ...["pickup", "depart", "complete", "retry", "return", "fail"].map((step): typeof sendings[0] => [
    step,
    (driver, id) =>
      move(driver, id, step, {
        occurred_at: ago(30),
        ...step === "fail" ? { reason: "absent" } : {},
      }),
  ]),
  ["outcome", (driver, id) => move(driver, id, "outcome", { ...failed, occurred_at: ago(30) })],
  ["exceptions", (driver, id) => move(driver, id, "exceptions", { type: "damaged" })],
  [
    "proof-uploads",
    (driver, id) =>
      move(driver, id, "proof-uploads", {
        stage: "delivery",
        kind: "photo",
        content_type: "image/jpeg",
      }),
  ],
];
const gone = (status: string) =>
  `You no longer have this delivery; it is ${status} now. If its parcel or its cash is with you, call the office.`;

describe("a step that is sent again, under no key or another", () => {
  test.each<[string, string[], Body]>([
    ["pickup", [], {}],
    ["depart", ["pickup"], {}],
    ["complete", ["pickup", "depart"], {}],
    ["fail", ["pickup", "depart"], { reason: "absent" }],
    ["return", ["pickup", "depart"], {}],
  ])("%s was taken already, and that is what the answer says", async (step, before, body) => {
    const { id } = await taken(tenant.driver, ...before);
    const sent = { ...body, occurred_at: ago(5) };
    expect(await move(tenant.driver, id, step, sent)).toSucceed(200);
    const [{ status, status_reason }] =
      await sql`select status, status_reason from delivery.deliveries where id = ${id}`;
    const again = await move(tenant.driver, id, step, sent);
    expect(again).toFailWith(409, "delivery_status_changed");
    expect(again.body).toMatchObject({ status, status_reason, delivery_ids: [id] });
    expect(again.body.message).toMatch(/^This step was reported already\./);
  });

  test("a pickup from a warehouse, and one that another driver is to take from there", async () => {
    const { b } = await stagedInWarehouse(ground);
    const handoff = await handedTo(ground, b);
    const pickup = (by: Person) =>
      by.post(`/delivery/handoffs/${handoff}/pickup`, { occurred_at: at });
    const at = ago(5);
    const [{ id }] =
      await sql`select id from delivery.assignments where delivery_id = ${b} and status = 'accepted'`;
    await tenant.ops.post(`/delivery/assignments/${id}/unassign`);
    expect(await pickup(tenant.driver)).toFailWith(409, "assignment_ended");
    expect(await pickup(tenant.driver2)).toFailWith(404, "handoff_not_found");
    const given = { delivery_id: b, driver_id: tenant.driver2.id };
    const made = await tenant.ops.post("/delivery/assignments", given);
    expect(made).toSucceed(201);
    await tenant.driver2.put(`/delivery/assignments/${made.body.id}`, { status: "accepted" });
    expect(await pickup(tenant.driver)).toFailWith(409, "assignment_ended");
    expect(await pickup(tenant.driver2)).toSucceed(200);
    const again = await pickup(tenant.driver2);
    expect(again).toFailWith(409, "delivery_status_changed");
    expect(again.body).toMatchObject({ status: "picked_up", delivery_ids: [b] });
  });

  test("of the parcel's way before this one as well", async () => {
    const { id } = await taken(tenant.driver);
    const at = { occurred_at: ago(5) };
    await moves(tenant.driver, id, ["pickup", at], ["depart", at]);
    expect(await move(tenant.driver, id, "pickup", at)).toFailWith(409, "delivery_status_changed");
  });
});

describe("a driver who lost the delivery while the phone had no network", () => {
  test.each(sendings)("before its pickup hears so: %s", async (step, send) => {
    const { id, assignment } = await taken(tenant.driver);
    const why = { reason: "Too far" };
    expect(await tenant.ops.post(`/delivery/assignments/${assignment}/unassign`, why))
      .toSucceed(200);
    const late = await send(tenant.driver, id);
    expect(late, step).toFailWith(409, "assignment_ended");
    expect(late.body.message).toBe(
      "This delivery was withdrawn from you. If its parcel or its cash is with you, call the office.",
    );
    expect(late.body.status).toBeUndefined();
    await assign(tenant, id, tenant.driver2);
    expect(await send(tenant.driver, id), step).toFailWith(409, "assignment_ended");
    expect((await tenant.driver.get(`${path}/${id}`)).status).toBe(404);
  });

  test.each(sendings)("on the road hears how it stands: %s", async (step, send) => {
    const { id } = await taken(tenant.driver, "pickup", "depart");
    await handOver(tenant.ops, tenant.driver, tenant.driver2, [id]);
    const expected = { status: "in_transit", delivery_ids: [id], message: gone("in transit") };
    const waiting = await send(tenant.driver, id);
    expect(waiting, step).toFailWith(409, "assignment_ended");
    expect(waiting.body).toMatchObject(expected);
    await sql`update delivery.assignments set status = 'accepted', responded_at = now()
      where delivery_id = ${id} and status = 'pending'`;
    expect((await send(tenant.driver, id)).body).toMatchObject(expected);
  });

  test.each(sendings.filter(([step]) => step !== "outcome"))(
    "because the office has ended it hears how it stands: %s",
    async (step, send) => {
      const { id } = await taken(tenant.driver, "pickup", "depart");
      await moves(tenant.ops, id, "complete");
      const late = await send(tenant.driver, id);
      expect(late, step).toFailWith(409, "assignment_ended");
      expect(late.body).toMatchObject({
        status: "delivered",
        message: "Your part of this delivery is done; it is delivered now.",
      });
    },
  );

  test("because it was cancelled hears so", async () => {
    const { id } = await taken(tenant.driver);
    await moves(tenant.ops, id, ["cancel", { reason: "no" }]);
    const late = await move(tenant.driver, id, "pickup", { occurred_at: ago(30) });
    expect(late).toFailWith(409, "assignment_ended");
    expect(late.body).toMatchObject({ status: "cancelled", message: gone("cancelled") });
  });

  test("hears it of an undo and of another amount as well; who never had it does not", async () => {
    const { id, assignment } = await taken(tenant.driver);
    await tenant.ops.post(`/delivery/assignments/${assignment}/unassign`);
    const amount = { cod_amount: 100, reason: "Wet" };
    for (
      const send of [
        (by: Person) => undo(by, id),
        (by: Person) => move(by, id, "amount-changes", amount),
      ]
    ) {
      expect(await send(tenant.driver)).toFailWith(409, "assignment_ended");
      expect(await send(tenant.driver2)).toFailWith(404, "delivery_not_found");
    }
  });
});

test("an answer that comes late says what became of the assignment", async () => {
  const { id } = await newDelivery(ground);
  const assignment = await assign(tenant, id, tenant.driver, "pending");
  const answer = (status: string) =>
    tenant.driver.put(`/delivery/assignments/${assignment}`, { status });
  await tenant.ops.post(`/delivery/assignments/${assignment}/unassign`);
  const withdrawn = await answer("accepted");
  expect(withdrawn).toFailWith(409, "assignment_not_pending");
  expect(withdrawn.body).toMatchObject({
    status: "returned",
    message:
      "The office or the time to answer has ended this assignment: the delivery is not yours.",
  });
  const other = await assign(tenant, id, tenant.driver, "pending");
  const of = (status: string) => tenant.driver.put(`/delivery/assignments/${other}`, { status });
  expect(await of("accepted")).toSucceed(200);
  const answered = await of("rejected");
  expect(answered).toFailWith(409, "assignment_not_pending");
  expect(answered.body).toMatchObject({
    status: "accepted",
    message: "The assignment no longer waits for an answer: it is accepted.",
  });
});

test("a driver who was given a rest accepts nothing new, and confirms what is in their hands", async () => {
  const resting = await newDriver(tenant);
  const { id } = await newDelivery(ground);
  const offered = await assign(tenant, id, resting, "pending");
  const carried = await taken(tenant.driver, "pickup");
  await handOver(tenant.ops, tenant.driver, resting, [carried.id]);
  const [confirm] = await sql`select id from delivery.assignments
    where delivery_id = ${carried.id} and status = 'pending'`;
  const status = (word: string) =>
    tenant.ops.patch(`/delivery/drivers/${resting.id}`, { status: word });
  const accept = (assignment: string, word = "accepted") =>
    resting.put(`/delivery/assignments/${assignment}`, { status: word });
  await status("inactive");
  expect(await accept(offered)).toFailWith(409, "driver_inactive");
  expect(await accept(confirm.id)).toSucceed(200);
  await moves(resting, carried.id, "complete");
  expect(await accept(offered, "rejected")).toSucceed(200);
  expect(await statusOf(id)).toBe("pending");
});
