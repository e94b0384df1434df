/** Runs the commands of docs/operations.md, and checks that it explains everything that is logged or queued. */
import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { slugs } from "../../supabase/local/paths.ts";
import type { Stack } from "../../supabase/local/stack.ts";
import { filesIn, textOf } from "../tools/checks/files.ts";
import { runProgram } from "../tools/checks/programs.ts";
import { startOwnStack } from "../support/own-stack.ts";

const page = readFileSync("docs/operations.md", "utf8");
const runbooks = readFileSync("docs/runbooks.md", "utf8");
const blocksOf = (text: string, kind: string) =>
  [...text.matchAll(new RegExp(`^ *\`\`\`${kind}\\n([\\s\\S]*?)^ *\`\`\``, "gm"))].map((
    [, block],
  ) => block);
const statements = blocksOf(page, "sql");

/** The values for the placeholders `<…>`. */
const values: Record<string, string> = {
  password: "another-password-1",
  email: "first@barid.test",
  ref: "abcdefghijklmnopqrst",
  "secret key": "sb_secret_of_cron",
  "new secret key": "sb_secret_of_cron_2",
  id: randomUUID(),
  slug: "demo",
  "api key": "0f".repeat(32),
  "scraper key": "f0".repeat(32),
  kind: "delivery.settlement_receipt",
  "job id": "1",
};

const healthOf = async (slug: string) =>
  await (await fetch(`${stack.url}/functions/v1/${slug}/health`)).json();

let stack: Stack;
/** One session, as a reader of the page has it: what they begin they also commit there. */
let psql: postgres.Sql;
beforeAll(async () => {
  stack = await startOwnStack({ seed: true });
  psql = postgres(stack.dbUrl, { max: 1, onnotice: () => {} });
  // As npm run deploy leaves a project.
  await stack.sql`delete from vault.secrets where name in ('project_url', 'secret_key')`;
  await stack.sql`select vault.create_secret(${`https://${values.ref}.supabase.co`}, 'project_url'),
    vault.create_secret(${values["secret key"]!}, 'secret_key')`;
  await stack.sql`insert into auth.users (id, email) values (${randomUUID()}, ${values.email})`;
}, 120_000);
afterAll(async () => {
  await psql?.end();
  await stack?.stop();
});

test.each(slugs)("%s says that its database is up, as the page tells to look", async (slug) => {
  expect(await healthOf(slug)).toMatchObject({ database: "up" });
});

function fill(block: string): string {
  return block.replace(/<([^>]+)>/g, (_, name) => {
    expect(Object.keys(values)).toContain(name);
    return values[name];
  });
}

async function run(block: string): Promise<void> {
  for (const statement of fill(block).split(";").map((text) => text.trim()).filter(Boolean)) {
    // Without pg_cron there is nothing to ask it.
    if (/\bcron\./.test(statement)) continue;
    await psql.unsafe(statement);
  }
}

describe("the runbooks", () => {
  test.each(blocksOf(runbooks, "sql"))("%s", run);

  test.each(blocksOf(runbooks, "sh"))("%s", async (block) => {
    await psql`insert into tenancy.api_keys (name, key_hash, scopes, is_system_capable)
      values ('Scraper', sha256(convert_to(${
      values["api key"]
    }, 'UTF8')), '{view:metrics:system}', true)`;
    const here = fill(block).replaceAll(`https://${values.ref}.supabase.co`, stack.url);
    const { code, lines } = await runProgram("/bin/sh", ["-c", here]);
    await psql`delete from tenancy.api_keys where name = 'Scraper'`;
    expect(code).toBe(0);
    expect(lines.join("\n")).toMatch(/"database":"up"|^# EOF$/m);
  });
});

describe("the SQL of the page", () => {
  test.each(statements)("%s", run);

  test("did what it says", async () => {
    const { sql } = stack;
    const [admin] =
      await sql`select s.role from tenancy.system_users s join auth.users u on u.id = s.user_id
      where u.email = ${values.email}`;
    expect(admin.role).toBe("system_admin");
    const secrets =
      await sql`select name, decrypted_secret as secret from vault.decrypted_secrets order by name`;
    expect(secrets.map(({ name, secret }) => [name, secret])).toEqual([
      ["project_url", `https://${values.ref}.supabase.co`],
      ["secret_key", values["new secret key"]],
    ]);
    // Numbers that may have been given after the moment of a restore are left out.
    const [{ given }] = await sql`select nextval('money.gateway_order_ids') as given`;
    expect(Number(given)).toBeGreaterThan(100_001_000_000);
    // Before a dump is taken, the functions are shut out.
    expect(await healthOf("delivery")).toMatchObject({ database: "down" });
    expect(await sql`select * from money.verify_books()`).toEqual([]);
    expect(await sql`select * from warehousing.verify_stock()`).toEqual([]);
  });
});

