/** Proposing an order of stops: its CPU under Deno, and how far it is from the best known tours. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { searchOrder } from "../../functions/delivery/stop-order/search.ts";
import { Tour } from "../../functions/delivery/stop-order/tour.ts";
import { stopsOf } from "../support/instances/stops.ts";
import { distancesOf, type Instance, instances } from "../support/instances/tsp.ts";
import { bothDays, listOf, type Route, routes } from "../support/instances/windows.ts";
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
  for (const route of [...routes, bothDays(routes[2], routes[4]), bothDays(routes[3], routes[5])]) {
    const { late, gap } = gapOf(route);
    report.note(
      `${route.name}: ${route.stops.length} stops with windows, ${late} seconds late, gap ${
        gap.toFixed(2)
      } %`,
    );
  }
}

/** Lateness, and how much longer than its best known order a route is, in percent. */
function gapOf(route: Route): { late: number; gap: number } {
  const { described, solution } = listOf(route);
  const stops = stopsOf(described);
  const tour = new Tour(stops);
  tour.set(solution);
  const known = tour.cost;
  tour.set(searchOrder(stops));
  return { late: tour.late, gap: (tour.cost / known - 1) * 100 };
}

/** Length of the round trip proposed for an instance. */
function tourOf(instance: Instance): number {
  const distance = distancesOf(instance);
  const order = searchOrder(stopsOf({
    count: instance.places.length - 1,
    distance: (a, b) => distance(a + 1, b + 1),
    fromStart: (a) => distance(0, a + 1),
    toEnd: (a) => distance(a + 1, 0),
  }));
  const stops = [0, ...order.map((stop) => stop + 1), 0];
  return stops.slice(1).reduce((sum, stop, index) => sum + distance(stops[index], stop), 0);
}
