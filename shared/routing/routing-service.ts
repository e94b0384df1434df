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

/** The routing service that measures ways by road; undefined where none is set, and ways are as the crow flies. */
export const measureByRoad: Measure | undefined = routingUrl ? osrm(routingUrl) : undefined;
