/** The obstacles of an undo, each by name, and its races: of two that want the same money or the same parcel one wins. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { handOver } from "../../support/assignments.ts";
import {
  deliveryIn,
  type Ground,
  move,
  moves,
  newDelivery,
  newGround,
  statusOf,
} from "../../support/deliveries.ts";
import { newPayer, payOut, perDelivery, setRule } from "../../support/driver-pay.ts";
import { fundWallet } from "../../support/money.ts";
import { sound, undo } from "../../support/outcomes.ts";
import { queuedOn } from "../../support/overlapping.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

let tenant: Tenant;
let ground: Ground;
beforeAll(async () => {
  ground = await newPayer();
  tenant = ground.tenant;
  await fundWallet(tenant, "customer", tenant.customer.id, 10_000);
});
afterAll(() => sound(tenant));

const delivered = async (more: Record<string, unknown> = { cod_amount: 5000 }, at = ground) =>
  (await deliveryIn(at, "delivered", more)).id as string;
const cashOf = async (id: string) =>
  (await sql`select id from money.cod_collections where delivery_id = ${id} and reversed_at is null`)[
    0
  ]?.id;
const settle = async (id: string, way: "remit" | "settle-by-wallet") =>
  await tenant.admin.post(`/delivery/cod-collections/${way}`, {
    scope: "selected",
    cod_collection_ids: [await cashOf(id)],
  });
/** Takes so much out of the wallet of the customer. */
const spend = (amount: number) =>
  sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    await tx`select money.post_journal('wallet_adjustment', 'payment', gen_random_uuid(), 'Spent',
      array[money.account_of('wallet', 'customer', ${tenant.customer.id}, 'IQD'), money.account_of('external', 'tenant', null, 'IQD')],
      array[${-amount}::numeric, ${amount}::numeric])`;
  });
const purse = async () =>
  (await sql`select balance from money.accounts where tenant_id = ${tenant.id} and kind = 'wallet'
    and owner_user_id = ${tenant.customer.id}`)[0].balance as number;

describe("what was settled", () => {
  test("cash that was remitted has to be reversed first", async () => {
    const id = await delivered();
    expect(await settle(id, "remit")).toSucceed();
    expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_is_settled");
    const [{ settlement_payment_id: payment }] =
      await sql`select settlement_payment_id from money.cod_collections where delivery_id = ${id}`;
    expect(
      await tenant.admin.post(`/delivery/cod-settlements/${payment}/reverse`, {
        reason: "Wrong",
      }),
    ).toSucceed();
    expect(await undo(tenant.ops, id)).toSucceed(200);
    await sound(tenant);
  });

  test("so has pay that was paid out", async () => {
    const at = await newGround(await newTenant());
    await setRule(at.tenant, perDelivery(500));
    const id = await delivered({ payer_type: "sender" }, at);
    expect(
      await payOut(at.tenant.admin, { driver_id: at.tenant.driver.id, method: "wallet" }),
    ).toSucceed(201);
    expect(await undo(at.tenant.ops, id)).toFailWith(409, "outcome_is_settled");
    await sound(at.tenant);
  });

  test("COD that was spent is missing, and nothing changes", async () => {
    const id = await delivered();
    const had = await purse();
    await spend(had - 4000);
    const short = await undo(tenant.ops, id);
    expect(short).toFailWith(400, "insufficient_wallet_balance");
    expect([await statusOf(id), await purse()]).toEqual(["delivered", 4000]);
    await fundWallet(tenant, "customer", tenant.customer.id, 20_000);
    expect(await undo(tenant.ops, id)).toSucceed(200);
  });
});

