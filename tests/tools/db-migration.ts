/**
 * `npm run db:migration -- <name>`: writes the next migration, from what the migrations make to what `sql/` says. Statements
 * that a person has to read are marked; `npm run check` refuses the migration until the marks are gone.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Failure } from "../../supabase/local/failure.ts";
import { root } from "../../supabase/local/paths.ts";
import { lintMigrations } from "./checks/static.ts";
import { migrationFindings } from "./migrations/compare.ts";
import { changeOf } from "./migrations/change.ts";
import { compose } from "./migrations/compose.ts";
import { migrationFiles, migrationsDir, releases } from "./migrations/releases.ts";
import { writeSchemaVersion } from "./migrations/versions.ts";

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Failure ? error.message : error);
  process.exitCode = 1;
}

async function main([name, ...rest]: string[]): Promise<number> {
  if (!name || rest.length > 0 || !/^[a-z][a-z0-9_]*$/.test(name)) {
    console.error("npm run db:migration -- <name>; a name has small letters, digits and _.");
    return 2;
  }
  const last = releases().at(-1);
  if (!last) {
    throw new Failure("Nothing is released yet: npm run db:build writes the baseline from sql/.");
  }
  const change = await changeOf((object) => isNamedBy(last.commit, object));
  if (change.actions.length + change.rows.length === 0) {
    console.log("The migrations make what sql/ says: there is nothing to write.");
    return 0;
  }
  const versions = nextVersions();
  const version = writeSchemaVersion(versions(0));
  change.rows.push(version);
  const files = compose(change).map(({ suffix, text }, index) => {
    const file = join(migrationsDir, `${versions(index)}_${name}${suffix}.sql`);
    writeFileSync(file, text);
    return relative(root, file);
  });
  console.log(files.map((file) => `wrote ${file}`).join("\n"));
  const { code, lines } = await lintMigrations(files);
  if (code !== 0) console.log(lines.join("\n"));
  const findings = await migrationFindings();
  console.log(findings.length === 0 ? "The migrations make what sql/ says." : findings.join("\n"));
  return 0;
}

/** Versions of the files of one migration: the time in UTC, and the seconds after it. */
function nextVersions(): (index: number) => string {
  const newest = migrationFiles().at(-1)!.split("_")[0]!;
  const at = (time: number) => new Date(time).toISOString().replace(/\D/g, "").slice(0, 14);
  const now = Date.now();
  if (at(now) <= newest) throw new Failure(`${newest} is later than now: is the clock right?`);
  return (index) => at(now + index * 1000);
}

/** Whether the functions of a commit name an object; no, where the history is not there. */
function isNamedBy(commit: string, object: string): boolean {
  return spawnSync("git", ["grep", "-qwF", object, commit, "--", "functions", "shared"], {
    cwd: root,
  })
    .status === 0;
}
