/** `npm run bench [part ...]`: ratios in one run, written to tests/bench/results.md. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Report } from "../../../tests/bench/report.ts";
import { root } from "../paths.ts";

const bench = "../../../tests/bench";
const parts: Record<string, (report: Report) => Promise<void>> = {
  rpc: async (report) => (await import(`${bench}/rpc.ts`)).benchRpc(report),
  "set-destination": async (report) =>
    (await import(`${bench}/set-destination.ts`)).benchSetDestination(report),
  search: async (report) => (await import(`${bench}/search.ts`)).benchSearch(report),
  assignments: async (report) => (await import(`${bench}/assignments.ts`)).benchAssignments(report),
  services: async (report) => (await import(`${bench}/services.ts`)).benchServices(report),
  "stop-order": async (report) => (await import(`${bench}/stop-order.ts`)).benchStopOrder(report),
  performance: async (report) => (await import(`${bench}/performance.ts`)).benchPerformance(report),
  stock: async (report) => (await import(`${bench}/stock.ts`)).benchStock(report),
  scan: async (report) => (await import(`${bench}/scan.ts`)).benchScan(report),
  orders: async (report) => (await import(`${bench}/orders.ts`)).benchOrders(report),
  webhooks: async (report) => (await import(`${bench}/webhooks.ts`)).benchWebhooks(report),
  cod: async (report) => (await import(`${bench}/cod/index.ts`)).benchCod(report),
  "cold-start": async (report) => (await import(`${bench}/cold-start.ts`)).benchColdStart(report),
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
