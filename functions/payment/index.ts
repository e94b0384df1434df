import { feature, serve } from "../../shared/http/serve.ts";

export default serve(
  "payment",
  [
    feature(
      ["webhooks", "webhook-events"],
      async () => (await import("./webhooks/routes.ts")).webhooks,
    ),
    feature("gateways", async () => (await import("./settings/routes.ts")).gatewaySettings),
  ],
  async () => (await import("./jobs.ts")).jobs,
);
