/** What the payment function does behind the scenes, by the kind of the job. */
import type { JobHandlers } from "../../shared/db/jobs.ts";

export const jobs: JobHandlers = {
  "payment.reconcile": async (job) => {
    const { checkPayment } = await import("../../shared/payment-gateways/checkout.ts");
    await checkPayment({ payment: String(job.payload.payment_id) }, 30);
  },
};
