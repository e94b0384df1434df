/** The balances of cash desks, their transfers, and the proof that they add up. */
import { beforeAll, describe, expect, test } from "vitest";
import { carried, newSide, payCarried } from "../../support/carriers.ts";
import { desks, reverse, sound, transfer, withCash } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import type { Tenant } from "../../support/people.ts";
import { expectGuarded, expectPaged } from "../../support/promises.ts";

const path = `${desks}/transfers`;
const reconciliation = "/delivery/cod-reconciliation";

let tenant: Tenant;
let other: Tenant;
const ids: string[] = [];
/** Before the last transfer was taken back. */
let before: string;

// The dispatcher 5,000 - 1,200 - 300 + 250 (taken back) - 100, the administrator 300; a driver 700, the till 3,000.
beforeAll(async () => {
  const side = await newSide();
  tenant = await withCash(5000, side.tenant);
  other = await withCash(77);
  await sql`update tenancy.profiles set full_name = 'Cashier Qasim' where id = ${tenant.dispatcher.id}`;
  const { id } = await newCash(tenant, { cod: 0, fee: 700 });
  expect(await tenant.driver.post(remit, selected(id))).toSucceed(200);
  await carried(side, 1000);
  expect(await payCarried(tenant.admin, 3_000)).toSucceed(201);
  const bodies = [
    { amount: 1200, reference: "Slip 1", notes: "Rafidain bank" },
    { kind: "handover", to_user_id: tenant.admin.id, amount: 300, notes: "Change" },
    { amount: 250, reference: "Slip_2" },
    { amount: 100, reference: "Slip 3" },
  ];
  for (const body of bodies) {
    const answer = await transfer(tenant.dispatcher, body);
    expect(answer).toSucceed(201);
    ids.unshift(answer.body.data.id);
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  before = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await reverse(tenant.admin, ids[1])).toSucceed(200);
});

describe("desks", () => {
  test("say who holds how much now, and since when", async () => {
    const answer = await tenant.dispatcher.get(desks);
    expect(answer).toSucceed(200);
    const shown = answer.body.data.map((
      { owner_type, user, currency, balance }: Record<string, unknown>,
    ) => [owner_type, (user as { id: string } | null)?.id ?? null, currency, balance]);
    expect(shown).toEqual([
      ["staff", tenant.dispatcher.id, "IQD", 3400],
      ["tenant", null, "IQD", 3000],
      ["driver", tenant.driver.id, "IQD", 700],
      ["staff", tenant.admin.id, "IQD", 300],
    ]);
    expect(answer.body.data[0].user.full_name).toBe("Cashier Qasim");
    const [last] =
      await sql`select max(e.created_at) as at from money.ledger_entries e join money.accounts a on a.id = e.account_id
      where a.tenant_id = ${tenant.id} and a.kind = 'cash_on_hand' and a.owner_user_id = ${tenant.dispatcher.id}`;
    expect(new Date(answer.body.data[0].last_moved_at)).toEqual(last.at);
  });

  test("are found by name, owner, currency and sum, and come as a file", async () => {
    const balances = async (query: object) => {
      const { body } = await tenant.admin.get(desks, { query: query as Record<string, string> });
      return body.data.map(({ balance }: { balance: number }) => balance);
    };
    expect(await balances({ search: "qasim" })).toEqual([3400]);
    expect(await balances({ owner_type: "driver" })).toEqual([700]);
    expect(await balances({ user_id: tenant.admin.id })).toEqual([300]);
    expect(await balances({ user_id: other.dispatcher.id })).toEqual([]);
    expect(await balances({ currency: "USD" })).toEqual([]);
    expect(await balances({ column_filters: { balance: { min: 700, max: 3000 } } }))
      .toEqual([3000, 700]);
    expect(await balances({ sort_by: "balance", sort_order: "asc" })).toEqual([
      300,
      700,
      3000,
      3400,
    ]);
    expect((await balances({ sort_by: "last_moved_at" }))[0]).toBe(3400);
    await expectPaged(tenant.admin, desks, "last_moved_at");
    const file = await tenant.admin.get(desks, { query: { format: "csv" } });
    const lines = new TextDecoder().decode(file.body).trim().split("\r\n");
    expect(lines).toHaveLength(5);
    expect(lines[0]).toContain("user.full_name");
  });

  test("are shown to the office, of its own tenant", async () => {
    const denied = [tenant.warehouse, tenant.staff, tenant.driver, tenant.customer];
    for (const one of [desks, path]) await expectGuarded({ method: "GET", path: one }, { denied });
    expect(await other.admin.get(desks, { query: { tenant_id: tenant.id } })).toFailWith(
      403,
      "forbidden",
    );
    expect((await other.admin.get(desks)).body.data).toHaveLength(1);
    expect((await other.admin.get(path)).body.data).toEqual([]);
  });
});

