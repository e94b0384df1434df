/** Refusals of events and webhooks; part of the table in `errors.ts`. */
import type { Definition } from "./definition.ts";

export const webhooksErrors = {
  // Events, webhooks and carriers
  event_not_found: 404,
  replay_too_large: { status: 400, fields: ["field"] },
  webhook_url_refused: { status: 400, fields: ["field"] },
  webhook_url_unresolved: { status: 400, fields: ["field"] },
  webhook_subscription_exists: 409,
  webhook_subscription_not_found: 404,
  webhook_subscription_inactive: 409,
  webhook_subscription_stopped: 409,
  webhook_event_not_found: 404,
  webhook_event_not_failed: 409,
  webhook_sender_failed: 502,
  sender_cash_not_collected: { status: 409, fields: ["amount", "currency"] },
  delivery_goes_in_legs: 409,
  delivery_not_external: 409,
  delivery_not_bookable: { status: 409, fields: ["status"] },
  invalid_signature: 401,
} as const satisfies Record<string, Definition>;
