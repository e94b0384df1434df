/** What printing a receipt costs a function: CPU, and memory beyond what the process had before. */
import { fileURLToPath } from "node:url";
import { run } from "../bench-stack.ts";
import type { Report } from "../report.ts";

export async function receipt(report: Report): Promise<void> {
  const script = fileURLToPath(new URL("../receipt-on-deno.ts", import.meta.url));
  const printed = await run(process.env.DENO ?? "node_modules/.bin/deno", [
    ...["run", "-A", "-q", script],
  ]);
  const { cold, warm, large, added } = JSON.parse(printed.split("\n").find((l) => l[0] === "{")!);
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
