import { createWriteStream, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { JWTPayload } from "jose";
import postgres from "postgres";
import { version } from "../../shared/runtime/version.ts";
import { authApp } from "./auth/app.ts";
import { mailApp, Mails } from "./auth/mails.ts";
import { readConfig } from "./config.ts";
import { type CronRunner, startCron } from "./cron.ts";
import { demoAccounts } from "./demo-accounts.ts";
import { docsApp } from "./docs/app.ts";
import { explain, messageOf } from "./failure.ts";
import { type Gateway, listen } from "./gateway.ts";
import {
  loadTokenKeys,
  publishableKey,
  secretKey,
  secretsKey,
  type TokenKeys,
  userTokens,
} from "./keys.ts";
import { lockDataDir, writeState } from "./lock.ts";
import { applyPlatform, migrate, seed } from "./migrate.ts";
import { defaultDataDir } from "./paths.ts";
import { paymentsApp } from "./payments/app.ts";
import { type Postgres, startPostgres } from "./postgres.ts";
import { startRealtime } from "./realtime/server.ts";
import { createBuckets } from "./storage/buckets.ts";
import { storageApp } from "./storage/app.ts";
import { startWorkers, type Workers } from "./workers.ts";

/** How to run the stack; everything has a default. */
export interface StackOptions {
  /** Where everything is kept. */
  dataDir?: string;
  /** HTTP port; 0 picks a free one. */
  port?: number;
  /** Postgres port; 0 picks a free one. */
  dbPort?: number;
  /** How many Deno processes serve the functions. */
  workers?: number;
  /** False for tests: no fsync. */
  durable?: boolean;
  /** Applies sql/demo when the database is new. */
  seed?: boolean;
  /** Throws the data away first. */
  reset?: boolean;
  /** False runs no cron job but those asked for with `cron.runNow`. */
  schedules?: boolean;
  /** Reloads the functions when their code changes, and restarts Postgres when it crashes. */
  watch?: boolean;
  /** More environment for the functions; the caller's own BARID_* variables are passed on anyway. */
  env?: Record<string, string>;
  /** Folder with `bin/postgres` of another installation than the embedded one. */
  installation?: string;
  /** Folder of a stopped cluster that a new database is copied from. */
  template?: string;
  /** Address of a database on a server that runs already; none is started then. */
  database?: string;
  /** More environment for Postgres. */
  databaseEnv?: Record<string, string>;
  /** More settings of Postgres. */
  databaseSettings?: Record<string, string>;
  /** A step is done; `ms` is how long it took. */
  onStep?: (step: string, ms: number) => void;
  /** A line of a worker or a service. */
  log?: (line: string) => void;
}

/** The running stack. */
export interface Stack {
  url: string;
  /** As superuser. */
  dbUrl: string;
  /** As the login role of the functions, once the migrations created it. */
  apiDbUrl: string;
  /** The first worker itself, without the gateway: `${apiUrl}/<slug>/…`. Changes when the workers are reloaded. */
  readonly apiUrl: string;
  publishableKey: string;
  secretKey: string;
  /** Signs a user token; missing claims get the values of a real one, `undefined` leaves one out. */
  jwtSign(claims: JWTPayload): Promise<string>;
  workers: Workers;
  restartWorkers(): Promise<boolean>;
  killWorker(index: number): void;
  postgres: Postgres;
  cron: CronRunner;
  /** A superuser pool of the stack's own. */
  sql: postgres.Sql;
  stop(): Promise<void>;
}

/** Starts every part of the local stack. When one fails, those already started are stopped before it throws. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const cleanups: (() => void | Promise<void>)[] = [];
  try {
    return await assemble(options, (cleanup) => cleanups.push(cleanup), () => unwind(cleanups));
  } catch (error) {
    await unwind(cleanups);
    throw error;
  }
}

async function assemble(
  options: StackOptions,
  later: (cleanup: () => void | Promise<void>) => void,
  stop: () => Promise<void>,
): Promise<Stack> {
  const dataDir = options.dataDir ?? defaultDataDir;
  const log = options.log ?? (() => {});
  const step = stepTimer(options.onStep);
  const config = readConfig();

  later(lockDataDir(dataDir));
  const gateway = await listen(options.port ?? 54321);
  later(() => gateway.close(500));
  const database = await startDatabase({ ...options, dataDir, log }, later);
  step("Postgres");

  const sql = postgres(database.url, {
    max: 8,
    onnotice: () => {},
    connection: { application_name: "barid local" },
  });
  later(() => sql.end({ timeout: 1 }));
  await applyPlatform(sql);
  const hadData = (await sql`select from supabase_migrations.schema_migrations limit 1`).length > 0;
  const migrations = await migrate(sql);
  if (hadData && migrations.length > 0) {
    log(`The data is kept and brought up to date: ${migrations.join(", ")}`);
  }
  const [{ schema }] = await sql`select private.schema_version() as schema`;
  step(migrations.length > 0 ? `Database (${migrations.length} migrations)` : "Database");
  if (options.seed && await isNew(sql)) {
    await seed(sql);
    await sql`insert into local.applied (version, sha256) values ('seed', '')`;
    step("Demo data");
  }
  await createBuckets(sql, config.buckets);
  await fillVault(sql, gateway.url);

  const keys = await loadTokenKeys(
    join(dataDir, "signing-key.json"),
    () => `${gateway.url}/auth/v1`,
  );
  const realtime = startRealtime({ sql, dbUrl: database.url, keys, log });
  later(() => realtime.stop());
  const apiDbUrl = await functionsLogin(sql, database.url);
  const workers = await startWorkers({
    count: options.workers ?? 1,
    watch: options.watch ?? false,
    env: { ...functionEnvironment(gateway, keys, apiDbUrl), ...options.env },
    log,
  });
  later(() => workers.stop());
  step("Functions");

  const issuer = { sql, keys, config, issuer: () => `${gateway.url}/auth/v1` };
  const mails = new Mails();
  const auth = authApp(issuer, mails, log);
  const mail = mailApp(mails);
  const storage = storageApp({ sql, keys, dir: join(dataDir, "storage"), log });
  const payments = paymentsApp({ url: () => gateway.url, log });
  const docs = docsApp({ publishableKey, demoAccounts: () => demoAccounts(sql) });
  gateway.open({
    auth: (request) => auth.fetch(request),
    mail: (request) => mail.fetch(request),
    storage: (request) => storage.fetch(request),
    realtime: realtime.fetch,
    payments: (request) => payments.fetch(request),
    docs: (request) => docs.fetch(request),
    upgrade: realtime.upgrade,
    workers: workers.candidates,
  });
  const cron = await startCron(database.url, log, options.schedules);
  later(() => cron.stop());
  // First of all on the way out: nothing new comes in while the parts behind it go.
  later(() => gateway.close(500));
  step("Auth, Storage, Realtime, cron");

  const describe = () =>
    writeState(dataDir, {
      url: gateway.url,
      version,
      schema,
      publishable_key: publishableKey,
      secret_key: secretKey,
      db_url: database.url,
      pid: process.pid,
      workers: workers.pids,
    });
  describe();
  workers.onChange(describe);
  return {
    url: gateway.url,
    dbUrl: database.url,
    apiDbUrl,
    get apiUrl() {
      return `http://127.0.0.1:${workers.candidates().sort((a, b) => a - b)[0]}`;
    },
    publishableKey,
    secretKey,
    jwtSign: userTokens(keys, gateway.url, config.jwtExpiry),
    workers,
    restartWorkers: () => workers.reload(),
    killWorker: (index) => workers.kill(index),
    postgres: database,
    cron,
    sql,
    stop,
  };
}

async function startDatabase(
  options: StackOptions & { dataDir: string; log: (line: string) => void },
  later: (cleanup: () => Promise<void>) => void,
): Promise<Postgres> {
  const { dataDir, reset, dbPort, watch, databaseEnv, databaseSettings, log } = options;
  const clusterDir = join(dataDir, "postgres");
  try {
    if (reset) rmSync(join(dataDir, "storage"), { recursive: true, force: true });
    mkdirSync(join(dataDir, "logs"), { recursive: true });
  } catch (error) {
    throw explain(error, dataDir);
  }
  const file = createWriteStream(join(dataDir, "logs", "postgres.log"));
  file.on("error", (error) => log(`logs/postgres.log: ${messageOf(explain(error, dataDir))}`));
  const database: Postgres = await startPostgres({
    durable: options.durable,
    reset,
    installation: options.installation,
    template: options.template,
    database: options.database,
    dataDir: clusterDir,
    port: dbPort ?? 54322,
    env: databaseEnv,
    settings: databaseSettings,
    log: (line) => void file.write(`${line}\n`),
    onCrash() {
      log("Postgres ended unexpectedly: see logs/postgres.log of the data folder");
      if (watch) {
        database.restart().then(
          () => log("Postgres is up again"),
          (error) => log(messageOf(error)),
        );
      }
    },
  });
  later(() => database.stop());
  return database;
}

/** The demo data goes in once; afterwards it is the developer's. */
async function isNew(sql: postgres.Sql): Promise<boolean> {
  return (await sql`select from local.applied where version = 'seed'`).length === 0;
}

/** The secrets that a cron job needs to call a function, under the names the platform's documentation uses. */
async function fillVault(sql: postgres.Sql, url: string): Promise<void> {
  for (const [name, secret] of [["project_url", url], ["secret_key", secretKey]] as const) {
    await sql`insert into vault.secrets (name, secret) values (${name}, ${secret})
      on conflict (name) do update set secret = excluded.secret`;
  }
}

/** Functions log in as barid_api, which owns nothing and passes no policy; its password is set here, not in SQL. */
async function functionsLogin(sql: postgres.Sql, dbUrl: string): Promise<string> {
  const found = await sql`select from pg_roles where rolname = 'barid_api'`;
  if (found.length === 0) return dbUrl;
  await sql.unsafe("alter role barid_api login password 'barid-local'");
  const url = new URL(dbUrl);
  url.username = "barid_api";
  url.password = "barid-local";
  return url.href;
}

function functionEnvironment(
  gateway: Gateway,
  keys: TokenKeys,
  dbUrl: string,
): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => name.startsWith("BARID_")) as [
    string,
    string,
  ][];
  return {
    BARID_SECRETS_KEY: secretsKey,
    BARID_ALLOW_LOCAL_WEBHOOKS: "1",
    // Nobody who develops or tests wants to wait; set them to see what clients see.
    BARID_READS_PER_MINUTE: "0",
    BARID_WRITES_PER_MINUTE: "0",
    BARID_PUBLIC_WRITES_PER_MINUTE: "0",
    ...Object.fromEntries(own),
    SUPABASE_URL: gateway.url,
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: publishableKey }),
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: secretKey }),
    SUPABASE_JWKS: JSON.stringify(keys.functionJwks),
    BARID_DB_URL: dbUrl,
    BARID_STRICT: "1",
    BARID_GATEWAYONE_URL: `${gateway.url}/payments/v1/gatewayone`,
    BARID_RAZORPAY_URL: `${gateway.url}/payments/v1/razorpay`,
  };
}

/** Last started, first stopped; one that fails to stop does not keep the others running. */
async function unwind(cleanups: (() => void | Promise<void>)[]): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) {
    try {
      await cleanup();
    } catch (error) {
      console.error(`stopping: ${messageOf(error)}`);
    }
  }
}

function stepTimer(onStep: StackOptions["onStep"]) {
  let since = performance.now();
  return (step: string) => {
    onStep?.(step, performance.now() - since);
    since = performance.now();
  };
}
