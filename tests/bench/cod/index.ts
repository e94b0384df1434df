/** Cash: settlements a second as SQL and over HTTP, the list at a million rows, one receipt. */
import { startBench } from "../bench-stack.ts";
import type { Report } from "../report.ts";
import { lists } from "./lists.ts";
import { receipt } from "./receipt.ts";
import { people } from "./rows.ts";
import { settlements } from "./settlements.ts";

/** Functions and database share the cores of one machine. */
const workers = 2;

export async function benchCod(report: Report): Promise<void> {
  for (const part of [settlements, lists]) {
    const bench = await startBench({}, workers);
    try {
      await people(bench);
      await part(bench, report);
    } finally {
      await bench.stop();
    }
  }
  await receipt(report);
}
