/**
 * A company works for years: each table's rows have an end, or ends.txt says why they have none. What a schedule ends is tried:
 * an old row and a young one, and the command of the schedule.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newMigratedDatabase, type OwnDatabase } from "../support/database.ts";
import { sql } from "../support/db.ts";
import { textOf } from "../tools/checks/files.ts";
import { names, schemasAndPublic } from "./catalogue.ts";

const path = "tests/sql/ends.txt";
const entries = readFileSync(path, "utf8").split("\n").filter((line) =>
  line && !line.startsWith("#")
).map((line) => {
  const [table = "", end = "", why = ""] = line.split(" | ");
  return { table, end, why };
});
const commands = new Map(
  [...textOf("sql/cron.sql").matchAll(/cron\.schedule\('(\w+)', '[^']+', '(select [^']+)'\)/g)]
    .map(([, job, command]) => [job!, command!]),
);

const tenant = randomUUID();

type Values = Record<string, unknown>;
/** The time that a row is as old as. */
const age = Symbol("age");
/** The values that make a row one that its schedule ends, by table; the rest is filled in by type. */
const samples: Record<string, Values> = {
  "app.idempotency_keys": { created_at: age },
  "app.jobs": { status: "done", finished_at: age },
  "app.rate_buckets": { taken_at: age },
  "delivery.driver_positions": { recorded_at: age },
  "delivery.performance_changes": {},
  "delivery.road_distances": { measured_at: age },
  "integration.carrier_events": { outcome: "applied", created_at: age },
  "integration.system_events": { status: "pending", created_at: age },
  "integration.webhook_events": { next_attempt_at: null, created_at: age },
  "integration.webhook_subscriptions": { event_types: "{*}", removed_at: "2026-01-01T00:00:00Z" },
  "money.payment_webhook_events": { outcome: "ignored", proof: "status", created_at: age },
  "storefront.carts": { updated_at: age },
  "storefront.custom_domains": {
    custom_domain: "shop.example",
    status: "archived",
    dns_records: [],
    disconnected_at: age,
  },
  "tenancy.invitations": { expires_at: age },
  "tenancy.notifications": { created_at: age },
  "tenancy.wizard_runs": { state: "done", updated_at: age },
};

describe("ends.txt", () => {
  test("has every table, with an end that there is and a reason", async () => {
    const tables = await names(sql`
      select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = any (${schemasAndPublic})
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`);
    expect(entries.map(({ table }) => table)).toEqual(tables);
    const ends = [
      /^(books|made|bounded)$/,
      /^with (\S+)$/,
      /^\w+ (at once|after \d+ (minutes|hours|days))$/,
    ];
    expect(entries.filter(({ end }) => !ends.some((one) => one.test(end)))).toEqual([]);
    expect(entries.filter(({ why }) => !/^\w.{4,}/.test(why))).toEqual([]);
  });

  test("leads from each table that lives with another to one that a foreign key or its own key names", async () => {
    for (const { table, end } of entries.filter(({ end }) => end.startsWith("with "))) {
      const parent = end.slice("with ".length);
      expect(entries.map((one) => one.table)).toContain(parent);
      const [link] = await sql`select exists (select from pg_constraint f
        where f.contype = 'f' and f.conrelid = ${table}::regclass and f.confrelid = ${parent}::regclass) as referred,
        exists (select from pg_attribute a join pg_index i on i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey)
          where a.attrelid = ${table}::regclass and a.attname = 'delivery_id') as keyed`;
      expect({ table, linked: link.referred || link.keyed }).toEqual({ table, linked: true });
    }
  });
});

describe("the schedule", () => {
  const ended = entries.filter(({ end }) => / (at once|after .+)$/.test(end)).map(
    ({ table, end }) => {
      const [, job, after] = /^(\w+) (?:at once|after (.+))$/.exec(end)!;
      return { table, job: job!, after };
    },
  );
  let database: OwnDatabase;
  beforeAll(async () => {
    database = await newMigratedDatabase();
    await database.sql`insert into tenancy.tenants (id, name, slug, status)
      values (${tenant}, '{"en": "T"}', 'tenant', 'active')`;
  });
  afterAll(() => database.close());

  test("is named for every purge of sql/cron.sql", () => {
    const purges = [...commands.keys()].filter((job) => job.endsWith("_purge"));
    expect(purges.filter((job) => !ended.some((one) => one.job === job))).toEqual([]);
    expect(ended.map(({ table }) => table)).toEqual(Object.keys(samples));
  });

  test.each(ended)("$job ends rows of $table", async ({ table, job, after }) => {
    const command = commands.get(job);
    expect(command).toBeDefined();
    const old = await insert(database.sql, table, after && `interval '${after}' * 1.05`);
    const young = after && await insert(database.sql, table, `interval '${after}' * 0.95`);
    await database.sql.unsafe(command!);
    expect(await isThere(database.sql, old)).toBe(false);
    if (young) expect(await isThere(database.sql, young)).toBe(true);
  });

  test.each(ended.filter(({ after }) => after))(
    "$job after $after stands so in docs/operations.md",
    ({ job, after }) => {
      const [, does] = new RegExp(`^\\| \`${job}\` \\| [^|]+ \\| (.+) \\|$`, "m").exec(
        textOf("docs/operations.md"),
      )!;
      // Minutes are a matter of the engine.
      if (!after!.endsWith("minutes")) expect(does).toContain(after);
    },
  );
});

/** A row by the values of its primary key. */
interface Kept {
  table: string;
  condition: string;
}

/** A value that says nothing, by type. */
const fillers: Record<string, string> = {
  uuid: "gen_random_uuid()",
  bytea: "sha256('x')",
  jsonb: "'{}'",
  timestamptz: "now()",
};

/** Writes a row that nothing refers to and that refers to nothing, so without what keys and triggers would ask for. */
async function insert(own: postgres.Sql, table: string, agedBy?: string): Promise<Kept> {
  const columns = await own<{ name: string; type: string; needed: boolean; key: boolean }[]>`
    select a.attname as name, t.typname as type,
      a.attnotnull and not a.atthasdef and a.attidentity = '' and a.attgenerated = '' as needed,
      exists (select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey)) as key
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = ${table}::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`;
  const sample = samples[table]!;
  const values = columns.filter(({ name, needed }) => name in sample || needed).map((column) => ({
    name: column.name,
    value: column.name in sample ? literal(sample[column.name], agedBy) : fillerOf(column),
  }));
  return await own.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    const [row] = await tx.unsafe(
      `insert into ${table} as t (${values.map(({ name }) => name)}) values (${
        values.map(({ value }) => value)
      }) returning to_jsonb(t) as doc`,
    );
    const keys = columns.filter(({ key }) => key).map(({ name }) =>
      `${name} = '${row!.doc[name]}'`
    );
    return { table, condition: keys.join(" and ") };
  });
}

const literal = (value: unknown, agedBy?: string) =>
  value === age
    ? `now() - ${agedBy}`
    : value === null
    ? "null"
    : `'${typeof value === "string" ? value : JSON.stringify(value)}'`;

let numbers = 0;
/** Texts and numbers differ, since they may be keys. */
const fillerOf = ({ name, type }: { name: string; type: string }) =>
  name === "tenant_id"
    ? `'${tenant}'`
    : type === "text"
    ? `'${randomUUID()}'`
    : fillers[type] ?? String(++numbers);

async function isThere(own: postgres.Sql, { table, condition }: Kept): Promise<boolean> {
  const [found] = await own.unsafe(
    `select exists (select from ${table} where ${condition}) as here`,
  );
  return found!.here;
}
