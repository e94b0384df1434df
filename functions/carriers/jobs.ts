/** The background jobs of the carriers function, by kind. */
import type { JobHandlers } from "../../shared/db/jobs.ts";

export const jobs: JobHandlers = {
  "carriers.shipment_withdraw": async (job) => {
    const { withdraw } = await import("./shipments/cancel.ts");
    await withdraw(job);
  },
};
