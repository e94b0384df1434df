import { z } from "zod";
import { Id, LongText, Money, Timestamp } from "../../../shared/schemas/schemas.ts";

const types = ["MONTHLY", "ANNUAL", "UNLIMITED"] as const;

export const Subscription = z.object({
  type: z.enum(types),
  amount: Money,
  note_public: LongText.nullish(),
  note_internal: LongText.nullish(),
});

export const CreateSubscription = Subscription.extend({
  is_paid: z.boolean().default(true).meta({
    description:
      "False: it waits; the next paid one takes its place, or the tenant's activation begins it",
  }),
}).meta({ id: "CreateTenantSubscription" });

export const SubscriptionResponse = z.object({
  enabled: z.boolean().meta({ description: "Whether the system asks for subscriptions at all" }),
  subscription: z.object({
    id: Id,
    type: z.enum(types),
    status: z.enum(["PENDING", "ACTIVE", "CANCELLED"]),
    amount: z.number(),
    note_public: z.string().nullable(),
    note_internal: z.string().nullable().optional(),
    starts_at: Timestamp.nullable(),
    ends_at: Timestamp.nullable(),
    cancelled_at: Timestamp.nullable(),
    created_by: Id.nullable(),
    created_at: Timestamp,
  }).nullable(),
});
