/** The results of the proofs, kept between runs: results.json for programs, results.md for people. */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { proofs } from "./catalogue.ts";
import type { Figure, Size } from "./proof.ts";

export interface Result {
  size: Size;
  seed: number;
  /** Day of the run. */
  date: string;
  seconds: number;
  /** Tests that failed. */
  failed: number;
  figures: Figure[];
}

const json = fileURLToPath(new URL("results.json", import.meta.url));
const markdown = fileURLToPath(new URL("results.md", import.meta.url));

/** The last result of each proof, by name. */
export function readResults(): Record<string, Result> {
  try {
    return JSON.parse(readFileSync(json, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

export function writeResults(results: Record<string, Result>): void {
  writeFileSync(json, JSON.stringify(results, null, 2) + "\n");
  writeFileSync(markdown, page(results));
}

function page(results: Record<string, Result>): string {
  const cpu = cpus();
  const lines = [
    "# Proofs",
    "",
    "Written by `npm run prove`; the last run of each. " +
    `Machine: ${cpu.length} × ${cpu[0]?.model ?? "unknown CPU"}, ${
      Math.round(totalmem() / 2 ** 30)
    } GiB, Node ${process.versions.node}; database, functions and load share these cores.`,
    "",
    "| proof | figure | asked | reached | holds |",
    "| --- | --- | --- | --- | --- |",
  ];
  for (const [name, { shows }] of Object.entries(proofs)) {
    const result = results[name];
    if (!result) {
      lines.push(`| ${name} | ${shows} | | not run yet | |`);
      continue;
    }
    const run =
      `${name} (${result.size}, ${result.date}, ${result.seconds} s, seed ${result.seed})`;
    lines.push(
      `| ${run} | ${shows} | 0 failed | ${result.failed} failed | ${
        result.failed ? "**no**" : "yes"
      } |`,
    );
    for (const { what, asked, reached, holds } of result.figures) {
      lines.push(`| | ${what} | ${asked} | ${reached} | ${holds ? "yes" : "**no**"} |`);
    }
  }
  return lines.join("\n") + "\n";
}
