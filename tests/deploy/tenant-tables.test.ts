/** The tables that `npm run tenant` moves: each is decided about. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  followers,
  leftOut,
  ofTheInstallation,
  tenantTables,
} from "../../supabase/tenant/tables.ts";
import { sql } from "../support/db.ts";

describe("the tables", () => {
  test("are all decided about: exported, or named with a reason", async () => {
    const names = await sql.begin(async (tx) =>
      (await tenantTables(tx, randomUUID())).map((t) => t.name)
    );
    const all = await sql`select schemaname || '.' || tablename as name from pg_tables t
      where schemaname in ('app', 'private', 'tenancy', 'money', 'delivery', 'warehousing', 'storefront', 'integration', 'public')`;
    const decided = [...names, ...Object.keys(leftOut), ...Object.keys(ofTheInstallation)];
    expect(decided.filter((name) => !name.startsWith("auth.")).sort()).toEqual(
      all.map(({ name }) => name).sort(),
    );
  });

  test("have no number that is given anew and that a foreign key refers to", async () => {
    const found = await sql`select f.conname from pg_constraint f
      join pg_attribute a on a.attrelid = f.confrelid and a.attnum = any (f.confkey)
      where f.contype = 'f' and a.attidentity <> '' and f.connamespace::regnamespace::text <> 'auth'`;
    expect(found).toEqual([]);
  });

  test("have no other number of a row than those that follow", async () => {
    const tables = await sql.begin((tx) => tenantTables(tx, randomUUID()));
    const found =
      await sql`select n.nspname || '.' || c.relname as name, a.attname as column from pg_attribute a
      join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p')
      join pg_namespace n on n.oid = c.relnamespace
      where a.attnum > 0 and a.attidentity = '' and a.atttypid = 'bigint'::regtype and a.attname ~ '(_id|_position)$'
        and n.nspname || '.' || c.relname = any (${tables.map(({ name }) => name)})`;
    expect(Object.fromEntries(found.map(({ name, column }) => [name, column]))).toEqual(followers);
  });
});
