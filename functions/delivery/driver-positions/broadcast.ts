/** Positions reach the boards that listen at most once a second: not with the request, but right after one. */
import { setTimeout } from "node:timers/promises";
import type { Database } from "../../../shared/db/db.ts";

/** Tenants whose positions this process is about to send. Of several processes the database lets one a second. */
const waiting = new Set<string>();

/** Sends the positions of the caller's tenant as soon as a second has passed since the last time; further callers join the wait. */
export async function broadcastPositions(db: Database, tenant: string): Promise<void> {
  if (waiting.has(tenant)) return;
  waiting.add(tenant);
  try {
    // Another process may have read the positions before this driver's was there: one more time is enough.
    for (let tries = 0; tries < 3; tries++) {
      const { due_in_ms } = await db.call<{ due_in_ms: number }>("delivery.positions_broadcast");
      if (due_in_ms === 0) return;
      await setTimeout(due_in_ms);
    }
  } finally {
    waiting.delete(tenant);
  }
}
