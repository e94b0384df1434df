import { feature, serve } from "../../shared/http/serve.ts";

export default serve("carriers", [
  feature({
    tenant:
      "External carriers of a company: configuration, credentials, and the cash they collect.",
  }, async () => [
    ...(await import("./tenant/routes.ts")).tenantCarriers,
    ...(await import("./cash/routes.ts")).carrierCash,
  ]),
  feature(
    { shipments: "Bookings of deliveries with external carriers." },
    async () => (await import("./shipments/routes.ts")).shipments,
  ),
  feature(
    { webhooks: "Status reports from carriers, signed by them." },
    async () => (await import("./inbound/routes.ts")).carrierWebhooks,
  ),
], async () => (await import("./jobs.ts")).jobs);
