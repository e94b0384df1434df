/** What the delivery function does behind the scenes, by the kind of the job. */
import type { JobHandlers } from "../../shared/db/jobs.ts";

export const jobs: JobHandlers = {
  "delivery.settlement_receipt": async (job) =>
    await (await import("./cod/receipt-job.ts")).printReceipt(job),
  "delivery.measure_routes": async (job) =>
    await (await import("./assignments/routing.ts")).measureRoutes(job),
};
