/**
 * Which tests call an endpoint. Tests write paths in pieces: as constants (`${desks}/transfers`) and in helpers of
 * `tests/support` that others call by name. The pieces are put together first; then a path is looked for as it is written,
 * and a helper that has it counts for every file that uses it.
 */
import type { Operation } from "../../supabase/local/endpoints.ts";
import { filesIn, textOf } from "./checks/files.ts";

export interface Place {
  file: string;
  line: number;
}

interface Source {
  file: string;
  /** Its text with constants in the place of their names. */
  text: string;
}

const isPath = /^\/[a-z]/;
const constant = /(?:^|\n)\s*(export )?const (\w+) = (?:"([^"\n]+)"|`([^`\n]+)`)/g;

/** The places in tests where the endpoint is called, the file that calls it most first. */
export function testsOf({ slug, path, endpoint: { method } }: Operation): Place[] {
  const found = callsOf(callOf(path), method);
  // `move(id, "depart")`: the last word may be handed to whoever puts the path together.
  const last = path.slice(path.lastIndexOf("/") + 1);
  const stem = path.slice(0, -last.length);
  if (!found.size && !last.startsWith(":")) {
    const says = (text: string) => text.includes(`"${last}`) || text.includes(`/${last}`);
    callsOf(callOf(`${stem}:last`), method, says).forEach((call, file) => found.set(file, call));
  }
  // Those of its function go before others, and those of its feature before all.
  const own = (file: string) => {
    const [, folder, feature] = file.split("/");
    return folder !== slug ? 0 : path.startsWith(`/${slug}/${feature}`) ? 2 : 1;
  };
  if (![...found.keys()].some(own)) {
    speakOf(slug, path).forEach((call, file) => found.set(file, call));
  }
  return [...found]
    .sort(([a, x], [b, y]) => own(b) - own(a) || y.calls - x.calls || a.localeCompare(b))
    .map(([file, { line }]) => ({ file, line }));
}

/** Where it is called, by file, in tests that say what is asked for. */
function callsOf(
  called: RegExp,
  method: string,
  says = (_text: string) => true,
): Map<string, { line: number; calls: number }> {
  const { tests, support } = sources();
  const found = new Map<string, { line: number; calls: number }>();
  const add = ({ file, text }: Source, at: number) => {
    const { line, calls } = found.get(file) ?? { line: lineAt(text, at), calls: 0 };
    found.set(file, { line, calls: calls + 1 });
  };
  for (const test of tests.filter(({ text }) => says(text))) {
    for (const at of matches(test.text, called)) if (fits(test.text, at, method)) add(test, at);
  }
  for (const { file, text } of support) {
    for (const at of matches(text, called)) {
      const helper = enclosing(text, at);
      if (!helper || !fits(text, at, method)) continue;
      for (const test of tests.filter(({ text }) => says(text))) {
        for (const at of usesOf(helper, file, test.text)) add(test, at);
      }
    }
  }
  return found;
}

/** Where a test uses a helper of that file of support: one it imports, or a step of what it made by one. */
function usesOf({ name, step }: Helper, file: string, test: string): number[] {
  const from = `from "[./]+${file.slice("tests".length)}"`;
  const has = step
    ? new RegExp(from).test(test) && new RegExp(`\\{[^{}]*\\b${name}\\b[^{}]*\\} = `).test(test)
    : new RegExp(`\\b${name}\\b[^;]* ${from}`).test(test);
  return has ? matches(test, new RegExp(`(?<![.\\w])${name}\\(`, "g")) : [];
}

/** Tests of the function that have every word of the path, or are named by it, however they put it together. */
function speakOf(slug: string, path: string): Map<string, { line: number; calls: number }> {
  const words = path.split("/").slice(2).filter((part) => !part.startsWith(":"));
  const quoted = (word: string) => new RegExp(`[/"\`]${escaped(word)}[/"\`?]`, "g");
  return new Map(
    sources().tests
      .filter(({ file, text }) =>
        file.startsWith(`tests/${slug}/`) &&
        words.every((word) => file.includes(word) || quoted(word).test(text))
      )
      .map(({ file, text }) => {
        const places = matches(text, quoted(words.at(-1)!));
        return [file, { line: lineAt(text, places[0]), calls: places.length }] as const;
      }),
  );
}

