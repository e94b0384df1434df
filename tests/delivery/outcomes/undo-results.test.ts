/** The undo of what was kept in part, exchanged, postponed or sent back at once: the parcel and its money are as before. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import {
  type Ground,
  move,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { partial, priced } from "../../support/kept-parts.ts";
import { fundWallet } from "../../support/money.ts";
import { dayIn, onItsWay, photoOf, report, sound, standing, undo } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant({ settings: { "delivery.attempts": { after_last: "return" } } });
  ground = await newGround(tenant);
  await fundWallet(tenant, "customer", tenant.customer.id, 100_000);
});

const detailOf = async (id: string): Promise<Body> =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery;
const oneShirt = (id: string) => partial(tenant, id, { Shirt: 1 });

describe("a part that was kept", () => {
  test("is undone and reported anew, by the prices of its items, as often as need be", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const before = await standing(tenant);
    for (let life = 1; life <= 2; life++) {
      const done = await report(tenant.driver, id, await oneShirt(id));
      expect(done).toSucceed(200);
      const [back] = done.body.data.returns as Body[];
      expect(await standing(tenant)).toMatchObject({
        wallet: before.wallet + 8000,
        held: before.held + 10_000,
      });
      expect(await undo(tenant.driver, id)).toSucceed(200);
      expect(await standing(tenant)).toEqual(before);
      expect(await statusOf(back.id)).toBe("cancelled");
      expect(await detailOf(id)).toMatchObject({
        status: "in_transit",
        cod_amount: 20_000,
        ordered_cod_amount: 20_000,
        cash_due: { delivery: { cod: 20_000, delivery_fee: 2000 } },
      });
      await sound(tenant);
    }
    expect(await report(tenant.driver, id, { result: "delivered" })).toSucceed(200);
    expect(await standing(tenant)).toMatchObject({
      wallet: before.wallet + 20_000,
      held: before.held + 22_000,
    });
    await sound(tenant);
  });

  test("of a staged parcel's last leg gives leg and parcel back", async () => {
    const { parent: { id: parent }, b: second } = await stagedInWarehouse(ground, priced);
    await takenOver(ground, second);
    const before = await standing(tenant);
    expect(await report(tenant.driver, second, await oneShirt(parent))).toSucceed(200);
    expect((await detailOf(parent)).delivered_in_part).toBe(true);
    expect(await undo(tenant.ops, second)).toSucceed(200);
    expect(await standing(tenant)).toEqual(before);
    expect(await statusOf(second)).toBe("picked_up");
    expect(await detailOf(parent)).toMatchObject({ cod_amount: 20_000, delivered_in_part: false });
    await sound(tenant);
  });

  test("whose rest moved on stays: the return is in the warehouse or with its sender", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const done = await report(tenant.driver, id, await oneShirt(id));
    const [back] = done.body.data.returns as Body[];
    expect(
      await move(tenant.driver, back.id, "complete", {
        proof: await photoOf(tenant.driver, back.id),
      }),
    )
      .toSucceed(200);
    const before = await standing(tenant);
    const answer = await undo(tenant.ops, id);
    expect(answer).toFailWith(409, "outcome_went_on");
    expect(answer.body.delivery_ids).toEqual([back.id]);
    expect(await standing(tenant)).toEqual(before);
    await sound(tenant);
  });
});

test("an exchange is undone with its return, which was never ordered then", async () => {
  const id = await onItsWay(ground);
  const before = await standing(tenant);
  const done = await report(tenant.driver, id, {
    result: "exchanged",
    taken_back: [{ name: "Old kettle", quantity: 1 }],
  });
  expect(done).toSucceed(200);
  const [back] = done.body.data.returns as Body[];
  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await standing(tenant)).toEqual(before);
  expect(await statusOf(back.id)).toBe("cancelled");
  expect(await report(tenant.driver, id, { result: "delivered" })).toSucceed(200);
  await sound(tenant);
});

test("a parcel that was postponed is on its way again, without a day", async () => {
  const id = await onItsWay(ground);
  const before = await standing(tenant);
  const body = { result: "postponed", reason_code: "postponed", postponed_to: dayIn(3) };
  expect(await report(tenant.driver, id, body)).toSucceed(200);
  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await detailOf(id)).toMatchObject({ status: "in_transit", postponed_to: null });
  expect(await standing(tenant)).toEqual(before);
  await sound(tenant);
});

test("a parcel that was sent back at once is with its driver, and its return is cancelled", async () => {
  const id = await onItsWay(ground);
  const before = await standing(tenant);
  const { attempts_used } = await detailOf(id);
  const done = await report(tenant.driver, id, { result: "refused", reason_code: "refused" });
  expect(done).toSucceed(200);
  expect(await statusOf(id)).toBe("returned");
  expect(await undo(tenant.driver, id)).toSucceed(200);
  expect(await detailOf(id)).toMatchObject({
    status: "in_transit",
    attempts_used,
    assignment: { status: "accepted", driver: { id: tenant.driver.id } },
  });
  expect(await statusOf((done.body.data.returns as Body[])[0].id)).toBe("cancelled");
  expect(await standing(tenant)).toEqual(before);
  expect(await report(tenant.driver, id, { result: "delivered" })).toSucceed(200);
  await sound(tenant);
});
