/** The background jobs of the payment function, by kind. */
import type { JobHandlers } from "../../shared/db/jobs.ts";

export const jobs: JobHandlers = {
  "payment.reconcile": async (job) => {
    const { checkPayment } = await import("../../shared/payment-gateways/checkout.ts");
    await checkPayment({ payment: String(job.payload.payment_id) }, 30);
  },
  "payment.seal_anew": async () => {
    const { sealAnew } = await import("./settings/seal-anew.ts");
    await sealAnew();
  },
};
