/**
 * A day of somebody who began with the first release: a day of work on it, the step to the code of today, and with that the
 * deployment, a client, the metrics and a database that is down.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@supabase/supabase-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import ws from "ws";
import { bundleAll } from "../../supabase/deploy/bundle/index.ts";
import { demoPassword } from "../../supabase/local/demo-accounts.ts";
import { secretsKey } from "../../supabase/local/keys.ts";
import { isAlive } from "../../supabase/local/processes.ts";
import { checkOut, hasCommit, pullInto } from "../support/checkout.ts";
import { demoIn, keepUtc } from "../support/demo-in.ts";
import { type StackIn, startStackIn } from "../support/stack-in.ts";
import { runProgram } from "../tools/checks/programs.ts";
import { releases } from "../tools/migrations/releases.ts";
import { type Hosted, startHosted } from "./hosted.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ref = "abcdefghijklmnopqrst";
const [first] = releases();
const there = hasCommit(first!.commit);

describe.skipIf(!there)(`from ${first!.version} in an empty folder`, () => {
  let folder: { dir: string; remove(): void };
  let files: string;
  let stack: StackIn;
  let sql: postgres.Sql;
  let hosted: Hosted | undefined;
  /** The books and the parcels of the demo's company. */
  let before: unknown;
  const start = async () => {
    stack = await startStackIn(folder.dir);
    sql = postgres(stack.state.db_url, { max: 1, onnotice: () => {} });
  };
  const stop = async () => {
    await sql?.end();
    await stack?.stop();
  };
  const kept = () =>
    sql`select
      (select count(*)::int from delivery.deliveries) as deliveries,
      (select count(*)::int from money.cod_collections) as collections,
      (select sum(balance)::float8 from money.accounts where kind = 'wallet') as wallets,
      (select sum(quantity)::int from warehousing.stock) as units`;
  const asDispatcher = async () => {
    const app = createClient(stack.state.url, stack.state.publishable_key, {
      auth: { persistSession: false, autoRefreshToken: false },
      realtime: { transport: ws as unknown as typeof WebSocket },
    });
    const { error } = await app.auth.signInWithPassword({
      email: "dispatcher@demo.test",
      password: demoPassword,
    });
    expect(error).toBeNull();
    return app;
  };

  beforeAll(async () => {
    folder = checkOut(first!.commit);
    files = mkdtempSync(join(tmpdir(), "barid-newcomer-"));
    await start();
    await keepUtc(sql);
  });
  afterAll(async () => {
    await hosted?.close();
    await stop();
    folder?.remove();
    rmSync(files, { recursive: true, force: true });
  });

  test("a day of work passes on the first release", async () => {
    const { code, printed } = await demoIn(folder.dir, stack.state, { deliveries: 30, seed: 11 });
    expect(code, printed).toBe(0);
    before = await kept();
  });

  test("after the step to today a start migrates the data and says so; everything is there", async () => {
    await stop();
    pullInto(folder.dir);
    await start();
    expect(stack.lines.join("\n")).toMatch(/migrat/i);
    expect(stack.state.schema > first!.schema).toBe(true);
    expect(await kept()).toEqual(before);
    const app = await asDispatcher();
    const { data, error } = await app.functions.invoke("delivery/deliveries?limit=1", {
      method: "GET",
    });
    expect(error).toBeNull();
    expect(data.pagination.total).toBeGreaterThanOrEqual(30);
  });

  test("another day of work passes on today's code", async () => {
    const { code, printed } = await demoIn(folder.dir, stack.state, { deliveries: 30, seed: 12 });
    expect(code, printed).toBe(0);
  });

  test("it is deployed by one command, whose smoke test signs in", async () => {
    hosted = await startHosted(ref);
    const settings = {
      SUPABASE_PROJECT_REF: ref,
      SUPABASE_ACCESS_TOKEN: `sbp_${"0".repeat(40)}`,
      BARID_DB_URL: `postgresql://barid_api.${ref}:barid-local@pooler.supabase.test:6543/postgres`,
      BARID_SECRETS_KEY: secretsKey,
      DEPLOY_DATABASE_URL: `${hosted.databases.get(ref)!.url}?sslmode=disable`,
      DEPLOY_URL: stack.state.url,
      DEPLOY_EMAIL: "dispatcher@demo.test",
      DEPLOY_PASSWORD: demoPassword,
    };
    writeFileSync(
      join(files, ".env.production"),
      Object.entries(settings).map(([key, value]) => `${key}='${value}'\n`).join(""),
    );
    const printed: string[] = [];
    await hosted.deploy(["--project-ref", ref, "--yes"], {
      folder: join(files, "deployed"),
      files,
      shell: { ...process.env, SUPABASE_ACCESS_TOKEN: "", ...hosted.env },
      bundle: bundleAll,
      print: (line) => printed.push(line),
      patience: { times: 1, waitMs: 0 },
    });
    const [{ schema }] = await hosted.databases.get(ref)!
      .sql`select private.schema_version() as schema`;
    expect(schema, printed.join("\n")).toBe(stack.state.schema);
  });

  test("a client is packed", async () => {
    const { code, lines } = await runProgram("npm", ["run", "--silent", "client", "--", files], {
      cwd: folder.dir,
    });
    expect(code, lines.join("\n")).toBe(0);
    const { stdout } = spawnSync("tar", ["-tzf", lines.at(-1)!], { encoding: "utf8" });
    expect(stdout).toContain("package/package.json");
  });

  test("the metrics are scraped", async () => {
    const key = "ab".repeat(32);
    const hash = createHash("sha256").update(key).digest();
    await sql`insert into tenancy.api_keys (name, key_hash, scopes, is_system_capable)
      values ('Scraper', ${hash}, '{view:metrics:system}', true)`;
    const answer = await fetch(`${stack.state.url}/functions/v1/system/metrics`, {
      headers: { "x-api-key": key },
    });
    const text = await answer.text();
    expect(answer.status, text).toBe(200);
    expect(text).toMatch(/^barid_[a-z_]+/m);
    expect(text.trimEnd().endsWith("# EOF")).toBe(true);
  });

  test("when the database is down, callers get 503 with Retry-After, and the log says the runbook's first line", async () => {
    const app = await asDispatcher();
    const { data: { session } } = await app.auth.getSession();
    const [{ data_directory }] = await sql`show data_directory`;
    await sql.end();
    const running = readFileSync(join(data_directory, "postmaster.pid"), "utf8");
    const postmaster = Number(running.split("\n")[0]);
    // Without this file the stack cannot start it again.
    renameSync(join(data_directory, "PG_VERSION"), join(data_directory, "PG_VERSION.away"));
    // At once, and with all its sessions: killed outright, these would continue to answer for a moment.
    process.kill(postmaster, "SIGQUIT");
    await expect.poll(() => isAlive(postmaster), { timeout: 30_000 }).toBe(false);
    const answer = await fetch(`${stack.state.url}/functions/v1/delivery/deliveries`, {
      headers: { authorization: `Bearer ${session!.access_token}` },
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).not.toBeNull();
    const line = stack.lines.find((text) => text.includes("database_unreachable"));
    expect(line, stack.lines.slice(-20).join("\n")).toBeDefined();
    const runbooks = readFileSync(join(folder.dir, "docs", "runbooks.md"), "utf8");
    expect(runbooks).toContain(JSON.parse(line!.slice(line!.indexOf("{"))).to_do);
  });
});
