import { feature, serve } from "../../shared/http/serve.ts";

export default serve("carriers", [
  feature("tenant", async () => [
    ...(await import("./tenant/routes.ts")).tenantCarriers,
    ...(await import("./cash/routes.ts")).carrierCash,
  ]),
  feature("shipments", async () => (await import("./shipments/routes.ts")).shipments),
  feature("webhooks", async () => (await import("./inbound/routes.ts")).carrierWebhooks),
]);
