/** A driver requests an amount; the office or the owner decides, once, before the delivery ends. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountChanges, change } from "../../support/amount-changes.ts";
import type { Body, Person } from "../../support/api.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  takenOver,
} from "../../support/deliveries.ts";
import { checkDeliveries } from "../../support/delivery-invariants.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { soldInStore } from "../../support/sold.ts";
import { expectGuarded, expectNoSuch, expectReplayed } from "../../support/promises.ts";

let ground: Ground;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  ground = await newGround(await newTenant());
  tenant = ground.tenant;
  other = await newTenant();
});
afterAll(() => checkDeliveries(tenant));

const decide = (by: Person, id: string, one: string, what: string, body: object = {}) =>
  by.post(`${amountChanges(id)}/${one}/${what}`, body);
const amountOf = async (id: string) =>
  (await tenant.ops.get(`${path}/${id}`)).body.delivery.cod_amount;

/** A delivery on the road, of 5,000, whose driver asks for another amount. */
async function requested(amount = 4000): Promise<{ id: string; one: string }> {
  const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 5000 });
  const answer = await change(tenant.driver, id, amount);
  expect(answer).toSucceed(201);
  expect(answer.body.data.amount_change)
    .toMatchObject({ status: "pending", decided_at: null, decided_by: null });
  return { id, one: answer.body.data.amount_change.id };
}

const notices = async (who: Person, type: string): Promise<Body[]> =>
  (await who.get("/tenants/me/notifications", { query: { type } })).body.data;