describe("what went on", () => {
  test("a retry, a return and another driver", async () => {
    const { id } = await deliveryIn(ground, "failed");
    await moves(tenant.ops, id, ["retry", { override_reason: "Called" }]);
    expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_went_on");
    const back = (await deliveryIn(ground, "failed")).id;
    await moves(tenant.driver, back, "return");
    expect((await undo(tenant.ops, back)).body.data.delivery.status).toBe("failed");
    expect(await undo(tenant.ops, back)).toFailWith(409, "outcome_already_undone");
  });

  test("another driver has it, or is about to; one who did not take it is nobody", async () => {
    const { id } = await deliveryIn(ground, "failed");
    const given = async () =>
      (await handOver(tenant.ops, tenant.driver, tenant.driver2, [id])).body.bulk_assignment_id;
    const answered = async (hand: string, status: string) =>
      expect(await tenant.driver2.put(`/delivery/assignments/bulk/${hand}`, { status }))
        .toSucceed(200);
    const rejected = await given();
    expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_went_on");
    await answered(rejected, "rejected");
    expect(await undo(tenant.driver, id)).toSucceed(200);
    await moves(tenant.driver, id, "fail");
    await answered(await given(), "accepted");
    expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_went_on");
  });

  test("a return that its customer ordered since", async () => {
    const id = await delivered();
    const { id: ordered } = await newDelivery(ground);
    await sql`update delivery.deliveries set original_delivery_id = ${id} where id = ${ordered}`;
    const answer = await undo(tenant.ops, id);
    expect(answer).toFailWith(409, "outcome_went_on");
    expect(answer.body.delivery_ids).toEqual([ordered]);
    await sql`update delivery.deliveries set original_delivery_id = null where original_delivery_id = ${id}`;
  });

  test("a return that the outcome made is cancelled while it is in its driver's hands, and went on after that", async () => {
    const id = await delivered();
    const [{ created_at }] =
      await sql`select created_at::text from delivery.outcomes where delivery_id = ${id}`;
    const child = (await deliveryIn(ground, "picked_up", { payer_type: "sender" })).id;
    await sql`update delivery.deliveries set original_delivery_id = ${id}, created_at = ${created_at}::text::timestamptz,
      delivery_flow = 'operational_return', status = 'in_transit' where id = ${child}`;
    expect(await undo(tenant.ops, id)).toFailWith(409, "outcome_went_on");
    await sql.begin(async (tx) => {
      // Back in the driver's hands, which no move leads to.
      await tx`set local session_replication_role = replica`;
      await tx`update delivery.deliveries set status = 'picked_up' where id = ${child}`;
    });
    expect(await undo(tenant.ops, id)).toSucceed(200);
    expect(await statusOf(child)).toBe("cancelled");
    const live =
      await sql`select from delivery.assignments where delivery_id = ${child} and status = 'accepted'`;
    expect(live).toHaveLength(0);
  });

  test("outside an undo no delivery moves back", async () => {
    const id = await delivered();
    await expect(sql`update delivery.deliveries set status = 'in_transit' where id = ${id}`)
      .rejects.toThrow("invalid_status_transition");
  });
});

describe("races", () => {
  const once = async (
    id: string,
    calls: [() => Promise<{ status: number }>, () => Promise<{ status: number }>],
  ) => {
    const answers = await Promise.all(calls.map((call) => call()));
    expect(answers.map(({ status }) => status >= 400).sort(), id).toEqual([false, true]);
    return answers.map(({ status }) => status);
  };

  test.each(["remit", "settle-by-wallet"] as const)("an undo and %s: one of them", async (way) => {
    if (way === "settle-by-wallet") await fundWallet(tenant, "driver", tenant.driver.id, 100_000);
    for (let round = 0; round < 6; round++) {
      const id = await delivered();
      const row = await cashOf(id);
      await once(id, [
        () => undo(tenant.ops, id),
        () =>
          tenant.admin.post(`/delivery/cod-collections/${way}`, {
            scope: "selected",
            cod_collection_ids: [row],
          }),
      ]);
      await sound(tenant);
    }
  });

  test("an undo and a settlement of all: never both of one row", async () => {
    for (let round = 0; round < 4; round++) {
      const id = await delivered();
      const [undone] = await Promise.all([
        undo(tenant.ops, id),
        tenant.admin.post("/delivery/cod-collections/remit", {
          scope: "all",
          driver_id: tenant.driver.id,
        }),
      ]);
      expect([200, 409]).toContain(undone.status);
      await sound(tenant);
    }
  });

  test("an undo and a wallet that spends the COD: one of them", async () => {
    for (let round = 0; round < 4; round++) {
      const id = await delivered();
      const had = await purse();
      const [undone, spent] = await Promise.all([
        undo(tenant.ops, id),
        spend(had - 1000).then(() => true, () => false),
      ]);
      expect([undone.status, spent]).toEqual(spent ? [400, true] : [200, false]);
      if (spent) await fundWallet(tenant, "customer", tenant.customer.id, had);
      await sound(tenant);
    }
  });

  test("two undos: one; the later one says so", async () => {
    const id = await delivered();
    const answers = await queuedOn(id, [() => undo(tenant.ops, id), () => undo(tenant.driver, id)]);
    expect(answers[0]).toSucceed(200);
    expect(answers[1]).toFailWith(409, "outcome_already_undone");
  });

  test("an undo and a retry: whichever comes first", async () => {
    const retry = (id: string) => () =>
      move(tenant.ops, id, "retry", { override_reason: "Called" });
    const first = (await deliveryIn(ground, "failed")).id;
    const [undone, late] = await queuedOn(first, [() => undo(tenant.driver, first), retry(first)]);
    expect(undone).toSucceed(200);
    expect(late).toFailWith(409, "invalid_status_transition");
    const second = (await deliveryIn(ground, "failed")).id;
    const [retried, refused] = await queuedOn(second, [
      retry(second),
      () => undo(tenant.driver, second),
    ]);
    expect(retried).toSucceed(200);
    expect(refused).toFailWith(409, "outcome_went_on");
  });

  test("an undo and a payout of the pay: one of them", async () => {
    const at = await newGround(await newTenant());
    await setRule(at.tenant, perDelivery(500));
    for (let round = 0; round < 4; round++) {
      const id = await delivered({ payer_type: "sender" }, at);
      await once(id, [
        () => undo(at.tenant.ops, id),
        () => payOut(at.tenant.admin, { driver_id: at.tenant.driver.id, method: "wallet" }),
      ]);
      await sound(at.tenant);
    }
  });
});
