/** Cash that a driver declared, of which the undo of an outcome takes a part back. */
import { beforeEach, expect, test } from "vitest";
import { tries } from "../../prove/proof.ts";
import { remit } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { type Ground, newGround } from "../../support/deliveries.ts";
import { cash, onItsWay, report, sound, undo } from "../../support/outcomes.ts";
import { Person } from "../../support/api.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const handovers = "/delivery/cod-collections/handovers";
let tenant: Tenant;
let ground: Ground;
beforeEach(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});

const delivered = async () => {
  const id = await onItsWay(ground);
  expect(await report(tenant.driver, id, { result: "delivered", cash_collected: cash }))
    .toSucceed(200);
  return id;
};
const declare = async (amount: number) => {
  const answer = await tenant.driver.post("/delivery/cod-collections/handover", { amount });
  expect(answer).toSucceed(201);
  return answer.body.data.id as string;
};
const handover = async (id: string) =>
  (await tenant.dispatcher.get(handovers)).body.data.find((one: { id: string }) => one.id === id);

test.each<[string, (tenant: Tenant) => Person]>([
  ["the driver", (tenant) => tenant.driver],
  ["operations", (tenant) => tenant.ops],
])(
  "by %s leaves less: the declaration is cancelled, and the rest is declared and remitted",
  async (_, who) => {
    const [first] = [await delivered(), await delivered()];
    const declared = await declare(14_000);
    expect(await undo(who(tenant), first!)).toSucceed(200);
    expect(await handover(declared)).toMatchObject({
      status: "cancelled",
      declared_amount: 14_000,
      counted_amount: null,
      settlement_payment_id: null,
    });
    const events = await sql`select event_type, event_data from integration.system_events
    where tenant_id = ${tenant.id} and entity_id = ${declared}`;
    expect(events).toMatchObject([{
      event_type: "cash_handover.cancelled",
      event_data: { declared_amount: 14_000, actor_id: who(tenant).id },
    }]);
    const rest = await declare(7_000);
    const all = { scope: "all", driver_id: tenant.driver.id };
    expect(await tenant.dispatcher.post(remit, all)).toSucceed(200);
    expect(await handover(rest)).toMatchObject({ status: "counted", counted_amount: 7_000 });
    await sound(tenant);
  },
);

test("that leaves as much lets the declaration wait for its count", async () => {
  const [first] = [await delivered(), await delivered()];
  const declared = await declare(7_000);
  expect(await undo(tenant.ops, first!)).toSucceed(200);
  expect(await handover(declared)).toMatchObject({ status: "declared" });
});

const count = (id: string, counted_amount: number) =>
  tenant.dispatcher.post(`${handovers}/${id}/count`, { counted_amount });

test.each(["counted", "short", "resolved"])(
  "of cash that is %s and not remitted is refused until its handover is cancelled",
  async (how) => {
    const first = await delivered();
    const declared = await declare(7_000);
    expect(await count(declared, how === "counted" ? 7_000 : 6_000)).toSucceed(200);
    if (how === "resolved") {
      expect(
        await tenant.dispatcher.post(`${handovers}/${declared}/resolve`, {
          resolution: "written_off",
        }),
      ).toSucceed(200);
    }
    for (const by of [tenant.driver, tenant.ops]) {
      const refusal = await undo(by, first);
      expect(refusal).toFailWith(409, "outcome_is_settled");
      expect(refusal.body.message).toContain("counted");
    }
    expect(await tenant.dispatcher.post(`${handovers}/${declared}/cancel`)).toSucceed(200);
    expect(await undo(tenant.ops, first)).toSucceed(200);
    await sound(tenant);
  },
);

test("that leaves as much as was counted is done", async () => {
  const [first, second] = [await delivered(), await delivered()];
  const declared = await declare(7_000);
  expect(await count(declared, 7_000)).toSucceed(200);
  expect(await undo(tenant.ops, first)).toSucceed(200);
  expect(await handover(declared)).toMatchObject({ status: "counted" });
  expect(await undo(tenant.ops, second)).toFailWith(409, "outcome_is_settled");
});

test("and the count of its cash at once: the cash is counted, or the outcome undone", async () => {
  for (let round = 0; round < tries(8, 3); round++) {
    const first = await delivered();
    const declared = await declare(7_000);
    const [undone, counted] = await Promise.all([
      undo(tenant.ops, first),
      count(declared, 7_000),
    ]);
    const { status } = await handover(declared);
    if (undone.status === 200) {
      expect(counted).toFailWith(409, "handover_not_declared");
      expect(status).toBe("cancelled");
    } else {
      expect(undone).toFailWith(409, "outcome_is_settled");
      expect(counted).toSucceed(200);
      expect(status).toBe("counted");
      expect(await tenant.dispatcher.post(`${handovers}/${declared}/cancel`)).toSucceed(200);
      expect(await undo(tenant.ops, first)).toSucceed(200);
    }
    await sound(tenant);
  }
});
