/** The ways between many places at once: by road where a routing service is set, otherwise estimated. */
import { system } from "../db/db.ts";
import { log } from "../runtime/log.ts";
import { measureTable, type Point, type Table } from "./routing-service.ts";

/** The assumed speed of a driver where only the distance is known. */
const kmPerHour = 30;

/** Metres and seconds from each place to each, and whether they were measured by road. */
export interface Ways {
  distances: number[][];
  durations: number[][];
  measured_by: "road" | "estimate";
}

/** Ways that were measured by road and kept: from and to by number, kilometres and minutes. */
type KeptWay = [from: number, to: number, distance_km: number, duration_minutes: number];

/**
 * The ways between places. `detour` says how much longer roads are than great circles, where they have to be
 * estimated; the service is asked only for what is not kept. `passing` places are not worth keeping: a driver's position.
 */
export async function waysBetween(
  places: readonly Point[],
  passing: number,
  detour: number,
  table: Table | undefined = measureTable,
): Promise<Ways> {
  if (table && places.length > 1) {
    try {
      return await byRoad(places, passing, table);
    } catch (error) {
      log("warn", "routing_failed", { error: String(error) });
    }
  }
  const distances = places.map((from) =>
    places.map((to) => Math.round(kilometres(from, to) * detour * 1000))
  );
  const durations = distances.map((row) =>
    row.map((metres) => Math.round(metres / 1000 / kmPerHour * 3600))
  );
  return { distances, durations, measured_by: "estimate" };
}

async function byRoad(places: readonly Point[], passing: number, table: Table): Promise<Ways> {
  const all = places.map((_, index) => index);
  const lasting = all.slice(passing);
  const kept = await system<KeptWay[]>("select delivery.road_ways_known($1::text) as answer", [
    JSON.stringify(places),
  ]);
  const grid = () => all.map((from) => all.map((to) => from === to ? 0 : NaN));
  const [distances, durations] = [grid(), grid()];
  for (const [from, to, km, minutes] of kept) {
    distances[from][to] = Math.round(km * 1000);
    durations[from][to] = Math.round(minutes * 60);
  }
  const missing = (sources: number[]) =>
    sources.some((from) => lasting.some((to) => Number.isNaN(distances[from][to])));
  const found: { from: Point; to: Point; distance_km: number; duration_minutes: number }[] = [];
  const ask = async (sources: number[], targets: number[]) => {
    if (!sources.length || !targets.length) return;
    const answer = await table(places, sources, targets);
    sources.forEach((from, i) =>
      targets.forEach((to, j) => {
        if (from === to) return;
        const [metres, seconds] = [answer.distances[i][j], answer.durations[i][j]];
        [distances[from][to], durations[from][to]] = [Math.round(metres), Math.round(seconds)];
        if (from < passing) return;
        found.push({
          from: places[from],
          to: places[to],
          distance_km: metres / 1000,
          duration_minutes: seconds / 60,
        });
      })
    );
  };
  const start = all.slice(0, passing);
  if (missing(lasting)) await ask(all, lasting);
  else if (missing(start)) await ask(start, lasting);
  if (found.length) {
    await system("select delivery.road_distance_put($1::text) as answer", [JSON.stringify(found)]);
  }
  // Nobody drives to where the driver is now.
  for (const row of [...distances, ...durations]) row.fill(0, 0, passing);
  return { distances, durations, measured_by: "road" };
}

/** The great circle between two places. */
export function kilometres([fromLat, fromLng]: Point, [toLat, toLng]: Point): number {
  const radians = Math.PI / 180;
  const half = (degrees: number) => Math.sin(degrees * radians / 2) ** 2;
  const h = half(toLat - fromLat) +
    Math.cos(fromLat * radians) * Math.cos(toLat * radians) * half(toLng - fromLng);
  return 2 * 6371.0088 * Math.asin(Math.min(1, Math.sqrt(h)));
}
