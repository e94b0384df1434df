/** Statements that are made by themselves: once a day of the cycle and owner, of what was credited before that day. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { remit, selected } from "../../support/cod.ts";
import { delivered } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import type { Ground } from "../../support/deliveries.ts";
import {
  creditedAt,
  dayOf,
  dayPasses,
  midnight,
  setCycle,
  statementsOf,
  tick,
} from "../../support/merchant-cycle.ts";
import {
  broughtIn,
  cancel,
  newMerchant,
  open,
  opened,
  sound,
} from "../../support/merchant-statements.ts";
import { fundWallet } from "../../support/money.ts";
import { whileOpen } from "../../support/overlapping.ts";
import type { Tenant } from "../../support/people.ts";

const second = (at: Date, by: number) => new Date(at.getTime() + by);
const ofInstitution = (tenant: Tenant) => ({
  customer_id: undefined,
  institution_user_id: tenant.institution.id,
});

/** A company with a cycle, whose customer had this COD remitted yesterday. */
async function newCycle(
  rule: Record<string, unknown> = {},
  cods: number[] = [7_000],
): Promise<{ ground: Ground; tenant: Tenant; rows: string[] }> {
  const made = await newMerchant(cods);
  await setCycle(made.tenant, { cycle: "daily", ...rule });
  if (made.rows.length) await creditedAt(second(await midnight(made.tenant), -1), ...made.rows);
  return made;
}

test.each([
  [{}, "2026-11-25", null],
  [{ cycle: "none" }, "2026-11-25", null],
  [{ cycle: "daily" }, "2026-11-25", "2026-11-25"],
  // 2026-11-25 is a Wednesday.
  [{ cycle: "weekly" }, "2026-11-25", "2026-11-22"],
  [{ cycle: "weekly" }, "2026-11-22", "2026-11-22"],
  [{ cycle: "weekly" }, "2026-11-21", "2026-11-15"],
  [{ cycle: "weekly", weekday: "wednesday" }, "2026-11-25", "2026-11-25"],
  [{ cycle: "weekly", weekday: "thursday" }, "2026-11-25", "2026-11-19"],
  [{ cycle: "weekly", weekday: "monday" }, "2026-11-01", "2026-10-26"],
  [{ cycle: "weekly", weekday: null }, "2026-11-25", "2026-11-22"],
  [{ cycle: "monthly" }, "2026-11-25", "2026-11-01"],
  [{ cycle: "monthly" }, "2026-11-01", "2026-11-01"],
  [{ cycle: "monthly", day: 28 }, "2026-11-25", "2026-10-28"],
  [{ cycle: "monthly", day: 28 }, "2028-03-01", "2028-02-28"],
  [{ cycle: "monthly", day: 15 }, "2027-01-14", "2026-12-15"],
])("the day of %j on %s is %s", async (rule, today, day) => {
  const [{ found }] = await sql`select money.cycle_day(${
    sql.json(rule as never)
  }, ${today})::text as found`;
  expect(found).toBe(day);
});

test("what was credited before the day began in the company's time zone, once, and the rest the next day", async () => {
  const { ground, tenant } = await newCycle({}, []);
  const [before, after] = await broughtIn(ground, [7_000, 3_000]);
  const start = await midnight(tenant);
  await creditedAt(second(start, -1), before!);
  await creditedAt(start, after!);
  await tick(tenant);
  const today = await dayOf(tenant);
  expect(await statementsOf(tenant)).toEqual([[tenant.customer.id, 7_000, today]]);
  const { body } = await tenant.ops.get("/delivery/merchant-statements");
  expect(body.data[0]).toMatchObject({
    status: "open",
    net: 7_000,
    period: { to: expect.any(String) },
  });
  expect(new Date(body.data[0].period.to)).toEqual(start);
  expect(
    await sql`select event_data from integration.system_events
      where tenant_id = ${tenant.id} and event_type = 'merchant_statement.opened'`,
  ).toEqual([{
    event_data: expect.objectContaining({
      statement_id: body.data[0].id,
      owner_user_id: tenant.customer.id,
      net: 7_000,
      actor_id: null,
    }),
  }]);
  await tick(tenant);
  await sql`update money.merchant_cycles set day = null where tenant_id = ${tenant.id}`;
  await tick(tenant);
  expect(await statementsOf(tenant)).toHaveLength(1);
  await dayPasses(tenant);
  await tick(tenant);
  expect((await statementsOf(tenant)).map(([, net, day]) => [net, day]))
    .toEqual([[7_000, await dayOf(tenant, 1)], [3_000, today]]);
  await sound(tenant);
});

