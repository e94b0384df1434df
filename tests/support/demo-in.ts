/** The demo's day of work with the code of a checkout; it fails at an answer it does not expect, and compares its counts with the reports. */
import { spawn } from "node:child_process";
import type { State } from "../../supabase/local/lock.ts";

/** Runs the demo of the checkout at `dir` against a stack. Returns its exit code and what it printed. */
export function demoIn(
  dir: string,
  { url, publishable_key }: Pick<State, "url" | "publishable_key">,
  { deliveries, seed }: { deliveries: number; seed: number },
): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, [
    ...["--import", "tsx", "tests/demo/index.ts"],
    ...["--url", url, "--publishable-key", publishable_key],
    ...["--deliveries", String(deliveries), "--drivers", "3", "--seed", String(seed)],
  ], { cwd: dir });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => printed += text);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, printed }));
  });
}
