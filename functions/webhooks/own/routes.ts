/** All that a merchant has of webhooks: one subscription, what was sent to it, and the events that merchants hear of. */
import { merchant } from "../access.ts";
import { eventTypesOf } from "../event-types/routes.ts";
import { eventsOf } from "../events/routes.ts";
import { subscriptionsOf } from "../subscriptions/routes.ts";

export const own = [
  ...subscriptionsOf(merchant),
  ...eventTypesOf(merchant),
  ...eventsOf(merchant),
];
