/** How long a way is: asked of a routing service where one is set, otherwise as the crow flies. */
import { system } from "../../../shared/db.ts";
import { routingUrl } from "../../../shared/env.ts";
import type { Job } from "../../../shared/jobs.ts";
import { log } from "../../../shared/log.ts";
import { callOut } from "../../../shared/outbound.ts";

/** Latitude and longitude. */
type Point = readonly [number, number];

export interface Way {
  id: string;
  from: Point;
  to: Point;
  haversine_km: number;
}

export interface RouteDetails {
  distance_km: number;
  duration_minutes?: number;
  source: "routing" | "haversine";
}

/** Measures one way; throws when it cannot. */
export type Measure = (from: Point, to: Point) => Promise<Omit<RouteDetails, "source">>;

const timeoutMs = 2_000;
const atOnce = 4;

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

/**
 * Measures ways, a few at a time. A service that fails once is not asked again for the rest: those
 * are measured as the crow flies, and the caller never waits for more than a time-out or two.
 */
export async function measureWays(
  ways: readonly Way[],
  measure: Measure | undefined = routingUrl ? osrm(routingUrl) : undefined,
): Promise<{ id: string; route_details: RouteDetails }[]> {
  const found = new Map<string, RouteDetails>();
  const waiting = [...ways];
  let asked = measure;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let way = waiting.shift(); way && asked; way = waiting.shift()) {
      try {
        found.set(way.id, { ...await asked(way.from, way.to), source: "routing" });
      } catch (error) {
        log("warn", "routing_failed", { error: String(error) });
        asked = undefined;
      }
    }
  }));
  return ways.map(({ id, haversine_km }) => ({
    id,
    route_details: found.get(id) ?? { distance_km: haversine_km, source: "haversine" },
  }));
}

/** The job behind every assignment: measures its way and keeps what it found. */
export async function measureRoutes({ tenant_id, payload }: Job): Promise<void> {
  const ways = await system<Way[]>(
    "select private.routes_wanted($1::text::uuid, $2::text) as answer",
    [tenant_id, JSON.stringify(payload.assignment_ids)],
  );
  if (ways.length === 0) return;
  await system(
    "select private.routes_store($1::text::uuid, $2::text) as answer",
    [tenant_id, JSON.stringify(await measureWays(ways))],
  );
}
