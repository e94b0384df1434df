/** The journal of the desks: whatever moved their cash is in it once, and adds up to what they hold. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Body, Person } from "../../support/api.ts";
import { desks, sound, transfer } from "../../support/cash-desks.ts";
import { bookedEarly, newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { type Mixture, mixture, ok } from "../../support/desk-mixture.ts";
import { newTenant, type Tenant } from "../../support/people.ts";
import { expectGuarded } from "../../support/promises.ts";

const path = `${desks}/movements`;

let mixed: Mixture;
let tenant: Tenant;

const list = async (by: Person, query: Body = {}): Promise<Body[]> => {
  const answer = await by.get(path, { query: { limit: "100", ...query } });
  expect(answer, JSON.stringify(query)).toSucceed(200);
  return answer.body.data;
};
const summaryOf = async (by: Person, query: Body = {}): Promise<Body[]> =>
  (await by.get(path, { query })).body.summary;
beforeAll(async () => {
  mixed = await mixture();
  ({ side: { tenant } } = mixed);
  await sound(tenant);
}, 300_000);

describe("the journal of the desks", () => {
  test("has everything that moved their cash, once, with its reversal", async () => {
    const rows = await list(tenant.admin);
    expect(rows.length).toBeLessThan(100);
    for (const [id, { kind, reversed }] of mixed.made) {
      const own = rows.filter(({ reference_id }) => reference_id === id);
      const desksMoved = kind === "handover" ? 2 : 1;
      expect(own, `${kind} ${id}`).toHaveLength(desksMoved * (reversed ? 2 : 1));
      expect(new Set(own.map((row) => row.kind))).toEqual(new Set([kind]));
      for (const row of own) {
        const other = own.find(({ reverses }) => reverses === row.id);
        expect(row.reversed_at).toEqual(other ? other.created_at : null);
        if (other) expect([other.amount, other.desk.id]).toEqual([-row.amount, row.desk.id]);
        expect(Boolean(other) || row.reverses !== null).toBe(reversed);
      }
    }
    expect(new Set(rows.map(({ kind }) => kind))).toEqual(new Set(mixed.kinds));
    const acts = [...mixed.made.values()];
    for (const kind of mixed.kinds.filter((one) => one !== "shortage")) {
      const states = acts.filter((one) => one.kind === kind).map(({ reversed }) => reversed);
      expect(states.length, kind).toBeGreaterThan(1);
    }
    expect(acts.filter(({ reversed }) => reversed).length).toBeGreaterThan(10);
  });

  test("adds up to what each desk holds, from row to row", async () => {
    const rows = await list(tenant.admin);
    const { body } = await tenant.admin.get(desks);
    expect(body.data.length).toBeGreaterThan(2);
    for (const { id, balance } of body.data) {
      const own = rows.filter(({ desk }) => desk.id === id);
      expect(own.reduce((sum, { amount }) => sum + amount, 0)).toBe(balance);
      expect(own[0].balance_after).toBe(balance);
      own.forEach(({ amount, balance_after }, place) =>
        expect(balance_after - amount).toBe(own[place + 1]?.balance_after ?? 0)
      );
      const [sums] = await summaryOf(tenant.admin, { desk_id: id, limit: "1", kind: "expense" });
      expect(sums).toMatchObject({ currency: "IQD", opening_balance: 0, closing_balance: balance });
      expect(sums.in - sums.out).toBe(balance);
      expect(sums.kinds).toBeNull();
      const query = { desk_id: id, date_from: "2020-01-01", kind: "expense" };
      const parts = (await summaryOf(tenant.admin, query))[0].kinds as Body[];
      expect(parts.reduce((sum, one) => sum + one.in - one.out, 0)).toBe(balance);
      expect(parts.reduce((sum, one) => sum + one.movements, 0)).toBe(own.length);
    }
  });

  test("says who was at the other side, and what a row refers to", async () => {
    const rows = (await list(tenant.admin)).filter(({ reverses }) => reverses === null);
    const one = (kind: string) =>
      rows.find((row) => row.kind === kind && row.amount < 0 && row.reversed_at === null)!;
    const cashier = { id: tenant.dispatcher.id, full_name: expect.any(String) };
    expect(one("merchant_payout")).toEqual({
      id: expect.any(Number),
      desk: { id: expect.any(String), owner_type: "staff", user: cashier },
      kind: "merchant_payout",
      amount: expect.any(Number),
      currency: "IQD",
      balance_after: expect.any(Number),
      counterparty: { id: tenant.customer.id, full_name: expect.any(String) },
      carrier_code: null,
      entered_by: cashier,
      reference_type: "merchant_payout",
      reference_id: expect.any(String),
      statement_id: expect.any(String),
      refund_id: null,
      reference: null,
      notes: null,
      description: expect.stringContaining("in cash"),
      reverses: null,
      reversed_at: null,
      created_at: expect.any(String),
    });
    expect(one("driver_payout").counterparty.id).toBe(tenant.driver.id);
    expect(one("handover").counterparty.id).toBe(tenant.admin.id);
    const got = rows.find(({ kind, amount }) => kind === "handover" && amount > 0)!;
    expect([got.desk.user.id, got.counterparty.id]).toEqual([
      tenant.admin.id,
      tenant.dispatcher.id,
    ]);
    expect(one("wallet_payout")).toMatchObject({
      counterparty: { id: tenant.institution.id },
      reference: "Receipt 5",
    });
    expect(one("expense")).toMatchObject({ notes: "Fuel", counterparty: null });
    expect(one("refund")).toMatchObject({ reference: "R-17", refund_id: expect.any(String) });
    const paid = rows.find(({ kind }) => kind === "carrier_remittance")!;
    expect(paid).toMatchObject({
      desk: { owner_type: "tenant", user: null },
      carrier_code: "simulated",
      counterparty: null,
    });
    // Of the 3,000 it kept 250.
    expect(Math.abs(paid.amount)).toBe(2_750);
    const brought = rows.find(({ kind }) => kind === "remittance")!;
    expect(brought.counterparty.id).toBe(tenant.driver.id);
  });

  test("is found by desk, kind, days, words and sums, page by page and as a file", async () => {
    const rows = await list(tenant.admin);
    const count = async (query: Body) => (await list(tenant.admin, query)).length;
    const where = (keeps: (row: Body) => boolean) => rows.filter(keeps).length;
    const cases: [Body, (row: Body) => boolean][] = [
      [{ user_id: tenant.admin.id }, ({ desk }) => desk.user?.id === tenant.admin.id],
      [{ owner_type: "tenant" }, ({ desk }) => desk.owner_type === "tenant"],
      [{ kind: "expense,refund" }, ({ kind }) => ["expense", "refund"].includes(kind)],
      [{ column_filters: { kind: "shortage" } }, ({ kind }) => kind === "shortage"],
      [{ column_filters: { amount: { max: -301 } } }, ({ amount }) => amount <= -301],
      [{ search: "receipt 5" }, ({ reference }) => reference === "Receipt 5"],
      [{ search: "fuel" }, ({ notes }) => notes === "Fuel"],
      [
        { search: "under the SEAT" },
        ({ kind, notes }) => kind === "shortage" && notes === "Under the seat",
      ],
      [{ currency: "IQD", date_from: "2020-01-01", date_to: "2999-01-01" }, () => true],
      [{ reference_id: rows[3].reference_id }, (row) => row.reference_id === rows[3].reference_id],
    ];
    const kinds = [...new Set(rows.map(({ kind }) => kind as string))];
    expect(kinds.toSorted()).toEqual(mixed.kinds.toSorted());
    const { id, user } = rows.find(({ kind }) => kind === "expense")!.desk;
    for (const kind of kinds) {
      cases.push([{ kind }, (row) => row.kind === kind]);
      const [of, by] = [{ desk_id: id, kind }, { user_id: user.id, kind }];
      const here = rows.filter((row) => row.desk.id === id && row.kind === kind).length;
      for (const query of [of, by]) expect(await count(query), JSON.stringify(query)).toBe(here);
    }
    for (const [query, keeps] of cases) {
      expect(where(keeps), JSON.stringify(query)).toBeGreaterThan(0);
      expect(await count(query), JSON.stringify(query)).toBe(where(keeps));
    }
    const pages = await Promise.all(
      [1, 2, 3, 4].map((page) => list(tenant.admin, { limit: "20", page: String(page) })),
    );
    expect(pages.flat()).toEqual(rows);
    for (const none of [{ currency: "USD" }, { date_to: "2020-01-01" }]) {
      expect(await count(none)).toBe(0);
    }
    for (const query of [{ kind: "gift" }, { date_from: "soon" }, { desk_id: "x" }]) {
      expect((await tenant.admin.get(path, { query })).status).toBe(400);
    }
    const file = await tenant.admin.get(path, { query: { format: "csv" } });
    const [, ...lines] = new TextDecoder().decode(file.body).trim().split("\r\n");
    expect(lines.map((line) => Number(line.split(",")[0]))).toEqual(rows.map(({ id }) => id));
    const fields = await list(tenant.admin, { fields: "amount", limit: "1" });
    expect(fields).toEqual([{ id: rows[0].id, amount: rows[0].amount }]);
  });

  test("is one file of every row, however many steps it is read in", async () => {
    const one = await newTenant();
    const { id } = await newCash(one, { cod: 0, fee: 5_000 });
    ok(await one.dispatcher.post(remit, selected(id)));
    await sql.begin(async (tx) => {
      // The triggers that guard the ledger would prevent the rows.
      await tx`set local session_replication_role = replica`;
      await tx`insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version, created_at)
        select e.tenant_id, e.transaction_id, e.account_id, 1, e.currency, e.balance_after + n, e.version + n, e.created_at - n * interval '1 second'
        from money.ledger_entries e
        join money.accounts a on a.id = e.account_id and a.kind = 'cash_on_hand', generate_series(1, 4100) n
        where e.tenant_id = ${one.id}`;
    });
    const booked =
      await sql`select e.id from money.ledger_entries e join money.accounts a on a.id = e.account_id
      where e.tenant_id = ${one.id} and a.kind = 'cash_on_hand' order by e.id desc`;
    const file = await one.admin.get(path, { query: { format: "csv", fields: "amount" } });
    const [, ...lines] = new TextDecoder().decode(file.body).trim().split("\r\n");
    // As they were booked, whatever their times say: in the order of the pages.
    expect(lines.map((line) => Number(line.split(",")[0]))).toEqual(
      booked.map((row) => Number(row.id)),
    );
  });

  test("begins a range of days with what the desk held before", async () => {
    const one = await newTenant();
    const { id } = await newCash(one, { cod: 0, fee: 5_000 });
    ok(await one.dispatcher.post(remit, selected(id)));
    await sql.begin(async (tx) => {
      // The triggers that guard the ledger would prevent the change.
      await tx`set local session_replication_role = replica`;
      await tx`update money.ledger_entries set created_at = now() - interval '40 days' where tenant_id = ${one.id}`;
    });
    await bookedEarly(one, id, one.dispatcher, 100);
    ok(await transfer(one.dispatcher, { kind: "expense", amount: 900, notes: "Rent" }));
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    expect(await summaryOf(one.admin, { date_from: day(10) })).toEqual([{
      currency: "IQD",
      opening_balance: 5_000,
      in: 0,
      out: 1_000,
      closing_balance: 4_000,
      kinds: [
        { kind: "expense", in: 0, out: 900, movements: 1 },
        { kind: "shortage", in: 0, out: 100, movements: 1 },
      ],
    }]);
    expect(await summaryOf(one.admin, { date_to: day(10) })).toMatchObject([
      { opening_balance: 0, in: 5_000, out: 0, closing_balance: 5_000 },
    ]);
    expect(await list(one.admin, { date_to: day(10) })).toHaveLength(1);
  });

  test("is shown to those who have a desk, operations managers their own, of its own tenant", async () => {
    await expectGuarded({ method: "GET", path }, {
      denied: [tenant.warehouse, tenant.staff, tenant.driver, tenant.customer, tenant.institution],
    });
    expect(await list(tenant.ops)).toEqual([]);
    expect(await summaryOf(tenant.ops)).toEqual([]);
    const given = { kind: "handover", to_user_id: tenant.ops.id, amount: 40 };
    ok(await transfer(tenant.dispatcher, given));
    expect(await list(tenant.ops)).toMatchObject([{
      amount: 40,
      desk: { user: { id: tenant.ops.id } },
    }]);
    expect(await list(tenant.ops, { user_id: tenant.dispatcher.id })).toEqual([]);
    const other = await newTenant();
    const [{ desk }] = await list(tenant.ops);
    expect(await list(other.admin)).toEqual([]);
    expect(await list(other.admin, { desk_id: desk.id })).toEqual([]);
    expect(await other.admin.get(path, { query: { tenant_id: tenant.id } }))
      .toFailWith(403, "forbidden");
  });
});
