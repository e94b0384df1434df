/** Proposing an order of stops: its CPU under Deno, and how far it is from the best known tours. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { orderStops } from "../../functions/delivery/assignments/route-order.ts";
import { distancesOf, type Instance, instances } from "../support/instances/tsp.ts";
import type { Report } from "./report.ts";

export function benchStopOrder(report: Report): void {
  const script = fileURLToPath(new URL("stop-order-on-deno.ts", import.meta.url));
  const { stdout, stderr } = spawnSync(
    process.env.DENO ?? "node_modules/.bin/deno",
    ["run", "-A", "-q", script],
    { encoding: "utf8", env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" } },
  );
  if (!stdout) throw new Error(stderr);
  for (const [name, ms] of Object.entries(JSON.parse(stdout) as Record<string, number>)) {
    report.ratio({ what: `order of ${name}: CPU on Deno`, value: ms, atMost: 500, unit: " ms" });
  }
  for (const instance of instances) {
    const length = tourOf(instance);
    const gap = ((length / instance.best - 1) * 100).toFixed(2);
    report.note(`${instance.name}: a tour of ${length}, best known ${instance.best}, gap ${gap} %`);
  }
}

/** Length of the round trip proposed for an instance. */
function tourOf(instance: Instance): number {
  const distance = distancesOf(instance);
  const order = orderStops({
    count: instance.places.length - 1,
    distance: (a, b) => distance(a + 1, b + 1),
    fromStart: (a) => distance(0, a + 1),
    toEnd: (a) => distance(a + 1, 0),
    predecessor: Array(instance.places.length - 1).fill(-1),
  });
  const stops = [0, ...order.map((stop) => stop + 1), 0];
  return stops.slice(1).reduce((sum, stop, index) => sum + distance(stops[index], stop), 0);
}
