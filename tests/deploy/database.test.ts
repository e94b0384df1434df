/** The real CLI brings an empty database to what sql/ says, and its linters find nothing in it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newDatabase, type OwnDatabase } from "../support/database.ts";
import { describeSchema } from "../support/schema.ts";
import { bySources } from "../tools/migrations/databases.ts";
import { remote, supabase } from "./cli.ts";

let pushed: OwnDatabase;
let written: OwnDatabase;
let push: { code: number; output: string };
beforeAll(async () => {
  pushed = await newDatabase(async ({ url }) => {
    push = await supabase(["db", "push", "--yes", remote(url)]);
  });
  written = await newDatabase(({ sql }) => bySources(sql));
});
afterAll(async () => {
  await pushed?.close();
  await written?.close();
});

test("db push applies the migrations to an empty database", async () => {
  expect(push, push.output).toMatchObject({ code: 0 });
  expect((await pushed.sql`select version from supabase_migrations.schema_migrations`).length)
    .toBeGreaterThan(0);
});

test("db push builds the same database as the files of sql/ in their order", async () => {
  const expected = await describeSchema(written.sql);
  expect(expected.length).toBeGreaterThan(500);
  expect(await describeSchema(pushed.sql)).toEqual(expected);
});

test("a second db push has nothing to do", async () => {
  const again = await supabase(["db", "push", "--yes", remote(pushed.url)]);
  expect(again).toMatchObject({ code: 0 });
  expect(again.output).toMatch(/up to date/i);
});

test("the advisors of the CLI warn of nothing", async () => {
  const { code, output } = await supabase(
    ["db", "advisors", "--type=all", "--level=warn", "--fail-on=warn", remote(pushed.url)],
    // Without this setting the lints about what the REST interface shows find nothing at all.
    { PGOPTIONS: "-c pgrst.db_schemas=public" },
  );
  expect(code, output).toBe(0);
});

test("the advisors do look: a table without protection is found", async () => {
  const other = await newDatabase(({ sql }) =>
    sql.unsafe(
      "create table public.open_door (id bigint primary key); grant select on public.open_door to anon",
    )
  );
  const { code, output } = await supabase(
    ["db", "advisors", "--type=all", "--level=warn", "--fail-on=warn", remote(other.url)],
    { PGOPTIONS: "-c pgrst.db_schemas=public" },
  );
  await other.close();
  expect(code).toBe(1);
  expect(output).toContain("open_door");
});
