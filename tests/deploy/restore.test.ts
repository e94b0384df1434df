/**
 * The commands of docs/operations.md bring the rows of one project into another. With the server, pg_dump, psql and pg_cron
 * of Debian, since the embedded Postgres has no pg_dump; runs in `npm run test:debian`.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  cronSettings,
  missingPrograms,
  postgresDir,
  scheduledJobs,
} from "../tools/checks/debian.ts";
import { runProgram } from "../tools/checks/programs.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { type Body, nobody, signedIn, withToken } from "../support/api.ts";
import { signIn } from "../support/auth.ts";
import {
  bookedCash,
  carried,
  newSide,
  owedBy,
  payCarried,
  report,
  type Side,
} from "../support/carriers.ts";
import { moveTo, sql } from "../support/db.ts";
import { newDelivery } from "../support/deliveries.ts";
import { newEverything } from "../support/everything.ts";
import { startOwnStack } from "../support/own-stack.ts";
import { commandsUnder, inlineUnder, statementsUnder, wordsOf } from "./operations-page.ts";

const keys = { old: newKey(), new: newKey() };
const here = !missingPrograms().some((name) => name.startsWith("postgresql-15"));
/** Schemas that are the platform's; of theirs, the users of Auth alone are in the dump. Partitions are compared with their table. */
const platform =
  "auth storage realtime vault extensions cron net supabase_migrations local partitions".split(
    " ",
  );
const [dump, load] = commandsUnder("From a dump").filter((command) =>
  /^(pg_dump|psql) /.test(command)
);

/** The data of the old project, to be found again in the new one. */
interface Before {
  rows: Record<string, string>;
  owed: number[];
  deliveries: Body;
  /** A parcel that a carrier has, and has not reported yet. */
  underway: { id: string; tracking_number: string };
}

const razorpay = "/payment/gateways/razorpay";

