/** The reconciliation compares what is held with the cash that is not in, and names what is lost. */
import { expect, test } from "vitest";
import { remit, selected } from "../../support/cod.ts";
import { delivered, lawless, newHolder, sound } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { key } from "../../support/wallets.ts";

const path = "/delivery/cod-reconciliation";

interface Made {
  /** A row of cash that is held. */
  held: string;
  /** One that was released. */
  released: string;
  /** The driver's wallet. */
  other: string;
}

test.each<[string, string, (made: Made) => Promise<unknown>, keyof Made]>([
  [
    "a hold that is gone",
    "held_total",
    ({ held }) => lawless((tx) => tx`delete from money.wallet_holds where reference_id = ${held}`),
    "held",
  ],
  [
    "a release without its cash",
    "held_cash",
    ({ held }) =>
      sql`insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
        select tenant_id, account_id, reference_type, reference_id, 2, -amount, release, due_at, now()
        from money.wallet_holds where reference_id = ${held}`,
    "held",
  ],
  [
    "cash that is in and held all the same",
    "held_cash",
    ({ released }) =>
      lawless((tx) =>
        tx`delete from money.wallet_holds where reference_id = ${released} and step = 2`
      ),
    "released",
  ],
  [
    "a hold of another amount",
    "held_row",
    ({ held }) =>
      lawless((tx) =>
        tx`update money.wallet_holds set amount = amount + 1 where reference_id = ${held}`
      ),
    "held",
  ],
  [
    "a hold on another wallet",
    "held_row",
    ({ held, other }) =>
      lawless((tx) =>
        tx`update money.wallet_holds set account_id = ${other} where reference_id = ${held}`
      ),
    "held",
  ],
])("names %s", async (_what, kind, harm, named) => {
  const ground = await newHolder();
  const { tenant } = ground;
  const [held, released] = await delivered(ground, [7_000, 3_000]);
  expect(await tenant.dispatcher.post(remit, selected(released!))).toSucceed(200);
  const [{ other }] = await sql`insert into money.accounts
    (tenant_id, kind, owner_type, owner_user_id, currency, floor)
    values (${tenant.id}, 'wallet', 'institution', ${tenant.institution.id}, 'IQD', 0)
    on conflict do nothing returning id as other`;
  await sound(tenant);
  const made = { held: held!, released: released!, other };
  await harm(made);
  const { body } = await tenant.admin.get(path);
  expect(body.reconciled).toBe(false);
  const found = body.differences.filter((one: { kind: string }) => one.kind === kind);
  expect(found).not.toEqual([]);
  if (kind !== "held_total") {
    expect(found.flatMap(({ rows }: { rows: string[] }) => rows)).toContain(made[named]);
  }
  await sql`select money.cod_reconcile_all(${tenant.id})`;
  const events = await sql`select from integration.system_events
    where tenant_id = ${tenant.id} and event_type = 'cod.mismatch'`;
  expect(events).toHaveLength(1);
});

test("a row is not held twice, nor released twice, by any writer", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  expect(await tenant.dispatcher.post(remit, selected(row!))).toSucceed(200);
  const again = (step: number, sign: number) =>
    sql`insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
      select tenant_id, account_id, reference_type, reference_id, ${step}, ${sign} * amount, release, due_at, now()
      from money.wallet_holds where reference_id = ${row!} and step = 1`;
  await expect(again(1, 1)).rejects.toThrow("hold_already_made");
  await expect(again(2, -1)).rejects.toThrow("hold_already_made");
  await expect(again(3, -1)).rejects.toThrow("hold_or_release");
  await expect(sql`delete from money.wallet_holds where reference_id = ${row!}`).rejects.toThrow(
    "never changed or removed",
  );
  await sound(tenant);
});

test("holds as of any moment: before a remittance, before its reversal and after it", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  const [row] = await delivered(ground, [7_000]);
  const moments: string[] = [];
  const moment = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    moments.push(new Date().toISOString());
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await moment();
  const { body } = await tenant.dispatcher.post(remit, selected(row!));
  await moment();
  expect(
    await tenant.admin.post(
      `/delivery/cod-settlements/${body.data.settlement_payment_id}/reverse`,
      { reason: "Typed twice" },
      key(),
    ),
  ).toSucceed(200);
  await moment();
  const at = async (as_of: string) => {
    const answer = await tenant.admin.get(path, { query: { as_of } });
    expect(answer.body.differences).toEqual([]);
    return answer.body.held.map((one: { in_hand: number; held: number }) => [
      one.in_hand,
      one.held,
    ]);
  };
  expect(await at(moments[0]!)).toEqual([[7_000, 7_000]]);
  expect(await at(moments[1]!)).toEqual([]);
  expect(await at(moments[2]!)).toEqual([[7_000, 7_000]]);
});
