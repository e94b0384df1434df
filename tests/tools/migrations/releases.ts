/** The released versions and the migrations that each of them froze. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../supabase/local/paths.ts";

/** Where migrations are kept, which is the one place where the Supabase CLI looks for them. */
export const migrationsDir = join(root, "supabase", "migrations");

/** The migration that makes the first release from nothing. */
export const baselineFile = join(migrationsDir, "00000000000001_baseline.sql");

const releasesDir = join(root, "tests", "upgrade");

/** A released version, as `tests/upgrade/<version>/release.json` keeps it. */
export interface Release {
  version: string;
  /** The day of the release. */
  date: string;
  /** The commit whose functions and SQL were released. */
  commit: string;
  /** The answer of `private.schema_version()` in a database of this version. */
  schema: string;
  /** The SHA-256 of each migration it consists of, by the name of the file, in order. */
  migrations: Record<string, string>;
}

/** Every release, the oldest first. */
export function releases(): Release[] {
  if (!existsSync(releasesDir)) return [];
  return readdirSync(releasesDir)
    .filter((name) => existsSync(join(releasesDir, name, "release.json")))
    .map((name) => JSON.parse(readFileSync(join(releasesDir, name, "release.json"), "utf8")))
    .sort((one: Release, other: Release) => compareVersions(one.version, other.version));
}

/** A file that a release leaves for the tests of upgrades. */
export function releaseFile(version: string, name: string): string {
  return join(releasesDir, version, name);
}

/** Less than, equal to or greater than zero, as `one` is older than, equal to or newer than `other`. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split(".").map(Number));
  for (const part of [0, 1, 2]) {
    if (left[part] !== right[part]) return left[part]! - right[part]!;
  }
  return 0;
}

/** The names of all migrations, in the order in which they apply. */
export function migrationFiles(): string[] {
  return readdirSync(migrationsDir).filter((file) => file.endsWith(".sql")).sort();
}

/** The SHA-256 of a migration's text. */
export function hashOf(file: string): string {
  return createHash("sha256").update(readFileSync(join(migrationsDir, file))).digest("hex");
}

/** The faults of the migrations that were released: one line for each that changed, is gone or came before its time. */
export function changedReleases(
  released = releases(),
  files = migrationFiles(),
  hash = hashOf,
): string[] {
  return released.flatMap(({ version, migrations }) => {
    const frozen = Object.keys(migrations).sort();
    const newest = frozen.at(-1) ?? "";
    return [
      ...frozen.filter((file) => !files.includes(file)).map((file) =>
        `${file} belongs to ${version} and is gone`
      ),
      ...frozen.filter((file) => files.includes(file) && hash(file) !== migrations[file]).map(
        (file) =>
          `${file} belongs to ${version} and has changed: put it back, write the change with npm run db:migration`,
      ),
      ...files.filter((file) => file < newest && !frozen.includes(file)).map((file) =>
        `${file} would apply before ${newest}, which ${version} released: give it a later time`
      ),
    ];
  });
}
