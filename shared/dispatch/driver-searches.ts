/** The search for drivers: takes every search of a tenant that is due a step further, each in a transaction of its own. */
import { system } from "../db/db.ts";
import type { Job } from "../db/jobs.ts";
import { describeError, log } from "../runtime/log.ts";

/** A run ends after so many steps at the latest; what is left is due, and found by the next one. */
const maxSteps = 1_000;

/** The job behind automatic assignment. What fails does not keep others from their driver; it is tried again with the job. */
export async function searchDrivers({ tenant_id }: Pick<Job, "tenant_id">): Promise<void> {
  const failed = new Map<string, unknown>();
  for (let steps = 0; steps < maxSteps;) {
    const due = await system<string[]>(
      "select delivery.searches_due($1::text::uuid) as answer",
      [tenant_id],
    );
    const open = due.filter((id) => !failed.has(id));
    if (open.length === 0) break;
    for (const delivery of open) {
      steps++;
      try {
        await system(
          "select to_jsonb(delivery.search_step($1::text::uuid, $2::text::uuid)) as answer",
          [tenant_id, delivery],
        );
      } catch (error) {
        log("warn", "driver_search_failed", { delivery, ...describeError(error) });
        failed.set(delivery, error);
      }
    }
  }
  for (const error of failed.values()) throw error;
}
