/** A void statement of many lines leaves many movements for the next one, before the tables have statistics of them. */
import { expect, test } from "vitest";
import { newCash, remit } from "../../support/cod.ts";
import { newHolder } from "../../support/cod-holds.ts";
import { sql } from "../../support/db.ts";
import { cancel, opened } from "../../support/merchant-statements.ts";

const rows = 300;

test("the oldest money of a wallet is found in one look at each movement that waits", async () => {
  const { tenant } = await newHolder({ release: "on_remit" });
  for (let row = 0; row < rows; row++) await newCash(tenant, { release: "on_remit" });
  const all = { scope: "all", driver_id: tenant.driver.id };
  expect(await tenant.dispatcher.post(remit, all)).toSucceed(200);
  const statement = await opened(tenant, { owner_user_id: tenant.institution.id });
  expect(statement.count).toBe(rows);
  expect(await cancel(tenant.ops, statement.id)).toSucceed(200);
  const claims = {
    sub: tenant.admin.id,
    tenant_id: tenant.id,
    tenant_mode: "required",
    issued_at: Math.floor(Date.now() / 1000),
  };
  const [found, read] = await sql.begin(async (tx) => {
    await tx`select private.enter(${sql.json(claims)}, '{"access": ["anyone"]}')`;
    const readLines = async () => {
      const [{ lines }] = await tx`select pg_stat_get_xact_tuples_returned(c)
        + (select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = c) as lines
        from (select 'money.merchant_statement_lines'::regclass::oid as c) t`;
      return Number(lines);
    };
    const before = await readLines();
    const [{ oldest_unpaid_at }] =
      await tx`select oldest_unpaid_at from money.merchant_balances_list
      where owner_user_id = ${tenant.institution.id}`;
    return [oldest_unpaid_at, await readLines() - before];
  }) as [Date, number];
  const [{ first }] =
    await sql`select min(collected_at) as first from money.merchant_statement_lines
    where statement_id = ${statement.id}`;
  expect(found).toEqual(first);
  expect(read).toBeLessThan(4 * rows);
});
