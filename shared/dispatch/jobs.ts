/** Background jobs of dispatch that several functions queue: deliveries become pending in each of them. */
import type { JobHandlers } from "../db/jobs.ts";

export const dispatchJobs: JobHandlers = {
  "delivery.auto_assignment": async (job) =>
    await (await import("./driver-searches.ts")).searchDrivers(job),
  "delivery.handovers_withdraw": async (job) =>
    await (await import("./handovers.ts")).withdrawHandovers(job),
};
