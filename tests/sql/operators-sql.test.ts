/**
 * The SQL of the operator's pages does what its reader wants as the `postgres` of a hosted project, which is no superuser: each
 * block and each statement in the text, in a transaction of its own that is rolled back.
 */
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HostedDatabase, newHostedDatabase } from "../support/hosted-database.ts";
import { textOf } from "../tools/checks/files.ts";

/** The beginning of a statement that cannot run here, and why. */
const cannot: Readonly<Record<string, string>> = {};

/** The values that a reader puts in place of `<…>`. */
const values: Readonly<Record<string, string>> = {
  password: "another-password-1",
  email: "first@barid.test",
  id: randomUUID(),
  "api key": "0f".repeat(32),
  "scraper key": "f0".repeat(32),
  "new secret key": "sb_secret_of_cron_2",
  kind: "delivery.settlement_receipt",
  trace: "0af7651916cd43dd8448eb211c80319c",
  job: "barid_carts_purge",
  "job id": "1",
};

const pages = [
  ...readdirSync("docs").filter((file) => file.endsWith(".md")).map((file) => `docs/${file}`),
  "README.md",
  "SECURITY.md",
];
const statements = pages.flatMap((page) => {
  const text = textOf(page);
  const blocks = [...text.matchAll(/^ *```sql\n([\s\S]*?)^ *```/gm)].map(([, block]) => block!);
  const inline = [...text.matchAll(/`((?:select|alter|update|insert|delete|analyze)\b[ ;][^`]*)`/g)]
    .map(([, statement]) => statement!);
  return [...blocks, ...inline].map((statement) => ({ page, statement: statement.trim() }));
});
const filled = (statement: string) =>
  statement.replace(/<([a-z ]+)>/g, (_, name) => {
    expect(Object.keys(values)).toContain(name);
    return values[name]!;
  });
const excused = (statement: string) =>
  Object.keys(cannot).some((beginning) => statement.startsWith(beginning));

test("the pages have statements, and those that cannot run here are among them", () => {
  expect(statements.length).toBeGreaterThan(30);
  for (const beginning of Object.keys(cannot)) {
    expect(statements.some(({ statement }) => statement.startsWith(beginning))).toBe(true);
  }
});

describe.skipIf(process.env.DATABASE_URL)("as postgres", () => {
  let database: HostedDatabase;
  beforeAll(async () => {
    database = await newHostedDatabase();
  }, 120_000);
  afterAll(() => database?.close());

  test("who is no superuser, and owns what the migrations made", async () => {
    const [role] = await database.sql`select rolsuper, rolbypassrls,
      (select count(*)::int from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('app', 'tenancy', 'money', 'delivery', 'warehousing', 'storefront', 'integration')
          and c.relowner <> r.oid) as others
    from pg_roles r where rolname = current_user`;
    expect(role).toEqual({ rolsuper: false, rolbypassrls: true, others: 0 });
    await expect(database.sql`alter role postgres superuser`)
      .rejects.toThrow("permission denied");
  });

  test.each(statements.filter(({ statement }) => !excused(statement)))(
    "$page: $statement",
    async ({ statement }) => {
      const undone = new Error("undone");
      await expect(database.sql.begin(async (tx) => {
        await tx.unsafe(filled(statement));
        throw undone;
      })).rejects.toBe(undone);
    },
  );

  test("the schedules of sql/cron.sql run", async () => {
    const jobs = await database
      .sql`select command from cron.job where jobname like 'barid%' order by jobname`;
    expect(jobs.length).toBeGreaterThan(30);
    for (const { command } of jobs) await database.sql.unsafe(command);
  });
});
