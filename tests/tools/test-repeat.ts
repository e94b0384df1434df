/**
 * `npm run test:repeat -- [feature …] [--rounds N] [--variant NAME]`: runs the suite again and again, under all circumstances of
 * tests/repeat/variants.ts, each time in another order. Every run that ended is recorded at its commit, so that the command
 * continues where an interrupted one stopped. Nothing is tried twice: a run that failed once has failed.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { availableParallelism, cpus, loadavg } from "node:os";
import { root } from "../../supabase/local/paths.ts";
import { addRun, isDone, readRuns } from "../repeat/record.ts";
import { clockAhead, clockLibrary, clockNeeds } from "../repeat/clock.ts";
import { secondsUntil, type Variant, variants } from "../repeat/variants.ts";
import { testsNamed } from "./checks/selection.ts";
import { closing, type StepResult } from "./checks/steps.ts";
import { excludedFromTest } from "./checks/suites.ts";
import { vitestStep } from "./checks/vitest.ts";

const library = clockLibrary();
const { only, rounds, chosen } = readArguments(process.argv.slice(2));
const files = only && [...new Set(only.flatMap(testsNamed))];
const commit = git("rev-parse", "--short=10", "HEAD") +
  // Its own record is no change of what is run.
  (git("status", "--porcelain", "--", ".", ":!tests/repeat/results.*") ? "+changes" : "");
const total = { passed: 0, failed: 0, skipped: 0 };
for (let round = 1; round <= rounds; round++) {
  for (const variant of chosen) {
    if (isDone(readRuns(), { commit, variant, round, only })) {
      console.log(`${variant}, round ${round}: recorded`);
      continue;
    }
    if (variants[variant]!.midnight && !library) {
      console.log(`${variant}: ${clockNeeds}`);
      total.skipped++;
      continue;
    }
    await run(variant, round);
  }
}
process.exitCode = closing(total);

async function run(variant: string, round: number): Promise<void> {
  const circumstances = variants[variant]!;
  const seed = Math.floor(Math.random() * 1e9);
  const [load] = loadavg();
  console.log(`${variant}, round ${round}, seed ${seed}, load ${load!.toFixed(1)}`);
  const began = new Date();
  const others = circumstances.load ? keepBusy() : [];
  let result: StepResult;
  try {
    result = await vitestStep(variant, [
      ...files ?? excludedFromTest,
      "--sequence.shuffle.files",
      `--sequence.seed=${seed}`,
    ], environment(circumstances, began)).run(() => {});
  } finally {
    for (const other of others) other.kill();
  }
  const { passed = 0, failed = 0, skipped = 0, details = [] } = result;
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  for (const line of details) console.log(`  ${line}`);
  const seconds = Math.round((Date.now() - began.getTime()) / 1000);
  console.log(`  ${failed ? "FAILED" : "ok"} ${passed} of ${passed + failed} in ${seconds} s`);
  addRun({
    commit,
    variant,
    round,
    seed,
    date: began.toISOString().slice(0, 16) + "Z",
    machine: `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown"}`,
    load: Number(load!.toFixed(1)),
    seconds,
    passed,
    failed,
    // Without the places of the stack, which are those of one machine.
    failures: details.map((line) => line.replace(/\s+at .*$/s, "")),
    only,
  });
}

function environment({ workers, midnight }: Variant, now: Date): NodeJS.ProcessEnv {
  const clock = midnight ? clockAhead(library!, secondsUntil(midnight, now)) : {};
  return {
    ...(workers ? { BARID_TEST_WORKERS: String(workers) } : {}),
    ...clock,
    ...(midnight ? { BARID_TEST_CLOCK: JSON.stringify(clock) } : {}),
  };
}

/** One process a core that does nothing but count. */
function keepBusy(): ChildProcess[] {
  return Array.from(
    { length: availableParallelism() },
    // It ends with us, however we end: its input closes then.
    () =>
      spawn(process.execPath, [
        "-e",
        "process.stdin.on('end', () => process.exit()).resume(); setInterval(() => { const to = Date.now() + 100; while (Date.now() < to); }, 1)",
      ], { stdio: ["pipe", "ignore", "ignore"] }),
  );
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}

function readArguments(args: string[]): { only?: string[]; rounds: number; chosen: string[] } {
  const only: string[] = [];
  let rounds = 1;
  let chosen = Object.keys(variants);
  while (args.length) {
    const argument = args.shift()!;
    if (argument === "--rounds" && /^[1-9]\d*$/.test(args[0] ?? "")) rounds = Number(args.shift());
    else if (argument === "--variant" && Object.hasOwn(variants, args[0] ?? "")) {
      chosen = [args.shift()!];
    } else if (testsNamed(argument).length > 0) only.push(argument);
    else {
      console.error(
        `"${argument}" is not known. npm run test:repeat -- [feature …] [--rounds N] [--variant NAME], of: ${
          Object.keys(variants).join(", ")
        }.`,
      );
      process.exit(2);
    }
  }
  return { only: only.length ? only : undefined, rounds, chosen };
}