/** A path as calls write it: something stands where a parameter is, and a quote or a query behind it. */
function callOf(path: string): RegExp {
  const parts = path.split("/").map((part) =>
    part.startsWith(":") ? "(?:\\$\\{[^}]*\\}|\\{\\w+\\}|[^/`\"'\\s?]+)" : escaped(part)
  );
  return new RegExp(`${parts.join("/")}(?=[\`"'?]|$)`, "gm");
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Whether it may be a call of this method: none other stands beside it. */
function fits(text: string, at: number, method: string): boolean {
  const near = text.slice(Math.max(0, at - 160), at + 160);
  const said = [...near.matchAll(/\.(get|post|put|patch|delete)\(|"(GET|POST|PUT|PATCH|DELETE)"/gi)]
    .map(([, called, named]) => (called ?? named!).toLowerCase());
  return said.length === 0 || said.includes(method);
}

interface Helper {
  name: string;
  /** Not exported: a function that an exported one makes and returns. */
  step: boolean;
}

/** The helper that a place of a file of support is in. */
function enclosing(text: string, at: number): Helper | undefined {
  const before = text.slice(0, at);
  const head = [...before.matchAll(/\nexport (?:async )?(?:function\*? |const )(\w+)/g)].at(-1);
  if (!head) return undefined;
  const inner = [
    ...before.slice(head.index).matchAll(
      /\n {2}(?:const (\w+) = (?:async )?\(|(?:async )?function (\w+))/g,
    ),
  ].at(-1);
  return { name: inner?.[1] ?? inner?.[2] ?? head[1]!, step: inner !== undefined };
}

const matches = (text: string, what: RegExp) => [...text.matchAll(what)].map(({ index }) => index);
const lineAt = (text: string, at: number) => text.slice(0, at).split("\n").length;

let read: { tests: Source[]; support: Source[] } | undefined;

function sources(): { tests: Source[]; support: Source[] } {
  if (read) return read;
  const files = filesIn("tests").filter((file) => file.endsWith(".ts"));
  const shared = files.filter((file) => file.startsWith("tests/support/"));
  const exported = new Map<string, string>();
  for (const file of shared) {
    for (const [, open, name, plain, template] of textOf(file).matchAll(constant)) {
      const value = plain ?? template!;
      if (open && isPath.test(value)) exported.set(name!, value);
    }
  }
  const whole = (file: string): Source => ({ file, text: together(textOf(file), exported) });
  read = {
    tests: files.filter((file) => file.endsWith(".test.ts")).map(whole),
    support: shared.map(whole),
  };
  return read;
}

/** A text with its constants, and those it imports, in the place of their names; lines stay where they are. */
function together(text: string, exported: Map<string, string>): string {
  const known = new Map(exported);
  for (const [, name, alias] of text.matchAll(/\b(\w+) as (\w+)\b/g)) {
    if (exported.has(name!)) known.set(alias!, exported.get(name!)!);
  }
  for (const [, , name, plain, template] of text.matchAll(constant)) {
    const value = filled(plain ?? template!, known);
    if (isPath.test(value)) known.set(name!, value);
  }
  return filled(text, known)
    .replace(/\((\w+)(?=[,)])/g, (as, name) => known.has(name) ? `("${known.get(name)}"` : as)
    .replace(
      /(\.(?:get|post|put|patch|delete)\()(\w+)(?=[,)])/g,
      (as, call, name) => known.has(name) ? `${call}"${known.get(name)}"` : as,
    );
}

const filled = (text: string, known: Map<string, string>) =>
  text.replace(/\$\{(\w+)\}/g, (as, name) => known.get(name) ?? as);
