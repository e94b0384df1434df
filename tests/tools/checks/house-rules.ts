/** The rules of style that no formatter knows: sizes, names, and how SQL is written. */
import { codeFolders, filesIn, textOf } from "./files.ts";

/** Text written by a program, and tables of data: their length says nothing. */
const generated = [
  /^shared\/pdf\/font-data\.ts$/,
  /^shared\/client\/(paths|events)\.d\.ts$/,
  /^sql\/.*\/data\.sql$/,
  /^sql\/demo\//,
  /^supabase\/local\/platform\.sql$/,
];
const vagueNames = /(^|\/)(utils?|helpers?|common|misc|types)(\.|\/)/;

/** Every broken rule as `file:line what`. */
export function brokenHouseRules(): string[] {
  const files = codeFolders.flatMap(filesIn).filter((file) => /\.(ts|mjs|sql)$/.test(file));
  return files.flatMap((file) => [
    ...ofAnyFile(file, textOf(file)),
    ...(file.endsWith(".sql") ? ofSql(file, textOf(file)) : []),
    ...(file.startsWith("tests/") ? ofTests(file, textOf(file)) : []),
  ]);
}

/**
 * Files of tests share connections: a setting that outlives its transaction decides what the next file sees. They share a database: a
 * row that is read by `updated_since` waits for transactions of other files.
 */
function ofTests(file: string, text: string): string[] {
  const alone = file.startsWith("tests/deploy/") || file.includes("own-system");
  const waits = alone || file.startsWith("tests/tools/") || text.includes("settled(");
  return [
    ...linesMatching(text, /set_config\(.*,\s*false\)/)
      .map((line) => `${file}:${line} sets a whole connection: use true, in a transaction`),
    ...(waits ? [] : linesMatching(text, /updated_since: ["`]/))
      .map((line) => `${file}:${line} reads what changed: await settled() first`),
  ];
}

function ofAnyFile(file: string, text: string): string[] {
  const broken: string[] = [];
  const lines = text.split("\n");
  // The aim is 300; a file this far beyond is not about one thing any more.
  const maxLines = file.startsWith("tests/prove/") ? 600 : file.startsWith("tests/") ? 330 : 400;
  if (lines.length - 1 > maxLines && !generated.some((pattern) => pattern.test(file))) {
    broken.push(
      `${file} has ${lines.length - 1} lines, more than ${maxLines}: split it by meaning`,
    );
  }
  if (vagueNames.test(file)) broken.push(`${file} has a name that says nothing`);
  if (!text.endsWith("\n")) broken.push(`${file} does not end with a new line`);
  for (const [index, line] of lines.entries()) {
    const at = `${file}:${index + 1}`;
    if (/(\/\/|--|\*|#)\s*(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b/.test(line)) {
      broken.push(`${at} is unfinished`);
    }
    if (/\t/.test(line)) broken.push(`${at} has a tab`);
    if (/[ \r]$/.test(line)) broken.push(`${at} ends with a space`);
  }
  return broken;
}

function ofSql(file: string, text: string): string[] {
  return [
    ...upperCase(file, text),
    ...wideLines(file, text),
    ...(file.startsWith("sql/") ? [...rerunnable(file, text), ...functions(file, text)] : []),
  ];
}

const keywords =
  /\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|CREATE|ALTER|DROP|TABLE|FUNCTION|RETURNS|LANGUAGE|BEGIN|DECLARE|RETURN|GRANT|REVOKE|POLICY|NOT NULL|PRIMARY KEY|REFERENCES)\b/;

function upperCase(file: string, text: string): string[] {
  const code = text.replace(/--[^\n]*/g, "").replace(
    /'(?:[^'\n]|'')*'/g,
    (literal) => literal.replace(/[^\n]/g, " "),
  );
  return linesMatching(code, keywords).map((line) => `${file}:${line} has a keyword in upper case`);
}

const maxSqlColumns = 160;

/** No formatter wraps the bodies of functions, so a limit keeps their lines readable beside a diff. */
function wideLines(file: string, text: string): string[] {
  if (generated.some((pattern) => pattern.test(file))) return [];
  return text.split("\n").flatMap((line, index) =>
    line.length > maxSqlColumns
      ? [`${file}:${index + 1} has ${line.length} columns, more than ${maxSqlColumns}`]
      : []
  );
}

/** Everything but the tables is applied again on later changes, so each statement must stand a second run. */
function rerunnable(file: string, text: string): string[] {
  const broken: string[] = [];
  const rules: [RegExp, string][] = [
    [/^create (function|procedure)\b/, "says create without or replace"],
    [
      /^create (table|schema|extension|sequence|(unique )?index)(?! if not exists)\b/,
      "says create without if not exists",
    ],
    [/^create type\b/, "makes a type, which cannot be made twice: use a check constraint"],
  ];
  for (const [index, line] of text.split("\n").entries()) {
    for (const [pattern, what] of rules) {
      if (pattern.test(line)) broken.push(`${file}:${index + 1} ${what}`);
    }
  }
  for (const [, name] of text.matchAll(/^create (?:or replace )?view ([\w.]+)/gm)) {
    if (!text.includes(`drop view if exists ${name}`)) {
      broken.push(`${file} makes view ${name} without dropping the one before`);
    }
  }
  return broken;
}

/** A function states its promise in a comment above it and is short enough to be read at once. */
function functions(file: string, text: string): string[] {
  const broken: string[] = [];
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const name = /^create or replace function ([\w.]+)/.exec(line)?.[1];
    if (!name) continue;
    const above = lines.slice(0, index).findLast((candidate) => candidate.trim() !== "") ?? "";
    const isTrigger = /returns trigger/.test(lines.slice(index, index + 6).join(" "));
    if (!above.startsWith("--") && !isTrigger) {
      broken.push(`${file}:${index + 1} ${name} has no comment`);
    }
    const end = lines.findIndex((candidate, at) =>
      at > index && /\$\$;?\s*$/.test(candidate) && !/ as \$\$/.test(candidate)
    );
    if (end - index > 120) {
      broken.push(`${file}:${index + 1} ${name} has ${end - index} lines, more than 120`);
    }
  }
  return broken;
}

function linesMatching(text: string, pattern: RegExp): number[] {
  return text.split("\n").flatMap((line, index) => pattern.test(line) ? [index + 1] : []);
}
