/** The background jobs of the payment function, by kind. */
import type { JobHandlers } from "../../shared/db/jobs.ts";
import { AppError } from "../../shared/errors/errors.ts";

export const jobs: JobHandlers = {
  "payment.reconcile": async (job) => {
    const { checkPayment } = await import("../../shared/payment-gateways/checkout.ts");
    // Cron asks again in minutes, as long as the payment may come; the log has said why it could not be asked now.
    await checkPayment({ payment: String(job.payload.payment_id) }, 30).catch((error) => {
      if (!(error instanceof AppError && error.code === "gateway_unavailable")) throw error;
    });
  },
  "payment.seal_anew": async () => {
    const { sealAnew } = await import("./settings/seal-anew.ts");
    await sealAnew();
  },
};
