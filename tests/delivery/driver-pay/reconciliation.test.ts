/** The reconciliation compares rows, payouts and books of drivers' pay, and names what is lost. */
import { expect, test } from "vitest";
import { withCash } from "../../support/cash-desks.ts";
import { lawless } from "../../support/cod-holds.ts";
import { cashDifferences } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import type { Ground } from "../../support/deliveries.ts";
import { brought, newPayer, payOut, reverse, sound } from "../../support/driver-pay.ts";

const path = "/delivery/cod-reconciliation";

/** One row due and one paid in cash, by their ids. */
async function newPaid(): Promise<{ ground: Ground; due: string; paid: string; payout: string }> {
  const ground = await newPayer();
  const { tenant } = ground;
  await withCash(5000, tenant);
  await brought(ground);
  const answer = await payOut(tenant.dispatcher, { driver_id: tenant.driver.id });
  expect(answer).toSucceed(201);
  await brought(ground);
  const rows =
    await sql`select id from money.driver_pay where tenant_id = ${tenant.id} order by status`;
  return { ground, due: rows[0].id, paid: rows[1].id, payout: answer.body.data.payout.id };
}

type Paid = Awaited<ReturnType<typeof newPaid>>;

test.each<[string, string, (made: Paid) => Promise<unknown>, keyof Paid]>([
  [
    "pay whose amount was changed",
    "driver_pay_journal",
    ({ due }) => sql`update money.driver_pay set amount = amount + 1 where id = ${due}`,
    "due",
  ],
  [
    "pay that was given to another driver",
    "driver_pay",
    ({ due, ground }) =>
      sql`update money.driver_pay set driver_id = ${ground.tenant.driver2.id} where id = ${due}`,
    "due",
  ],
  [
    "pay that was reversed without its journal",
    "driver_pay_journal",
    ({ due }) =>
      sql`update money.driver_pay set status = 'reversed', reversed_at = now() where id = ${due}`,
    "due",
  ],
  [
    "paid pay that was opened again",
    "driver_paid",
    ({ paid }) =>
      sql`update money.driver_pay set status = 'accrued', paid_at = null, payout_id = null where id = ${paid}`,
    "paid",
  ],
  [
    "pay that a payout never paid",
    "driver_paid",
    ({ due, payout }) =>
      sql`update money.driver_pay set status = 'paid', paid_at = now(), payout_id = ${payout} where id = ${due}`,
    "due",
  ],
  [
    "paid pay whose amount was changed",
    "driver_payout_rows",
    ({ paid }) => sql`update money.driver_pay set amount = amount - 1 where id = ${paid}`,
    "paid",
  ],
  [
    "a payout without its row",
    "driver_payout_rows",
    ({ payout }) =>
      lawless((tx) => tx`delete from money.driver_payout_items where payout_id = ${payout}`),
    "payout",
  ],
  [
    "a payout of another amount",
    "driver_payout_journal",
    ({ payout }) =>
      lawless((tx) => tx`update money.driver_payouts set amount = amount + 1 where id = ${payout}`),
    "payout",
  ],
])("names %s", async (_what, kind, harm, named) => {
  const made = await newPaid();
  const { tenant } = made.ground;
  expect(await cashDifferences(tenant)).toEqual([]);
  await harm(made);
  const { body } = await tenant.admin.get(path);
  expect(body.reconciled).toBe(false);
  const found = body.differences.filter((one: { kind: string }) => one.kind === kind);
  expect(found).not.toEqual([]);
  if (kind !== "driver_payout_rows" || named !== "payout") {
    expect(found.flatMap(({ rows }: { rows: string[] }) => rows)).toContain(
      kind === "driver_pay" ? made.due : made[named],
    );
  }
  await sql`select money.cod_reconcile_all(${tenant.id})`;
  const events =
    await sql`select from integration.system_events where tenant_id = ${tenant.id} and event_type = 'cod.mismatch'`;
  expect(events).toHaveLength(1);
});

test("a payout that was not booked is refused at the commit", async () => {
  const { ground: { tenant }, payout } = await newPaid();
  const unbooked =
    sql`insert into money.driver_payouts (tenant_id, driver_id, method, amount, currency, accruals, actor_id)
    select tenant_id, driver_id, method, amount, currency, accruals, actor_id from money.driver_payouts where id = ${payout}`;
  await expect(unbooked).rejects.toThrow("no journal of its amount");
  await sound(tenant);
});

test("holds as of any moment: before a payout, before its reversal and after it", async () => {
  const ground = await newPayer();
  const { tenant } = ground;
  await withCash(5000, tenant);
  await brought(ground);
  const moments: string[] = [];
  const moment = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    moments.push(new Date().toISOString());
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await moment();
  const paid = await payOut(tenant.dispatcher, { driver_id: tenant.driver.id });
  await moment();
  expect(await reverse(tenant.dispatcher, paid.body.data.payout.id)).toSucceed(200);
  await moment();
  const at = async (as_of: string) => {
    const { body } = await tenant.admin.get(path, { query: { as_of } });
    expect(body.differences).toEqual([]);
    const [pay] = body.driver_pay;
    return [pay.accrued, pay.paid, pay.owed, pay.ledger, body.desks[0].paid_out];
  };
  expect(await at(moments[0])).toEqual([500, 0, 500, 500, 0]);
  expect(await at(moments[1])).toEqual([500, 500, 0, 0, 500]);
  expect(await at(moments[2])).toEqual([500, 0, 500, 500, 0]);
});