describe.skipIf(!here)("a dump in a new project", () => {
  let dir: string;
  let old: Stack;
  let fresh: Stack;
  let sides: Side[];
  /** A tenant with a row in every table, whose cash is made up. */
  let everything: string;
  let before: Before;
  let loaded: { code: number; lines: string[] };
  let leave = () => Promise.resolve();

  /** A command of the page, by the programs of Debian's server. */
  const run = (command: string) => {
    const databases = { "old database": old.dbUrl, "new database": fresh.dbUrl };
    const [program, ...args] = wordsOf(command, databases);
    return runProgram(join(postgresDir, "bin", program!), args, { cwd: dir });
  };

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "barid-restore-"));
    const start = (key: string, seed: boolean) =>
      startOwnStack({
        ...{ installation: postgresDir, databaseSettings: cronSettings, seed },
        env: { BARID_SECRETS_KEY: key, BARID_LOG_LEVEL: "error" },
      });
    old = await start(keys.old, true);
    leave = moveTo(old);
    everything = (await newEverything("received")).tenant.id;
    sides = [await newSide(), await newSide()];
    await carried(sides[0]!, 25_000, 4_000);
    await carried(sides[1]!, 7_500);
    await payCarried(sides[0]!.tenant.admin, 6_000);
    const gateway = {
      settings: { account_id: "acc_moved" },
      secrets: { webhook_secret: "signed" },
    };
    expect(await sides[0]!.tenant.admin.put(razorpay, gateway)).toSucceed(200);
    before = {
      owed: await Promise.all(sides.map(({ tenant }) => owedBy(tenant))),
      deliveries: await deliveriesOfDemo(),
      underway: await bookedCash(sides[1]!.ground),
      rows: {},
    };
    // As the page says: nothing writes any more.
    await sql`update cron.job set active = false`;
    await sql.unsafe("alter role barid_api nologin");
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'barid_api'`;
    before.rows = await rowsOf(sql);

    // A new key in front, as when keys are rotated: what the old one sealed is opened all the same.
    fresh = await start(`${keys.new},${keys.old}`, false);
    await fresh.sql`update cron.job set active = false`;
    const dumped = await run(dump!);
    expect(dumped.code, dumped.lines.join("\n")).toBe(0);
    loaded = await run(load!);
    await leave();
    leave = moveTo(fresh);
    // Tokens of the old project are worth nothing in the new one.
    for (const { tenant } of sides) {
      tenant.ops = signedIn(tenant.ops.id, tenant.id);
      tenant.admin = signedIn(tenant.admin.id, tenant.id);
    }
  }, 300_000);
  afterAll(async () => {
    await leave();
    await old?.stop();
    await fresh?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  test("is loaded", () => {
    expect(loaded.code, loaded.lines.join("\n")).toBe(0);
  });

  test("has every row of every table, and of Auth its users", async () => {
    const filled = Object.values(before.rows).filter((print) => !print.startsWith("0 "));
    expect(filled.length).toBeGreaterThan(110);
    // Its own mark beside them: cursors of before are refused.
    const rows = await rowsOf(sql);
    expect(rows["app.timelines"]).toMatch(/^1 /);
    expect({ ...rows, "app.timelines": "0 " }).toEqual(before.rows);
  });

  test("has right books, right stock, and cash that agrees with them", async () => {
    expect(await sql`select * from money.verify_books()`).toEqual([]);
    expect(await sql`select * from warehousing.verify_stock()`).toEqual([]);
    expect(
      await sql`select c.* from tenancy.tenants t cross join money.cod_differences(t.id, 'infinity') c
        where t.id <> ${everything}`,
    ).toEqual([]);
    expect(await Promise.all(sides.map(({ tenant }) => owedBy(tenant)))).toEqual(before.owed);
  });

  test("lets people in with their passwords, who see what they saw", async () => {
    expect(before.deliveries.length).toBeGreaterThan(10);
    expect(await deliveriesOfDemo()).toEqual(before.deliveries);
  });

  test("opens what was sealed: a carrier's secret verifies its report, which is booked", async () => {
    const [side, { tracking_number, id }] = [sides[1]!, before.underway];
    const forged = await report(side.tenant, "another secret", {
      tracking_number,
      status: "delivered",
    });
    expect(forged.status).toBe(401);
    const told = await report(side.tenant, side.secret, { tracking_number, status: "delivered" });
    expect(told.body).toMatchObject({ outcome: "applied" });
    const [{ status }] = await sql`select status from delivery.deliveries where id = ${id}`;
    expect(status).toBe("delivered");
    expect(await owedBy(side.tenant)).toBeGreaterThan(before.owed[1]!);
    expect(await sql`select * from money.verify_books()`).toEqual([]);
  });

  test("seals with the key in front, and the page's query tells what still needs the other", async () => {
    const { tenant } = sides[0]!;
    const sealed = async () => {
      const found = await sql.unsafe(statementsUnder("Rotate keys").at(-2)!);
      return Object.fromEntries(found.map(({ key, count }) => [key, Number(count)]));
    };
    const [newId, oldId] = await Promise.all([keys.new, keys.old].map(nameOf));
    const at = await sealed();
    expect(at[oldId!]).toBeGreaterThan(1);
    expect(at).not.toHaveProperty(newId!);
    expect(await tenant.admin.post("/carriers/tenant/simulated/rotate-secret")).toSucceed(200);
    expect(await sealed()).toEqual({ ...at, [oldId!]: at[oldId!]! - 1, [newId!]: 1 });
    // Saved again to be sealed anew, it is no new secret, and the old text is not kept beside it.
    const again = await tenant.admin.put(razorpay, { secrets: { webhook_secret: "signed" } });
    expect(again.body.data.has_previous_webhook_secret).toBe(false);
    expect(await sealed()).toEqual({ ...at, [oldId!]: at[oldId!]! - 2, [newId!]: 2 });
    // The rest by the page's job, after which the other key is needed no more.
    await sql.unsafe(statementsUnder("Rotate keys").at(-1)!);
    const headers = { apikey: fresh.secretKey };
    expect(await nobody.post("/payment/internal/jobs", {}, { headers })).toSucceed(200);
    expect(await sealed()).toEqual({ ...at, [oldId!]: undefined, [newId!]: at[oldId!]! });
    const { body } = await report(sides[1]!.tenant, sides[1]!.secret, {
      tracking_number: before.underway.tracking_number,
      status: "delivered",
    });
    expect(body).toMatchObject({ success: true });
  });

  test("continues the counters: a new delivery gets an unused number", async () => {
    const { id } = await newDelivery(sides[0]!.ground, {});
    expect(id).toBeTruthy();
  });

  test("tells those who keep copies what changes from now on", async () => {
    const { tenant: { ops }, ground } = sides[0]!;
    const page = (query: Record<string, string>) =>
      ops.get("/delivery/deliveries", { query: { limit: 100, ...query } });
    const { body: { next_cursor } } = await page({ updated_since: "2020-01-01T00:00:00Z" });
    const { id } = await newDelivery(ground, {});
    const { body: { data: deliveries } } = await page({ cursor: next_cursor });
    expect(deliveries.map((row: Body) => row.id)).toEqual([id]);
  });

  test("holds no number of a transaction that is still to come", async () => {
    const [{ now }] = await sql`select pg_current_xact_id()::text::bigint as now`;
    for (const [table, column] of await numbered(sql)) {
      const [{ newest }] = await sql`
        select coalesce(max(${sql(column)}::text::bigint), 0) as newest from ${sql(table)}`;
      expect(newest, table).toBeLessThan(now);
    }
  });

  test("has every job of cron", async () => {
    const jobs = await sql`select jobname from cron.job order by jobname`;
    expect(jobs.map(({ jobname }) => jobname)).toEqual(scheduledJobs().sort());
  });

  test("is not loaded into a database that has tenants", async () => {
    const rows = await rowsOf(sql);
    const again = await run(load!);
    expect(again.code).not.toBe(0);
    expect(again.lines.join("\n")).toContain("a dump is loaded into an empty one only");
    expect(await rowsOf(sql)).toEqual(rows);
  });
});

function newKey(): string {
  return randomBytes(32).toString("base64");
}

/** The name of a key, by the command of the page. */
async function nameOf(key: string): Promise<string> {
  const command = inlineUnder("Rotate keys").find((text) => text.includes("sha256sum"))!;
  const { lines } = await runProgram("sh", ["-c", command.replace("<key>", key)]);
  return lines[0]!.slice(0, 8);
}

/** The demo dispatcher's view after signing in with the password. */
async function deliveriesOfDemo(): Promise<Body> {
  const session = await signIn("dispatcher@demo.test", "Barid-demo-1");
  const { status, body } = await withToken(session!.access_token).get(
    "/delivery/deliveries?limit=100",
  );
  expect(status).toBe(200);
  return body.data;
}

/** Columns with the number of a transaction: another server's say nothing here. */
async function numbered(sql: postgres.Sql): Promise<[table: string, column: string][]> {
  const found = await sql`
    select table_schema || '.' || table_name as "table", column_name as "column" from information_schema.columns
    where column_default like '%pg_current_xact_id()%' order by 1`;
  expect(found.length).toBeGreaterThan(5);
  return found.map(({ table, column }) => [table, column]);
}

/** How many rows each table has, and a fingerprint of them but for the numbers of transactions. */
async function rowsOf(sql: postgres.Sql): Promise<Record<string, string>> {
  const columns = (await numbered(sql)).map(([, column]) => column);
  const tables = await sql`
    select format('%I.%I', schemaname, tablename) as name from pg_tables t
    where schemaname not in ${
    sql(platform)
  } and schemaname not like all ('{pg_%,information_schema}') and tablename not in ('rate_buckets', 'sender_watch')
      or schemaname = 'auth' and tablename in ('users', 'identities') order by 1`;
  const prints = await sql.unsafe(
    tables.map(({ name }) =>
      `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(row, '|' order by row)), '') as print
        from (select (to_jsonb(t) - '{${
        columns.join(",")
      }}'::text[])::text as row from ${name} t) rows`
    ).join(" union all "),
  );
  return Object.fromEntries(prints.map(({ name, print }) => [name, print]));
}
