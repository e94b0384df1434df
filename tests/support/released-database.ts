/** A database as a released version left it. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { migrate } from "../../supabase/local/migrate.ts";
import { migrationsDir, releaseFile, releases } from "../tools/migrations/releases.ts";
import { newDatabase, type OwnDatabase } from "./database.ts";
import { sql as stackSql } from "./db.ts";
import { loadRows } from "./rows.ts";
import { buildAlone } from "./template.ts";

/** A file that a release kept of its database, as text: `catalogue.txt.gz` or `rows.txt.gz`. */
export function keptOf(version: string, name: string): string {
  return gunzipSync(readFileSync(releaseFile(version, name))).toString();
}

/** The schema of a version with the rows of its day of work. Close it. */
export async function releasedDatabase(version: string): Promise<OwnDatabase> {
  const { migrations } = releases().find((release) => release.version === version)!;
  const database = await newDatabase(({ sql }) =>
    migrate(sql, migrationsDir, (file) => file in migrations)
  );
  await loadRows(database.sql, keptOf(version, "rows.txt.gz"));
  return database;
}

/** Applies what came since then, while no other test migrates on this server; `wanted` leaves files out. */
export function upgrade(
  { sql }: Pick<OwnDatabase, "sql">,
  wanted: (file: string) => boolean = () => true,
): Promise<void> {
  return buildAlone(stackSql, async () => {
    await migrate(sql, migrationsDir, wanted);
  });
}
