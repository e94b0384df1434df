/** The places where the version of code and schema are written. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../supabase/local/paths.ts";

const code = join(root, "shared", "runtime", "version.ts");
const schemaFile = join(root, "sql", "base", "engine", "version.sql");

/** The schema's version as `sql/` has it. */
export function schemaVersion(): string {
  return /return '(\d+)'/.exec(readFileSync(schemaFile, "utf8"))![1]!;
}

/** The schema's version that the functions ask for. */
export function neededSchema(): string {
  return /neededSchema = "(\d+)"/.exec(readFileSync(code, "utf8"))![1]!;
}

/** Writes the schema's version into `sql/` and into the functions; answers the SQL that a migration takes it from. */
export function writeSchemaVersion(version: string): string {
  replace(code, /neededSchema = "\d+"/, `neededSchema = "${version}"`);
  replace(schemaFile, /return '\d+'/, `return '${version}'`);
  return readFileSync(schemaFile, "utf8").trim();
}

/** Writes the version of a release into packages and functions. */
export function writeVersion(version: string): void {
  replace(code, /const version = "[^"]+"/, `const version = "${version}"`);
  replace(join(root, "package.json"), /"version": "[^"]+"/, `"version": "${version}"`);
  const lock = join(root, "package-lock.json");
  const packages = JSON.parse(readFileSync(lock, "utf8"));
  packages.version = version;
  packages.packages[""].version = version;
  writeFileSync(lock, `${JSON.stringify(packages, null, 2)}\n`);
}

function replace(file: string, pattern: RegExp, text: string): void {
  const before = readFileSync(file, "utf8");
  if (!pattern.test(before)) throw new Error(`${file} has nothing like ${pattern}`);
  writeFileSync(file, before.replace(pattern, text));
}
