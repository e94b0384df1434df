/** A step, or an exception, that a phone sends again without its key: what was done is said, and nothing is made twice. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import {
  checkAll,
  deliveryIn,
  type Ground,
  move,
  moves,
  newGround,
  outboundOnRoad,
} from "../../support/deliveries.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

test("a step that was done already says so in each language", async () => {
  const { id } = await deliveryIn(ground, "picked_up");
  const again = await move(tenant.driver, id, "pickup");
  expect(again).toFailWith(409, "invalid_status_transition");
  expect(again.body).toMatchObject({
    from: "picked_up",
    to: "picked_up",
    message: "This was done already. The status is picked up.",
  });
  for (const language of ["ar", "ku"]) {
    const there = await tenant.driver.post(`/delivery/deliveries/${id}/pickup`, {}, {
      query: { language },
    });
    expect(there.body.message).not.toContain("This was done already");
  }
  const other = await move(tenant.driver, id, "retry");
  expect(other.body.message).toBe("A change from picked up to in transit is not possible.");
});

test("completing what was reported failed says what is known and what to do", async () => {
  const { id } = await deliveryIn(ground, "failed");
  const late = await move(tenant.driver, id, "complete");
  expect(late).toFailWith(409, "invalid_status_transition");
  expect(late.body).toMatchObject({ from: "failed", to: "delivered" });
  expect(late.body.message).toMatch(/is known already: failed.*retry/);
  await moves(tenant.ops, id, ["retry", { override_reason: "Is there now" }]);
  await moves(tenant.driver, id, "complete");
});

test("an exception that is sent again answers the first; another note or person, or a later one, makes another", async () => {
  const { b } = await outboundOnRoad(ground);
  const body = { type: "damaged", notes: "Box torn" };
  const answers = await Promise.all(
    [1, 2, 3].map(() => move(tenant.driver, b, "exceptions", body)),
  );
  for (const one of answers) expect(one).toSucceed(201);
  expect(new Set(answers.map((one) => one.body.exception.id)).size).toBe(1);
  expect(new Set(answers.map((one) => one.body.receiving_order_id)).size).toBe(1);
  const count = async () =>
    (await sql`select count(*)::int as n from delivery.delivery_exceptions where delivery_id = ${b}`)[
      0
    ].n;
  expect(await count()).toBe(1);
  const events = await sql`select 1 from integration.system_events
    where event_type = 'delivery_exception.opened' and event_data ->> 'delivery_id' = ${b}`;
  expect(events).toHaveLength(1);
  expect(await move(tenant.driver, b, "exceptions", { ...body, notes: "And wet" })).toSucceed(201);
  expect(await move(tenant.ops, b, "exceptions", body)).toSucceed(201);
  expect(await count()).toBe(3);
  await sql`update delivery.delivery_exceptions set created_at = now() - interval '16 minutes' where delivery_id = ${b}`;
  expect(await move(tenant.driver, b, "exceptions", body)).toSucceed(201);
  expect(await count()).toBe(4);
});
