/** The changelog by version. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../supabase/local/paths.ts";

const file = join(root, "CHANGELOG.md");

/** The notes under a heading, without it; empty when there is none. */
export function releaseNotes(heading: string): string {
  const text = readFileSync(file, "utf8");
  const [, notes = ""] = new RegExp(
    `^## ${heading.replaceAll(".", "\\.")}\\b.*\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`,
    "m",
  )
    .exec(text) ?? [];
  return notes.trim();
}

/** Gives what is unreleased the heading of a version, below a new and empty one. */
export function writeHeading(version: string, date: string): void {
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} (${date})`));
}
