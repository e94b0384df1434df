/** A remittance of cash that the driver declared and nobody has counted. */
import { beforeEach, describe, expect, test } from "vitest";
import { cashDifferences, newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { checkBooks, fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";

const cod = "/delivery/cod-collections";

let tenant: Tenant;
beforeEach(async () => {
  tenant = await newTenant();
});

const declare = async (amount: number) => {
  const answer = await tenant.driver.post(`${cod}/handover`, { amount });
  expect(answer).toSucceed(201);
  return answer.body.data.id as string;
};
const handover = async (id: string) => {
  const { body } = await tenant.dispatcher.get(`${cod}/handovers`);
  return body.data.find((one: { id: string }) => one.id === id);
};
const eventsOf = (id: string) =>
  sql`select event_type, event_data from integration.system_events
    where tenant_id = ${tenant.id} and entity_id = ${id} order by id`;
const sound = async () => {
  expect(await checkBooks(tenant)).toEqual([]);
  expect(await cashDifferences(tenant)).toEqual([]);
};

describe("a declaration that nobody counted", () => {
  test("is counted by the office that remits the same amount, and the driver declares anew", async () => {
    const { id } = await newCash(tenant);
    const declared = await declare(1250);
    const done = await tenant.dispatcher.post(remit, selected(id));
    expect(done).toSucceed(200);
    expect(done.body.data).toMatchObject({ counted: 1250, shortage: null });
    const { settlement_payment_id } = done.body.data;
    expect(await handover(declared)).toMatchObject({
      status: "counted",
      counted_amount: 1250,
      difference: 0,
      counted_by: { id: tenant.dispatcher.id },
      settlement_payment_id,
    });
    expect(await eventsOf(declared)).toMatchObject([{
      event_type: "cash_handover.counted",
      event_data: { actor_id: tenant.dispatcher.id, settlement_payment_id },
    }]);
    await newCash(tenant);
    await declare(1250);
    await sound();

    // Reversed, its cash is remitted by the same handover.
    const reversed = await tenant.admin.post(
      `/delivery/cod-settlements/${settlement_payment_id}/reverse`,
      { reason: "Wrong desk" },
    );
    expect(reversed).toSucceed(200);
    expect(await handover(declared)).toMatchObject({
      status: "counted",
      settlement_payment_id: null,
    });
    expect(await tenant.dispatcher.post(remit, selected(id))).toSucceed(200);
    expect((await handover(declared)).settlement_payment_id).not.toBeNull();
    await sound();
  });

  test("is cancelled where another amount was remitted and less is left, and names the settlement", async () => {
    const { id } = await newCash(tenant);
    const declared = await declare(1500);
    const done = await tenant.dispatcher.post(remit, selected(id));
    const { settlement_payment_id } = done.body.data;
    expect(await handover(declared)).toMatchObject({
      status: "cancelled",
      declared_amount: 1500,
      counted_amount: null,
      settlement_payment_id,
    });
    expect(await eventsOf(declared)).toMatchObject([{
      event_type: "cash_handover.cancelled",
      event_data: { declared_amount: 1500, actor_id: tenant.dispatcher.id, settlement_payment_id },
    }]);
    await newCash(tenant);
    await declare(1250);
    await sound();
  });

  test("waits for its count where the driver still has that much", async () => {
    const [{ id }] = [await newCash(tenant), await newCash(tenant), await newCash(tenant)];
    const declared = await declare(2500);
    expect(await tenant.dispatcher.post(remit, selected(id))).toSucceed(200);
    expect(await handover(declared)).toMatchObject({
      status: "declared",
      settlement_payment_id: null,
    });
    const all = { scope: "all", driver_id: tenant.driver.id };
    expect(await tenant.dispatcher.post(remit, all)).toSucceed(200);
    expect(await handover(declared)).toMatchObject({ status: "counted" });
    await sound();
  });

  test("is cancelled, not counted, by a driver who remits or pays from the wallet", async () => {
    await newCash(tenant);
    const handed = await declare(1250);
    const remitted = await tenant.driver.post(remit, {
      scope: "all",
      remitted_to_user_id: tenant.dispatcher.id,
    });
    expect(remitted).toSucceed(200);
    expect(await handover(handed)).toMatchObject({
      status: "cancelled",
      counted_by: null,
      settlement_payment_id: remitted.body.data.settlement_payment_id,
    });

    await fundWallet(tenant, "driver", tenant.driver.id, 5000);
    await newCash(tenant);
    const kept = await declare(1250);
    const paid = await tenant.driver.post(`${cod}/settle-by-wallet`, { scope: "all" });
    expect(paid).toSucceed(200);
    expect(await handover(kept)).toMatchObject({ status: "cancelled" });
    await newCash(tenant);
    await declare(1250);
    await sound();
  });

  test("is counted or remitted, whichever comes first, and never both with two amounts", async () => {
    for (const counted_amount of [1250, 1000]) {
      const { id } = await newCash(tenant);
      const declared = await declare(1250);
      const [done, counted] = await Promise.all([
        tenant.dispatcher.post(remit, selected(id)),
        tenant.admin.post(`${cod}/handovers/${declared}/count`, { counted_amount }),
      ]);
      expect(done).toSucceed(200);
      const short = counted.status === 200 ? 1250 - counted_amount : 0;
      expect(done.body.data.counted).toBe(1250 - short);
      expect(await handover(declared)).toMatchObject({
        status: short ? "discrepancy" : "counted",
        settlement_payment_id: done.body.data.settlement_payment_id,
      });
      await sound();
    }
  });

  test("is cancelled by the later of two settlements that leave less together, also at once", async () => {
    for (let round = 0; round < 4; round++) {
      const rows = [];
      for (let row = 0; row < 3; row++) rows.push((await newCash(tenant)).id);
      const declared = await declare(2500);
      const answers = await Promise.all(
        rows.slice(1).map((id) => tenant.dispatcher.post(remit, selected(id))),
      );
      for (const answer of answers) expect(answer).toSucceed(200);
      const { status, settlement_payment_id } = await handover(declared);
      expect(status).toBe("cancelled");
      expect(answers.map(({ body }) => body.data.settlement_payment_id))
        .toContain(settlement_payment_id);
      expect(await tenant.dispatcher.post(remit, selected(rows[0]!))).toSucceed(200);
    }
    await sound();
  });

  test("that belongs to another pile stays where handovers are required", async () => {
    await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
    const [{ id }] = [await newCash(tenant), await newCash(tenant)];
    const first = await declare(1250);
    const counted = { counted_amount: 1250 };
    expect(await tenant.dispatcher.post(`${cod}/handovers/${first}/count`, counted)).toSucceed(200);
    const second = await declare(1250);
    expect(await tenant.dispatcher.post(remit, selected(id))).toSucceed(200);
    expect(await handover(second)).toMatchObject({ status: "declared" });
    expect(await tenant.dispatcher.post(remit, { scope: "all", driver_id: tenant.driver.id }))
      .toFailWith(409, "cash_handover_required");
    expect(await tenant.dispatcher.post(`${cod}/handovers/${second}/count`, counted)).toSucceed(
      200,
    );
    await sound();
  });
});
