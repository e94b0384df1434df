/** Cancelling a parcel that waits in a warehouse sends it back to its sender by the same call. */
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  type Ground,
  handedTo,
  move,
  moves,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let other: Tenant;
let ground: Ground;
beforeAll(async () => {
  [tenant, other] = await Promise.all([newTenant(), newTenant()]);
  ground = await newGround(tenant);
});

const returnsOf = (parcel: string) =>
  sql`select id, status from delivery.deliveries where original_delivery_id = ${parcel}`;

test("makes its operational return, says so, and reads cancelled, not returned", async () => {
  const { parent, a, b } = await stagedInWarehouse(ground, { cod_amount: 3000 });
  const answer = await move(tenant.ops, parent.id, "cancel", { reason: "changed their mind" });
  expect(answer).toSucceed(200);
  const back = answer.body.operational_return;
  expect(back).toMatchObject({
    delivery_flow: "operational_return",
    original_delivery_id: parent.id,
    status: "pending",
  });
  expect(answer.body.message).toContain(String(back.delivery_code));
  expect(answer.body.delivery.status).toBe("cancelled");
  expect([await statusOf(parent.id), await statusOf(a), await statusOf(b)])
    .toEqual(["cancelled", "delivered", "cancelled"]);
  const states = await sql`select to_status from delivery.delivery_status_history
    where delivery_id = any (${[parent.id, b]})`;
  expect(states.map(({ to_status }) => to_status)).not.toContain("returned");
  expect(await move(tenant.ops, parent.id, "cancel", { reason: "again" }))
    .toFailWith(409, "invalid_status_transition");
  const refused = await move(tenant.ops, back.id, "cancel", { reason: "no" });
  expect(refused).toFailWith(409, "invalid_status_transition");
  expect(refused.body.message).toContain("goes back");
  await takenOver(ground, back.id, tenant.driver2);
  await moves(tenant.driver2, back.id, "depart", "complete");
  await checkAll(tenant);
});

test("also of a leg that is picked and given to a driver, who is freed", async () => {
  const { parent, b } = await stagedInWarehouse(ground);
  await handedTo(ground, b);
  const answer = await move(tenant.ops, b, "cancel", { reason: "changed their mind" });
  expect(answer).toSucceed(200);
  expect(answer.body.operational_return.original_delivery_id).toBe(parent.id);
  expect(
    await sql`select from delivery.assignments where delivery_id = ${b}
    and status in ('pending', 'assigned', 'accepted')`,
  ).toHaveLength(0);
  await checkAll(tenant);
});

test("is for operations; anything else is cancelled as before", async () => {
  const { parent } = await stagedInWarehouse(ground);
  for (const person of [tenant.customer, tenant.driver]) {
    expect([403, 404, 409]).toContain(
      (await move(person, parent.id, "cancel", { reason: "no" })).status,
    );
  }
  expect((await other.ops.post(`${path}/${parent.id}/cancel`, { reason: "no" })).status).toBe(404);
  expect(await returnsOf(parent.id)).toHaveLength(0);
  expect(await statusOf(parent.id)).toBe("in_transit");
  const both = await Promise.all([
    move(tenant.ops, parent.id, "cancel", { reason: "one" }),
    move(tenant.admin, parent.id, "cancel", { reason: "two" }),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(await returnsOf(parent.id)).toHaveLength(1);
  const { parent: next } = await stagedInWarehouse(ground);
  const headers = { "idempotency-key": `cancel-${next.id}` };
  const once = await tenant.ops.post(`${path}/${next.id}/cancel`, { reason: "no" }, { headers });
  const again = await tenant.ops.post(`${path}/${next.id}/cancel`, { reason: "no" }, { headers });
  expect(again.body).toEqual(once.body);
  expect(await returnsOf(next.id)).toHaveLength(1);
  await checkAll(tenant);
});
