/** The storefront beside that of another program, on the same database server and machine, one after the other in one run. */
import { times } from "../ask.ts";
import { startBench } from "../bench-stack.ts";
import { load, percentiles } from "../load.ts";
import type { Report } from "../report.ts";
import { openBarid } from "./barid.ts";
import { openMedusa } from "./medusa.ts";
import { buyers, clients, scarce, type Shop } from "./shop.ts";

const seconds = 5;
const ordersAlone = 20;
const ordersEach = 6;

/** Per second, at one client and at several. */
interface Measured {
  list: { one: number; many: number };
  orders: { one: number; many: number };
  /** How many of the buyers of the scarce product got one. */
  sold: number;
}

export async function benchPeers(report: Report): Promise<void> {
  const bench = await startBench();
  try {
    const ours = await measure(await openBarid(bench), report);
    const theirs = await measure(await openMedusa(bench), report);
    const against = "ours a second against Medusa's";
    for (
      const [what, of] of [["list of 20 products", "list"], ["orders placed", "orders"]] as const
    ) {
      for (const [at, count] of [["one", "1 client"], ["many", `${clients} clients`]] as const) {
        report.ratio({
          what: `${what}, ${count}: ${against}`,
          value: ours[of][at] / theirs[of][at],
          atLeast: 1,
        });
      }
    }
    report.ratio({
      what: `${buyers} buyers of ${scarce} units at once: sold by us`,
      value: ours.sold,
      atLeast: scarce,
      atMost: scarce,
      unit: "orders",
    });
    report.note(`${buyers} buyers of ${scarce} units at once: Medusa sold ${theirs.sold}`);
  } finally {
    await bench.stop();
  }
}

async function measure(shop: Shop, report: Report): Promise<Measured> {
  try {
    const list = await lists(shop, report);
    const orders = await placing(shop, report);
    const sold = await rush(shop);
    return { list, orders, sold };
  } finally {
    await shop.stop();
  }
}

async function lists({ name, list: { url, headers } }: Shop, report: Report) {
  const response = await fetch(url, { headers });
  const { data, products } = await response.json() as Record<string, unknown[] | undefined>;
  if ((data ?? products)?.length !== 20) throw new Error(`${name} lists something else`);
  await load(url, headers, clients, 2);
  const rates = [];
  for (const connections of [1, clients]) {
    const { perSecond, p95, notOk } = await load(url, headers, connections, seconds);
    if (notOk) throw new Error(`${notOk} answers of ${name} were refusals`);
    report.note(
      `${name}, list of 20, ${connections} at once: ${perSecond.toFixed(1)} a second, p95 ${
        p95.toFixed(1)
      } ms`,
    );
    rates.push(perSecond);
  }
  return { one: rates[0]!, many: rates[1]! };
}

async function placing({ name, requestsPerOrder, order }: Shop, report: Report) {
  const took = await times(() => order(0), ordersAlone, 5);
  const one = 1_000 * took.length / took.reduce((sum, ms) => sum + ms, 0);
  const started = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let i = 0; i < ordersEach; i++) await order(client);
    }),
  );
  const many = 1_000 * clients * ordersEach / (performance.now() - started);
  report.note(
    `${name}, an order in ${requestsPerOrder} requests: median ${
      percentiles(took).p50.toFixed(0)
    } ms alone; ${one.toFixed(1)} a second by one client, ${many.toFixed(1)} by ${clients}`,
  );
  return { one, many };
}

/** All buyers have it in their carts, and order it at the same moment. */
async function rush({ prepare }: Shop): Promise<number> {
  const ready = [];
  for (let buyer = 0; buyer < buyers; buyer++) ready.push(await prepare(buyer));
  const bought = await Promise.all(ready.map((order) => order()));
  return bought.filter(Boolean).length;
}
