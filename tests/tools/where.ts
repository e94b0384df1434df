/**
 * `npm run where -- POST /delivery/cod-collections/remit`: where an endpoint is declared, the SQL behind it, its codes
 * with their texts, and its tests. A part of a path lists the endpoints that have it.
 */
import { type AnyEndpoint, impliedCodes } from "../../shared/api/endpoint.ts";
import { statusOf } from "../../shared/errors/errors.ts";
import { template } from "../../shared/i18n/index.ts";
import { listOf } from "../../shared/api/list-declaration.ts";
import { everyOperation, type Operation } from "../../supabase/local/endpoints.ts";
import { filesIn, textOf } from "./checks/files.ts";
import { type Place, testsOf } from "./tests-of.ts";

const asked = process.argv.slice(2).join(" ").trim();
const found = (await everyOperation()).filter(({ name }) => name.includes(asked));
const exact = found.filter(({ name }) => name === asked || name.endsWith(` ${asked}`));
const shown = exact.length ? exact : found;
if (!asked || !shown.length) {
  console.error("npm run where -- <method and path, or a part of it>: nothing is called this.");
  process.exit(2);
}
for (const one of shown.length > 5 ? [] : shown) describe(one);
if (shown.length > 5) { for (const { name } of shown) console.log(name); }

function describe(one: Operation): void {
  const { slug, name, endpoint } = one;
  console.log(`\n${name}\n  ${endpoint.summary}\n  who: ${endpoint.access.description}`);
  const code = filesIn(`functions/${slug}`).filter((file) => file.endsWith(".ts"));
  const declared = declarationOf(code, endpoint);
  print("declared", declared);
  const folders = [...new Set(declared.map(({ file }) => file.slice(0, file.lastIndexOf("/"))))];
  const beside = folders.flatMap((folder) => filesIn(folder));
  print("schemas", schemasOf(declared, beside));
  const cores = coresIn(endpoint.run.toString());
  if (!cores.length) cores.push(...coresBehind(endpoint.run.toString(), beside));
  const sql = filesIn("sql").filter((file) => file.endsWith(".sql"));
  const view = listOf(endpoint.query)?.view;
  print(
    "SQL",
    [
      ...cores.flatMap((core) => linesWith(sql, `create or replace function ${core}(`)),
      ...(view ? linesWith(sql, `create view ${view} `) : []),
    ],
  );
  print("tests", testsOf(one));
  for (const refusal of [...new Set([...endpoint.errors ?? [], ...impliedCodes(endpoint)])]) {
    console.log(`  ${statusOf(refusal)} ${refusal}: ${template("en", refusal)}`);
  }
}

/** Where the endpoint is declared: its path may be put together there, its summary says which one it is. */
function declarationOf(code: string[], { path, method, summary }: AnyEndpoint): Place[] {
  const byPath = linesWith(code, `path: "${path}"`).filter(({ file, line }) => {
    const near = methodNear(file, line);
    return near === undefined || near === method;
  });
  if (byPath.length) return byPath;
  const bySummary = linesWith(code, JSON.stringify(summary));
  return bySummary.length ? bySummary : linesWith(code, path);
}

/** The schemas that a declaration names, where they are. */
function schemasOf(declared: Place[], beside: string[]): Place[] {
  const named = declared.flatMap(({ file, line }) => {
    const around = textOf(file).split("\n").slice(Math.max(0, line - 6), line + 14).join("\n");
    return [...around.matchAll(/\b(?:query|body|response): (\w+)/g)].map(([, name]) => name!);
  });
  const places = [...new Set(named)].flatMap((name) => linesWith(beside, `export const ${name} =`));
  return places.length ? places : beside.filter((file) => /schemas|list/.test(file))
    .map((file) => ({ file, line: 1 }));
}

/** The cores that a piece of source calls. */
function coresIn(source: string): string[] {
  return [...source.matchAll(/"([a-z_]+\.[a-z_]+)"/g)].map(([, core]) => core!);
}

/** The cores in the files beside the routes whose functions `run` calls. */
function coresBehind(run: string, beside: string[]): string[] {
  const called = [...run.matchAll(/\b(\w+)\(/g)].map(([, name]) => name!);
  return beside.filter((file) =>
    called.some((name) => new RegExp(`export (async )?function ${name}\\b`).test(textOf(file)))
  ).flatMap((file) => coresIn(textOf(file)));
}

function methodNear(file: string, line: number): string | undefined {
  const around = textOf(file).split("\n").slice(Math.max(0, line - 3), line + 2).join("\n");
  return /method: "(\w+)"/.exec(around)?.[1];
}

function linesWith(files: string[], text: string): Place[] {
  return files.flatMap((file) =>
    textOf(file).split("\n").flatMap((content, index) =>
      content.includes(text) ? [{ file, line: index + 1 }] : []
    )
  );
}

/** The first line of each file, at most five files. */
function print(what: string, places: Place[]): void {
  const first = new Map<string, number>();
  for (const { file, line } of places) if (!first.has(file)) first.set(file, line);
  for (const [file, line] of [...first].slice(0, 5)) {
    console.log(`  ${what.padEnd(9)} ${file}:${line}`);
  }
}
