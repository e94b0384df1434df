/** How long the ways of assignments are by road, where a routing service is set. The straight ones are there from the start. */
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
}

export interface RouteDetails {
  distance_km: number;
  duration_minutes?: number;
  source: "routing";
}

/** Between which places it was measured: the delivery may have been redirected meanwhile. */
export interface MeasuredWay extends Way {
  route_details: RouteDetails;
}

const atOnce = 4;

/**
 * Measures ways, a few at a time. A service that fails once is not asked again for the rest: those stay straight, and the
 * caller never waits for more than a time-out or two.
 */
export async function measureWays(
  ways: readonly Way[],
  measure: Measure,
): Promise<MeasuredWay[]> {
  const found: MeasuredWay[] = [];
  const waiting = [...ways];
  let failed = false;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let way = waiting.shift(); way && !failed; way = waiting.shift()) {
      try {
        const route_details: RouteDetails = {
          ...await measure(way.from, way.to),
          source: "routing",
        };
        found.push({ ...way, route_details });
      } catch (error) {
        log("warn", "routing_failed", { error: String(error) });
        failed = true;
      }
    }
  }));
  return found;
}

/** The job behind every assignment: measures its way by road and keeps what it found. */
export async function measureRoutes({ tenant_id, payload }: Job): Promise<void> {
  if (!measureByRoad) return;
  const ways = await system<Way[]>(
    "select delivery.routes_to_measure($1::text::uuid, $2::text) as answer",
    [tenant_id, JSON.stringify(payload.assignment_ids)],
  );
  const found = await measureWays(ways, measureByRoad);
  if (found.length === 0) return;
  await system(
    "select delivery.routes_store($1::text::uuid, $2::text) as answer",
    [tenant_id, JSON.stringify(found)],
  );
}
