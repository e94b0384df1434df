/** A handover on the road that its driver will never confirm: shut out or gone, they leave the parcels with who has them in hand. */
import { beforeEach, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { handOver as handOverBy, newDriver, rowsOf, usedBy } from "../../support/assignments.ts";
import { deleteSoftly } from "../../support/auth.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  statusOf,
} from "../../support/deliveries.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newPerson, newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
let to: Person;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  to = await newDriver(tenant);
});

const shutOut = (who: Person, is_active = false) =>
  tenant.admin.put(`/tenants/${tenant.id}/users/${who.id}`, { is_active });
const leave = (who: Person) => who.post(`/tenants/${tenant.id}/leave`);
const rest = (who: Person, status = "inactive") =>
  tenant.ops.patch(`/delivery/drivers/${who.id}`, { status });
const handOver = async (ids: string[], by = tenant.ops) => {
  const moved = await handOverBy(by, tenant.driver, to, ids);
  expect(moved).toSucceed(201);
  return moved.body;
};
/** Does what the clock does with jobs that no request of ours queued. */
const withdraw = () =>
  sql`select delivery.handovers_withdraw(tenant_id, (payload ->> 'driver_id')::uuid) from app.jobs
    where tenant_id = ${tenant.id} and kind = 'delivery.handovers_withdraw'`;
const noticesOf = async (who: Person, type: string) =>
  (await who.get("/tenants/me/notifications", { query: { type } })).body.data;
const historyOf = async (id: string) =>
  (await rowsOf(id)).map(({ driver_id, status, response_reason }) => [
    driver_id,
    status,
    response_reason,
  ]);

test.each([
  ["is shut out", shutOut],
  ["leaves", leave],
  ["is shut out while at rest", async (who: Person) => (await rest(who), await shutOut(who))],
])("of a driver who %s it ends, and the driver before continues", async (_how, go) => {
  const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 5000 });
  const failed = await deliveryIn(ground, "failed");
  const { bulk_assignment_id } = await handOver([id, failed.id]);
  const before = await usedBy(tenant, tenant.driver.id);
  expect(await go(to)).toSucceed(200);
  await jobsDone(tenant.id);
  for (const parcel of [id, failed.id]) {
    expect(await historyOf(parcel)).toEqual([
      [tenant.driver.id, "returned", null],
      [to.id, "returned", "driver_inactive"],
      [tenant.driver.id, "accepted", null],
    ]);
  }
  expect([await statusOf(id), await statusOf(failed.id)]).toEqual(["in_transit", "failed"]);
  expect([await usedBy(tenant, to.id), await usedBy(tenant, tenant.driver.id)])
    .toEqual([0, before + 4]);
  const board = (await tenant.ops.get("/delivery/board")).body.data;
  expect(board.drivers.map((driver: { id: string }) => driver.id)).not.toContain(to.id);
  expect(await noticesOf(tenant.driver, "assignment_created")).toHaveLength(2);
  const [notice, ...more] = await noticesOf(tenant.ops, "handover_withdrawn");
  expect(more).toEqual([]);
  expect(notice).toMatchObject({
    message: expect.stringContaining("2 parcels"),
    payload: { driver_id: to.id, assignment_count: 2 },
  });
  const events = await sql`select event_type, event_data from integration.system_events
    where tenant_id = ${tenant.id} and event_data -> 'delivery_ids' ? ${id} order by position desc limit 2`;
  expect(events).toMatchObject([
    { event_type: "assignment.created", event_data: { driver_id: tenant.driver.id } },
    { event_type: "assignment.returned", event_data: { driver_id: to.id } },
  ]);
  const [listened] = await sql`select assignment_status from public.delivery_realtime_assignments
    where bulk_assignment_id = ${bulk_assignment_id}`;
  expect(listened.assignment_status).toBe("returned");
  await moves(tenant.driver, id, "complete");
  await checkAll(tenant);
});

test("of a driver whose account Auth deletes it ends", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  await handOver([id]);
  await deleteSoftly(to.id);
  await withdraw();
  await moves(tenant.driver, id, "depart", "complete");
  await withdraw();
  expect(await rowsOf(id)).toHaveLength(3);
});

test("of a driver at rest or off duty it waits, and they confirm it", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  const { bulk_assignment_id } = await handOver([id]);
  expect(await rest(to)).toSucceed(200);
  await jobsDone(tenant.id);
  expect(await to.put(`/delivery/assignments/bulk/${bulk_assignment_id}`, { status: "accepted" }))
    .toSucceed(200);
  await moves(to, id, "depart", "complete");
});

