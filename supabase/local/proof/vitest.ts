import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProgramOptions, runPackage } from "./programs.ts";
import type { Step, StepResult } from "./steps.ts";

/** What of vitest's JSON report is looked at. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { name: string; status: string; message: string; assertionResults: unknown[] }[];
}

/** Runs test files; vitest's own lines are passed on as they come, the counts are taken from its report. */
export function vitestStep(
  name: string,
  args: string[],
  env?: ProgramOptions["env"],
): Step {
  return {
    name,
    async run(say) {
      const dir = mkdtempSync(join(tmpdir(), "barid-report-"));
      const file = join(dir, "report.json");
      try {
        const { code, lines } = await runPackage("vitest/vitest.mjs", [
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

/** A file that cannot be loaded has no tests, and an error outside any test fails none: both count as one failure. */
function count(code: number, lines: string[], report: Report | undefined): StepResult {
  if (!report) return { failed: 1, details: lines.slice(-5) };
  const broken = report.testResults.filter((file) =>
    file.status === "failed" && file.assertionResults.length === 0
  );
  const failed = report.numFailedTests + broken.length;
  return {
    passed: report.numPassedTests,
    failed: failed || (code === 0 ? 0 : 1),
    skipped: report.numPendingTests + report.numTodoTests,
    details: failed || code === 0 ? [] : ["An error outside the tests: see the lines above."],
  };
}
