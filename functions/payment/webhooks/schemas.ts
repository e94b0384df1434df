import { z } from "zod";
import {
  defineList,
  equal,
  flag,
  forField,
  id,
  since,
  someOf,
  until,
} from "../../../shared/api/list.ts";
import { Id, LongText, Pagination, Timestamp } from "../../../shared/schemas/schemas.ts";

export const Received = z.object({});

const outcomes = ["processed", "ignored", "unmatched"] as const;
const resolutions = [
  "refunded_at_gateway",
  "credited_by_adjustment",
  "accepted",
  "dismissed",
] as const;
const actions = ["refund", "credit_wallet", "accept"] as const;

const Event = z.object({
  id: Id,
  gateway_code: z.string(),
  event_type: z.string(),
  proof: z.enum(["signature", "status"]).describe(
    "How we know that it is true: it was signed, or the gateway confirmed it when asked",
  ),
  outcome: z.enum(outcomes),
  reason: z.string().nullable(),
  payment_id: Id.nullable(),
  order_id: Id.nullable(),
  gateway_order_id: z.string().nullable(),
  gateway_transaction_id: z.string().nullable(),
  amount: z.string().nullable(),
  amount_unit: z.string().nullable(),
  currency: z.string().nullable(),
  resolution: z.enum(resolutions).nullable(),
  action: z.enum(actions).nullable().describe("What was booked; null: nothing"),
  resolution_note: z.string().nullable(),
  resolved_by: Id.nullable(),
  resolved_at: Timestamp.nullable(),
  is_open: z.boolean(),
  created_at: Timestamp,
}).meta({ id: "GatewayWebhookEvent" });

export const webhookEvents = defineList({
  view: "money.webhook_events_list",
  search: ["gateway_order_id", "gateway_transaction_id"],
  sort: ["created_at", "event_type", "outcome"],
  params: {
    gateway_code: equal("gateway_code"),
    outcome: someOf("outcome", outcomes),
    open: forField("is_open", flag("is_open")),
    payment_id: id("payment_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  limit: { default: 25, max: 100 },
});
export const EventsResponse = z.object({ data: z.array(Event), pagination: Pagination });
export const EventResponse = z.object({ data: Event });

export const Resolve = z.strictObject({
  resolution: z.enum(resolutions).describe("What was decided, for the record; books nothing"),
  action: z.enum(actions).nullish().meta({
    description:
      "`refund`: the money was given back at the gateway, and is booked in and out again; `credit_wallet`: it goes to the customer's wallet; `accept`: it counts as the payment, and where it is short the order is discounted by the difference. A refund that the gateway reported takes `refund` alone: what is left of the payment is booked as refunded, the rest as a loss of the company. Left out, nothing is booked",
  }),
  note: LongText.optional(),
}).meta({ id: "ResolveWebhookEvent" });
