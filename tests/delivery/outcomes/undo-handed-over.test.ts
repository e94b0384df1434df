/** Returns that an outcome made, and that were handed over to another driver: the outcome went on. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { handOver, rowsOf } from "../../support/assignments.ts";
import { type Ground, newGround, statusOf } from "../../support/deliveries.ts";
import { partial, priced } from "../../support/kept-parts.ts";
import { fundWallet } from "../../support/money.ts";
import { onItsWay, refused, report, sound, standing, undo } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant({ settings: { "delivery.attempts": { after_last: "return" } } });
  ground = await newGround(tenant);
  await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});

const exchanged = { result: "exchanged", taken_back: [{ name: "Old kettle", quantity: 1 }] };
const results: [string, (id: string) => unknown][] = [
  ["partial", (id) => partial(tenant, id, { Shirt: 1 })],
  ["exchanged", () => exchanged],
  ["refused and sent back", () => refused],
];

/** Reports it, and answers the return that it made. */
async function reported(id: string, body: unknown): Promise<string> {
  const done = await report(tenant.driver, id, body as Body);
  expect(done).toSucceed(200);
  return (done.body.data.returns as Body[])[0].id;
}
const given = async (from: Person, to: Person, id: string): Promise<string> => {
  const answer = await handOver(tenant.ops, from, to, [id]);
  expect(answer).toSucceed(201);
  return answer.body.bulk_assignment_id;
};
const answered = async (by: Person, hand: string, status: string) =>
  expect(await by.put(`/delivery/assignments/bulk/${hand}`, { status })).toSucceed(200);
const holderOf = async (id: string) =>
  (await rowsOf(id)).filter(({ status }) => ["pending", "accepted"].includes(status))
    .map(({ driver_id, status }) => [driver_id, status]);

describe.each(results)("the return of a parcel that was %s", (_, bodyOf) => {
  test("is taken out of nobody else's van, nor from the way there; back with its driver it is cancelled", async () => {
    const { driver, driver2, ops } = tenant;
    const id = await onItsWay(ground, "in_transit", priced);
    const start = await standing(tenant);
    const first = await reported(id, await bodyOf(id));
    const rejected = await given(driver, driver2, first);
    for (const by of [driver, ops]) {
      const waiting = await undo(by, id);
      expect(waiting).toFailWith(409, "outcome_went_on");
      expect(waiting.body.delivery_ids).toEqual([first]);
    }
    expect(await holderOf(first)).toEqual([[driver2.id, "pending"]]);
    // Nobody took it: it never left the first van.
    await answered(driver2, rejected, "rejected");
    expect(await undo(driver, id)).toSucceed(200);
    expect(await statusOf(first)).toBe("cancelled");
    expect(await standing(tenant)).toEqual(start);

    const second = await reported(id, await bodyOf(id));
    await answered(driver2, await given(driver, driver2, second), "accepted");
    const before = await standing(tenant);
    for (const by of [driver, ops]) {
      expect(await undo(by, id)).toFailWith(409, "outcome_went_on");
    }
    expect(await statusOf(second)).toBe("picked_up");
    expect(await holderOf(second)).toEqual([[driver2.id, "accepted"]]);
    expect(await standing(tenant)).toEqual(before);
    await answered(driver, await given(driver2, driver, second), "accepted");
    expect(await undo(driver, id)).toSucceed(200);
    expect([await statusOf(id), await statusOf(second)]).toEqual(["in_transit", "cancelled"]);
    expect(await holderOf(second)).toEqual([]);
    expect(await standing(tenant)).toEqual(start);
    await sound(tenant);
  });
});

test("an undo and a handover of the return: whichever comes first", async () => {
  const { driver, driver2, ops } = tenant;
  const over = (child: string) => () => handOver(ops, driver, driver2, [child]);
  const one = await onItsWay(ground);
  const gone = await reported(one, exchanged);
  const [handed, refusal] = await queuedOn(gone, [over(gone), () => undo(ops, one)]);
  expect(handed).toSucceed(201);
  expect(refusal).toFailWith(409, "outcome_went_on");
  const other = await onItsWay(ground);
  const cancelled = await reported(other, exchanged);
  const [undone, late] = await queuedOn(cancelled, [() => undo(ops, other), over(cancelled)]);
  expect(undone).toSucceed(200);
  expect(late).toFailWith(404, "assignment_not_found");
  await sound(tenant);
});
