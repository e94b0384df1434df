/** The routing service, where one is set: how long a way is by road. */
import { routingUrl } from "../runtime/env.ts";
import { callOut } from "../outbound/fetch.ts";

/** Latitude and longitude. */
export type Point = readonly [number, number];

export interface RoadWay {
  distance_km: number;
  duration_minutes?: number;
}

/** Measures one way; throws when it cannot. */
export type Measure = (from: Point, to: Point) => Promise<RoadWay>;

const timeoutMs = 2_000;

/** A service with OSRM's interface (`/route/v1/driving/lng,lat;lng,lat`), which others offer too. */
export function osrm(url: string, timeout = timeoutMs): Measure {
  return async ([fromLat, fromLng], [toLat, toLng]) => {
    const response = await callOut(
      `${url}/route/v1/driving/${fromLng},${fromLat};${toLng},${toLat}?overview=false`,
      { method: "GET" },
      { timeoutMs: timeout },
    );
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`the routing service answered ${response.status}`);
    }
    const { routes } = await response.json() as {
      routes?: { distance: number; duration: number }[];
    };
    const [route] = routes ?? [];
    if (!Number.isFinite(route?.distance) || !Number.isFinite(route?.duration)) {
      throw new Error("the routing service knows no way");
    }
    return {
      distance_km: Math.round(route.distance) / 1000,
      duration_minutes: Math.round(route.duration / 6) / 10,
    };
  };
}

/** Metres and seconds, a row for each source and a column for each target. */
export interface RoadTable {
  distances: number[][];
  durations: number[][];
}

/** Measures the ways from some places to others, which are named by their numbers; throws when it cannot. */
export type Table = (
  places: readonly Point[],
  sources: readonly number[],
  targets: readonly number[],
) => Promise<RoadTable>;

/** OSRM answers at most this many places a request unless it is set up otherwise. */
const blockSize = 100;

/** A service with OSRM's interface (`/table/v1/driving/...`), asked in blocks. */
export function osrmTable(url: string, timeout = timeoutMs): Table {
  return async (places, sources, targets) => {
    const named = new Set([...sources, ...targets]);
    // All fit in one request, or half of them are sources and half targets.
    const size = named.size > blockSize ? blockSize / 2 : blockSize;
    const distances = sources.map(() => targets.map(() => NaN));
    const durations = sources.map(() => targets.map(() => NaN));
    for (let i = 0; i < sources.length; i += size) {
      for (let j = 0; j < targets.length; j += size) {
        const [from, to] = [sources.slice(i, i + size), targets.slice(j, j + size)];
        const block = await tableBlock(url, places, from, to, timeout);
        block.distances.forEach((row, a) => distances[i + a].splice(j, row.length, ...row));
        block.durations.forEach((row, a) => durations[i + a].splice(j, row.length, ...row));
      }
    }
    return { distances, durations };
  };
}

async function tableBlock(
  url: string,
  places: readonly Point[],
  sources: readonly number[],
  targets: readonly number[],
  timeout: number,
): Promise<RoadTable> {
  const named = [...new Set([...sources, ...targets])];
  const numbers = (of: readonly number[]) => of.map((place) => named.indexOf(place)).join(";");
  const coordinates = named.map((place) => `${places[place][1]},${places[place][0]}`).join(";");
  const response = await callOut(
    `${url}/table/v1/driving/${coordinates}?annotations=duration,distance&sources=${
      numbers(sources)
    }&destinations=${numbers(targets)}`,
    { method: "GET" },
    { timeoutMs: timeout },
  );
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the routing service answered ${response.status}`);
  }
  const { distances, durations } = await response.json() as Partial<RoadTable>;
  for (const table of [distances, durations]) {
    const whole = table?.length === sources.length &&
      table.every((row) => row.length === targets.length && row.every(Number.isFinite));
    if (!whole) throw new Error("the routing service knows no way");
  }
  return { distances: distances!, durations: durations! };
}

/** The same service for many ways at once. */
export const measureTable: Table | undefined = routingUrl ? osrmTable(routingUrl) : undefined;

/** The routing service that measures ways by road; undefined where none is set, and ways are as the crow flies. */
export const measureByRoad: Measure | undefined = routingUrl ? osrm(routingUrl) : undefined;
