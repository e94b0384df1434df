/** A van breaks down: parcels that are picked up change hands on the road, and the new driver confirms them. */
import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../support/api.ts";
import { handOver as handOverBy, rowsOf } from "../../support/assignments.ts";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newGround,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const handOver = (from: Person, to: Person, delivery_ids: string[], more = {}) =>
  handOverBy(tenant.ops, from, to, delivery_ids, more);

const answer = (driver: Person, bulk: string, status: string) =>
  driver.put(`/delivery/assignments/bulk/${bulk}`, { status });

const cashOf = async (delivery: string) =>
  (await sql`select driver_id, collection_stage, amount from money.cod_collections
    where delivery_id = ${delivery} order by collected_at`).map((row) => ({ ...row }));

test("goes along as it is; cash stays with who took it, and the rest is the new driver's after confirming", async () => {
  const { id } = await deliveryIn(ground, "in_transit", { payer_type: "sender", cod_amount: 5000 });
  const taken = await cashOf(id);
  expect(taken).toMatchObject([{ driver_id: tenant.driver.id, collection_stage: "pickup" }]);
  const moved = await handOver(tenant.driver, tenant.driver2, [id]);
  expect(moved).toSucceed(201);
  expect(moved.body).toMatchObject({ count: 1, to_confirm: 1, kept: [] });
  expect(await statusOf(id)).toBe("in_transit");
  expect(await move(tenant.driver, id, "complete")).toFailWith(409, "assignment_ended");
  for (const step of ["complete", "fail", "return"]) {
    const early = await move(tenant.driver2, id, step, step === "fail" ? { reason: "absent" } : {});
    expect(early, step).toFailWith(409, "assignment_not_accepted");
    expect(early.body.message).toMatch(/^You have not accepted/);
  }
  const forThem = await move(tenant.ops, id, "complete");
  expect(forThem).toFailWith(409, "assignment_not_accepted");
  expect(forThem.body.message).toMatch(/^The driver has not accepted/);
  const bulk = moved.body.bulk_assignment_id;
  expect(await answer(tenant.driver, bulk, "accepted")).toFailWith(403, "forbidden");
  const confirmed = await answer(tenant.driver2, bulk, "accepted");
  expect(confirmed).toSucceed(200);
  expect((await answer(tenant.driver2, bulk, "accepted")).body).toEqual(confirmed.body);
  expect(await statusOf(id)).toBe("in_transit");
  await moves(tenant.driver2, id, "complete");
  expect(await cashOf(id)).toMatchObject([
    { driver_id: tenant.driver.id, collection_stage: "pickup", amount: taken[0].amount },
    { driver_id: tenant.driver2.id, collection_stage: "dropoff", amount: 5000 },
  ]);
  const [{ attempts_used }] =
    await sql`select attempts_used from delivery.deliveries where id = ${id}`;
  expect(attempts_used).toBe(0);
  expect((await rowsOf(id)).map(({ status }) => status)).toEqual(["returned", "completed"]);
  await checkAll(tenant);
});

test("a second leg, a failed one and one that waits go in one list, with the second leg's COD", async () => {
  const { parent, b } = await stagedInWarehouse(ground, { cod_amount: 9000 });
  await takenOver(ground, b);
  const failed = await deliveryIn(ground, "failed");
  const waiting = await deliveryIn(ground, "accepted");
  const moved = await handOver(tenant.driver, tenant.driver2, [b, failed.id, waiting.id]);
  expect(moved).toSucceed(201);
  expect(moved.body).toMatchObject({ count: 3, to_confirm: 2, kept: [] });
  expect(await answer(tenant.driver2, moved.body.bulk_assignment_id, "accepted")).toSucceed(200);
  expect([await statusOf(b), await statusOf(failed.id), await statusOf(waiting.id)])
    .toEqual(["picked_up", "failed", "accepted"]);
  await moves(tenant.driver2, b, "depart", "complete");
  expect((await cashOf(parent.id)).find(({ collection_stage }) => collection_stage === "dropoff"))
    .toMatchObject({ driver_id: tenant.driver2.id });
  const [{ attempts_used }] =
    await sql`select attempts_used from delivery.deliveries where id = ${failed.id}`;
  expect(attempts_used).toBe(1);
  await checkAll(tenant);
});

test("a rejected handover leaves the parcel with the first driver, who continues", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  const moved = await handOver(tenant.driver, tenant.driver2, [id]);
  expect(await answer(tenant.driver2, moved.body.bulk_assignment_id, "rejected")).toSucceed(200);
  expect(await statusOf(id)).toBe("picked_up");
  expect(await move(tenant.driver2, id, "depart")).toFailWith(404, "delivery_not_found");
  await moves(tenant.driver, id, "depart", "complete");
  expect((await rowsOf(id)).map(({ status, driver_id }) => [status, driver_id])).toEqual([
    ["returned", tenant.driver.id],
    ["rejected", tenant.driver2.id],
    ["completed", tenant.driver.id],
  ]);
  await checkAll(tenant);
});

test("a second handover before the first is confirmed, then rejected, leaves the parcel with its current driver", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  expect(await handOver(tenant.driver, tenant.driver2, [id])).toSucceed(201);
  const back = await handOver(tenant.driver2, tenant.driver, [id]);
  expect(back).toSucceed(201);
  expect(await answer(tenant.driver, back.body.bulk_assignment_id, "rejected")).toSucceed(200);
  await moves(tenant.driver, id, "depart", "complete");
  await checkAll(tenant);
});

test("with picked_up false it stays, and no other than staff moves it", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  expect(await handOver(tenant.driver, tenant.driver2, [id], { picked_up: false }))
    .toFailWith(409, "nothing_to_hand_over");
  expect(await handOver(tenant.driver, tenant.driver2, [id], { picked_up: "yes" }))
    .toFailWith(400, "validation_failed");
  const own = `/delivery/assignments/driver/${tenant.driver.id}/hand-over`;
  expect(await tenant.driver.post(own, { to_driver_id: tenant.driver2.id }))
    .toFailWith(403, "forbidden");
  await moves(tenant.driver, id, "depart", "complete");
});

test("of completing and handing over at once one wins; a repeated call moves it once", async () => {
  for (let round = 0; round < 3; round++) {
    const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 1000 });
    const [done, moved] = await Promise.all([
      move(tenant.driver, id, "complete"),
      handOver(tenant.driver, tenant.driver2, [id]),
    ]);
    expect([done.status === 200, moved.status === 201].filter(Boolean)).toHaveLength(1);
    if (moved.status === 201) {
      await answer(tenant.driver2, moved.body.bulk_assignment_id, "accepted");
      await moves(tenant.driver2, id, "complete");
    }
    await checkAll(tenant);
  }
  const { id } = await deliveryIn(ground, "picked_up");
  const headers = { "idempotency-key": `road-${id}` };
  const body = { to_driver_id: tenant.driver2.id, delivery_ids: [id] };
  const own = `/delivery/assignments/driver/${tenant.driver.id}/hand-over`;
  const first = await tenant.ops.post(own, body, { headers });
  const again = await tenant.ops.post(own, body, { headers });
  expect(first).toSucceed(201);
  expect(again.body).toEqual(first.body);
  expect(await rowsOf(id)).toHaveLength(2);
});
