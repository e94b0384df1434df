import { z } from "zod";
import { Id, listResponse, PersonRef, Timestamp } from "../../../shared/schemas/schemas.ts";
import { DisabledReason } from "../subscriptions/schemas.ts";

export const MerchantSubscription = z.strictObject({
  id: Id,
  owner: PersonRef.meta({ description: "The merchant whose subscription it is" }),
  url: z.string(),
  event_types: z.array(z.string()),
  is_active: z.boolean(),
  failing_since: Timestamp.nullable(),
  disabled_at: Timestamp.nullable(),
  disabled_reason: DisabledReason.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "MerchantWebhookSubscription" });

export const SetMerchantSubscription = z.object({
  is_active: z.boolean().meta({
    description: "false: stop it, which the merchant cannot undo; true: end that and start it",
  }),
}).meta({ id: "SetMerchantWebhookSubscription" });

export const MerchantSubscriptionsResponse = listResponse(MerchantSubscription);
export const MerchantSubscriptionResponse = z.object({ subscription: MerchantSubscription });
