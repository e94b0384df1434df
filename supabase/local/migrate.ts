import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type postgres from "postgres";
import { Failure, messageOf } from "./failure.ts";
import { root } from "./paths.ts";

const migrationsDir = join(root, "supabase", "migrations");
const seedsDir = join(root, "sql", "demo");

/** Applies what Supabase provides before the first migration. Safe to run at every start. */
export async function applyPlatform(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(readFileSync(join(root, "supabase", "local", "platform.sql"), "utf8"));
}

/**
 * Applies the migrations that are not applied yet, in the order of their names, each in one transaction with its
 * history row. Fails when the text of an applied one changed since: the database would no longer be what the files
 * say. One that was rewritten to the same end names the hash of the text it had. `wanted` leaves the others out. Returns the names applied now.
 */
export async function migrate(
  sql: postgres.Sql,
  dir = migrationsDir,
  wanted: (file: string) => boolean = () => true,
): Promise<string[]> {
  const history = new Map(
    (await sql<{ version: string; sha256: string | null }[]>`
      select m.version, a.sha256 from supabase_migrations.schema_migrations m
      left join local.applied a using (version)`).map((row) => [row.version, row.sha256]),
  );
  const applied: string[] = [];
  for (const file of sqlFiles(dir).filter(wanted)) {
    const [, version, name] = /^(\d+)_(.*)\.sql$/.exec(file) ?? [];
    if (!version) {
      throw new Failure(`${join(dir, file)} is not named <digits>_<name>.sql: rename it.`);
    }
    const text = readFileSync(join(dir, file), "utf8");
    const sha256 = createHash("sha256").update(text).digest("hex");
    const was = history.get(version);
    if (was === undefined) {
      await applyOne(sql, file, text, async (transaction) => {
        await transaction`insert into supabase_migrations.schema_migrations (version, name, statements)
          values (${version}, ${name ?? ""}, ${[text]})`;
        await transaction`insert into local.applied (version, sha256) values (${version}, ${sha256})`;
      });
      applied.push(file);
    } else if (![null, sha256].includes(was) && !text.includes(`-- Before: ${was}`)) {
      throw new Failure(
        `Migration ${file} changed after it was applied, which one of a released version never does: rebuild the database with npm start -- --reset.`,
      );
    }
  }
  return applied;
}

/**
 * Runs the demo data; each file in one transaction with its mark, so that a start after an interrupted one continues
 * where that stopped. Returns the names of the files that ran now.
 */
export async function seed(sql: postgres.Sql, dir = seedsDir): Promise<string[]> {
  const done = await sql<{ version: string }[]>`
    select version from local.applied where version like 'seed:%'`;
  const files = sqlFiles(dir).filter((file) =>
    !done.some(({ version }) => version === `seed:${file}`)
  );
  for (const file of files) {
    await applyOne(sql, file, readFileSync(join(dir, file), "utf8"), async (transaction) => {
      await transaction`insert into local.applied (version, sha256) values (${`seed:${file}`}, '')`;
    });
  }
  return files;
}

function sqlFiles(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir).filter((file) => file.endsWith(".sql")).sort();
}

async function applyOne(
  sql: postgres.Sql,
  file: string,
  text: string,
  record: (transaction: postgres.TransactionSql) => Promise<void>,
): Promise<void> {
  const outside = outsideTransaction(text);
  try {
    if (outside) await oneByOne(sql, outside);
    await sql.begin(async (transaction) => {
      if (!outside) await transaction.unsafe(text);
      // A file may set the role, the search path or a time limit for itself; none may reach our own rows.
      await transaction.unsafe("reset role; reset all");
      await record(transaction);
    });
  } catch (error) {
    const at = error instanceof Error && "position" in error
      ? lineOf(text, Number(error.position))
      : "";
    const kept = outside
      ? "It runs again from its beginning at the next start"
      : "Nothing of this file was kept";
    throw new Failure(`${file}${at} failed: ${messageOf(error)}. ${kept}.`);
  }
}

/**
 * The statements of a file that makes or drops an index concurrently, which PostgreSQL refuses in a transaction; undefined
 * for every other file. The Supabase CLI decides by the same words.
 */
function outsideTransaction(text: string): string[] | undefined {
  const code = text.replace(/^\s*--.*$/gm, "");
  if (!/^\s*(create|drop) (unique )?index concurrently\b/im.test(code)) return undefined;
  return code.split(/;\s*(?:\n|$)/).map((statement) => statement.trim()).filter(Boolean);
}

async function oneByOne(sql: postgres.Sql, statements: string[]): Promise<void> {
  const connection = await sql.reserve();
  try {
    for (const statement of statements) await connection.unsafe(statement);
  } finally {
    await connection.unsafe("reset all").finally(() => connection.release());
  }
}

function lineOf(text: string, position: number): string {
  return position > 0 ? ` line ${text.slice(0, position).split("\n").length}` : "";
}
