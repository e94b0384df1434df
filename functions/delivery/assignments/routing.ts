/** How long a way is: asked of a routing service where one is set, otherwise as the crow flies. */
import { system } from "../../../shared/db/db.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { log } from "../../../shared/runtime/log.ts";
import {
  type Measure,
  measureByRoad,
  type Point,
} from "../../../shared/routing/routing-service.ts";

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

const atOnce = 4;

/**
 * Measures ways, a few at a time. A service that fails once is not asked again for the rest: those
 * are measured as the crow flies, and the caller never waits for more than a time-out or two.
 */
export async function measureWays(
  ways: readonly Way[],
  measure: Measure | undefined = measureByRoad,
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
    "select delivery.routes_to_measure($1::text::uuid, $2::text) as answer",
    [tenant_id, JSON.stringify(payload.assignment_ids)],
  );
  if (ways.length === 0) return;
  await system(
    "select delivery.routes_store($1::text::uuid, $2::text) as answer",
    [tenant_id, JSON.stringify(await measureWays(ways))],
  );
}
