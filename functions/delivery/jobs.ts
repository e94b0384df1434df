/** The background jobs of the delivery function, by kind. */
import type { JobHandlers } from "../../shared/db/jobs.ts";
import { dispatchJobs } from "../../shared/dispatch/jobs.ts";

export const jobs: JobHandlers = {
  "delivery.settlement_receipt": async (job) =>
    await (await import("./cod/receipt-job.ts")).printReceipt(job),
  "delivery.merchant_statements": async (job) =>
    await (await import("./merchant-statements/cycle-job.ts")).makeStatements(job),
  "delivery.zones_follow": async (job) =>
    await (await import("./zones/follow-job.ts")).followZones(job),
  "delivery.warehouse_follow": async (job) =>
    await (await import("./deliveries/warehouse-follow-job.ts")).followWarehouse(job),
  "delivery.postponed_resume": async (job) =>
    await (await import("./outcomes/postponed-job.ts")).resumePostponed(job),
  ...dispatchJobs,
  "delivery.measure_routes": async (job) =>
    await (await import("./assignments/routing.ts")).measureRoutes(job),
};
