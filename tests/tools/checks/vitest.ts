import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { root } from "../../../supabase/local/paths.ts";
import { type ProgramOptions, runProgram } from "./programs.ts";
import type { Step, StepResult } from "./steps.ts";

/** The fields of vitest's JSON report that are read. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages?: string[] }[];
  }[];
}

/** Runs test files; vitest's own lines are passed on as they come, the counts are taken from its report. */
export function vitestStep(
  name: string,
  args: string[],
  env?: ProgramOptions["env"],
  node = process.execPath,
): Step {
  return {
    name,
    async run(say) {
      const dir = mkdtempSync(join(tmpdir(), "barid-report-"));
      const file = join(dir, "report.json");
      try {
        const { code, lines } = await runProgram(node, [
          join(root, "node_modules/vitest/vitest.mjs"),
          "run",
          ...args,
          "--reporter=default",
          "--reporter=json",
          `--outputFile.json=${file}`,
        ], { env: { ...process.env, ...env }, onLine: (line) => line.trim() && say(line) });
        return count(code, lines, readReport(file));
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  };
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Vitest ended before it could write: its last lines, which the step shows, say why.
    return undefined;
  }
}

/** A file that cannot be loaded, or fails before or after its tests; these do not say it. */
const isBroken = ({ status, assertionResults }: Report["testResults"][number]) =>
  status === "failed" && !assertionResults.some((test) => test.status === "failed");

/** A file that is broken, or an error outside any file, counts as one failure. */
function count(code: number, lines: string[], report: Report | undefined): StepResult {
  if (!report) return { failed: 1, details: lines.slice(-5) };
  const broken = report.testResults.filter(isBroken);
  const failed = report.numFailedTests + broken.length;
  return {
    passed: report.numPassedTests,
    failed: failed || (code === 0 ? 0 : 1),
    skipped: report.numPendingTests + report.numTodoTests,
    details: failed || code === 0
      ? failures(report)
      : ["An error outside the tests: see the lines above."],
  };
}

/** The failures, a line or two each: most readers see the end of a long output first. */
function failures({ testResults }: Report): string[] {
  return testResults.flatMap((result) => {
    const { name, message, assertionResults } = result;
    const file = relative(root, name);
    if (isBroken(result)) return [file, `  ${brief(message)}`];
    return assertionResults.filter((test) => test.status === "failed").flatMap((
      { fullName, failureMessages },
    ) => [`${file} > ${fullName}`, `  ${brief(failureMessages?.[0] ?? "")}`]);
  });
}

/** The first lines of a message, without colours. */
function brief(message: string): string {
  return stripVTControlCharacters(message).split("\n").slice(0, 4).join(" ").slice(0, 400);
}
