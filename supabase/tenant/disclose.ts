/** `npm run tenant -- person`: what a company keeps of one person, as one JSON file. Nothing is changed. */
import { Buffer } from "node:buffer";
import { writeFile } from "node:fs/promises";
import { Failure } from "../local/failure.ts";
import { askedOf, inTransaction } from "./erase.ts";
import type { PersonOptions } from "./options.ts";
import { changeOf, targetsOf, valueOf } from "./personal.ts";
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
    const tables: Record<string, unknown[]> = {};
    for (const target of targets) {
      const after = target.columns.map((column) =>
        `'${column.name}', ${column.kind === "row" ? "null" : valueOf(target, column, subject)}`
      );
      const rows = await tx.unsafe(
        `select to_jsonb(t) as row, jsonb_build_object(${after.join()}) as after
        from ${target.table} t where ${changeOf(target, subject).condition}`,
      );
      if (rows.length > 0) {
        (tables[target.table] ??= []).push(...rows.map(({ row, after }) => ({
          ...keysOf(row),
          ...changedIn(
            Object.fromEntries(Object.keys(after).map((key) => [key, row[key]])),
            after,
          ) as object,
        })));
      }
    }
    return { tables, found: await personFiles(tx, targets, subject) };
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

/** Which row it is, and of when. */
const keysOf = ({ id, created_at }: Record<string, unknown>) => ({
  ...(id !== undefined && { id }),
  ...(created_at !== undefined && { created_at }),
});

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