test("only owners with COD that is released, and enough of it", async () => {
  const { ground, tenant } = await newCycle({ minimum: 5_000 }, [4_999]);
  await fundWallet(tenant, "institution", tenant.institution.id, 9_000);
  await dayPasses(tenant);
  await tick(tenant);
  expect(await statementsOf(tenant)).toEqual([]);
  const [held] = await delivered(ground, [6_000], ofInstitution(tenant));
  await dayPasses(tenant);
  await tick(tenant);
  expect(await statementsOf(tenant)).toEqual([]);
  expect(await tenant.dispatcher.post(remit, selected(held!))).toSucceed(200);
  await broughtIn(ground, [1]);
  await tick(tenant);
  expect(await statementsOf(tenant)).toEqual([]);
  await dayPasses(tenant);
  await tick(tenant);
  expect((await statementsOf(tenant)).map(([owner, net]) => [owner, net]).sort()).toEqual([
    [tenant.customer.id, 5_000],
    [tenant.institution.id, 15_000],
  ].sort());
  await sound(tenant);
});

test("days that were missed are made up for by one statement, of the last of them", async () => {
  const { ground, tenant } = await newCycle();
  await dayPasses(tenant);
  await broughtIn(ground, [3_000]);
  await dayPasses(tenant, 2);
  await tick(tenant);
  expect(await statementsOf(tenant)).toEqual([[tenant.customer.id, 10_000, await dayOf(tenant)]]);
  await sound(tenant);
});

describe("the setting", () => {
  test("counts from the day after it was saved, and is forgotten without a cycle", async () => {
    const { tenant } = await newCycle();
    const save = async (settings: Record<string, unknown>) =>
      expect(
        await tenant.admin.put(`/tenants/${tenant.id}/settings`, {
          delivery: { payouts: { settings } },
        }),
      ).toSucceed(200);
    const kept = async () =>
      (await sql`select begun_at > now() - interval '1 day' as today from money.merchant_cycles where tenant_id = ${tenant.id}`)
        .map(({ today }) => today);
    expect(await kept()).toEqual([false]);
    await save({ minimum: 100 });
    expect(await kept()).toEqual([false]);
    await save({ cycle: "none" });
    expect(await kept()).toEqual([]);
    await tick(tenant);
    await save({ cycle: "daily" });
    expect(await kept()).toEqual([true]);
    await tick(tenant);
    expect(await statementsOf(tenant)).toEqual([]);
    await dayPasses(tenant);
    await tick(tenant);
    expect(await statementsOf(tenant)).toHaveLength(1);
    await sql`update money.merchant_cycles set begun_at = now() - interval '1 year' where tenant_id = ${tenant.id}`;
    await save({ cycle: "weekly", weekday: "monday" });
    expect(await kept()).toEqual([true]);
  });

  test("none: no job, whatever is due", async () => {
    const { tenant } = await newMerchant([7_000]);
    await setCycle(tenant, { cycle: "none" });
    await dayPasses(tenant, 40);
    await tick(tenant);
    expect(await statementsOf(tenant)).toEqual([]);
    expect(
      await sql`select from app.jobs where tenant_id = ${tenant.id} and kind = 'delivery.merchant_statements'`,
    ).toEqual([]);
  });
});

