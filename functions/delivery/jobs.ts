/** The background jobs of the delivery function, by kind. */
import type { JobHandlers } from "../../shared/jobs.ts";

export async function deliveryJobs(): Promise<JobHandlers> {
  return {
    "delivery.measure_routes": (await import("./assignments/routing.ts")).measureRoutes,
  };
}
