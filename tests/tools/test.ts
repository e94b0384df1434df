/**
 * `npm test`: what every change has to pass; `npm run test:full` has the rest. `npm test -- delivery/cod` runs the tests of
 * a feature, `npm test -- --changed [commit]` those that a change since the commit (or main) touches. Every step runs to
 * its end; the last line counts them all.
 */
import { execFileSync } from "node:child_process";
import { relative } from "node:path";
import { readState } from "../../supabase/local/lock.ts";
import { defaultDataDir, root } from "../../supabase/local/paths.ts";
import { runPackage } from "./checks/programs.ts";
import { testsNamed, testsTouched } from "./checks/selection.ts";
import { staticSteps } from "./checks/static.ts";
import { closing, prove } from "./checks/steps.ts";
import { excludedFromTest } from "./checks/suites.ts";
import { vitestStep } from "./checks/vitest.ts";

const args = process.argv.slice(2);
const chosen = args[0] === "--changed"
  ? await touched(args[1])
  : args.length
  ? named(args)
  : undefined;
if (chosen?.length === 0) {
  console.log("No test is touched.");
  closing({ passed: 0, failed: 0, skipped: 0 });
} else {
  // The tests first: they take one lane to the end, and what is read without running has the others.
  const steps = chosen
    ? [vitestStep("Tests", chosen, runningServer())]
    : [vitestStep("Tests", excludedFromTest), ...staticSteps];
  process.exitCode = closing(await prove([steps]));
}

function named(names: string[]): string[] {
  const unknown = names.find((name) => name.startsWith("-") || testsNamed(name).length === 0);
  if (unknown !== undefined) {
    console.error(
      `No test is named by "${unknown}": npm test -- delivery/cod runs a feature's, --changed what a change touches.`,
    );
    process.exit(2);
  }
  return [...new Set(names.flatMap(testsNamed))];
}

/** Undefined, which is all of them, when something changed that may be used everywhere. */
async function touched(since = mergeBase()): Promise<string[] | undefined> {
  const changed = [
    ...git("diff", "--name-only", since),
    ...git("ls-files", "--others", "--exclude-standard"),
  ];
  const list = await runPackage("vitest/vitest.mjs", ["list", "--filesOnly", "--changed", since]);
  if (list.code !== 0) throw new Error(list.lines.join("\n"));
  const related = list.lines.map((line) => relative(root, line).replaceAll("\\", "/"));
  const files = testsTouched(changed, related.filter((file) => file.startsWith("tests/")));
  console.log(files ? `${files.length} test files are touched.` : "Every test may be touched.");
  return files;
}

/** Where this branch left main; on main itself, what is not committed. */
function mergeBase(): string {
  try {
    return git("merge-base", "HEAD", "main")[0]!;
  } catch {
    // A clone of one branch has no main.
    return "HEAD";
  }
}

function git(...args: string[]): string[] {
  const printed = execFileSync("git", args, { cwd: root, encoding: "utf8" });
  return printed.split("\n").filter((line) => line !== "");
}

/** The server of `npm start`, when it runs: tests take a database of their own there and need not start another. */
function runningServer(): NodeJS.ProcessEnv {
  const url = process.env.DATABASE_URL ? undefined : readState(defaultDataDir)?.db_url;
  return url && new URL(url).hostname === "127.0.0.1" ? { BARID_TEST_SERVER: url } : {};
}
