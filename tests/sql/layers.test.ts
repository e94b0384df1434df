/**
 * The call graph of the database: an area calls itself and lower areas (sql/order.ts), and features of different areas
 * form no cycle.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { describe, expect, test } from "vitest";
import { sourceFiles } from "../../sql/build.ts";
import { areas, ports, schemaOf } from "../../sql/order.ts";
import { root } from "../../supabase/local/paths.ts";
import { sql } from "../support/db.ts";
import { schemas } from "./catalogue.ts";

const files = sourceFiles().map((file) => relative(root, file).replace(/^sql\//, ""));
const textOf = (file: string) =>
  readFileSync(`${root}/sql/${file}`, "utf8").replace(/--[^\n]*/g, "");

interface Definition {
  name: string;
  file: string;
  body: string;
}

/** Every function of `sql/` with what stands between its name and the next definition. */
const definitions: Definition[] = files.flatMap((file) =>
  textOf(file).split(/^create or replace function /m).slice(1).map((rest) => ({
    name: /^[a-z_]+\.[a-z_0-9]+/.exec(rest)![0],
    file,
    body: rest.slice(rest.indexOf("(")),
  }))
);
const fileOf = new Map(definitions.map(({ name, file }) => [name, file]));
const calls = definitions.flatMap(({ name, body }) =>
  [...new Set([...body.matchAll(/\b([a-z]+\.[a-z_0-9]+)\s*\(/g)].map((match) => match[1]!))]
    .filter((called) => called !== name && fileOf.has(called))
    .map((called) => ({ from: name, to: called }))
);
const areaOf = (name: string) => fileOf.get(name)!.split("/")[0]!;
const featureOf = (name: string) => fileOf.get(name)!.split("/").slice(0, 2).join("/");
const rankOf = (name: string) => areas.findIndex((area) => area === areaOf(name));

test("the call graph is read from the sources: every function of the schema has its place in sql/", async () => {
  expect(calls.length).toBeGreaterThan(1000);
  const found = await sql<{ name: string }[]>`
    select distinct p.pronamespace::regnamespace || '.' || p.proname as name from pg_proc p
    where p.pronamespace::regnamespace::text = any (${schemas})
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
      -- Written by app.counted() for each list with kept totals, and by app.audited_by_column() for wide tables.
      and p.proname !~ '^(tally|audit)_'`;
  expect(found.map(({ name }) => name).filter((name) => !fileOf.has(name))).toEqual([]);
});

describe("an area", () => {
  test("calls itself and those below it; what lies above is reached by a port", () => {
    const upward = calls.filter(({ from, to }) => rankOf(to) > rankOf(from) && !(to in ports));
    expect(upward.map(({ from, to }) => `${from} (${areaOf(from)}) calls ${to} (${areaOf(to)})`))
      .toEqual([]);
  });

  test("has no port that nobody below calls", () => {
    const used = new Set(
      calls.filter(({ from, to }) => rankOf(to) > rankOf(from)).map(({ to }) => to),
    );
    expect(Object.keys(ports).filter((name) => !used.has(name))).toEqual([]);
  });

  test("keeps its functions in its schema, so that a name tells the folder", () => {
    const strays = definitions.filter(({ name, file }) =>
      !schemaOf(file).includes(name.split(".")[0]!)
    );
    expect(strays.map(({ name, file }) => `${name} lies in sql/${file}`)).toEqual([]);
  });
});

test("features of different areas form no circle", () => {
  const edges = new Map<string, Set<string>>();
  for (const { from, to } of calls) {
    if (areaOf(from) === areaOf(to) || to in ports) continue;
    edges.set(featureOf(from), (edges.get(featureOf(from)) ?? new Set()).add(featureOf(to)));
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const follow = (feature: string, path: string[]) => {
    if (path.includes(feature)) {
      circles.push([...path.slice(path.indexOf(feature)), feature].join(" -> "));
      return;
    }
    if (done.has(feature)) return;
    for (const next of edges.get(feature) ?? []) follow(next, [...path, feature]);
    done.add(feature);
  };
  for (const feature of edges.keys()) follow(feature, []);
  expect(circles).toEqual([]);
});

test("private holds the request engine and the guards of tables alone", () => {
  const outside = definitions.filter(({ name, file }) =>
    name.startsWith("private.") && !file.startsWith("base/")
  );
  expect(outside.map(({ name }) => name)).toEqual([]);
});

test("bodies in SQL, which PostgreSQL does not read while it makes the schema, fit what is there", async () => {
  await sql.begin(async (tx) => {
    await tx`set local check_function_bodies = on`;
    const made = await tx<{ definition: string }[]>`
      select pg_get_functiondef(p.oid) as definition from pg_proc p join pg_language l on l.oid = p.prolang and l.lanname = 'sql'
      where p.pronamespace::regnamespace::text = any (${schemas}) and p.prokind = 'f'`;
    expect(made.length).toBeGreaterThan(0);
    for (const { definition } of made) await tx.unsafe(definition);
    throw new Undone();
  }).catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error;
  });
});

class Undone extends Error {}
