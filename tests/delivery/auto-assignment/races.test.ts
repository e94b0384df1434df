import { expect, test } from "vitest";
import { newDriver } from "../../support/assignments.ts";
import { newSearching, ordered, runSearches } from "../../support/auto-assignment.ts";
import { sql } from "../../support/db.ts";
import { jobsDone } from "../../support/jobs.ts";
import { newDelivery } from "../../support/deliveries.ts";
import { tries } from "../../prove/proof.ts";
import { assignWithin, overlapping } from "../../support/overlapping.ts";

const open = sql`('pending', 'assigned', 'accepted')`;
const drivers = tries(10, 4);

test(`${10 * drivers} orders and ${drivers} drivers with room for five fill ${5 * drivers}, and nobody has more than five`, async () => {
  const ground = await newSearching({ max_retry_attempts: 1 });
  const { tenant } = ground;
  for (let n = 0; n < drivers; n++) await newDriver(tenant, { capacity: 5 });
  for (let n = 0; n < 10 * drivers; n += 20) {
    await Promise.all(Array.from({ length: 20 }, () => newDelivery(ground, { unit_size: 1 })));
  }
  await jobsDone(tenant.id);
  // As a second and a third process would, at the same time.
  await Promise.all([runSearches(tenant), runSearches(tenant), runSearches(tenant)]);
  const rows =
    await sql`select driver_id, count(*)::int as count, count(distinct delivery_id)::int as deliveries
    from delivery.assignments where tenant_id = ${tenant.id} and status in ${open} group by driver_id`;
  expect(rows.map(({ count }) => count)).toEqual(Array(drivers).fill(5));
  const searches = await sql`select status, count(*)::int as count from delivery.driver_searches
    where tenant_id = ${tenant.id} group by status order by status`;
  expect(searches).toEqual([{ status: "failed", count: 5 * drivers }, {
    status: "offered",
    count: 5 * drivers,
  }]);
  const [{ offers }] = await sql`select count(*)::int as offers from delivery.assignments
    where tenant_id = ${tenant.id}`;
  expect(offers).toBe(5 * drivers);
});

test("processes that take the same step at once offer a delivery once", async () => {
  const ground = await newSearching();
  const { tenant } = ground;
  const made = await ordered(ground);
  for (let n = 0; n < 3; n++) await newDriver(tenant);
  await sql`update delivery.driver_searches set next_attempt_at = now() where delivery_id = ${made.id}`;
  const steps = await Promise.all(
    Array.from(
      { length: 8 },
      async () =>
        (await sql`select delivery.search_step(${tenant.id}, ${made.id}) as step`)[0].step,
    ),
  );
  expect(steps.sort()).toEqual([...Array(7).fill("not_due"), "offered"]);
  expect(await sql`select from delivery.assignments where delivery_id = ${made.id}`).toHaveLength(
    1,
  );
});

test("a dispatcher and a search that want one delivery: one of them has it, and the search knows", async () => {
  const ground = await newSearching();
  const { tenant } = ground;
  const driver = await newDriver(tenant);
  for (let round = 0; round < 5; round++) {
    const made = await newDelivery(ground);
    const hand = await tenant.ops.post("/delivery/assignments", {
      delivery_id: made.id,
      driver_id: driver.id,
    });
    await jobsDone(tenant.id);
    const rows =
      await sql`select a.assigned_by is null as searched, s.status from delivery.assignments a
      join delivery.driver_searches s on s.delivery_id = a.delivery_id
      where a.delivery_id = ${made.id} and a.status in ${open}`;
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject(
      hand.status === 201
        ? { searched: false, status: "off" }
        : { searched: true, status: "offered" },
    );
    if (hand.status !== 201) expect(hand).toFailWith(409, "delivery_already_assigned");
  }
});

/** A delivery whose search found nobody, and then a driver who could have it at the next step. */
async function dueNow() {
  const ground = await newSearching();
  const made = await ordered(ground);
  const driver = await newDriver(ground.tenant);
  await sql`update delivery.driver_searches set next_attempt_at = now() where delivery_id = ${made.id}`;
  return { tenant: ground.tenant, delivery: made.id as string, driver };
}

const openOf = (delivery: string) =>
  sql`select a.assigned_by is null as searched, s.status from delivery.assignments a
    join delivery.driver_searches s on s.delivery_id = a.delivery_id
    where a.delivery_id = ${delivery} and a.status in ${open}`;

test("a search that waits for a dispatcher's assignment finds the delivery assigned and offers nothing", async () => {
  const { tenant, delivery, driver } = await dueNow();
  const step = await overlapping(
    (office) => assignWithin(office, tenant, delivery, driver.id),
    async () => (await sql`select delivery.search_step(${tenant.id}, ${delivery}) as step`)[0].step,
  );
  expect(step).toBe("not_due");
  expect(await openOf(delivery)).toEqual([{ searched: false, status: "off" }]);
});

test.for(
  [
    [{}, 409, { searched: true, status: "offered" }],
    [{ replace_offer: true }, 201, { searched: false, status: "off" }],
  ] as const,
)(
  "a dispatcher who waits for a search's offer is answered by what it made (%o: %i)",
  async ([more, status, left]) => {
    const { tenant, delivery, driver } = await dueNow();
    const answer = await overlapping(
      (session) => session`select delivery.search_step(${tenant.id}, ${delivery})`,
      () =>
        tenant.ops.post("/delivery/assignments", {
          delivery_id: delivery,
          driver_id: driver.id,
          ...more,
        }),
    );
    if (status === 409) expect(answer).toFailWith(409, "delivery_already_assigned");
    else expect(answer).toSucceed(201);
    expect(await openOf(delivery)).toEqual([left]);
  },
);
