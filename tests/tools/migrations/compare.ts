/** Whether migrations and `sql/` make the same database. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { baseline } from "../../../sql/build.ts";
import { describeSchema } from "../../support/schema.ts";
import { readMark } from "./compose.ts";
import { byMigrations, bySources, type Database, withWorkshop } from "./databases.ts";
import { differingRows, referenceRows } from "./reference-rows.ts";
import {
  baselineFile,
  changedReleases,
  migrationFiles,
  migrationsDir,
  releases,
} from "./releases.ts";
import { neededSchema, schemaVersion } from "./versions.ts";

/**
 * The work to be done before migrations and `sql/` agree, one line each. Until the first release the baseline is `sql/`
 * itself; from then on two databases are made and compared.
 */
export async function migrationFindings(): Promise<string[]> {
  if (releases().length === 0) {
    return readFileSync(baselineFile, "utf8") === baseline()
      ? []
      : ["supabase/migrations is older than sql/: run npm run db:build and commit the result."];
  }
  return [
    ...changedReleases(),
    ...unread(),
    ...wrongVersions(),
    ...await withWorkshop(async (workshop) =>
      differences(
        await workshop.database("by_migrations", byMigrations),
        await workshop.database("by_sources", bySources),
      )
    ),
  ];
}

/** The differences of two databases, one line for each object and row; `-` has the first alone, `+` the second. */
export async function differences(first: Database, second: Database): Promise<string[]> {
  const [old, now] = [await describeSchema(first.sql), await describeSchema(second.sql)];
  const [hadOld, hasNow] = [new Set(old), new Set(now)];
  return [
    ...old.filter((line) => !hasNow.has(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !hadOld.has(line)).map((line) => `+ ${line}`),
    ...differingRows(await referenceRows(first.sql), await referenceRows(second.sql)).flatMap(
      ({ table, gone, added }) => [
        ...gone.map(({ row }) => `- row ${table} ${row}`),
        ...added.map(({ row }) => `+ row ${table} ${row}`),
      ],
    ),
  ];
}

/** Statements that nobody has read yet. */
function unread(): string[] {
  return migrationFiles().flatMap((file) =>
    readFileSync(join(migrationsDir, file), "utf8").split("\n").flatMap((line, index) =>
      line.startsWith(readMark)
        ? [
          `supabase/migrations/${file}:${index + 1} ${
            line.slice(readMark.length)
          } Then remove the line.`,
        ]
        : []
    )
  );
}

function wrongVersions(): string[] {
  const versions = migrationFiles().map((file) => file.split("_")[0]!);
  return [
    ...(versions.includes(schemaVersion())
      ? []
      : [`sql/base/engine/version.sql names ${schemaVersion()}, which is no migration`]),
    ...(neededSchema() === schemaVersion() ? [] : [
      `shared/runtime/version.ts needs ${neededSchema()}, sql/base/engine/version.sql makes ${schemaVersion()}`,
    ]),
  ];
}