describe("transfers", () => {
  const found = async (query: object) => {
    const answer = await tenant.dispatcher.get(path, { query: query as Record<string, string> });
    expect(answer).toSucceed(200);
    return answer.body.data.map(({ id }: { id: string }) => ids.indexOf(id));
  };

  test("are listed, the newest first, with who gave and who got", async () => {
    expect(await found({})).toEqual([0, 1, 2, 3]);
    const { body } = await tenant.admin.get(path);
    expect(body.data[2]).toEqual({
      id: ids[2],
      kind: "handover",
      from_owner_type: "staff",
      from_user: { id: tenant.dispatcher.id, full_name: "Cashier Qasim" },
      to_owner_type: null,
      to_user: { id: tenant.admin.id, full_name: expect.any(String) },
      refund_id: null,
      wallet: null,
      amount: 300,
      currency: "IQD",
      reference: null,
      notes: "Change",
      entered_by: { id: tenant.dispatcher.id, full_name: "Cashier Qasim" },
      created_at: expect.any(String),
      reversed_at: null,
      reversed_by: null,
      reversal_reason: null,
    });
    await expectPaged(tenant.admin, path, "amount");
  });

  test("are found by people, kind, day, words and columns, and come as a file", async () => {
    const cases: [object, number[]][] = [
      [{ from_user_id: tenant.dispatcher.id }, [0, 1, 2, 3]],
      [{ from_user_id: other.dispatcher.id }, []],
      [{ to_user_id: tenant.admin.id }, [2]],
      [{ kind: "handover" }, [2]],
      [{ kind: "bank_deposit", currency: "IQD" }, [0, 1, 3]],
      [{ from_owner_type: "tenant" }, []],
      [{ search: "rafidain" }, [3]],
      [{ search: "slip_" }, [1]],
      [{ date_to: "2020-01-01" }, []],
      [{ date_from: "2020-01-01", date_to: "2999-01-01" }, [0, 1, 2, 3]],
      [{ column_filters: { amount: { min: 250, max: 300 } } }, [1, 2]],
      [{ column_filters: { reference: "Slip 3" } }, [0]],
      [{ column_filters: { to_user_name: "admin" } }, [2]],
      [{ column_filters: { reversed_at: { from: "2020-01-01" } } }, [1]],
    ];
    for (const [query, expected] of cases) {
      expect((await found(query)).sort(), JSON.stringify(query)).toEqual(expected);
    }
    expect(await found({ sort_by: "amount", sort_order: "asc" })).toEqual([0, 1, 2, 3]);
    expect((await found({ sort_by: "reversed_at" }))[0]).toBe(1);
    for (const query of [{ kind: "gift" }, { date_from: "soon" }, { to_user_id: "x" }]) {
      expect((await tenant.admin.get(path, { query })).status).toBe(400);
    }
    expect(await tenant.admin.get(path, { query: { column_filters: { amount: "much" } } }))
      .toFailWith(400, "invalid_column_filters");
    const file = await tenant.admin.get(path, { query: { format: "csv", kind: "handover" } });
    const text = new TextDecoder().decode(file.body);
    expect(text.trim().split("\r\n")).toHaveLength(2);
    expect(text).toContain("to_user.full_name");
  });
});

