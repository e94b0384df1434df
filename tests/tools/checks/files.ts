import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../supabase/local/paths.ts";

/** The folders with code written by hand. */
export const codeFolders = [
  "functions",
  "shared",
  "sql",
  "supabase/local",
  "supabase/deploy",
  "supabase/tenant",
  "tests",
];

/** The files below a folder of the repository, as paths from its root with forward slashes, sorted. */
export function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replaceAll("\\", "/"))
    .map((path) => path.replace(/^\/+/, ""))
    .sort();
}

/** The text of a file of the repository. */
export function textOf(path: string): string {
  return readFileSync(join(root, path), "utf8");
}
