import { z } from "zod";
import { ExactInstant, Id, LongText, Timestamp } from "../../../shared/schemas/schemas.ts";

const Url = LongText.min(1).meta({
  description: "https, on port 443 or 8443, of a host on the public internet",
});
const EventType = z.string().max(100).regex(/^(\*|[a-z][a-z0-9_]*(\.(\*|[a-z][a-z0-9_]*))?)$/)
  .meta({ description: "A type (`delivery.delivered`), a family (`delivery.*`) or all (`*`)" });

export const CreateSubscription = z.object({
  module_id: Id,
  url: Url,
  event_types: z.array(EventType).min(1).max(100),
  is_active: z.boolean().optional(),
}).meta({ id: "CreateWebhookSubscription" });

export const UpdateSubscription = CreateSubscription.omit({ module_id: true }).partial().meta({
  id: "UpdateSubscription",
});

/** A span of time in which deliveries were queued. */
export const Recover = z.object({
  since: ExactInstant,
  until: ExactInstant.optional().describe(
    "To that moment, which belongs to it; to now unless said",
  ),
  succeeded: z.boolean().nullish().describe(
    "Those that the subscriber accepted as well, under their old ids: it was restored from a backup",
  ),
  dry_run: z.boolean().optional(),
}).meta({ id: "RecoverWebhookEvents" });

export const Recovered = z.object({
  requeued: z.int().meta({ description: "Deliveries of that time that are sent again" }),
  waiting: z.int().meta({
    description:
      "Deliveries that waited for their next attempt, of whatever time: they are due now",
  }),
  dry_run: z.boolean(),
});

const Module = z.object({ id: Id, key: z.string(), name: z.record(z.string(), z.string()) }).meta({
  id: "WebhookModule",
});

const DisabledReason = z.enum(["gone", "failing", "stopped"]).meta({
  description:
    "gone: the address answered 410; failing: five days of failures; stopped: the company stopped a merchant's",
});

export const Subscription = z.strictObject({
  id: Id,
  module: Module,
  url: z.string(),
  event_types: z.array(z.string()),
  is_active: z.boolean(),
  failing_since: Timestamp.nullable(),
  disabled_at: Timestamp.nullable(),
  disabled_reason: DisabledReason.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "WebhookSubscription" });

/** Of every module one entry, and for a merchant the one of deliveries; without an id nothing is saved for it. */
export const SubscriptionsResponse = z.object({
  subscriptions: z.array(Subscription.extend({
    id: Id.nullable(),
    url: z.string().nullable(),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })),
});
const SavedSubscription = z.object({
  subscription: Subscription,
  unknown_event_types: z.array(z.string()).optional().meta({
    description:
      "Of the types that were sent, those that nothing is known of: neither Barid writes them nor were they published for the tenant",
  }),
});
/** A subscription that was saved, and which types do not reach it: by whose it is. */
export const SubscriptionResponse = {
  company: SavedSubscription.extend({
    other_module_event_types: z.array(z.string()).optional().meta({
      description:
        "Of the types that were sent, those that the subscriptions of other modules hear of alone",
    }),
  }),
  merchant: SavedSubscription.extend({
    company_event_types: z.array(z.string()).optional().meta({
      description:
        "Of the types that a merchant sent, those that the company's own subscriptions hear of alone",
    }),
  }),
};
const Secret = z.string();
/** The secret is returned here only. */
export const SubscriptionCreated = {
  company: SubscriptionResponse.company.extend({ secret: Secret }),
  merchant: SubscriptionResponse.merchant.extend({ secret: Secret }),
};
export const SecretRotated = z.object({
  subscription: Subscription,
  secret: Secret,
  previous_secret_expires_at: Timestamp,
});
