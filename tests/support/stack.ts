/** Starts one stack for the whole run: a real Postgres, the real functions on Deno, free ports. */
import { appendFileSync, mkdirSync, mkdtempSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { defaultDataDir } from "../../supabase/local/paths.ts";
import { type Stack, startStack } from "../../supabase/local/stack.ts";
import { watchEvents } from "./event-watch.ts";
import { startResolver } from "./resolver.ts";
import { useRunFolder } from "./run-folder.ts";
import { clock } from "./clock.ts";
import { functionProcesses } from "./cores.ts";
import { cloneDatabase, databaseAt, templateCluster } from "./template.ts";

export interface StackAddresses {
  /** The gateway, as clients see it. */
  url: string;
  /** The function processes themselves; each worker of vitest takes one of them. */
  functionsUrls: string[];
  dbUrl: string;
  publishableKey: string;
  secretKey: string;
  /** Answers the functions' DNS questions with what tests put there. */
  resolverUrl: string;
  /** Process id of this process, which owns the stack. */
  pid: number;
  /** Process ids of the functions. */
  workerPids: number[];
  /** Where the stack keeps its files: logs/functions.log, the key of its tokens. */
  dataDir: string;
  /** The log of its PostgreSQL. */
  postgresLog: string;
}

declare module "vitest" {
  interface ProvidedContext {
    stack: StackAddresses;
  }
}

let stack: Stack | undefined;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const runFolder = useRunFolder();
  const dataDir = mkdtempSync(join(tmpdir(), "barid-test-"));
  mkdirSync(join(dataDir, "logs"));
  const lines: string[] = [];
  const resolver = await startResolver();
  const { database, drop } = await databaseFor();
  stack = await startStack({
    dataDir,
    database,
    workers: functionProcesses,
    port: 0,
    dbPort: 0,
    durable: false,
    template: database || process.env.DATABASE_URL ? undefined : await templateCluster(),
    databaseEnv: clock,
    // No plan changes in the middle of a test because somebody looked at a table meanwhile.
    databaseSettings: { autovacuum: "off" },
    env: {
      ...clock,
      BARID_STRICT: "1",
      BARID_DNS_OVER_HTTPS_URL: `${resolver.url}/dns-query`,
      BARID_DB_WAIT_MS: "30000",
      BARID_DB_ANSWER_MS: "90000",
    },
    log: (line) => {
      appendFileSync(join(dataDir, "logs", "functions.log"), `${line}\n`);
      // Refusals are what tests ask for (503 too); only what should never happen is worth a reader's time.
      if (/"level":"error"|TypeError|ReferenceError/.test(line) && !/"status":503/.test(line)) {
        lines.push(line);
      }
    },
  });
  await stopTheClock(stack);
  await watchEvents(stack.sql);
  // As cron does in a project's first hour: nobody's positions move to their day's partition while a test looks at them.
  await stack.sql`select delivery.positions_partition()`;
  // Fifty at once on a busy machine wait for each other longer than clients should: here the outcome counts.
  // Of this database alone: migrations that a test applies to another one on this server set the role's own.
  await stack.sql`alter role barid_api in database ${
    stack.sql(nameOf(stack.dbUrl))
  } set lock_timeout = '30s'`;
  await stack.sql`alter role barid_api in database ${
    stack.sql(nameOf(stack.dbUrl))
  } set statement_timeout = '60s'`;
  project.provide("stack", {
    url: stack.url,
    functionsUrls: stack.workers.candidates().sort((a, b) => a - b).map((port) =>
      `http://127.0.0.1:${port}`
    ),
    dbUrl: stack.dbUrl,
    publishableKey: stack.publishableKey,
    secretKey: stack.secretKey,
    resolverUrl: resolver.url,
    pid: process.pid,
    workerPids: stack.workers.pids,
    dataDir,
    postgresLog: join(database ? defaultDataDir : dataDir, "logs", "postgres.log"),
  });
  return async () => {
    resolver.close();
    await stack?.stop();
    await drop();
    runFolder.remove();
    if (lines.length) {
      console.error(`Errors the functions logged:\n${lines.slice(0, 40).join("\n")}`);
    }
  };
}

/** With BARID_TEST_SERVER a clone of the template on that server, which nobody else's data is in; else one is started. */
async function databaseFor(): Promise<{ database?: string; drop: () => Promise<unknown> }> {
  const server = process.env.BARID_TEST_SERVER;
  if (!server) return { drop: () => Promise.resolve() };
  const name = `barid_test_${randomUUID().slice(0, 8)}`;
  const admin = postgres(server, { max: 2, onnotice: () => {} });
  await cloneDatabase(admin, server, name);
  // A crash of that server would lose only data that is dropped a minute later anyway.
  await admin.unsafe(`alter database ${name} set synchronous_commit = off`);
  return {
    database: databaseAt(server, name),
    drop: () =>
      admin.unsafe(`drop database if exists ${name} with (force)`).finally(() => admin.end()),
  };
}

/** The database that an address names. */
function nameOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1));
}

/** No job runs by itself: a test would otherwise depend on the minute in which it is run. */
async function stopTheClock({ sql }: Stack): Promise<void> {
  const [cron] = await sql`select to_regclass('cron.job') is not null as here`;
  if (!cron?.here) return;
  await sql`select cron.alter_job(jobid, active => false) from cron.job where jobname like 'barid%'`;
}
