/** A database of each released version keeps its rows and becomes what a new one is, without a scan behind a lock. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { neededSchema } from "../../shared/runtime/version.ts";
import { newMigratedDatabase, type OwnDatabase } from "../support/database.ts";
import { keptOf, releasedDatabase, upgrade } from "../support/released-database.ts";
import { dumpRows, type Table, tablesWithRows } from "../support/rows.ts";
import { describeSchema } from "../support/schema.ts";
import { differingRows, referenceRows } from "../tools/migrations/reference-rows.ts";
import {
  migrationFiles,
  migrationsDir,
  type Release,
  releases,
} from "../tools/migrations/releases.ts";

/** The PostgreSQL that Supabase runs, which a release is made with. */
const releasedOn = 17;

let fresh: OwnDatabase;
beforeAll(async () => {
  fresh = await newMigratedDatabase();
});
afterAll(() => fresh.close());

test("a new database has the schema that the functions need", async () => {
  const [{ version }] = await fresh.sql`select private.schema_version() as version`;
  expect(version).toBe(neededSchema);
});

describe.each(releases())("from $version", (release) => {
  const kept = (name: string) => keptOf(release.version, name);
  let old: OwnDatabase;
  let tables: Table[];
  beforeAll(async () => {
    old = await releasedDatabase(release.version);
  });
  afterAll(() => old.close());

  test("its migrations make the schema that was released, and its rows are those that were kept", async () => {
    // Another server has other privileges, and not the extensions that Supabase's has.
    const [{ major }] = await old
      .sql`select current_setting('server_version_num')::int / 10000 as major`;
    if (major === releasedOn) {
      expect((await describeSchema(old.sql)).join("\n")).toBe(kept("catalogue.txt.gz").trimEnd());
    }
    tables = await tablesWithRows(old.sql);
    expect(await dumpRows(old.sql, tables)).toBe(kept("rows.txt.gz"));
  });

  test("nothing is scanned or rewritten while others have to wait", async () => {
    expect(await scannedByUpgrade(old.url, release)).toEqual([]);
  });

  test("its schema is that of a new database, and so are the rows that belong to the version", async () => {
    expect(await describeSchema(old.sql)).toEqual(await describeSchema(fresh.sql));
    const differences = differingRows(await referenceRows(old.sql), await referenceRows(fresh.sql));
    // A row that somebody changed is theirs; one that is not there was forgotten by a migration.
    const missing = differences.flatMap(({ table, gone, added }) =>
      added.filter(({ key }) => !gone.some((row) => row.key === key)).map(({ key }) =>
        `${table} ${key}`
      )
    );
    expect(missing).toEqual([]);
  });

  test("every row that was there is there, and those that no migration names are as they were", async () => {
    const [before, after] = [
      linesOf(kept("rows.txt.gz")),
      linesOf(await dumpRows(old.sql, tables)),
    ];
    const written = migrationFiles().filter((file) => !(file in release.migrations))
      .map((file) => readFileSync(join(migrationsDir, file), "utf8")).join("\n");
    const counts = (dump: Map<string, string[]>) =>
      [...dump].map(([table, rows]) => [table, rows.length] as const);
    const fewer = counts(before).filter(([table, count]) =>
      (after.get(table)?.length ?? 0) < count
    );
    expect(fewer).toEqual([]);
    const named = (table: string) =>
      new RegExp(`\\b(insert into|update|delete from) ${table}\\b`).test(written) ||
      // A list that is counted from now on.
      (table === "app.tally_kinds" &&
        /^select (app\.counted|private\.tally_declare)\(/m.test(written));
    for (const [table, rows] of before) {
      if (!named(table)) expect([table, after.get(table)]).toEqual([table, rows]);
    }
  });
});

/** Applies the rest of the migrations; answers the tables that were read as a whole by a transaction that locks them. */
async function scannedByUpgrade(url: string, { migrations }: Release): Promise<string[]> {
  const notices: string[] = [];
  const sql = postgres(url, {
    max: 1,
    onnotice: ({ message }) => void notices.push(message ?? ""),
  });
  try {
    const there = await sql<
      { name: string }[]
    >`select relname as name from pg_class where relkind in ('r', 'p')`;
    const found: string[] = [];
    for (const file of migrationFiles().filter((file) => !(file in migrations))) {
      // PostgreSQL says at this level what it reads as a whole: tables to rewrite or verify, indexes to build. Of a foreign key
      // it names no table; squawk refuses one that is not added unproven.
      await sql`set client_min_messages = debug1`;
      notices.length = 0;
      await upgrade({ sql }, (name) => name in migrations || name <= file);
      if (/_(validate|index_\d+)\.sql$/.test(file)) continue;
      found.push(
        ...notices.filter((notice) =>
          /^(rewriting|verifying) table|^building index/.test(notice) &&
          there.some(({ name }) => notice.includes(`"${name}"`))
        ).map((notice) => `${file}: ${notice}`),
      );
    }
    return found;
  } finally {
    await sql.end();
  }
}

/** The rows of a dump by their table. */
function linesOf(dump: string): Map<string, string[]> {
  return new Map(
    [...dump.matchAll(/^table (\S+) .*\n((?:\[.*\n)*)/gm)].map((
      [, table, rows],
    ) => [table!, rows!.trimEnd().split("\n")]),
  );
}