describe("the reconciliation", () => {
  const deskOf = (
    body: { desks: Record<string, unknown>[] },
    owner: string | null,
    type = "staff",
  ) => body.desks.find(({ user_id, owner_type }) => user_id === owner && owner_type === type);

  test("says of each desk what came, what left and what is there, now and then", async () => {
    await sound(tenant);
    const { body } = await tenant.dispatcher.get(reconciliation);
    expect(body).toMatchObject({ reconciled: true, differences: [] });
    expect(body.desks).toHaveLength(4);
    expect(deskOf(body, tenant.dispatcher.id)).toEqual({
      owner_type: "staff",
      user_id: tenant.dispatcher.id,
      user_name: "Cashier Qasim",
      currency: "IQD",
      remitted: 5000,
      shortages: 0,
      transferred_out: 1600,
      transferred_in: 0,
      paid_out: 0,
      in_hand: 3400,
      ledger: 3400,
    });
    expect(deskOf(body, tenant.admin.id)).toMatchObject({ transferred_in: 300, in_hand: 300 });
    expect(deskOf(body, tenant.driver.id, "driver")).toMatchObject({ remitted: 700, ledger: 700 });
    expect(deskOf(body, null, "tenant")).toMatchObject({ remitted: 3000, in_hand: 3000 });
    const then = (await tenant.admin.get(reconciliation, { query: { as_of: before } })).body;
    expect(then).toMatchObject({ reconciled: true });
    expect(deskOf(then, tenant.dispatcher.id)).toMatchObject({
      transferred_out: 1850,
      in_hand: 3150,
      ledger: 3150,
    });
    const early = { as_of: "2020-01-01" };
    expect((await tenant.admin.get(reconciliation, { query: early })).body.desks).toEqual([]);
  });

  test("takes a shortage off the desk whose cash it was", async () => {
    const short = await withCash(1000);
    const { id } = await newCash(short, { cod: 0, fee: 500 });
    const { body: { data } } = await short.dispatcher.post("/delivery/cod-collections/handover", {
      driver_id: short.driver.id,
      amount: 500,
      counted_amount: 460,
    });
    const path = `/delivery/cod-collections/handovers/${data.id}/resolve`;
    expect(await short.dispatcher.post(path, { resolution: "written_off" })).toSucceed(200);
    expect(await short.dispatcher.post(remit, selected(id))).toSucceed(200);
    const { body } = await short.dispatcher.get(reconciliation);
    expect(deskOf(body, short.dispatcher.id)).toMatchObject({
      remitted: 1500,
      shortages: 40,
      in_hand: 1460,
      ledger: 1460,
    });
    expect((await transfer(short.dispatcher, { amount: 1461 })).body.held).toBe(1460);
    await sound(short);
  });

  test.each([
    [
      "a transfer whose amount was changed",
      ["cash_transfer_journal", "desk_cash"],
      "update money.cash_transfers set amount = 11 where id = $1",
    ],
    [
      "one whose journal is gone",
      ["cash_transfer_journal"],
      "update money.ledger_transactions set reference_id = gen_random_uuid() where reference_id = $1",
    ],
    [
      "one that says it was taken back",
      ["cash_transfer_journal", "desk_cash"],
      "update money.cash_transfers set reversed_at = now(), reversed_by = actor_id, reversal_reason = 'x' where id = $1",
    ],
  ])("names %s", async (_what, kinds, harm) => {
    const one = await withCash(100);
    const { body: { data: { id } } } = await transfer(one.dispatcher, { amount: 10 });
    await sql.begin(async (tx) => {
      // The triggers that guard the rows would prevent the change.
      await tx`set local session_replication_role = replica`;
      await tx.unsafe(harm, [id]);
    });
    const { body } = await one.admin.get(reconciliation);
    expect(body.reconciled).toBe(false);
    const named = body.differences as { kind: string; user_id: string; rows: string[] }[];
    for (const { user_id, rows } of named) {
      expect(user_id).toBe(one.dispatcher.id);
      expect(rows).toContain(id);
    }
    expect(named.map(({ kind }) => kind)).toEqual(kinds);
    await sql`select money.cod_reconcile_all(${one.id})`;
    expect(
      await sql`select from integration.system_events where tenant_id = ${one.id} and event_type = 'cod.mismatch'`,
    ).toHaveLength(1);
  });
});
