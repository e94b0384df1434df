import { feature, serve } from "../../shared/http/serve.ts";

export default serve(
  "payment",
  [
    feature({
      webhooks: "Notices of payment gateways, signed by them.",
      "webhook-events": "Notices as they were processed, and those somebody has to look at.",
    }, async () => (await import("./webhooks/routes.ts")).webhooks),
    feature(
      { gateways: "Payment gateways of a company and their credentials." },
      async () => (await import("./settings/routes.ts")).gatewaySettings,
    ),
  ],
  async () => (await import("./jobs.ts")).jobs,
);
