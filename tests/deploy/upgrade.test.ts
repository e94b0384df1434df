/** A version is released, the schema changes, and the real CLI upgrades a database with rows: on a copy of the repository. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../supabase/local/migrate.ts";
import { newDatabase, type OwnDatabase } from "../support/database.ts";
import { dumpRows, loadRows, tablesWithRows } from "../support/rows.ts";
import { describeSchema } from "../support/schema.ts";
import { remote, supabase } from "./cli.ts";
import { ReleasedCopy } from "./released/copy.ts";

const copy = new ReleasedCopy();
let deployed: OwnDatabase;
const push = () => supabase(["db", "push", "--yes", remote(deployed.url)], {}, copy.dir);

beforeAll(async () => {
  expect(await copy.run("db-build")).toMatchObject({ code: 0 });
  copy.commit("Before the release");
  const released = await copy.run("release", "1.0.0");
  expect(released.code, released.lines.join("\n")).toBe(0);
  copy.commit("Release 1.0.0");
  deployed = await newDatabase(async ({ url }) => {
    expect(await supabase(["db", "push", "--yes", remote(url)], {}, copy.dir)).toMatchObject({
      code: 0,
    });
  });
  const rows = gunzipSync(readFileSync(join(copy.dir, "tests/upgrade/1.0.0/rows.txt.gz")))
    .toString();
  await loadRows(deployed.sql, rows);
  expect(await dumpRows(deployed.sql)).toBe(rows);
}, 600_000);
afterAll(async () => {
  copy.remove();
  await deployed?.close();
});

test("a start prints no upgrade where the data has the version of the code", async () => {
  const { lines, state } = await copy.startOnce();
  expect(state).toMatchObject({ version: "1.0.0", schema: "00000000000001" });
  expect(lines.join("\n")).not.toContain("brought up to date");
});

test("a release writes its version and freezes its migrations", async () => {
  expect(JSON.parse(copy.read("package.json")).version).toBe("1.0.0");
  expect(copy.read("shared/runtime/version.ts")).toContain('version = "1.0.0"');
  expect(copy.read("CHANGELOG.md")).toMatch(
    /^## Unreleased\n\n## 1\.0\.0 \(\d{4}-\d\d-\d\d\)\n\n- Zones\./m,
  );
  const catalogue = gunzipSync(readFileSync(join(copy.dir, "tests/upgrade/1.0.0/catalogue.txt.gz")))
    .toString();
  expect((await describeSchema(deployed.sql)).join("\n")).toBe(catalogue.trimEnd());

  const baseline = "supabase/migrations/00000000000001_baseline.sql";
  const text = copy.read(baseline);
  writeFileSync(join(copy.dir, baseline), `${text}\n-- later\n`);
  const changed = await copy.run("db-build");
  writeFileSync(join(copy.dir, baseline), text);
  expect(changed.code).toBe(1);
  expect(changed.lines.join("\n")).toContain(
    "00000000000001_baseline.sql belongs to 1.0.0 and has changed",
  );
});

test("a release is refused twice, and of what is not committed", async () => {
  const again = await copy.run("release", "1.0.0");
  expect(again).toEqual({ code: 1, lines: ["1.0.0 is released: 1.0.0 is not after it."] });
  writeFileSync(join(copy.dir, "more.txt"), "");
  const dirty = await copy.run("release", "1.1.0");
  rmSync(join(copy.dir, "more.txt"));
  expect(dirty).toEqual({ code: 1, lines: ["Commit first: a release is made of a commit."] });
  const empty = await copy.run("release", "1.1.0");
  expect(empty).toEqual({
    code: 1,
    lines: ["CHANGELOG.md says nothing under Unreleased: what is released?"],
  });
});

test("a migration that fails half-way leaves the schema as it was", async () => {
  const before = await describeSchema(deployed.sql);
  const file = join(copy.migrations, "20000101000000_fails.sql");
  writeFileSync(file, "create table delivery.half (id bigint primary key);\nselect 1 / 0;\n");
  const failed = await push();
  rmSync(file);
  expect(failed.code, failed.output).not.toBe(0);
  expect(failed.output).toContain("division by zero");
  expect(await describeSchema(deployed.sql)).toEqual(before);
});

test("the next migration brings a database with rows to what sql/ says", async () => {
  const tables = await tablesWithRows(deployed.sql);
  const before = await dumpRows(deployed.sql, tables);
  changeSchema();
  const behind = await copy.run("db-build");
  expect(behind.code).toBe(1);
  expect(behind.lines.join("\n")).toContain("+ column delivery.zones.caretaker");

  const written = await copy.run("db-migration", "zones_have_gates");
  expect(written.code, written.lines.join("\n")).toBe(0);
  const files = readdirSync(copy.migrations).filter((file) => file.includes("zones_have_gates"));
  expect(files.map((file) => file.replace(/^\d{14}_/, ""))).toEqual([
    "zones_have_gates.sql",
    "zones_have_gates_validate.sql",
    "zones_have_gates_index_1.sql",
  ]);
  const marks = written.lines.filter((line) => line.endsWith("Then remove the line."));
  expect(marks.length).toBe(1);
  expect(marks[0]).toContain("functions of the last release call money.cash_handovers_list");
  expect((await copy.run("db-build")).lines.join("\n")).toContain(marks[0]);
  copy.change(`supabase/migrations/${files[0]}`, /^-- Read: .*\n/m, "");
  expect(await copy.run("db-build")).toMatchObject({ code: 0 });

  const pushed = await push();
  expect(pushed.code, pushed.output).toBe(0);
  const fresh = await newDatabase(({ sql }) => migrate(sql, copy.migrations));
  expect(await describeSchema(deployed.sql)).toEqual(await describeSchema(fresh.sql));
  await fresh.close();
  const [{ version }] = await deployed.sql`select private.schema_version() as version`;
  expect(files[0]).toMatch(new RegExp(`^${version}_`));

  const euro = /^\["EUR",.*/m;
  expect((await dumpRows(deployed.sql, tables)).match(euro)![0]).toContain("The euro");
  const unchanged = (dump: string) =>
    dump.replace(euro, "").split("\n").filter((line) => !/^sequence |"EGP"/.test(line));
  expect(unchanged(await dumpRows(deployed.sql, tables))).toEqual(unchanged(before));
}, 600_000);

