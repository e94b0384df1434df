/** The journal of desks that moved cash often: a kind is found from its own journals, and of what nobody asked for nothing is read. */
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { cashDeskMovements } from "../../../functions/delivery/cash-desks/movements.ts";
import { desks, transfer } from "../../support/cash-desks.ts";
import { newCash, remit, selected } from "../../support/cod.ts";
import { sql } from "../../support/db.ts";
import { ok } from "../../support/desk-mixture.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const many = 3_000;

let tenant: Tenant;

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

/** A page of the journal as the administrator reads it: its total, and how many rows of each table were read for it. */
async function read(query: Record<string, string>) {
  const [statement, params] = await sentFor(query);
  const claims = {
    sub: tenant.admin.id,
    tenant_id: tenant.id,
    tenant_mode: "required",
    request_id: "r",
    operation: "o",
  };
  return await sql.begin(async (tx) => {
    const counted = async () =>
      (await tx<{ name: string; rows: string }[]>`
        select c.relname as name, pg_stat_get_xact_tuples_returned(c.oid) + (
          select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = c.oid) as rows
        from pg_class c where c.oid in ('money.ledger_transactions'::regclass, 'money.cash_transfers'::regclass) order by 1`)
        .map(({ rows }) => Number(rows));
    const before = await counted();
    const [{ answer }] = await tx`select private.read(${sql.json(claims)},
      '{"access": ["role:tenant_admin"], "reads_only": true}', ${statement}, ${
      sql.json(params as never)
    }) as answer`;
    const [transfers, journals] = (await counted()).map((rows, at) => rows - before[at]);
    return { total: answer.total, transfers, journals };
  });
}

beforeAll(async () => {
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
  for (const table of ["ledger_transactions", "ledger_entries", "cash_transfers", "accounts"]) {
    await sql.unsafe(`analyze money.${table}`);
  }
});

describe("the journal of desks that moved cash often", () => {
  test("finds a rare kind without reading the journals of the others", async () => {
    for (const kind of ["bank_deposit", "remittance", "bank_deposit,remittance"]) {
      const { total, journals } = await read({ kind });
      expect(total, kind).toBe(kind.split(",").length);
      expect(journals, kind).toBeLessThan(many / 10);
    }
  });

  test("reads a frequent kind's journals once, not for page and total each", async () => {
    const { total, journals } = await read({ kind: "expense" });
    expect(total).toBe(many + 1);
    expect(journals).toBeLessThan(many * 2);
  });

  test("counts and adds up without a look at what made the movements", async () => {
    const { total, transfers, journals } = await read({});
    expect(total).toBe(many + 3);
    expect(Math.max(transfers, journals)).toBeLessThan(many / 10);
  });

  test("finds the same of one desk and of one person's as of all", async () => {
    const { body } = await tenant.admin.get(desks);
    const [{ id }] = body.data;
    for (const [name, value] of [["desk_id", id], ["user_id", tenant.dispatcher.id]]) {
      expect(await read({ [name]: value, kind: "expense" })).toMatchObject({ total: many + 1 });
      expect(await read({ [name]: value, kind: "shortage" })).toMatchObject({ total: 0 });
    }
    const another = { user_id: tenant.admin.id, kind: "expense" };
    expect(await read(another)).toMatchObject({ total: 0 });
  });
});
