/** The cost of printing a receipt: CPU, and memory beyond the process's previous use. */
import { fileURLToPath } from "node:url";
import { run } from "../bench-stack.ts";
import type { Report } from "../report.ts";

interface Cost {
  cold: number;
  warm: number;
  large: number;
  added: number;
}

/** Prints in a process of its own that finds the modules as JavaScript, as a deployment does, but nothing that V8 kept of them. */
async function printOnce(): Promise<Cost> {
  const script = fileURLToPath(new URL("../receipt-on-deno.ts", import.meta.url));
  const printed = await run(process.env.DENO ?? "node_modules/.bin/deno", [
    ...["run", "-A", "-q", "--no-code-cache", script],
  ]);
  return JSON.parse(printed.split("\n").find((l) => l[0] === "{")!);
}

export async function receipt(report: Report): Promise<void> {
  // The first process makes JavaScript of the modules; of the others the one in the middle counts.
  await printOnce();
  const costs = [await printOnce(), await printOnce(), await printOnce()];
  const { cold, warm, large, added } = costs.sort((a, b) => a.cold - b.cold)[1]!;
  report.note(
    `a receipt of 50 orders: ${cold.toFixed(0)} ms CPU with loading the fonts, ${
      warm.toFixed(0)
    } ms after; of 500: ${large.toFixed(0)} ms; ${
      added.toFixed(0)
    } MB at most beyond an idle process`,
  );
  report.ratio({
    what: "A receipt of 50 orders with loading the fonts: CPU",
    value: cold,
    atMost: 300,
    unit: " ms",
  });
  report.ratio({ what: "A receipt of 500 orders: CPU", value: large, atMost: 1_500, unit: " ms" });
  report.ratio({
    what: "A receipt of 50 orders: memory it adds to the process",
    value: added,
    atMost: 100,
    unit: " MB",
  });
}
