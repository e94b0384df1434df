/** Tests start from a database that is copied: it has to be the one that migrations build, and nobody else's. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newDatabase, newMigratedDatabase, type OwnDatabase } from "../support/database.ts";
import { sql } from "../support/db.ts";
import { migrate } from "../../supabase/local/migrate.ts";
import { describeSchema } from "../support/schema.ts";
import { templateCluster } from "../support/template.ts";

let cloned: OwnDatabase;
let built: OwnDatabase;
beforeAll(async () => {
  cloned = await newMigratedDatabase();
  built = await newDatabase(({ sql }) => migrate(sql));
});
afterAll(async () => {
  await cloned?.close();
  await built?.close();
});

test("a clone has the schema, the schedules and the reference data of a database that was migrated", async () => {
  // Names are shown as the search path makes them; one connection is older than the database's own setting.
  for (const { sql } of [built, cloned]) await sql`set search_path = ''`;
  const of = async ({ sql }: OwnDatabase) => ({
    schema: await describeSchema(sql),
    versions: await sql`select version from supabase_migrations.schema_migrations order by version`,
    roles: await sql`select count(*) from tenancy.role_permissions`,
    settings: await sql`select setconfig from pg_db_role_setting s
      join pg_database d on d.oid = s.setdatabase where d.datname = current_database() and s.setrole = 0`,
  });
  const expected = await of(built);
  expect(expected.schema.length).toBeGreaterThan(500);
  expect(await of(cloned)).toEqual(expected);
});

test("what happens in one clone is not in the next, nor in the stack's own database", async () => {
  const slug = `t-${randomUUID()}`;
  await cloned.sql`insert into tenancy.tenants (id, name, slug, status)
    values (${randomUUID()}, '{"en": "T"}', ${slug}, 'active')`;
  const next = await newMigratedDatabase();
  try {
    for (const other of [next.sql, sql]) {
      expect(await other`select from tenancy.tenants where slug = ${slug}`).toHaveLength(0);
    }
  } finally {
    await next.close();
  }
});

test("the time-outs of the shared stack stay when a migration sets those of the role", async () => {
  const [role] = await sql`
    select s.setconfig from pg_db_role_setting s
    join pg_database d on d.oid = s.setdatabase and d.datname = current_database()
    where s.setrole = 'barid_api'::regrole`;
  expect(role?.setconfig).toEqual(["lock_timeout=30s", "statement_timeout=60s"]);
});

test("several that want the folder at once get the same one, and it is whole", async () => {
  const folders = await Promise.all([1, 2, 3].map(() => templateCluster()));
  expect(new Set(folders).size).toBe(1);
});
