/** `npm run tenant -- delete` on a system of its own: stopped anywhere, beside others' work, and as Supabase lets its owner in. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../../supabase/local/paths.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { deleteTenant } from "../../supabase/tenant/delete.ts";
import type { Place } from "../../supabase/tenant/place.ts";
import type { Person } from "../support/api.ts";
import { sql } from "../support/db.ts";
import { deleted, everyTable, patternOf, placeAt, textsOf, tracesOf } from "../support/deletion.ts";
import { type Everything, newEverything } from "../support/everything.ts";
import { moveToOwnStack } from "../support/move-to-own-stack.ts";
import { commandsUnder, statementsUnder, wordsOf } from "./operations-page.ts";
import { newPerson, newSystemAdmin, type Tenant } from "../support/people.ts";

let own: Stack;
let place: Place;
let beside: Everything;
let system: Person;
let folder: string;
let leave = () => Promise.resolve();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barid-delete-"));
  ({ own, leave } = await moveToOwnStack({ env: { BARID_LOG_LEVEL: "error" } }));
  place = placeAt(own);
  system = await newSystemAdmin();
  beside = await newEverything("received");
}, 300_000);
afterAll(async () => {
  await place?.close();
  await leave();
  rmSync(folder, { recursive: true, force: true });
});

const slugOf = ({ id }: Tenant) => `t-${id}`;
const pathOf = ({ id }: Tenant) => `${id}/deliveries/photo.png`;

/** A company with everything and a file, archived as its administrator does. */
async function newArchived(): Promise<Tenant> {
  const { tenant } = await newEverything("received");
  const { error } = await place.storage.from("proofs")
    .upload(pathOf(tenant), new Uint8Array([137]), { contentType: "image/png" });
  expect(error).toBeNull();
  expect((await system.post(`/tenants/${tenant.id}/archive`)).status).toBe(200);
  return tenant;
}

const goneTotally = async (tenant: Tenant, texts: string[]) => {
  expect(await tracesOf(sql, texts)).toEqual([]);
  const [record] = await sql`select * from tenancy.deleted_tenants where id = ${tenant.id}`;
  expect(record).toMatchObject({ leaving: [], ended_at: expect.any(Date) });
};

/** A command of the page as its reader types it, in a process of its own. */
function command(
  { position = 1, tenant, more = [] }: { position?: number; tenant: Tenant; more?: string[] },
  onLine: (line: string, process: ChildProcess) => void = () => {},
) {
  const values = { slug: slugOf(tenant), id: tenant.id, name: "Dana Aziz" };
  const [, , , , ...args] = wordsOf(commandsUnder("Delete a company")[position]!, values);
  const started = spawn(process.execPath, [
    ...["supabase/local/bootstrap.mjs", "tenant", ...args, ...more],
  ], {
    cwd: root,
    // All that it starts is in its group.
    detached: true,
    env: {
      ...process.env,
      ...{ DATABASE_URL: own.dbUrl, SUPABASE_URL: own.url, SUPABASE_SECRET_KEY: own.secretKey },
    },
  });
  const lines: string[] = [];
  for (const stream of [started.stdout, started.stderr]) {
    createInterface(stream).on("line", (line) => {
      lines.push(line);
      onLine(line, started);
    });
  }
  return new Promise<{ code: number | null; text: string }>((done) =>
    started.once("close", (code) => done({ code, text: lines.join("\n") }))
  );
}

/** A digest of each table's rows that name none of these texts. Counts of answers and of requests a minute go by themselves. */
async function digests(texts: string[]): Promise<Record<string, string>> {
  const alone = /^(cron|net|supabase_migrations)\.|rate_buckets|metric_counts|sender_watch/;
  const parts = (await everyTable(sql)).filter((table) => !alone.test(table)).map((table) =>
    `select '${table}' as name, count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as print
      from ${table} t where t::text !~* $1${
      // The event of it is counted among the platform's.
      table === "app.tallies" ? " and tenant_id is not null" : ""}`
  );
  const rows = await sql.unsafe(parts.join(" union all "), [patternOf(texts)]);
  return Object.fromEntries(rows.map(({ name, print }) => [name, print]));
}

