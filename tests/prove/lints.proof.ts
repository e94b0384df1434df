/**
 * Linters of others read what the house rules of tests/sql do not: plpgsql_check each function as it would be run (where
 * Debian's PostgreSQL has it; the embedded one has not), squawk each migration; and both do find what is wrong.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, describe, expect, test } from "vitest";
import { applyPlatform, migrate } from "../../supabase/local/migrate.ts";
import { newFolderForPostgres } from "../../supabase/local/postgres-files.ts";
import { startPostgres } from "../../supabase/local/postgres.ts";
import { postgresDir } from "../tools/checks/debian.ts";
import { hasPlpgsqlCheck, readFunctions } from "../tools/checks/plpgsql-check.ts";
import { lintMigrations } from "../tools/checks/static.ts";
import { figure, say } from "./proof.ts";

const dir = newFolderForPostgres("barid-lints-");
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const installation = process.env.BARID_PROVE_POSTGRES ?? postgresDir;
const here = hasPlpgsqlCheck(installation);
if (!here) {
  say(
    `plpgsql_check skipped: ${installation} has none; apt-get install postgresql-15-plpgsql-check`,
  );
}

test.skipIf(!here)(
  "functions: no error and no danger, and each explanation is needed",
  async () => {
    const server = await startPostgres({
      dataDir: join(dir, "postgres"),
      port: 0,
      durable: false,
      installation,
    });
    const sql = postgres(server.url, { max: 1, onnotice: () => {} });
    try {
      await applyPlatform(sql);
      await migrate(sql);
      const { functions, findings, idleExplanations } = await readFunctions(sql);
      figure({
        what:
          `errors and security warnings of plpgsql_check in ${functions} functions, not explained`,
        asked: "0",
        reached: findings.length,
        holds: findings.length === 0,
      });
      expect(functions).toBeGreaterThan(500);
      expect(findings).toEqual([]);
      expect(idleExplanations).toEqual([]);

      await sql.unsafe(`create function app.wrong_one() returns void language plpgsql as $$
      begin perform c.no_such_column from tenancy.currencies c; end $$`);
      await sql.unsafe(`create function app.wrong_other(t text) returns void language plpgsql as $$
      begin execute 'select ' || t; end $$`);
      expect((await readFunctions(sql)).findings.map((line) => line.replace(/:.*/s, "")))
        .toEqual(["app.wrong_one()", "app.wrong_other(text)"]);
    } finally {
      await sql.end();
      await server.stop();
    }
  },
  120_000,
);

describe("migrations", () => {
  test("are safe to apply", async () => {
    const { code, lines } = await lintMigrations(["supabase/migrations/*.sql"]);
    figure({
      what: "findings of squawk in the migrations, not explained",
      asked: "0",
      reached: lines.filter((line) => /^(warning|error)/.test(line)).length,
      holds: code === 0,
    });
    expect(code, lines.join("\n")).toBe(0);
  });

  test.each([
    ["an index that shuts writers out", "create index on delivery.deliveries (barcode);"],
    ["a column that readers lose", "alter table delivery.deliveries drop column notes;"],
    ["no end to waiting for a lock", "alter table delivery.deliveries add column hint text;"],
  ])("that are not are found: %s", async (_what, text) => {
    const file = join(dir, "20270101000000_next.sql");
    writeFileSync(file, text);
    expect((await lintMigrations([file])).code).toBe(1);
  });
});
