/** Prices by road: the way is measured before the call that prices it, and kept for the one that charges it. */
import { type Database, system } from "../db/db.ts";
import { log } from "../runtime/log.ts";
import { type Measure, measureByRoad, type Point } from "./routing-service.ts";

/**
 * Measures the way of a price or an order unless it is known, where a routing service is set. A service
 * that fails or is slow changes nothing: the price then goes as the crow flies. `core` returns the route that
 * `input` is for, or null.
 */
export async function measureFirst(
  db: Database,
  input: Record<string, unknown>,
  core = "delivery.road_distance_missing",
  measure: Measure | undefined = measureByRoad,
): Promise<void> {
  if (!measure) return;
  const way = await db.withoutKey().call<{ from: Point; to: Point } | null>(
    core,
    input,
  );
  if (!way) return;
  try {
    const { distance_km } = await measure(way.from, way.to);
    await system("select delivery.road_distance_put($1::text) as answer", [
      JSON.stringify({ ...way, distance_km }),
    ]);
  } catch (error) {
    log("warn", "routing_failed", { error: String(error) });
  }
}
