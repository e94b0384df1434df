/** A new tenant fills its address book before the table has statistics of it: the list reads each row once all the same. */
import { expect, test } from "vitest";
import { sql } from "../../support/db.ts";
import { newTenant, type Tenant } from "../../support/people.ts";

const rows = 600;
const fill = (tenant: Tenant, count: number) =>
  sql`insert into delivery.addresses (tenant_id, title, full_address, city, country)
    select ${tenant.id}, '{}', 'Street ' || n, 'Baghdad', 'IQ' from generate_series(1, ${count}::int) n`;

test("a list of addresses reads a tenant's rows once, though the planner expects one row", async () => {
  const [old, young] = await Promise.all([newTenant(), newTenant()]);
  await fill(old, 5_000);
  await sql`analyze delivery.addresses`;
  await fill(young, rows);
  const claims = {
    sub: young.admin.id,
    tenant_id: young.id,
    tenant_mode: "required",
    issued_at: Math.floor(Date.now() / 1000),
  };
  const [found, read] = await sql.begin(async (tx) => {
    await tx`select private.enter(${sql.json(claims)}, '{"access": ["anyone"]}')`;
    const readRows = async () => {
      const [{ rows }] =
        await tx`select pg_stat_get_xact_tuples_returned(c) + pg_stat_get_xact_tuples_fetched(c)
        + (select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = c) as rows
        from (select 'delivery.addresses'::regclass::oid as c) t`;
      return Number(rows);
    };
    const before = await readRows();
    const [{ count }] =
      await tx`select count(*)::int from delivery.own_addresses_list where full_address ilike '%street 1%'`;
    return [count, await readRows() - before];
  }) as [number, number];
  expect(found).toBe(111);
  expect(read).toBeLessThan(4 * rows);
});
