/** A recipient's link says what happened at the door, also where that was put right afterwards. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Body } from "../../support/api.ts";
import {
  checkAll,
  type Ground,
  move,
  moves,
  newGround,
  path,
  stagedInWarehouse,
} from "../../support/deliveries.ts";
import { partial, priced } from "../../support/kept-parts.ts";
import { dayIn, failed, onItsWay, refused, report, undo } from "../../support/outcomes.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { answerBy, follow, offerTracking, tokenOf } from "../../support/tracking.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
  await offerTracking(ground);
});
afterAll(() => checkAll(tenant));

/** A parcel at the door, with what its link says from there on. */
async function atDoor(more: Record<string, unknown> = {}) {
  const id = await onItsWay(ground, "in_transit", more);
  const token = await tokenOf(tenant.ops, id);
  return {
    id,
    shown: async (): Promise<Body> => {
      const answer = await follow(token);
      expect(answer).toSucceed(200);
      return answer.body.data;
    },
  };
}
const due = { amount: 7_000, currency: "IQD" };
const last = ({ history }: Body) => history.at(-1).status;

test("an attempt that failed, and the next one", async () => {
  const { id, shown } = await atDoor();
  expect(await report(tenant.driver, id, failed)).toSucceed(200);
  expect(await shown()).toMatchObject({ status: "failed", cash_due: due, trackable_until: null });
  await moves(tenant.ops, id, ["retry", { override_reason: "Asked for it" }]);
  const again = await shown();
  expect(again).toMatchObject({ status: "in_transit", cash_due: due });
  expect(last(again)).toBe("in_transit");
});

test("a day that was agreed", async () => {
  const { id, shown } = await atDoor();
  const day = dayIn(3);
  const answer = await report(tenant.driver, id, {
    result: "postponed",
    reason_code: "postponed",
    postponed_to: day,
  });
  expect(answer).toSucceed(200);
  expect(await shown()).toMatchObject({ postponed_to: day, cash_due: due });
});

test("a part that was kept", async () => {
  const { id, shown } = await atDoor(priced);
  const answer = await report(
    tenant.driver,
    id,
    await partial(tenant, id, { Shirt: 1, Cap: 1 }),
  );
  expect(answer).toSucceed(200);
  expect(await shown()).toMatchObject({
    status: "delivered",
    delivered_in_part: true,
    cash_due: null,
  });
});

test("a parcel that was refused and came back, for thirty days", async () => {
  const { id, shown } = await atDoor();
  expect(await report(tenant.driver, id, refused)).toSucceed(200);
  await moves(tenant.driver, id, "return");
  const back = await shown();
  expect(back).toMatchObject({ status: "returned", cash_due: null });
  expect(back.trackable_until).not.toBeNull();
});

test("a parcel that is sent back from a warehouse: nothing is due, and no answer is taken", async () => {
  const { parent } = await stagedInWarehouse(ground, { cod_amount: 5_000 });
  const token = await tokenOf(tenant.ops, parent.id);
  const shown = async (): Promise<Body> => (await follow(token)).body.data;
  expect(await shown()).toMatchObject({ cash_due: due, wanted_days: expect.any(Object) });
  const back = await move(tenant.ops, parent.id, "operational-return", { reason: "wrong" });
  expect(back).toSucceed(201);
  expect(await shown()).toMatchObject({ cash_due: null, wanted_days: null });
  expect(await answerBy(token, { note: "Ring" })).toFailWith(409, "tracking_answers_closed");
  await moves(tenant.ops, back.body.delivery.id, ["cancel", { reason: "sent out after all" }]);
  expect(await shown()).toMatchObject({ cash_due: due, wanted_days: expect.any(Object) });
  expect(await answerBy(token, { note: "Ring" })).toSucceed(200);
});

test("a delivery that was undone: it is on its way again, and its cash is due", async () => {
  const { id, shown } = await atDoor();
  expect(await report(tenant.driver, id, { result: "delivered" })).toSucceed(200);
  expect((await shown()).cash_due).toBeNull();
  expect(await undo(tenant.ops, id)).toSucceed(200);
  expect(await shown()).toMatchObject({
    status: "in_transit",
    cash_due: due,
    delivered_at: null,
    trackable_until: null,
  });
});

test("a new amount", async () => {
  const { id, shown } = await atDoor();
  const changed = await tenant.ops.post(`${path}/${id}/amount-changes`, {
    cod_amount: 4_000,
    reason: "One box is missing",
  });
  expect(changed).toSucceed(201);
  expect((await shown()).cash_due).toEqual({ amount: 6_000, currency: "IQD" });
});
