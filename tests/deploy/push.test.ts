/** Migrations that meet calls are pushed again, by the real CLI; those that are wrong are not. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Cli, CliFailure, openCli } from "../../supabase/deploy/cli.ts";
import { push } from "../../supabase/deploy/steps/database.ts";
import { root } from "../../supabase/local/paths.ts";
import { newDatabase, type OwnDatabase } from "../support/database.ts";
import { remote } from "./cli.ts";

// Each push starts the CLI.
vi.setConfig({ testTimeout: 120_000 });

let dir: string;
let cli: Cli;
let database: OwnDatabase;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "barid-push-"));
  mkdirSync(join(dir, "supabase/migrations"), { recursive: true });
  cpSync(join(root, "supabase/config.toml"), join(dir, "supabase/config.toml"));
  cli = openCli(dir, process.env);
  database = await newDatabase();
  await database.sql`create table public.parcels (id bigint primary key)`;
});
afterAll(async () => {
  await database?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The only migration there is; its statement is longer than what is shown of a failure. */
function write(body: string) {
  const lines = Array.from({ length: 12 }, (_, at) => `-- Line ${at} of a long statement.`);
  writeFileSync(
    join(dir, "supabase/migrations/20000101000000_parcels.sql"),
    `do $$ begin\n${body}\n${lines.join("\n")}\nend $$;\n`,
  );
}
const lockAndAdd = "set local lock_timeout = '50ms'; alter table public.parcels add weight int;";

/** Holds the table as a call does, until it is let go. */
async function hold(): Promise<() => Promise<void>> {
  const call = await database.sql.reserve();
  await call`begin`;
  await call`lock table public.parcels in row exclusive mode`;
  return async () => {
    await call`rollback`;
    call.release();
  };
}

describe("a push of migrations", () => {
  test("that cannot have a lock is undone, and done again until it can", async () => {
    write(lockAndAdd);
    const letGo = await hold();
    const printed: string[] = [];
    let ended: Promise<void> | undefined;
    const pushes = await push(cli, remote(database.url), (line) => {
      printed.push(line);
      ended = letGo();
    });
    await ended;
    expect(pushes).toBe(2);
    expect(printed).toEqual(["A migration met calls and was undone (55P03): push 2 of 5."]);
    expect(await database.sql`select weight from public.parcels`).toEqual([]);
  });

  test("is given up after five times, with the words of PostgreSQL", async () => {
    write(lockAndAdd);
    await database.sql`alter table public.parcels drop weight`;
    await database.sql`delete from supabase_migrations.schema_migrations`;
    const letGo = await hold();
    const printed: string[] = [];
    const failure = await push(cli, remote(database.url), (line) => printed.push(line))
      .catch((error) => error).finally(letGo);
    expect(failure).toBeInstanceOf(CliFailure);
    expect(failure.sqlState).toBe("55P03");
    expect(failure.message).toContain("canceling statement due to lock timeout");
    expect(printed.length).toBe(4);
  });

  test("that is wrong is not tried again, and PostgreSQL's words are shown, not the end of the statement", async () => {
    write("perform 1 / 0;");
    const printed: string[] = [];
    const failure = await push(cli, remote(database.url), (line) => printed.push(line))
      .catch((error) => error);
    expect(failure.message).toMatch(
      /^supabase db push: ERROR: division by zero \(SQLSTATE 22012\)/,
    );
    expect(failure.message).not.toContain("Line 11");
    expect(printed).toEqual([]);
  });
});