describe("the page explains", () => {
  const source = [...filesIn("shared"), ...filesIn("functions")].filter((file) =>
    file.endsWith(".ts") && !file.endsWith(".d.ts")
  );
  const code = source.map(textOf).join("\n");

  test("every log line", () => {
    const logged = new Set(
      [...code.matchAll(/\blog\(\s*(?:[^,()]+|code >= 500 \? "error" : "info"),\s*"(\w+)"/g)].map((
        [, event],
      ) => event),
    );
    expect(logged.size).toBeGreaterThan(25);
    expect([...logged].filter((event) => !page.includes(`\`${event}\``))).toEqual([]);
    // A field of that name would take the place of the line's own.
    expect(code.match(/\blog\(\s*"[^;]*\b(?:event|level|at):[^;]*;/g)).toBe(null);
  });

  test("every kind of job", () => {
    const kinds = new Set(
      [...code.matchAll(
        /"((?:delivery|tenants|storefront|payment|carriers|webhooks|warehousing|system)\.\w+)":/g,
      )]
        .map(([, kind]) => kind).filter((kind) => kind !== "storefront.directory_categories"),
    );
    expect(kinds.size).toBeGreaterThan(4);
    expect([...kinds].filter((kind) => !page.includes(`\`${kind}\``))).toEqual([]);
  });

  const sql = filesIn("sql").filter((file) => file.endsWith(".sql")).map(textOf).join("\n");

  test("every job of cron, with what it does", () => {
    const jobs = [...sql.matchAll(/cron\.schedule\('(\w+)'/g)].map(([, job]) => job);
    expect(jobs.length).toBeGreaterThan(15);
    expect(jobs.filter((job) => !page.includes(`\`${job}\``))).toEqual([]);
  });

  test("every system event, by name or by its family", () => {
    const families = [...sql.matchAll(/'event_type', '(\w+)\.' \|\|/g)].map(([, family]) =>
      `${family}.`
    );
    const events = [
      ...[...sql.matchAll(/'event_type',\s*'(\w+\.\w+)'/g)].map(([, event]) => event),
      ...[...sql.matchAll(/system_events \([^)]*\)\s*(?:select|values)[^']*'(\w+\.\w+)'/g)].map((
        [, event],
      ) => event),
    ];
    expect(families.length).toBeGreaterThan(4);
    expect(events.length).toBeGreaterThan(20);
    expect([...new Set([...families, ...events])].filter((name) => !page.includes(`\`${name}`)))
      .toEqual([]);
  });

  test("every setting of the environment", () => {
    const env = textOf("shared/runtime/env.ts");
    const local = ["BARID_ALLOW_LOCAL_WEBHOOKS", "BARID_STRICT", "BARID_DB_PREPARE"];
    const names = [...env.matchAll(/"(BARID_\w+)"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => !local.includes(name) && !page.includes(`\`${name}\``))).toEqual(
      [],
    );
  });
});

test("the night compares the cash of every company with the books", async () => {
  const undone = new Error("undone");
  const night = stack.sql.begin(async (sql) => {
    const harmed = await sql`update money.accounts a set balance = balance + 1
      from (select distinct on (tenant_id) id from money.accounts order by tenant_id, id) first
      where a.id = first.id returning a.tenant_id`;
    expect(harmed.length).toBeGreaterThan(1);
    await sql`select money.cod_reconcile_all()`;
    const told = await sql`select distinct tenant_id from integration.system_events
      where event_type = 'cod.mismatch'`;
    expect(told.map(({ tenant_id }) => tenant_id).toSorted())
      .toEqual(harmed.map(({ tenant_id }) => tenant_id).toSorted());
    throw undone;
  });
  await expect(night).rejects.toBe(undone);
});
