/**
 * The information that the files of `sql/` add to the catalogue: the file of each table and function, and the comment
 * above it.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { sourceFiles } from "../../../sql/build.ts";
import { root } from "../../../supabase/local/paths.ts";

export interface Source {
  /** `delivery/cod`: the folder below `sql/`. */
  folder: string;
  /** The comment above the definition as one line; empty where there is none. */
  comment: string;
}

/** Tables and functions by their qualified name. */
export function sources(): Map<string, Source> {
  const found = new Map<string, Source>();
  for (const path of sourceFiles()) {
    const folder = relative(`${root}/sql`, path).split("/").slice(0, 2).join("/").replace(
      /\/[^/]+\.sql$/,
      "",
    );
    const lines = readFileSync(path, "utf8").split("\n");
    for (const [index, line] of lines.entries()) {
      const name =
        /^create (?:or replace )?(?:(?:unlogged )?table(?: if not exists)?|function) ([a-z_]+\.[a-z_0-9]+)/
          .exec(line)?.[1];
      if (name) found.set(name, { folder, comment: commentAbove(lines, index) });
    }
  }
  return found;
}

/** Lines of comment that end right above line `index`, joined. */
function commentAbove(lines: string[], index: number): string {
  const first = lines.slice(0, index).findLastIndex((line) => !line.startsWith("--")) + 1;
  return lines.slice(first, index).map((line) => line.replace(/^--\s?/, "")).join(" ").trim();
}

/** The first sentence of a comment, without its full stop. */
export function firstSentence(comment: string): string {
  return (/^.*?[.:](?=\s+[A-Z]|$)/.exec(comment)?.[0] ?? comment).replace(/[.:]$/, "");
}
