/** Prices by road: the way is measured before the call that prices it, and kept for the one that charges it. */
import { type Database, system } from "../db/db.ts";
import { log } from "../runtime/log.ts";
import { type Measure, measureByRoad, type Point } from "./routing-service.ts";

interface Way {
  from: Point;
  to: Point;
}

/**
 * Measures the way of a price or an order unless it is known, where a routing service is set. A service
 * that fails or is slow changes nothing: the price then goes as the crow flies. `core` returns the ways that
 * `input` is for: one, null or a list.
 */
export async function measureFirst(
  db: Database,
  input: Record<string, unknown>,
  core = "delivery.road_distance_missing",
  measure: Measure | undefined = measureByRoad,
): Promise<void> {
  if (!measure) return;
  const missing = await db.ahead().call<Way | Way[] | null>(core, input);
  const ways = Array.isArray(missing) ? missing : missing ? [missing] : [];
  const measured = await Promise.allSettled(ways.map(async (way) => {
    const { distance_km } = await measure(way.from, way.to);
    return { ...way, distance_km };
  }));
  const found = measured.flatMap((way) => way.status === "fulfilled" ? [way.value] : []);
  try {
    if (found.length > 0) {
      await system("select delivery.road_distance_put($1::text) as answer", [
        JSON.stringify(found),
      ]);
    }
    for (const way of measured) if (way.status === "rejected") throw way.reason;
  } catch (error) {
    log("warn", "routing_failed", { error: String(error) });
  }
}
