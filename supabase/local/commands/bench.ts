/** `npm run bench [rpc|set-destination|search|cold-start|webhooks ...]`: ratios in one run, written to tests/bench/results.md. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { benchColdStart } from "../../../tests/bench/cold-start.ts";
import { Report } from "../../../tests/bench/report.ts";
import { benchRpc } from "../../../tests/bench/rpc.ts";
import { benchSearch } from "../../../tests/bench/search.ts";
import { benchSetDestination } from "../../../tests/bench/set-destination.ts";
import { benchStock } from "../../../tests/bench/stock.ts";
import { benchWebhooks } from "../../../tests/bench/webhooks.ts";
import { root } from "../paths.ts";

const parts: Record<string, (report: Report) => Promise<void>> = {
  rpc: benchRpc,
  "set-destination": benchSetDestination,
  search: benchSearch,
  stock: benchStock,
  "cold-start": benchColdStart,
  webhooks: benchWebhooks,
};

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !Object.hasOwn(parts, name));
if (unknown) {
  console.error(`Unknown benchmark "${unknown}". Known: ${Object.keys(parts).join(", ")}.`);
  process.exit(2);
}

const report = new Report();
for (const [name, bench] of Object.entries(parts)) {
  if (asked.length && !asked.includes(name)) continue;
  console.log(name);
  await bench(report);
}
if (asked.length === 0) {
  const file = join(root, "tests", "bench", "results.md");
  writeFileSync(file, report.markdown());
  console.log(`Written: ${file}`);
}
process.exit(report.missed ? 1 : 0);
