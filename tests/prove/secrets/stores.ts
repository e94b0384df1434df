/** Looks for planted secrets where data is kept: files, tables, the write-ahead log. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { sql, stack } from "../../support/db.ts";
import { everyText } from "../../support/pdf.ts";
import { formsOf, inText, planted } from "./planted.ts";

/** Whatever Storage keeps: PDFs as they are and as they read. */
export async function inFiles(): Promise<string[]> {
  const dir = join(stack.dataDir, "storage");
  const hits: string[] = [];
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    const text = bytes.toString("latin1");
    hits.push(...inText("a file", text.startsWith("%PDF-") ? await everyText(bytes) : text));
  }
  return [...new Set(hits)];
}

/** The bytes of a file as characters, so that nothing is lost; of none nothing. */
export function fileText(file: string): string {
  return existsSync(file) ? readFileSync(file, "latin1") : "";
}

/** The segments of the log that are there. */
export async function inWriteAheadLog(): Promise<string[]> {
  const [{ data_directory }] = await sql`show data_directory`;
  const dir = join(data_directory, "pg_wal");
  const segments = readdirSync(dir).filter((name) => /^[0-9A-F]{24}$/.test(name));
  expect(segments.length).toBeGreaterThan(0);
  return segments.flatMap((name) => inText("write-ahead log", fileText(join(dir, name))));
}

/** Every row of every table, as a dump would have it. */
export async function inTables(): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)'`;
  const forms = [...planted].flatMap(([what, secret]) =>
    formsOf(secret).map((form) => ({ what, form }))
  );
  const hits: string[] = [];
  for (const { name } of tables) {
    const found = await sql.unsafe(
      `select f.what from jsonb_to_recordset($1) as f (what text, form text)
        where exists (select from ${name} t where position(f.form in t::text) > 0)`,
      [forms as never],
    );
    hits.push(...found.map(({ what }) => `${what}: ${name}`));
  }
  return [...new Set(hits)];
}
