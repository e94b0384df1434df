/** An amount that was agreed for a part of a parcel is never taken for the whole of it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change } from "../../support/amount-changes.ts";
import type { Answer, Body } from "../../support/api.ts";
import { enable, external, report as carrierReport } from "../../support/carriers.ts";
import { sql } from "../../support/db.ts";
import {
  assign,
  bookOf,
  checkAll,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  path,
  stagedInWarehouse,
  statusOf,
  takenOver,
} from "../../support/deliveries.ts";
import { kept, partial, priced, unpriced } from "../../support/kept-parts.ts";
import { onItsWay, photoOf, report, undo } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { redirect } from "../../support/redirects.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  tenant = await newTenant();
  ground = await newGround(tenant);
});
afterAll(() => checkAll(tenant));

const exchanged = { result: "exchanged", taken_back: [{ name: "Old phone", quantity: 1 }] };

/** Agrees on 11,000 for a shirt and the cap, as the office. */
async function agreed(id: string, cod_amount = 11_000): Promise<Body> {
  const kept_items = await kept(tenant, id, { Cap: 1, Shirt: 1 });
  const answer = await change(tenant.ops, id, cod_amount, { kept_items });
  expect(answer).toSucceed(201);
  return answer.body.data.amount_change;
}

function expectForPart(answer: Answer, { id, kept_items, new_cod_amount }: Body): void {
  expect(answer).toFailWith(409, "amount_is_for_part");
  expect(answer.body).toMatchObject({
    change_id: id,
    kept_items,
    cod_amount: new_cod_amount,
    currency: "IQD",
  });
}

const refusals = async (id: string): Promise<Answer[]> => [
  await move(tenant.driver, id, "complete"),
  await move(tenant.ops, id, "complete", { cash_collected: { cod: 11_000, delivery_fee: 2000 } }),
  await report(tenant.driver, id, { result: "delivered" }),
  await report(tenant.driver, id, exchanged),
];

describe("a parcel whose amount is for a part of it", () => {
  test("is not handed over whole, whatever is reported; nothing is written", async () => {
    const id = await onItsWay(ground, "in_transit", unpriced);
    const held = await bookOf(tenant, "driver_cash", tenant.driver.id);
    const one = await agreed(id);
    for (const answer of await refusals(id)) expectForPart(answer, one);
    for (const language of ["ar", "ku"]) {
      const answer = await tenant.driver.post(`${path}/${id}/complete?language=${language}`, {});
      expect(answer.body.message).toContain("11000");
    }
    expect(await statusOf(id)).toBe("in_transit");
    const [{ returns }] = await sql`select count(*)::int as returns from delivery.deliveries
      where original_delivery_id = ${id}`;
    expect(returns).toBe(0);
    expect(await bookOf(tenant, "driver_cash", tenant.driver.id)).toBe(held);
  });

  test("is delivered in part for it, or fails as any other", async () => {
    const id = await onItsWay(ground, "in_transit", unpriced);
    const { kept_items } = await agreed(id);
    expect(await report(tenant.driver, id, { result: "failed", reason_code: "no_answer" }))
      .toSucceed(200);
    await moves(tenant.ops, id, ["retry", { override_reason: "Again" }]);
    const answer = await report(tenant.driver, id, { result: "partial", items: kept_items });
    expect(answer).toSucceed(200);
    expect(answer.body.data.cash.collected.cod).toBe(11_000);
  });

  test("is handed over whole for a new amount, also for the same one", async () => {
    for (const amount of [19_000, 11_000]) {
      const id = await onItsWay(ground, "in_transit", unpriced);
      const one = await agreed(id);
      const asked = await change(tenant.driver, id, amount);
      expect(asked).toSucceed(201);
      expectForPart(await move(tenant.driver, id, "complete"), one);
      const decision = `amount-changes/${asked.body.data.amount_change.id}/approve`;
      expect(await move(tenant.ops, id, decision)).toSucceed(200);
      expect(await change(tenant.ops, id, amount)).toFailWith(400, "amount_unchanged");
      const { cash } = await moves(tenant.driver, id, "complete");
      expect(cash.collected.cod).toBe(amount);
    }
  });

  test("stays so where it is sent elsewhere", async () => {
    const id = await onItsWay(ground, "in_transit", unpriced);
    const one = await agreed(id);
    expect(await redirect(tenant.ops, id, ground.from)).toSucceed(200);
    expectForPart(await move(tenant.driver, id, "complete"), one);
  });

  test("comes into a warehouse whole, and its last leg is refused to its driver", async () => {
    const { parent, b } = await stagedInWarehouse(ground, unpriced);
    const one = await agreed(parent.id);
    await takenOver(ground, b);
    for (const answer of await refusals(b)) expectForPart(answer, one);
    const answer = await report(tenant.driver, b, { result: "partial", items: one.kept_items });
    expect(answer).toSucceed(200);
    const made = await newDelivery(ground, {
      ...unpriced,
      staged: true,
      warehouse_id: ground.warehouse,
    });
    await agreed(made.id);
    const [a] = made.legs.map(({ id }: Body) => id);
    await assign(tenant, a);
    await moves(tenant.driver, a, "pickup", "depart", "complete");
  });

  test("sends the rest back, which is handed over as any return", async () => {
    const id = await onItsWay(ground, "in_transit", unpriced);
    const { kept_items } = await agreed(id);
    const answer = await report(tenant.driver, id, { result: "partial", items: kept_items });
    const [back] = answer.body.data.returns;
    await moves(tenant.driver, back.id, "depart", ["complete", {
      proof: await photoOf(tenant.driver, back.id),
    }]);
  });

  test("is not booked with a carrier; booked so by an earlier version, it is what its carrier reports", async () => {
    const { secret } = await enable(tenant);
    const book = (id: string) =>
      tenant.ops.post(`/carriers/shipments/${id}`, { carrier_code: "simulated" });
    const bookedBefore = async () => {
      const { id } = await newDelivery(ground, { ...external, ...unpriced });
      const { body: { shipment } } = await book(id);
      const kept_items = await kept(tenant, id, { Cap: 1, Shirt: 1 });
      await sql`with d as (update delivery.deliveries set cod_amount = 11000, ordered_cod_amount = cod_amount where id = ${id} returning *)
        insert into delivery.amount_changes (tenant_id, delivery_id, old_cod_amount, new_cod_amount, currency, reason, kept_items, status,
          decided_at)
        select tenant_id, id, ordered_cod_amount, 11000, currency, 'part', ${
        sql.json(kept_items)
      }, 'approved', now() from d`;
      await sql`update integration.carrier_shipments set cash_due = 13000 where delivery_id = ${id}`;
      return { id, tracking_number: shipment.tracking_number as string };
    };
    const made = await bookedBefore();
    const told = await carrierReport(tenant, secret, {
      tracking_number: made.tracking_number,
      status: "delivered",
    });
    expect(told.body.outcome).toBe("applied");
    expect(await statusOf(made.id)).toBe("delivered");
    const other = await newDelivery(ground, { ...external, ...unpriced });
    const one = await agreed(other.id);
    expectForPart(await book(other.id), one);
    await moves(tenant.ops, other.id, "depart");
    expectForPart(await move(tenant.ops, other.id, "complete"), one);
    await moves(tenant.ops, (await bookedBefore()).id, "depart", "complete");
  });
});