describe("a deletion that is stopped", () => {
  test("by a kill, wherever it is, ends when the command is given again", async () => {
    const tenant = await newArchived();
    const texts = await textsOf(sql, tenant.id);
    // Between the line and the kill it may come far.
    for (const tables of [1, 10, 1]) {
      let seen = 0;
      const { text } = await command({ tenant, more: ["--with-open-items"] }, (line, { pid }) => {
        if (line.endsWith("rows removed") && ++seen === tables) process.kill(-pid!, "SIGKILL");
      });
      expect(text).not.toContain("is deleted");
    }
    const { code, text } = await command({ tenant });
    expect(code, text).toBe(0);
    expect(text).toContain("Its deletion began");
    await goneTotally(tenant, texts);
  }, 300_000);

  test("after any table leaves schedules and the other companies at work", async () => {
    const tenant = await newArchived();
    const texts = await textsOf(sql, tenant.id);
    const schedules = await sql`select jobname as name, command from cron.job order by 1`;
    expect(schedules.length).toBeGreaterThan(20);
    const options = { slug: slugOf(tenant), confirm: slugOf(tenant), withOpenItems: true };
    let stops = 0;
    const late = new Set(["Files removed", "Accounts removed"]);
    for (;;) {
      let seen = 0;
      const stopped = await deleteTenant(place, options, (line) => {
        if (line.endsWith("rows removed") && ++seen === 6 || late.delete(line.split(":")[0]!)) {
          throw new Error("stopped");
        }
      }).then(() => false, (error: Error) => error.message);
      if (!stopped) break;
      expect(stopped).toBe(
        "stopped\nThe deletion has begun: the same command continues it.",
      );
      stops++;
      for (const { name, command } of schedules) {
        await sql.unsafe(command).catch((error: Error) => expect.fail(`${name}: ${error.message}`));
      }
      const query = { tenant_id: tenant.id };
      for (const path of ["/delivery/deliveries", "/warehousing/inventory", "/storefront/orders"]) {
        expect((await beside.tenant.admin.get(path)).status, path).toBe(200);
        const left = late.has("Accounts removed") ? 403 : 401;
        expect((await tenant.admin.get(path)).status, path).toBe(left);
        expect((await system.get(path, { query })).status, path).toBeLessThan(500);
      }
    }
    expect(stops).toBeGreaterThan(8);
    expect([...late]).toEqual([]);
    await goneTotally(tenant, texts);
  }, 300_000);
});

test("the page leads through it", async () => {
  const tenant = await newArchived();
  const plan = await command({ position: 0, tenant });
  expect([plan.code, plan.text]).toEqual([0, expect.stringContaining("Nothing was removed.")]);
  const refused = await command({ tenant });
  expect([refused.code, refused.text]).toEqual([1, expect.stringContaining("--with-open-items")]);
  const done = await command({ tenant, more: ["--with-open-items"] });
  expect([done.code, done.text]).toEqual([0, expect.stringContaining("is deleted")]);
  const again = await command({ position: 2, tenant });
  expect([again.code, again.text]).toEqual([0, expect.stringContaining("Nothing is left of it.")]);
  const [record] = await sql.unsafe(statementsUnder("Delete a company")[0]!);
  expect(record).toMatchObject({ id: tenant.id, run_by: "Dana Aziz" });
}, 120_000);

describe("beside it", () => {
  test("every row of every table is as it was", async () => {
    const tenant = await newArchived();
    const ofBoth = await newPerson(tenant.id, "staff", "dispatcher");
    await sql`insert into tenancy.tenant_users (tenant_id, user_id, tenant_user_type)
      values (${beside.tenant.id}, ${ofBoth.id}, 'staff')`;
    const all = await textsOf(sql, tenant.id);
    const [{ email, phone }] =
      await sql`select email, phone from tenancy.profiles where id = ${ofBoth.id}`;
    const texts = all.filter((text) => ![ofBoth.id, email, phone].includes(text));
    const before = await digests(texts);
    const { failure } = await deleted(place, tenant, {
      confirm: slugOf(tenant),
      withOpenItems: true,
    });
    expect(failure).toBeUndefined();
    expect(await digests(texts)).toEqual(before);
    await goneTotally(tenant, texts);
  }, 120_000);

  test("others work while many rows go, a few thousand in a transaction", async () => {
    const tenant = await newArchived();
    await sql`insert into app.audit_log (tenant_id, entity, entity_id, action, after)
      select ${tenant.id}, 'delivery.deliveries', gen_random_uuid(), 'insert', jsonb_build_object('note', repeat('x', 300))
      from generate_series(1, 300000)`;
    const watch = { longest: 0, slowest: 0, requests: 0, ended: false };
    const looking = (async () => {
      while (!watch.ended) {
        const [{ age }] =
          await sql`select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float as age
          from pg_stat_activity where application_name = 'barid tenant' and query ilike '%delete from%'`;
        watch.longest = Math.max(watch.longest, age);
        const begun = Date.now();
        expect((await beside.tenant.admin.get("/delivery/deliveries")).status).toBe(200);
        watch.slowest = Math.max(watch.slowest, Date.now() - begun);
        watch.requests++;
      }
    })();
    const { failure, text } = await deleted(place, tenant, {
      confirm: slugOf(tenant),
      withOpenItems: true,
    });
    watch.ended = true;
    await looking;
    expect(failure).toBeUndefined();
    expect(text).toMatch(/app\.audit_log: 300\d{3} rows removed/);
    expect(watch.longest).toBeLessThan(5);
    expect(watch.requests).toBeGreaterThan(10);
    await goneTotally(tenant, [tenant.id]);
  }, 300_000);

  test.each([
    [
      "rows that somebody holds",
      (tx: postgres.TransactionSql, { id }: Tenant) =>
        tx`select from delivery.zones where tenant_id = ${id} for update`,
    ],
    [
      "rows that somebody is writing",
      (tx: postgres.TransactionSql, { id }: Tenant) =>
        tx`insert into money.accounts (tenant_id, kind, owner_type, currency)
          values (${id}, 'external', 'tenant', 'EUR')`,
    ],
  ])("%s are waited for", async (_, hold) => {
    const tenant = await newArchived();
    const holder = postgres(own.dbUrl, { max: 1 });
    await holder`select`;
    let holding: Promise<unknown> | undefined;
    const options = { slug: slugOf(tenant), confirm: slugOf(tenant), withOpenItems: true };
    await deleteTenant(place, options, (line) => {
      if (!line.endsWith("rows removed")) return;
      holding ??= holder.begin(async (tx) => {
        await hold(tx, tenant);
        await wait(4000);
      });
    });
    await holding;
    await holder.end();
    await goneTotally(tenant, [tenant.id]);
  }, 120_000);
});

