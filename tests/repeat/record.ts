/** The results of repeated runs of the suite, by commit: results.json for programs, results.md for people. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Run {
  commit: string;
  variant: string;
  /** Counts from 1 within commit and variant. */
  round: number;
  /** Draws the order of files: the same seed gives the same order. */
  seed: number;
  /** When it began. */
  date: string;
  machine: string;
  /** Processes that wanted a core when it began, over a minute. */
  load: number;
  seconds: number;
  passed: number;
  failed: number;
  /** `file > test` with the beginning of what it said. */
  failures: string[];
  /** Folders or features, when not the whole suite was run. */
  only?: string[];
}

const json = fileURLToPath(new URL("results.json", import.meta.url));
const markdown = fileURLToPath(new URL("results.md", import.meta.url));

export function readRuns(): Run[] {
  try {
    return JSON.parse(readFileSync(json, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Adds a run that ended; one that was interrupted leaves nothing and is made again. */
export function addRun(run: Run): void {
  const runs = [...readRuns(), run];
  writeFileSync(json, JSON.stringify(runs, null, 2) + "\n");
  writeFileSync(markdown, page(runs));
}

/** Whether that round of that variant has been run at the commit, with the same choice of tests. */
export function isDone(
  runs: Run[],
  { commit, variant, round, only }: Pick<Run, "commit" | "variant" | "round" | "only">,
): boolean {
  return runs.some((run) =>
    run.commit === commit && run.variant === variant && run.round === round &&
    String(run.only ?? "") === String(only ?? "")
  );
}

function page(runs: Run[]): string {
  const cell = (text: string) => text.replaceAll("|", "\\|").replace(/\s+/g, " ");
  return [
    "# Repeated runs",
    "",
    "Written by `npm run test:repeat`. The load is that of the machine when the run began, other work included.",
    "",
    "| commit | variant | round | tests | seed | date | machine | load | seconds | outcome |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ...runs.map((run) =>
      `| ${run.commit} | ${run.variant} | ${run.round} | ${
        run.only?.join(" ") ?? "all"
      } | ${run.seed} | ${run.date} | ${run.machine} | ${run.load} | ${run.seconds} | ${
        run.failed
          ? `**${run.failed} failed** of ${run.passed + run.failed}`
          : `${run.passed} passed`
      } |`
    ),
    "",
    ...runs.filter(({ failed }) => failed).flatMap((run) => [
      `## ${run.commit}, ${run.variant}, round ${run.round}`,
      "",
      ...run.failures.map((failure) => `- ${cell(failure)}`),
      "",
    ]),
  ].join("\n").trimEnd() + "\n";
}
