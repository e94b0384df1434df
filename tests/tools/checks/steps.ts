/** The steps of a proof: each runs to its end whatever the others say, and one line closes them all. */

import { availableParallelism } from "node:os";

/** How often something was right, wrong, or could not be tried. */
export interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
}

/** The report of a step, while and after it runs. */
export interface StepResult extends Partial<Outcome> {
  /** Shown under the step: what is wrong, or why it was skipped. */
  details?: string[];
}

export interface Step {
  name: string;
  run(say: (line: string) => void): Promise<StepResult>;
}

/** Runs the phases one after the other, the steps of a phase one a core at a time; prints a line for each step. */
export async function prove(phases: Step[][]): Promise<Outcome> {
  const total: Outcome = { passed: 0, failed: 0, skipped: 0 };
  for (const phase of phases) {
    const waiting = [...phase];
    const lane = async () => {
      for (let step = waiting.shift(); step; step = waiting.shift()) add(total, await take(step));
    };
    // Two at least: a step that runs the tests leaves the others a lane.
    await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, lane));
  }
  return total;
}

/** The line a reader and a program look for, alone on its line; returns the exit code that goes with it. */
export function closing({ passed, failed, skipped }: Outcome): number {
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
  return failed > 0 ? 1 : 0;
}

async function take(step: Step): Promise<Outcome> {
  const began = performance.now();
  let result: StepResult;
  try {
    result = await step.run((line) => console.log(`  | ${line}`));
  } catch (error) {
    result = {
      failed: 1,
      details: [error instanceof Error ? error.stack ?? error.message : String(error)],
    };
  }
  const { passed = 0, failed = 0, skipped = 0, details = [] } = result;
  const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(6);
  const verdict = failed ? "FAILED" : passed ? "ok" : "skipped";
  const count = passed + failed > 1 ? `  ${passed} of ${passed + failed}` : "";
  console.log(`  ${verdict.padEnd(8)}${step.name.padEnd(46)}${seconds} s${count}`);
  for (const line of details) console.log(`          ${line}`);
  return { passed, failed, skipped };
}

function add(total: Outcome, more: Outcome): void {
  total.passed += more.passed;
  total.failed += more.failed;
  total.skipped += more.skipped;
}