test("writers that nobody expected are waited for, and find no company in the end", async () => {
  const tenant = await newArchived();
  const writing = (async () => {
    for (let written = 0;; written++) {
      try {
        await sql`insert into delivery.delivery_types (tenant_id, code, name)
          values (${tenant.id}, ${`late${written}`}, ${sql.json({ en: "Late" })})`;
      } catch (error) {
        return { written, code: (error as postgres.PostgresError).code };
      }
      await wait(written < 200 ? 10 : 3000);
    }
  })();
  const { failure } = await deleted(place, tenant, {
    confirm: slugOf(tenant),
    withOpenItems: true,
  });
  expect(failure).toBeUndefined();
  expect(await writing).toMatchObject({ code: "23503" });
  await goneTotally(tenant, [tenant.id]);
}, 120_000);

describe("the owner of a project at Supabase", () => {
  const login = (name: string) => own.dbUrl.replace(/\/\/[^@]*@/, `//${name}:owner@`);

  test("is no superuser, and deletes with the setting that Supabase lets them change", async () => {
    const tenant = await newArchived();
    for (const name of ["owner_of_project", "somebody"]) {
      await sql.unsafe(`create role ${name} login password 'owner' nosuperuser bypassrls`);
      await sql.unsafe(`grant pg_read_all_data, pg_write_all_data to ${name}`);
      await sql.unsafe(`grant execute on all functions in schema app, tenancy to ${name}`);
    }
    await sql`grant set on parameter session_replication_role to owner_of_project`;
    const options = { confirm: slugOf(tenant), withOpenItems: true };
    const other = placeAt({ ...own, dbUrl: login("somebody") });
    const refused = await deleted(other, tenant, options);
    await other.close();
    expect(refused.failure).toContain("DATABASE_URL has to be that of postgres");
    const owners = placeAt({ ...own, dbUrl: login("owner_of_project") });
    const { failure } = await deleted(owners, tenant, options);
    await owners.close();
    expect(failure).toBeUndefined();
    await goneTotally(tenant, [tenant.id]);
  }, 120_000);

  test("keeps an export first, and Auth's log names nobody any more", async () => {
    const tenant = await newArchived();
    const texts = await textsOf(sql, tenant.id);
    await sql`delete from app.jobs where tenant_id = ${tenant.id}`;
    await sql`create table auth.audit_log_entries (id uuid primary key default gen_random_uuid(), payload json)`;
    await sql`insert into auth.audit_log_entries (payload) values
      (${sql.json({ actor_id: tenant.driver.id, actor_username: texts[1]! })}),
      (${sql.json({ actor_id: system.id, traits: { user_id: tenant.driver.id } })}), (${
      sql.json({ actor_id: system.id })
    })`;
    const keep = join(folder, "kept");
    const { failure, text } = await deleted(place, tenant, {
      ...{ confirm: slugOf(tenant), withOpenItems: true, keep },
    });
    expect(failure).toBeUndefined();
    expect(text).toContain(`Written to ${keep}`);
    expect(existsSync(join(keep, "manifest.json"))).toBe(true);
    expect(await sql`select from auth.audit_log_entries`).toHaveLength(1);
    await goneTotally(tenant, texts);
  }, 120_000);
});
