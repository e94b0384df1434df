// npm run demo: a whole day through the public API of a running stack.
import { UsageFailure } from "../../supabase/local/command-line.ts";
import { Failure } from "../../supabase/local/failure.ts";
import { driveDay } from "./day.ts";
import { driveLive } from "./live.ts";
import { type DemoOptions, help, readOptions } from "./options.ts";
import { differencesOf, table } from "./totals.ts";

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // A failure is one line; anything else is a fault of ours and shows where it happened.
  console.error(error instanceof Failure ? error.message : error);
  process.exitCode = error instanceof UsageFailure ? 2 : 1;
}

async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(help);
    return 0;
  }
  if (options.live) return await live(options);
  const began = performance.now();
  const ended = await driveDay(options);
  if (!options.quiet) {
    const seconds = (performance.now() - began) / 1000;
    console.error(
      `${ended.calls} calls in ${seconds.toFixed(1)} s, ${ended.repeated} sent again\n`,
    );
  }
  console.log(table(ended));
  for (const what of ended.leftOut) console.log(`left out: ${what}`);
  const differences = differencesOf(ended);
  if (!differences.length) return 0;
  console.error(["", "What was counted and what Barid says differ:", ...differences].join("\n"));
  return 1;
}

async function live(options: DemoOptions): Promise<number> {
  const ended = await driveLive(options);
  console.log(
    `${ended.delivered} of ${ended.ordered} delivered, ${
      ended.km.toFixed(1)
    } km, ${ended.positions} positions, ` +
      `heard in ${ended.heard} messages, ${ended.stopsLeft} stops left`,
  );
  return ended.delivered === ended.ordered && ended.stopsLeft === 0 && ended.heard > 0 ? 0 : 1;
}
