import { z } from "zod";
import { listResponse, PersonRef } from "../../../shared/schemas/schemas.ts";
import { Subscription } from "../subscriptions/schemas.ts";

const MerchantSubscription = Subscription.omit({ module: true }).extend({
  owner: PersonRef.meta({ description: "The merchant whose subscription it is" }),
}).meta({ id: "MerchantWebhookSubscription" });

export const SetMerchantSubscription = z.object({
  is_active: z.boolean().meta({
    description: "false: stop it, which the merchant cannot undo; true: end that and start it",
  }),
}).meta({ id: "SetMerchantWebhookSubscription" });

export const MerchantSubscriptionsResponse = listResponse(MerchantSubscription);
export const MerchantSubscriptionResponse = z.object({ subscription: MerchantSubscription });