test("one owner's failure stops neither other owners nor other companies, and is made up for", async () => {
  const { ground, tenant } = await newCycle();
  const { tenant: other } = await newCycle();
  await broughtIn(ground, [4_000], ofInstitution(tenant));
  await dayPasses(tenant);
  // A statement names a member of the company: this one is lost below the guards.
  const rename = (from: string, to: string) =>
    sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      await tx`update tenancy.tenant_users set user_id = ${to} where tenant_id = ${tenant.id} and user_id = ${from}`;
    });
  const nobodys = randomUUID();
  await rename(tenant.institution.id, nobodys);
  await tick();
  const retried = async () =>
    (await sql`select status, attempts, last_error from app.jobs where tenant_id = ${tenant.id}
      and kind = 'delivery.merchant_statements'`)[0];
  await expect.poll(async () => (await retried()).last_error).toContain("foreign key");
  expect(await statementsOf(tenant)).toEqual([[tenant.customer.id, 7_000, await dayOf(tenant)]]);
  expect(await statementsOf(other)).toHaveLength(1);
  await rename(nobodys, tenant.institution.id);
  await sql`update app.jobs set run_at = now() where tenant_id = ${tenant.id} and status = 'queued'`;
  await tick(tenant);
  expect((await statementsOf(tenant)).map(([owner, net]) => [owner, net])).toEqual([
    [tenant.customer.id, 7_000],
    [tenant.institution.id, 4_000],
  ]);
  expect((await retried()).status).toBe("done");
  await sound(tenant);
});

test("runs at once make one for each owner, and are in no settlement's way", async () => {
  const { ground, tenant } = await newCycle();
  await broughtIn(ground, [4_000], ofInstitution(tenant));
  const [row] = await delivered(ground, [1_000]);
  await dayPasses(tenant);
  const day = await dayOf(tenant);
  const wallets =
    await sql`select jsonb_array_elements_text(money.cycle_wallets(${tenant.id}, ${day})) as id`;
  expect(wallets).toHaveLength(2);
  await whileOpen(async (session) => {
    for (const { id } of wallets) {
      await session`select money.cycle_statement_make(${tenant.id}, ${day}, ${id})`;
    }
    // The wallets are locked, and the cash of their owners comes in all the same.
    expect(await tenant.dispatcher.post(remit, selected(row!))).toSucceed(200);
  });
  await Promise.all([
    ...Array.from(
      { length: 8 },
      (_, n) => sql`select money.cycle_statement_make(${tenant.id}, ${day}, ${wallets[n % 2]!.id})`,
    ),
    tick(tenant),
    tick(tenant),
  ]);
  expect((await statementsOf(tenant)).sort()).toEqual([
    [tenant.customer.id, 8_000, day],
    [tenant.institution.id, 4_000, day],
  ].sort());
  await sound(tenant);
});

test("beside a statement by hand: what is due is on one of the two, and once a day", async () => {
  const { tenant } = await newCycle({}, [7_000, 1_000]);
  await dayPasses(tenant);
  const [answer] = await Promise.all([open(tenant), tick(tenant)]);
  const made = await statementsOf(tenant);
  expect(made.map(([, net]) => net)).toEqual([8_000]);
  expect(made[0]![2] === null).toBe(answer.status === 201);
  await sound(tenant);
  const [{ id }] =
    await sql`select id from money.merchant_statements where tenant_id = ${tenant.id}`;
  expect(await cancel(tenant.admin, id)).toSucceed(200);
  await tick(tenant);
  expect(await statementsOf(tenant)).toHaveLength(1);
});

test("no writer makes two statements of an owner for one day", async () => {
  const { ground, tenant } = await newCycle();
  await tick(tenant);
  await broughtIn(ground, [1_000]);
  const { id } = await opened(tenant);
  await expect(
    sql`update money.merchant_statements set cycle_day = ${await dayOf(tenant)} where id = ${id}`,
  ).rejects.toThrow("statement_already_made");
});
