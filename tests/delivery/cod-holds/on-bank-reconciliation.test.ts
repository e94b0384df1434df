/** Cash on desks that waits for the bank: proven by the reconciliation, as of any moment. */
import { expect, test } from "vitest";
import { reverse } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import {
  areHeld,
  delivered,
  handIn,
  lawless,
  leaves,
  newBanker,
  newHolder,
  onDesks,
  sound,
} from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { newTenant } from "../../support/people.ts";

const path = "/delivery/cod-reconciliation";

test("as of any moment: in hand, on a desk, banked, and on the desk again", async () => {
  const ground = await newBanker();
  const { tenant } = ground;
  const moments: string[] = [];
  const moment = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    moments.push(new Date().toISOString());
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const rows = await delivered(ground, [7_000, 3_000]);
  await moment();
  await handIn(ground, rows);
  await moment();
  const trip = await leaves(tenant.dispatcher, 12_000);
  await moment();
  expect(await reverse(tenant.dispatcher, trip)).toSucceed(200);
  await moment();
  const at = async (as_of: string) => {
    const answer = await tenant.admin.get(path, { query: { as_of } });
    expect(answer.body.differences).toEqual([]);
    return answer.body.held.map((one: Record<string, number>) => [
      one.in_hand,
      one.at_desks,
      one.held,
    ]);
  };
  expect(await at(moments[0]!)).toEqual([[10_000, 0, 10_000]]);
  expect(await at(moments[1]!)).toEqual([[0, 10_000, 10_000]]);
  expect(await at(moments[2]!)).toEqual([[0, 3_000, 3_000]]);
  expect(await at(moments[3]!)).toEqual([[0, 10_000, 10_000]]);
});

test.each<[string, string, (row: string) => Promise<unknown>]>([
  [
    "a move of a part that is gone",
    "desk_parts",
    (row) =>
      lawless((tx) =>
        tx`delete from money.desk_part_moves m using money.desk_parts p where p.reference_id = ${row}
          and m.account_id = p.account_id and m.part_id = p.part_id`
      ),
  ],
  [
    "a part of another amount",
    "desk_part",
    (row) => sql`update money.desk_parts set amount = amount - 1 where reference_id = ${row}`,
  ],
  [
    "a row that is released while its cash lies on the desk",
    "held_cash",
    (row) =>
      sql`insert into money.wallet_holds (tenant_id, account_id, reference_type, reference_id, step, amount, release, due_at, counts_from)
        select tenant_id, account_id, reference_type, reference_id, 2, -amount, release, due_at, now()
        from money.wallet_holds where reference_id = ${row}`,
  ],
])("names %s", async (_what, kind, harm) => {
  const ground = await newBanker();
  const { tenant } = ground;
  const rows = await delivered(ground, [7_000]);
  await handIn(ground, rows);
  await sound(tenant);
  await harm(rows[0]!);
  const { body } = await tenant.admin.get(path);
  expect(body.reconciled).toBe(false);
  const kinds = body.differences.map((one: { kind: string }) => one.kind);
  expect(kinds).toContain(kind);
  await sql`select money.cod_reconcile_all(${tenant.id})`;
  const events = await sql`select from integration.system_events
    where tenant_id = ${tenant.id} and event_type = 'cod.mismatch'`;
  expect(events).toHaveLength(1);
});

test("a part is not below nothing, and a move is never changed, by any writer", async () => {
  const ground = await newBanker();
  const rows = await delivered(ground, [7_000]);
  await handIn(ground, rows);
  await expect(sql`update money.desk_parts set amount = -1 where reference_id = ${rows[0]!}`)
    .rejects
    .toThrow("part_of_a_row_is_there");
  await expect(sql`delete from money.desk_part_moves where tenant_id = ${ground.tenant.id}`).rejects
    .toThrow("never changed or removed");
});

test("two hundred rows in one settlement, banked in two trips", async () => {
  const tenant = await newTenant();
  await newCash(tenant);
  const taken = Array.from({ length: 200 }, () => newCash(tenant, { release: "on_bank" }));
  const rows = (await Promise.all(taken)).map(({ id }) => id);
  expect(await tenant.dispatcher.post(remit, selected(...rows))).toSucceed(200);
  expect(await onDesks(tenant, ...rows)).toEqual(rows.map(() => 1_250));
  await leaves(tenant.dispatcher, 100 * 1_250 - 1);
  expect((await areHeld(...rows)).filter((held) => !held)).toHaveLength(99);
  await leaves(tenant.dispatcher, 100 * 1_250 + 1);
  expect((await areHeld(...rows)).filter((held) => held)).toHaveLength(0);
  await sound(tenant);
});

test("elsewhere the journal of a settlement asks one empty index more, and of a deposit none", async () => {
  const ground = await newHolder();
  const { tenant } = ground;
  await handIn(ground, await delivered(ground, [7_000]));
  const undone = new Error("looked at");
  const look = sql.begin(async (tx) => {
    await tx`select set_config('app.tenant_id', ${tenant.id}, true)`;
    const touched = async () =>
      Object.fromEntries(
        (await tx`select relname, (seq_scan + idx_scan)::int as reads, (n_tup_ins + n_tup_upd)::int as writes
          from pg_stat_xact_user_tables where schemaname = 'money'`).map((
          { relname, reads, writes },
        ) => [relname, { reads, writes }]),
      );
    const book = async (kind: string, giver: [string, string, string | null], sum: number) => {
      const before = await touched();
      await tx`select money.post_journal(${kind}, 'payment', gen_random_uuid(), null,
        array[money.account_of(${giver[0]}, ${giver[1]}, ${
        giver[2]
      }, 'IQD'), money.account_of('cash_on_hand', 'staff', ${tenant.dispatcher.id}, 'IQD')],
        array[${-sum}, ${sum}]::numeric[])`;
      const after = await touched();
      return (table: string) => [
        after[table].reads - before[table].reads,
        after[table].writes - before[table].writes,
      ];
    };
    const external: [string, string, null] = ["external", "tenant", null];
    const deposit = await book("cash_transfer", external, -100);
    const settlement = await book("cod_settlement", external, 100);
    for (const journal of [deposit, settlement]) {
      expect(journal("desk_parts")).toEqual([0, 0]);
      expect(journal("desk_part_moves")).toEqual([0, 0]);
      expect(journal("ledger_entries")[1]).toBe(2);
      expect(journal("accounts")[1]).toBe(2);
    }
    expect(deposit("wallet_holds")).toEqual([0, 0]);
    expect(settlement("wallet_holds")).toEqual([1, 0]);
    throw undone;
  });
  await expect(look).rejects.toThrow(undone);
});

test.each([{}, { release: "on_remit" }])("under %o desks have no queue", async (rule) => {
  const ground = await newHolder(rule);
  const { tenant } = ground;
  const rows = await delivered(ground, [7_000, 3_000]);
  await handIn(ground, rows);
  await leaves(tenant.dispatcher, 1_000, { kind: "handover", to_user_id: tenant.admin.id });
  await leaves(tenant.dispatcher, 13_000);
  const [found] = await sql`select
    (select count(*)::int from money.desk_parts where tenant_id = ${tenant.id}) as parts,
    (select count(*)::int from money.accounts where tenant_id = ${tenant.id} and queued_since is not null) as queues`;
  expect(found).toEqual({ parts: 0, queues: 0 });
  await sound(tenant);
});