describe("an undo", () => {
  test("of a part puts the amount for the whole back, and it is handed over whole", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    expect(await report(tenant.driver, id, await partial(tenant, id, { Cap: 1 }))).toSucceed(200);
    expect(await undo(tenant.driver, id)).toSucceed(200);
    const { cash } = await moves(tenant.driver, id, "complete");
    expect(cash.collected.cod).toBe(20_000);
  });

  test("puts an agreement about a part back, also where another part was kept", async () => {
    const id = await onItsWay(ground, "in_transit", priced);
    const one = await agreed(id, 20_000);
    const parts: Record<string, number>[] = [{ Cap: 1, Shirt: 1 }, { Cap: 1 }];
    for (const part of parts) {
      expect(await report(tenant.driver, id, await partial(tenant, id, part))).toSucceed(200);
      expect(await undo(tenant.driver, id)).toSucceed(200);
      const answer = await move(tenant.driver, id, "complete");
      expect(answer).toFailWith(409, "amount_is_for_part");
      expect(answer.body).toMatchObject({ kept_items: one.kept_items, cod_amount: 20_000 });
    }
  });
});

test("an undo of a part leaves the agreement that came just before it", async () => {
  const id = await onItsWay(ground, "in_transit", unpriced);
  const items = await kept(tenant, id, { Cap: 1 });
  const [before, part] = await queuedOn(id, [
    () => change(tenant.ops, id, 4000, { kept_items: items }),
    () => report(tenant.driver, id, { result: "partial", items }),
  ]);
  expect(part.body.data.cash.collected.cod).toBe(4000);
  expect(await undo(tenant.driver, id)).toSucceed(200);
  expectForPart(await move(tenant.driver, id, "complete"), before.body.data.amount_change);
});

test("at one moment an agreement and a completion: after it there is none of the whole", async () => {
  for (const first of ["agreement", "completion"] as const) {
    const id = await onItsWay(ground, "in_transit", unpriced);
    const kept_items = await kept(tenant, id, { Cap: 1 });
    const calls = [
      () => change(tenant.ops, id, 4000, { kept_items }),
      () => move(tenant.driver, id, "complete"),
    ];
    if (first === "completion") calls.reverse();
    const answers = await queuedOn(id, calls);
    if (first === "agreement") {
      expectForPart(answers[1], answers[0].body.data.amount_change);
      expect(await statusOf(id)).toBe("in_transit");
    } else {
      expect(answers[0].body.cash.collected.cod).toBe(20_000);
      expect(answers[1]).toFailWith(409, "delivery_ended");
    }
  }
});
