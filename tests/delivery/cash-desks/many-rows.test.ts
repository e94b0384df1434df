/** The journal of desks that moved cash often: a kind is found from its own journals, and of what nobody asked for nothing is read. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { cashDeskMovements } from "../../../functions/delivery/cash-desks/movements.ts";
import { desks, transfer } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { ok } from "../../support/desk-mixture.ts";
import { moveToOwnStack } from "../../support/move-to-own-stack.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const many = 3_000;

let tenant: Tenant;
let leave: () => Promise<void>;

/** The statement and the values that the list sends for a query. */
async function sentFor(query: Record<string, string>) {
  const [endpoint] = cashDeskMovements;
  let sent: [string, object] | undefined;
  const read = (statement: string, params: object) => {
    sent = [statement, params];
    return Promise.resolve({ rows: [], total: 0, summary: [] });
  };
  await endpoint.run({ db: { read }, query: (endpoint.query as z.ZodType).parse(query) } as never);
  return sent!;
}

const tables = ["cash_transfers", "ledger_transactions", "ledger_entries", "accounts"];

/** The total that a statement answers as the administrator reads it, and how many rows of transfers and journals were read for it. */
async function read(statement: string, params: object = {}) {
  const claims = {
    sub: tenant.admin.id,
    tenant_id: tenant.id,
    tenant_mode: "required",
    request_id: "r",
    operation: "o",
  };
  return await sql.begin(async (tx) => {
    // Of rows that nobody counted yet the planner knows nothing.
    for (const table of tables) await tx.unsafe(`analyze money.${table}`);
    const counted = async () =>
      (await tx<{ rows: string }[]>`
        select pg_stat_get_xact_tuples_returned(c.oid) + (
          select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = c.oid) as rows
        from pg_class c where c.oid in ('money.ledger_transactions'::regclass, 'money.cash_transfers'::regclass) order by c.relname`)
        .map(({ rows }) => Number(rows));
    const before = await counted();
    const [{ answer }] = await tx`select private.read(${sql.json(claims)},
      '{"access": ["role:tenant_admin"], "reads_only": true}', ${statement}, ${
      sql.json(params as never)
    }) as answer`;
    const [transfers, journals] = (await counted()).map((rows, at) => rows - before[at]);
    return { total: Number(answer.total), transfers, journals };
  });
}

beforeAll(async () => {
  // Where tables are analyzed, the plans of everybody's statements change.
  ({ leave } = await moveToOwnStack());
  tenant = await newTenant();
  const { id } = await newCash(tenant, { cod: 0, fee: 50_000 });
  ok(await tenant.dispatcher.post(remit, selected(id)));
  ok(await transfer(tenant.dispatcher, { kind: "bank_deposit", amount: 900 }));
  ok(await transfer(tenant.dispatcher, { kind: "expense", amount: 700, notes: "Fuel" }));
  await sql.begin(async (tx) => {
    // The triggers that guard the ledger would prevent the rows.
    await tx`set local session_replication_role = replica`;
    await tx`create temporary table copies on commit drop as
      select gen_random_uuid() as journal, gen_random_uuid() as transfer, n from generate_series(1, ${many}) n`;
    await tx`insert into money.cash_transfers (id, tenant_id, kind, from_owner_type, from_user_id, amount, currency, notes, actor_id)
      select c.transfer, t.tenant_id, t.kind, t.from_owner_type, t.from_user_id, t.amount, t.currency, t.notes, t.actor_id
      from money.cash_transfers t, copies c where t.tenant_id = ${tenant.id} and t.kind = 'expense'`;
    await tx`insert into money.ledger_transactions (id, tenant_id, kind, reference_type, reference_id, actor_id)
      select c.journal, ${tenant.id}, 'cash_transfer', 'cash_transfer', c.transfer, ${tenant.dispatcher.id} from copies c`;
    await tx`insert into money.ledger_entries (tenant_id, transaction_id, account_id, amount, currency, balance_after, version)
      select a.tenant_id, c.journal, a.id, -1, a.currency, a.balance, a.version + c.n
      from money.accounts a, copies c where a.tenant_id = ${tenant.id} and a.kind = 'cash_on_hand'`;
  });
});

afterAll(() => leave());

describe("the journal of desks that moved cash often", () => {
  test("finds a rare kind without reading the journals of the others", async () => {
    for (const kinds of [["bank_deposit"], ["remittance"], ["bank_deposit", "remittance"]]) {
      const { total, journals } = await read(
        "select json_build_object(), count(*) from money.desk_movements_of($1 -> 'kinds', null, null)",
        { kinds },
      );
      expect(total, kinds.join()).toBe(kinds.length);
      expect(journals, kinds.join()).toBeLessThan(many / 10);
    }
  });

  test("looks a kind up once, not for page and total each", async () => {
    const [statement, params] = await sentFor({ kind: "expense" });
    expect(statement.match(/desk_movements_of/g)).toHaveLength(1);
    expect((await read(statement, params)).total).toBe(many + 1);
  });

  test("counts and adds up without a look at what made the movements", async () => {
    const seen = await read(
      "select json_build_object('sum', sum(r.amount)), count(*) from money.cash_desk_movements_list r",
    );
    expect(seen).toEqual({ total: many + 3, transfers: 0, journals: 0 });
  });

  test("finds the same of one desk and of one person's as of all", async () => {
    const { body } = await tenant.admin.get(desks);
    const [{ id }] = body.data;
    const totalOf = async (query: Record<string, string>) =>
      (await read(...await sentFor(query))).total;
    for (const [name, value] of [["desk_id", id], ["user_id", tenant.dispatcher.id]]) {
      expect(await totalOf({ [name]: value, kind: "expense" })).toBe(many + 1);
      expect(await totalOf({ [name]: value, kind: "shortage" })).toBe(0);
    }
    expect(await totalOf({ user_id: tenant.admin.id, kind: "expense" })).toBe(0);
  });
});
