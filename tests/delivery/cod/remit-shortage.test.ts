/** Cash that is remitted while its count found less: the rest is the driver's shortage until somebody resolves it. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { accountOf, cashRow, newCash, remit, selected, settlementsOf } from "../../support/cod.ts";
import { heldBy } from "../../support/cash-desks.ts";
import { sql } from "../../support/db.ts";
import { balanceOf, fundWallet } from "../../support/money.ts";
import { newTenant, saveSettings, type Tenant } from "../../support/people.ts";
import { settlements, sound, takeBack } from "../../support/settlements.ts";

const key = (value = randomUUID()) => ({ headers: { "idempotency-key": value } });
const shortOf = (tenant: Tenant) => accountOf(tenant, "driver_shortage", tenant.driver.id);

/** 1,250 in the driver's hands, declared, and counted as this much. */
async function counted(amount: number) {
  const tenant = await newTenant();
  const { id } = await newCash(tenant);
  const answer = await tenant.dispatcher.post("/delivery/cod-collections/handover", {
    driver_id: tenant.driver.id,
    amount: 1250,
    counted_amount: amount,
  });
  expect(answer).toSucceed(201);
  return { tenant, id, handover: answer.body.data.id as string };
}

const resolve = (tenant: Tenant, id: string, resolution: string, more = {}) =>
  tenant.dispatcher.post(`/delivery/cod-collections/handovers/${id}/resolve`, {
    resolution,
    ...more,
  });

test("books what was counted on the desk and the rest as the driver's, and says so at every replay", async () => {
  const { tenant, id, handover } = await counted(900);
  const once = key();
  const answer = await tenant.dispatcher.post(remit, selected(id), once);
  expect(answer).toSucceed(200);
  expect(answer.body.data).toMatchObject({
    total_remitted: 1250,
    remitted_count: 1,
    counted: 900,
    shortage: { amount: 350, discrepancy_id: handover },
  });
  expect((await cashRow(id)).status).toBe("remitted");
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(900);
  expect(await shortOf(tenant)).toBe(350);
  expect(await accountOf(tenant, "driver_cash", tenant.driver.id)).toBe(0);
  await sound(tenant);
  const payment = answer.body.data.settlement_payment_id;
  const list = await tenant.dispatcher.get(settlements);
  expect(list.body.data[0]).toMatchObject({
    total: 1250,
    counted: 900,
    shortage: { amount: 350, discrepancy_id: handover },
  });
  expect(await resolve(tenant, handover, "written_off")).toSucceed(200);
  const again = await tenant.dispatcher.post(remit, selected(id), once);
  expect({ ...again.body.data, receipt_status: "" })
    .toEqual({ ...answer.body.data, receipt_status: "" });
  // Also when the answer is no longer remembered, but the settlement.
  await sql`delete from app.idempotency_keys where key = ${once.headers["idempotency-key"]}`;
  const late = await tenant.dispatcher.post(remit, selected(id), once);
  expect({ ...late.body.data, receipt_status: "" })
    .toEqual({ ...answer.body.data, receipt_status: "" });
  expect(await settlementsOf(tenant)).toBe(1);
  const [{ snapshot }] = await sql`select snapshot from money.payments where id = ${payment}`;
  expect(snapshot).toMatchObject({ counted: 900, shortage: 350 });
  await sound(tenant);
});

test("is nothing but its total when all was there, or nothing was counted", async () => {
  const tenant = await newTenant();
  const { id } = await newCash(tenant);
  const answer = await tenant.dispatcher.post(remit, selected(id));
  expect(answer.body.data).toMatchObject({ counted: 1250, shortage: null });
  await sound(tenant);
});

test("nothing at all on the desk is a shortage of all of it", async () => {
  const { tenant, id } = await counted(0);
  const answer = await tenant.dispatcher.post(remit, selected(id));
  expect(answer.body.data).toMatchObject({ counted: 0, shortage: { amount: 1250 } });
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
  await sound(tenant);
});

test("resolved afterwards, each way takes the shortage from the driver's and from no desk", async () => {
  const ways = [
    ["written_off", {}, 900],
    ["driver_owes", {}, 900],
    ["recounted", { counted_amount: 1250 }, 1250],
  ] as const;
  for (const [way, more, desk] of ways) {
    const { tenant, id, handover } = await counted(900);
    const wallet = await fundWallet(tenant, "driver", tenant.driver.id, 1000);
    expect(await tenant.dispatcher.post(remit, selected(id)), way).toSucceed(200);
    expect(await resolve(tenant, handover, way, more), way).toSucceed(200);
    expect(await shortOf(tenant), way).toBe(0);
    expect(await heldBy(tenant, tenant.dispatcher), way).toBe(desk);
    expect(await balanceOf(wallet), way).toBe(way === "driver_owes" ? 650 : 1000);
    await sound(tenant);
  }
});

