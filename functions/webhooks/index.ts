import { feature, serve } from "../../shared/http/serve.ts";

export default serve("webhooks", [
  feature(
    "subscriptions",
    async () => (await import("./subscriptions/routes.ts")).subscriptions,
  ),
  feature("event-types", async () => (await import("./event-types/routes.ts")).eventTypes),
  feature("events", async () => (await import("./events/routes.ts")).webhookEvents),
  feature("internal", async () => (await import("./sender/routes.ts")).sender),
]);
