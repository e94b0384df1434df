/** `npm run bench [-- part ... --rows N]`: ratios in one run; each part's last result is kept in tests/bench. */
import { readCommandLine, UsageFailure } from "../../supabase/local/command-line.ts";
import { Report } from "../bench/report.ts";
import { keepResult } from "../bench/results.ts";

const bench = "../bench";
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
  scale: async (report) =>
    (await import(`${bench}/scale/index.ts`)).benchScale(report, Number(options.rows ?? 1e6)),
  live: async (report) => (await import(`${bench}/live.ts`)).benchLive(report),
  cost: async (report) => (await import(`${bench}/cost.ts`)).benchCost(report, 1e4),
  "cost-million": async (report) => (await import(`${bench}/cost.ts`)).benchCost(report, 1e6),
  payout: async (report) => (await import(`${bench}/payout/index.ts`)).benchPayout(report),
  "cold-start": async (report) => (await import(`${bench}/cold-start.ts`)).benchColdStart(report),
  peers: async (report) => (await import(`${bench}/peers/index.ts`)).benchPeers(report),
};
/** Installs another program from npm. */
const onlyWhenNamed = "peers";

const names = Object.keys(parts);
const help = `npm run bench -- [part ...] [options]

  ${names.join(", ")}; all but ${onlyWhenNamed}, where none is named

  --rows N   how far scale goes: rows of each table, a power of ten (1000000)
  --redraw   measure nothing; draw the charts of docs/scale.md from the figures of the last run
  --help     this text`;
const { asked, options } = readArguments();
if (options.help) {
  console.log(help);
  process.exit(0);
}
if (options.redraw) {
  const { draw } = await import(`${bench}/scale/draw.ts`);
  const { readFigures } = await import(`${bench}/scale/figures.ts`);
  draw(readFigures());
  process.exit(0);
}

let missed = 0;
for (const name of names) {
  if (asked.length ? !asked.includes(name) : name === onlyWhenNamed) continue;
  console.log(name);
  const report = new Report();
  await parts[name]!(report);
  keepResult(names, name, report.result());
  missed += report.missed;
}
process.exit(missed ? 1 : 0);

function readArguments() {
  try {
    const { positionals: asked, values: options } = readCommandLine("npm run bench", {
      allowPositionals: true,
      options: {
        rows: { type: "string" },
        redraw: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
    const unknown = asked.find((name) => !names.includes(name));
    if (unknown) throw new UsageFailure(`Unknown: "${unknown}". Known: ${names.join(", ")}.`);
    if (options.rows && !/^10{4,}$/.test(options.rows)) {
      throw new UsageFailure(`--rows needs a power of ten from 10000 on, not "${options.rows}".`);
    }
    return { asked, options };
  } catch (error) {
    if (!(error instanceof UsageFailure)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}
