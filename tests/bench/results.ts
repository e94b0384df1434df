/** The results of the benchmarks, kept between runs: results.json for programs, results.md for people. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { asked, holds, type PartResult, shown } from "./report.ts";

const json = fileURLToPath(new URL("results.json", import.meta.url));
const markdown = fileURLToPath(new URL("results.md", import.meta.url));

/** The last result of each part, by name. */
export function readResults(): Record<string, PartResult> {
  try {
    return JSON.parse(readFileSync(json, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

/** Takes the place of what the part reached before, and writes the page of `parts` anew, in their order. */
export function keepResult(parts: string[], name: string, result: PartResult): void {
  const results = { ...readResults(), [name]: result };
  const known = Object.fromEntries(
    parts.filter((part) => results[part]).map((part) => [part, results[part]!]),
  );
  writeFileSync(json, JSON.stringify(known, null, 2) + "\n");
  writeFileSync(markdown, pageOf(parts, known));
}

/** Results as Markdown; a part that was never run is said to be so. */
export function pageOf(parts: string[], results: Record<string, PartResult>): string {
  const lines = [
    "# Benchmarks",
    "",
    "Written by `npm run bench`: the last run of each part. Ratios are taken within one run, so that a slow or busy " +
    "machine changes them little. Database, functions and load generator share the machine's cores.",
  ];
  for (const part of parts) {
    const result = results[part];
    lines.push("", `## ${part}`, "");
    if (!result) {
      lines.push("Not run yet.");
      continue;
    }
    const { date, commit, machine, figures, notes } = result;
    lines.push(`${date}, commit ${commit}; ${machine}.`);
    if (figures.length) {
      lines.push("", "| figure | reached | asked | holds |", "| --- | --- | --- | --- |");
    }
    for (const figure of figures) {
      const reached = shown(figure.value, figure.unit);
      const kept = holds(figure) ? "yes" : "**no**";
      lines.push(`| ${figure.what} | ${reached} | ${asked(figure)} | ${kept} |`);
    }
    if (notes.length) lines.push("", ...notes.map((note) => `- ${note}`));
  }
  return lines.join("\n") + "\n";
}
