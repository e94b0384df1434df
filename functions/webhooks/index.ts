import { feature, serve } from "../../shared/http/serve.ts";
import { company } from "./access.ts";

export default serve("webhooks", [
  feature(
    { subscriptions: "Subscribers: addresses, event types and signing secrets." },
    async () => (await import("./subscriptions/routes.ts")).subscriptionsOf(company),
  ),
  feature(
    {
      "merchant-subscriptions":
        "Subscriptions of the company's merchants: who listens where, and to stop them.",
    },
    async () => (await import("./merchant-subscriptions/routes.ts")).merchantSubscriptions,
  ),
  feature(
    { "event-types": "Event types that can be subscribed to, with an example of each." },
    async () => (await import("./event-types/routes.ts")).eventTypesOf(company),
  ),
  feature(
    { events: "Deliveries of events to subscribers, their attempts and retries." },
    async () => (await import("./events/routes.ts")).eventsOf(company),
  ),
  feature(
    { own: "A merchant's own subscription, and what was sent to it." },
    async () => (await import("./own/routes.ts")).own,
  ),
  feature({ internal: "" }, async () => (await import("./sender/routes.ts")).sender),
]);
