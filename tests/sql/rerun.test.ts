/** Views, functions, policies, schedules and reference data are applied again by later migrations. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceFiles } from "../../sql/build.ts";
import { newMigratedDatabase, type OwnDatabase } from "../support/database.ts";
import { describeSchema } from "../support/schema.ts";

let database: OwnDatabase;
beforeAll(async () => {
  database = await newMigratedDatabase();
});
afterAll(() => database.close());

test("applying everything behind the tables a second time changes nothing", async () => {
  const { sql } = database;
  const rows = () =>
    sql`select (select count(*) from tenancy.roles) as roles,
    (select count(*) from tenancy.role_permissions) as permissions, (select count(*) from tenancy.currencies) as currencies`;
  const before = { schema: await describeSchema(sql), rows: await rows() };
  expect(before.schema.length).toBeGreaterThan(500);
  const again = sourceFiles().filter((file) =>
    !/\/(tables|references|sizes|schemas)\.sql$/.test(file)
  );
  expect(again.length).toBeGreaterThan(10);
  for (const file of again) await sql.unsafe(readFileSync(file, "utf8"));
  expect({ schema: await describeSchema(sql), rows: await rows() }).toEqual(before);
});

test("a new project offers no carrier that exists nowhere", async () => {
  const offered = await database.sql`select code from integration.carriers
    where is_active order by position`;
  expect(offered.map(({ code }) => code)).toEqual(["internal", "easypost"]);
});