test("the next start keeps the data of the local stack and says what it applied", async () => {
  const { lines, state } = await copy.startOnce();
  const printed = lines.join("\n");
  expect(printed).toMatch(
    /The data is kept and brought up to date: \d+_zones_have_gates\.sql, .*_index_1\.sql/,
  );
  expect(printed).not.toContain("Demo data");
  expect(printed).toContain(`${state.schema}_zones_have_gates.sql`);
});

/** A column with a check and an index, a table, an argument renamed, a view that goes, a comment, rows, a schedule. */
function changeSchema(): void {
  copy.change(
    "sql/delivery/zones/tables.sql",
    "  constraint zone_name_exists unique (tenant_id, name)\n);\n",
    `  constraint zone_name_exists unique (tenant_id, name),
  -- The name of the person who looks after it.
  caretaker text check (caretaker <> '')
);
create index if not exists zones_caretaker on delivery.zones (tenant_id, caretaker);
comment on table delivery.zones is 'Areas that a tenant serves.';

create table if not exists delivery.zone_gates (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references tenancy.tenants (id) on delete cascade,
  zone_id uuid not null,
  code text not null check (code <> ''),
  unique (tenant_id, id),
  foreign key (tenant_id, zone_id) references delivery.zones (tenant_id, id) on delete cascade
);
`,
  );
  const policies = "sql/delivery/zones/policies.sql";
  writeFileSync(
    join(copy.dir, policies),
    `${copy.read(policies)}\nselect app.tenant_table('delivery.zone_gates');\n`,
  );
  copy.change(
    "sql/delivery/zones/views.sql",
    "z.updated_at\nfrom",
    "z.updated_at, z.caretaker\nfrom",
  );
  copy.change(
    "sql/delivery/zones/api.sql",
    "city_of_zone(tenant_id uuid, zone_id uuid)",
    "city_of_zone(tenant_id uuid, of_zone uuid)",
  );
  copy.change("sql/delivery/zones/api.sql", "= city_of_zone.zone_id)", "= city_of_zone.of_zone)");
  copy.change("sql/delivery/cod/views.sql", /-- Cash handovers as lists[\s\S]*$/, "");
  copy.change("sql/tenants/administration/data.sql", '"Euro"', '"The euro"');
  copy.change(
    "sql/tenants/administration/data.sql",
    "  ('SAR',",
    `  ('EGP', '818', 2, '{"en": "Egyptian pound"}'),\n  ('SAR',`,
  );
  copy.change("sql/cron.sql", "'barid_kick_jobs', '* * * * *'", "'barid_kick_jobs', '*/2 * * * *'");
}
