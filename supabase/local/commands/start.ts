// npm start: the whole backend on this machine.
import { setInterval, setTimeout } from "node:timers";
import { Failure } from "../failure.ts";
import { UsageFailure } from "../command-line.ts";
import { parseStartOptions, startHelp } from "../options.ts";
import { type Stack, startStack } from "../stack.ts";
import { welcome } from "../welcome.ts";

let stack: Stack | undefined;
let starting: Promise<void> | undefined;
let stopping = false;

// A closed terminal makes writing fail; stopping in good order matters more than the words that are lost.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => void stop());
}
stopWithNpm();

try {
  starting = start();
  await starting;
} catch (error) {
  if (!stopping) {
    // A failure is one line that says what to do; anything else is a fault of ours and shows where it happened.
    console.error(error instanceof Failure ? error.message : error);
    process.exit(error instanceof UsageFailure ? 2 : 1);
  }
}

async function start(): Promise<void> {
  const { help, quiet, ...options } = parseStartOptions(process.argv.slice(2));
  if (help) {
    console.log(startHelp);
    process.exit(0);
  }
  const began = performance.now();
  stack = await startStack({
    ...options,
    seed: true,
    watch: true,
    onStep: (step, ms) => quiet || console.log(`  ${step.padEnd(32)} ${(ms / 1000).toFixed(2)} s`),
    log: (line) => quiet || console.log(`  | ${line}`),
  });
  if (stopping) return;
  console.log(`  Ready at ${stack.url} after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  if (!quiet) console.log(await welcome(stack));
}

/** A signal sent to npm alone ends npm and its shell but never arrives here; our parent is then another process. */
function stopWithNpm(): void {
  if (process.env.npm_lifecycle_event !== "start") return;
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || void stop(), 250).unref();
}

/** A signal during the start waits for it to end, either way: stopping half a start would leave the other half. */
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  // Whatever hangs, the process goes; Postgres and the workers end with it.
  setTimeout(() => process.exit(1), 2_900).unref();
  // Errors that the signal itself caused are not reported.
  await starting?.catch(() => {});
  await stack?.stop();
  process.exit(0);
}