test("is reversed with its shortage while that is open, and not once it was resolved", async () => {
  const { tenant, id, handover } = await counted(900);
  const first = await tenant.dispatcher.post(remit, selected(id));
  const settlement = first.body.data.settlement_payment_id;
  expect(await takeBack(tenant.admin, settlement)).toSucceed(200);
  expect(await shortOf(tenant)).toBe(0);
  // The cash that was handed in, and how much of it was missing; its receiver never had that.
  const events = await sql`select event_data from integration.system_events
    where entity_id = ${settlement} order by position`;
  expect(events.map(({ event_data: data }) => [data.total, data.shortage])).toEqual([
    [1250, 350],
    [1250, 350],
  ]);
  const notices = await sql`select user_id, payload from tenancy.notifications
    where tenant_id = ${tenant.id} and type = 'cod_settlement_reversed'`;
  expect(new Map(notices.map(({ user_id, payload }) => [user_id, payload.amount]))).toEqual(
    new Map([[tenant.driver.id, 1250], [tenant.dispatcher.id, 900]]),
  );
  expect(await heldBy(tenant, tenant.dispatcher)).toBe(0);
  await sound(tenant);
  const second = await tenant.dispatcher.post(remit, selected(id));
  expect(second.body.data).toMatchObject({ shortage: { amount: 350, discrepancy_id: handover } });
  expect(await resolve(tenant, handover, "written_off")).toSucceed(200);
  const refused = await takeBack(tenant.dispatcher, second.body.data.settlement_payment_id);
  expect(refused).toFailWith(409, "settlement_not_reversible");
  expect(refused.body.message).toContain("shortage");
  await sound(tenant);
});

test("of remitting and resolving at once the shortage is booked once", async () => {
  for (let round = 0; round < 4; round++) {
    const { tenant, id, handover } = await counted(900);
    const [paid, resolved] = await Promise.all([
      tenant.dispatcher.post(remit, selected(id)),
      resolve(tenant, handover, "written_off"),
    ]);
    expect(paid).toSucceed(200);
    expect(resolved).toSucceed(200);
    expect(await heldBy(tenant, tenant.dispatcher)).toBe(900);
    expect(await shortOf(tenant)).toBe(0);
    await sound(tenant);
  }
});

test("of two who remit the same cash at once one does, with its shortage", async () => {
  const { tenant, id } = await counted(900);
  const both = await Promise.all([
    tenant.dispatcher.post(remit, selected(id)),
    tenant.admin.post(remit, { ...selected(id), remitted_to_user_id: tenant.dispatcher.id }),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
  expect(await shortOf(tenant)).toBe(350);
  await sound(tenant);
});

test("a count in another open transaction is waited for, not skipped", async () => {
  const { tenant, id, handover } = await counted(1250);
  await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
  const waiting = await sql.begin(async (tx) => {
    const [{ pid }] = await tx`select pg_backend_pid() as pid from money.cash_handovers
      where id = ${handover} for no key update`;
    const asked = tenant.dispatcher.post(remit, selected(id));
    let over = false;
    void asked.finally(() => over = true);
    const waits = async () =>
      (await sql`select from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid))`).length >
        0;
    while (!over && !await waits()) await new Promise((resolve) => setTimeout(resolve, 10));
    return { asked };
  });
  const answer = await waiting.asked;
  expect(answer).toSucceed(200);
  const [row] =
    await sql`select settlement_payment_id as used from money.cash_handovers where id = ${handover}`;
  expect(row.used).toBe(answer.body.data.settlement_payment_id);
  await sound(tenant);
});

test("where a counted handover is required, an open difference is resolved first", async () => {
  const { tenant, id } = await counted(900);
  await saveSettings(tenant.id, "delivery.cod", { require_handover: true });
  expect(await tenant.dispatcher.post(remit, selected(id)))
    .toFailWith(409, "cash_handover_required");
  expect(await shortOf(tenant)).toBe(0);
});

test("a shortage that is counted again in full while it is remitted belongs to that remittance", async () => {
  const { tenant, id, handover } = await counted(900);
  let answers: Promise<Awaited<ReturnType<typeof resolve>>>[] = [];
  await sql.begin(async (tx) => {
    const [{ pid }] =
      await tx`select pg_backend_pid() as pid from money.cash_handovers where id = ${handover} for update`;
    // Both wait for the row: first the one that resolves it, then the one that remits.
    const waiting = async (count: number) => {
      for (let blocking = [pid]; blocking.length <= count;) {
        blocking = [
          pid,
          ...(await sql`select pid from pg_stat_activity where pg_blocking_pids(pid) && ${blocking}::int[]`)
            .map((row) => row.pid),
        ];
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    answers = [resolve(tenant, handover, "recounted", { counted_amount: 1250 })];
    await waiting(1);
    answers.push(tenant.dispatcher.post(remit, selected(id)));
    await waiting(2);
  });
  const [resolved, remitted] = await Promise.all(answers);
  expect(resolved).toSucceed(200);
  expect(remitted).toSucceed(200);
  expect(remitted!.body.data).toMatchObject({ counted: 1250, shortage: null });
  const [row] = await sql`select * from money.cash_handovers where id = ${handover}`;
  expect(row.settlement_payment_id).toBe(remitted!.body.data.settlement_payment_id);
  await sound(tenant);
});