describe("a driver's change", () => {
  test("is a request: nothing changes, the office and the owner are notified", async () => {
    const { id, one } = await requested();
    expect(await amountOf(id)).toBe(5000);
    for (const who of [tenant.dispatcher, tenant.admin, tenant.customer]) {
      const [notice] = await notices(who, "amount_change_requested");
      expect(notice.payload).toMatchObject({
        delivery_id: id,
        amount_change_id: one,
        amount: 4000,
      });
      expect(notice.message).toContain("4000");
    }
  });

  test.each(["ops", "customer"] as const)("is approved by %s and then due", async (who) => {
    const { id, one } = await requested();
    const answer = await decide(tenant[who], id, one, "approve");
    expect(answer).toSucceed(200);
    expect(answer.body.data.amount_change).toMatchObject({
      status: "approved",
      requested_by: { id: tenant.driver.id },
      decided_by: { id: tenant[who].id },
    });
    expect(answer.body.data.delivery).toMatchObject({ cod_amount: 4000, ordered_cod_amount: 5000 });
    for (const what of ["approve", "decline"]) {
      const again = await decide(tenant.ops, id, one, what);
      expect(again).toFailWith(409, "amount_change_not_pending");
      expect(again.body.status).toBe("approved");
    }
    const { cash } = await moves(tenant.driver, id, "complete");
    expect(cash.collected.cod).toBe(4000);
  });

  test("is declined, with or without a reason; the driver is notified", async () => {
    const { id, one } = await requested();
    const answer = await decide(tenant.customer, id, one, "decline", { reason: "Not dented" });
    expect(answer).toSucceed(200);
    expect(answer.body.data.amount_change)
      .toMatchObject({ status: "declined", decline_reason: "Not dented" });
    expect(await amountOf(id)).toBe(5000);
    const [notice] = await notices(tenant.driver, "amount_change_declined");
    expect(notice.payload).toMatchObject({ delivery_id: id, amount_change_id: one });
    const next = await change(tenant.driver, id, 3000);
    expect(await decide(tenant.ops, id, next.body.data.amount_change.id, "decline")).toSucceed(200);
  });

  test("is one at a time, whoever changes", async () => {
    const { id, one } = await requested();
    for (const by of [tenant.driver, tenant.ops, tenant.customer]) {
      const again = await change(by, id, 3000);
      expect(again).toFailWith(409, "amount_change_pending");
      expect(again.body.message).toMatch(by === tenant.driver ? /office's decision/ : /Approve or/);
    }
    expect(await decide(tenant.ops, id, one, "decline")).toSucceed(200);
    expect(await change(tenant.ops, id, 3000)).toSucceed(201);
  });

  test("that raises the amount is not the owner's to approve", async () => {
    const { id, one } = await requested(6000);
    expect(await decide(tenant.customer, id, one, "approve"))
      .toFailWith(409, "amount_may_only_fall");
    expect(await decide(tenant.ops, id, one, "approve")).toSucceed(200);
    expect(await amountOf(id)).toBe(6000);
  });

  test("lapses when the delivery ends before", async () => {
    const { id, one } = await requested();
    await moves(tenant.driver, id, "complete");
    const { body } = await tenant.ops.get(amountChanges(id));
    expect(body.data[0]).toMatchObject({ id: one, status: "lapsed", decided_by: null });
    const late = await decide(tenant.ops, id, one, "approve");
    expect(late).toFailWith(409, "amount_change_not_pending");
    expect(late.body.status).toBe("lapsed");
    const { parent, b } = await stagedInWarehouse(ground, { cod_amount: 5000 });
    await takenOver(ground, b);
    expect(await change(tenant.driver, b, 4000)).toSucceed(201);
    await moves(tenant.driver, b, "complete");
    const history = await tenant.ops.get(amountChanges(parent.id));
    expect(history.body.data.map((row: Body) => row.status)).toEqual(["lapsed"]);
  });

  test("is of those who have accepted it", async () => {
    const { id } = await newDelivery(ground, { cod_amount: 5000 });
    await assign(tenant, id, tenant.driver, "pending");
    expect(await change(tenant.driver, id, 1)).toFailWith(403, "forbidden");
    expect(await change(tenant.driver2, id, 1)).toFailWith(404, "delivery_not_found");
    const { id: done } = await deliveryIn(ground, "delivered", { cod_amount: 5000 });
    expect(await change(tenant.driver, done, 1)).toFailWith(403, "forbidden");
  });
});

describe("a decision", () => {
  test("is the office's and the owner's, about this delivery's own request", async () => {
    const { id, one } = await requested();
    const { id: second } = await newDelivery(ground);
    for (const what of ["approve", "decline"]) {
      const call = {
        method: "POST",
        path: `${amountChanges(id)}/${one}/${what}`,
        body: {},
      } as const;
      await expectGuarded(call, { denied: [tenant.warehouse, tenant.staff, tenant.driver] });
      expect(await decide(tenant.institution, id, one, what)).toFailWith(404, "delivery_not_found");
      expect(await decide(tenant.ops, second, one, what)).toFailWith(
        404,
        "amount_change_not_found",
      );
      const anywhere = { ...call, path: `${path}/{id}/amount-changes/${one}/${what}` };
      await expectNoSuch(other.admin, anywhere, "delivery_id", "delivery_not_found", id);
      const nothing = { ...call, path: `${amountChanges(second)}/{id}/${what}` };
      await expectNoSuch(tenant.ops, nothing, "change_id", "amount_change_not_found", one);
    }
    const wrong = await decide(tenant.ops, id, one, "decline", { reason: 7 });
    expect(wrong).toFailWith(400, "validation_failed");
    expect(wrong.body.field).toBe("reason");
    await expectReplayed(tenant.ops, `${amountChanges(id)}/${one}/decline`, {}, { reason: "Old" });
  });

  test("is refused where a store's order fixes the amount", async () => {
    const { id, one } = await requested();
    const unsold = await soldInStore(tenant, id);
    expect(await decide(tenant.ops, id, one, "approve")).toFailWith(409, "order_amount_fixed");
    await unsold();
    expect(await decide(tenant.ops, id, one, "approve")).toSucceed(200);
  });
});

describe("at one moment", () => {
  test("a change before a completion is what is collected, after it there is none", async () => {
    for (const first of ["change", "completion"] as const) {
      const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 5000 });
      const calls = [() => change(tenant.ops, id, 4000), () => move(tenant.driver, id, "complete")];
      if (first === "completion") calls.reverse();
      const answers = await queuedOn(id, calls);
      const [changed, completed] = first === "change" ? answers : answers.reverse();
      expect(completed).toSucceed(200);
      if (first === "change") expect(changed).toSucceed(201);
      else expect(changed).toFailWith(409, "delivery_ended");
      const [row] =
        await sql`select cod_amount from money.cod_collections where delivery_id = ${id}`;
      expect(row.cod_amount).toBe(first === "change" ? 4000 : 5000);
    }
  });

  test("an approval before a completion is what is collected, after it the request has lapsed", async () => {
    for (const first of ["approval", "completion"] as const) {
      const { id, one } = await requested();
      const calls = [
        () => decide(tenant.ops, id, one, "approve"),
        () => move(tenant.driver, id, "complete"),
      ];
      if (first === "completion") calls.reverse();
      const answers = await queuedOn(id, calls);
      const [approved, completed] = first === "approval" ? answers : answers.reverse();
      expect(completed).toSucceed(200);
      if (first === "approval") expect(approved).toSucceed(200);
      else expect(approved).toFailWith(409, "amount_change_not_pending");
      expect(await amountOf(id)).toBe(first === "approval" ? 4000 : 5000);
    }
  });

  test("of two requests one waits; two changes follow each other; ten decisions are one", async () => {
    const { id } = await deliveryIn(ground, "in_transit", { cod_amount: 5000 });
    const asked = await queuedOn(id, [
      () => change(tenant.driver, id, 4000),
      () => change(tenant.driver, id, 3000),
    ]);
    expect(asked[0]).toSucceed(201);
    expect(asked[1]).toFailWith(409, "amount_change_pending");
    const one = asked[0].body.data.amount_change.id;
    const answers = await Promise.all(
      Array.from(
        { length: 10 },
        (_, n) =>
          decide(n % 2 ? tenant.ops : tenant.customer, id, one, n % 3 ? "approve" : "decline"),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const late of answers.filter(({ status }) => status !== 200)) {
      expect(late).toFailWith(409, "amount_change_not_pending");
    }
    const now = await amountOf(id);
    const both = await queuedOn(id, [
      () => change(tenant.ops, id, 2500),
      () => change(tenant.dispatcher, id, 2000),
    ]);
    expect(both.map(({ body }) => body.data.amount_change.old_cod_amount)).toEqual([now, 2500]);
    expect(await amountOf(id)).toBe(2000);
  });
});
