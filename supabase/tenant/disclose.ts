/** `npm run tenant -- person`: what a company keeps of one person, as one JSON file. Nothing is changed. */
import { Buffer } from "node:buffer";
import { writeFile } from "node:fs/promises";
import { Failure } from "../local/failure.ts";
import { askedOf, inTransaction } from "./erase.ts";
import type { PersonOptions } from "./options.ts";
import { changeOf, placeOf, targetsOf, valueOf } from "./personal.ts";
import { keepSubject, personFiles } from "./person-files.ts";
import type { Place } from "./place.ts";
import { subjectOf, tenantOf } from "./subject.ts";

/** Writes what an erasure would take out, and nothing of others that stands beside it. */
export async function disclosePerson(
  { sql, storage }: Place,
  options: Omit<PersonOptions, "command">,
  print: (line: string) => void,
): Promise<void> {
  const { tables, found } = await inTransaction(sql, async (tx) => {
    const tenant = await tenantOf(tx, options.slug);
    const subject = await subjectOf(tx, tenant, askedOf(options));
    const targets = await targetsOf(tx);
    await keepSubject(tx, targets, subject);
    const tables: Record<string, Map<string, object>> = {};
    for (const target of targets) {
      const after = target.columns.map((column) =>
        `'${column.name}', ${column.kind === "row" ? "null" : valueOf(target, column, subject)}`
      );
      const rows = await tx.unsafe(
        `select ${placeOf} as place, to_jsonb(t) as row, jsonb_build_object(${after.join()}) as after
        from ${target.table} t where ${changeOf(target, subject).condition}`,
      );
      for (const { place, row, after } of rows) {
        // The lines of a table may find one row by several ways: what the first of them says of a column is the most.
        const found = tables[target.table] ??= new Map();
        const kept = Object.fromEntries(Object.keys(after).map((key) => [key, row[key]]));
        found.set(place, {
          ...keysOf(row),
          ...changedIn(kept, after) as object,
          ...found.get(place),
        });
      }
    }
    return {
      tables: Object.fromEntries(
        Object.entries(tables).map(([table, rows]) => [table, [...rows.values()]]),
      ),
      found: await personFiles(tx, targets, subject),
    };
  });
  const files = [];
  for (const { bucket, path } of found) {
    const { data, error } = await storage.from(bucket).download(path);
    if (error) throw new Failure(`Storage does not give ${bucket}/${path}: ${error.message}`);
    const base64 = Buffer.from(await data.arrayBuffer()).toString("base64");
    files.push({ bucket, path, type: data.type, base64 });
  }
  const document = { exported_at: new Date().toISOString(), tables, files };
  await writeFile(options.export, `${JSON.stringify(document, null, 2)}\n`, {
    mode: 0o600,
    flag: "wx",
  });
  const rows = Object.values(tables).reduce((sum, { length }) => sum + length, 0);
  print(`${rows} rows and ${files.length} files of the person: ${options.export}`);
}

/** Columns that say which row it is, and of when. */
const keys = [
  "id",
  "created_at",
  "recorded_at",
  "requested_at",
  "collected_at",
  "settled_at",
  "remitted_at",
  "paid_at",
  "opened_at",
];
const keysOf = (row: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(row).filter(([key, value]) => keys.includes(key) && value !== null),
  );

/** The parts of a value that are not so in another; undefined when there are none. */
export function changedIn(value: unknown, other: unknown): unknown {
  if (JSON.stringify(value) === JSON.stringify(other)) return undefined;
  if (Array.isArray(value)) {
    return Array.isArray(other) && other.length === value.length
      ? value.map((one, place) => changedIn(one, other[place])).filter((one) => one !== undefined)
      : value;
  }
  if (typeof value !== "object" || value === null) return value;
  if (typeof other !== "object" || other === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [
    key,
    changedIn(one, (other as Record<string, unknown>)[key]),
  ]).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries);
}