test("of a driver who works again before anybody looked it waits on", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  const { bulk_assignment_id } = await handOver([id]);
  await sql.begin(async (tx) => {
    // Held by somebody else, the parcel keeps the job waiting.
    await tx`select from delivery.deliveries where id = ${id} for no key update`;
    expect(await shutOut(to)).toSucceed(200);
    expect(await shutOut(to, true)).toSucceed(200);
  });
  await jobsDone(tenant.id);
  expect(await to.put(`/delivery/assignments/bulk/${bulk_assignment_id}`, { status: "accepted" }))
    .toSucceed(200);
});

test("when the driver before is gone as well, the office reports it or hands it over", async () => {
  const [one, other] = [
    await deliveryIn(ground, "in_transit"),
    await deliveryIn(ground, "in_transit"),
  ];
  await handOver([one.id, other.id]);
  expect(await leave(tenant.driver)).toSucceed(200);
  expect(await leave(to)).toSucceed(200);
  await jobsDone(tenant.id);
  await moves(tenant.ops, one.id, "complete");
  const third = await newDriver(tenant);
  const moved = await handOverBy(tenant.ops, tenant.driver, third, [other.id]);
  expect(moved).toSucceed(201);
  const bulk = moved.body.bulk_assignment_id;
  expect(await third.put(`/delivery/assignments/bulk/${bulk}`, { status: "accepted" }))
    .toSucceed(200);
  await moves(third, other.id, "complete");
  await checkAll(tenant);
});

test("what they were to fetch stays theirs, and is listed to be given to others", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  const waits = await newDelivery(ground);
  await assign(tenant, waits.id, to, "pending");
  await handOver([id]);
  expect(await leave(to)).toSucceed(200);
  await jobsDone(tenant.id);
  expect((await rowsOf(waits.id)).map(({ status }) => status)).toEqual(["pending"]);
  const { to_reassign } = (await tenant.ops.get("/delivery/board")).body.data;
  expect(to_reassign).toMatchObject({
    total: 1,
    deliveries: [{ id: waits.id, driver_id: to.id }],
  });
  const third = await newDriver(tenant);
  expect(await handOverBy(tenant.ops, to, third, [waits.id])).toSucceed(201);
});

test("when who handed over works here no more, everybody of the office is notified", async () => {
  const by = await newPerson(tenant.id, "staff", "dispatcher");
  const { id } = await deliveryIn(ground, "picked_up");
  await handOver([id], by);
  expect(await leave(by)).toSucceed(200);
  expect(await leave(to)).toSucceed(200);
  await jobsDone(tenant.id);
  const notified = await sql`select user_id from tenancy.notifications
    where tenant_id = ${tenant.id} and type = 'handover_withdrawn'`;
  const of = notified.map(({ user_id }) => user_id);
  expect(of).toEqual(expect.arrayContaining([tenant.admin.id, tenant.ops.id]));
  expect(of).not.toContain(by.id);
  expect(of).not.toContain(tenant.driver.id);
});

test("a handover once more, at the moment the driver leaves, reaches one of both", async () => {
  for (let round = 0; round < 3; round++) {
    const leaver = await newDriver(tenant);
    const { id } = await deliveryIn(ground, "picked_up");
    const [moved] = await Promise.all([
      handOverBy(tenant.ops, tenant.driver, leaver, [id]),
      leave(leaver),
    ]);
    await jobsDone(tenant.id);
    expect([201, 409]).toContain(moved.status);
    await moves(tenant.driver, id, "depart", "complete");
  }
  const { id } = await deliveryIn(ground, "picked_up");
  await handOver([id]);
  const third = await newDriver(tenant);
  const [again] = await Promise.all([handOverBy(tenant.ops, to, third, [id]), leave(to)]);
  await jobsDone(tenant.id);
  const [last] = (await rowsOf(id)).slice(-1);
  const moved = again.status === 201;
  expect([last.driver_id, last.status])
    .toEqual(moved ? [third.id, "pending"] : [tenant.driver.id, "accepted"]);
  const departed = await move(tenant.driver, id, "depart");
  if (moved) expect(departed).toFailWith(409, "assignment_ended");
  else expect(departed).toSucceed(200);
  await checkAll(tenant);
});
