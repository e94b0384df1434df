import { z } from "zod";
import { asciiDigits } from "../../../shared/schemas/digits.ts";
import {
  defineList,
  equal,
  fileParameters,
  foundBy,
  id,
  type List,
  someOf,
} from "../../../shared/api/list.ts";
import { Shortened } from "../../../shared/schemas/events.ts";
import { Id, listResponse, Timestamp } from "../../../shared/schemas/schemas.ts";
import { parseKeyset } from "../../../shared/api/cursor.ts";

const statuses = ["pending", "retrying", "success", "failed"] as const;
const limits = { default: 25, max: 100 };

const rows: List = defineList({
  view: "integration.webhook_events_list",
  sort: ["created_at"],
  params: {
    subscription_id: id("subscription_id"),
    status: someOf("status", statuses),
    event_type: equal("event_type"),
    entity_id: { ...foundBy("integration.webhook_events_about"), schema: Id },
  },
  limit: limits,
  tally: {
    name: "webhook_events",
    filters: ["subscription_id", "status"],
    // Kept totals count what was sent to a removed subscription until the clock has deleted it.
    readers: "app.sees_tenant() and integration.subscriptions_removed() = '{}'",
  },
});

/** Unlike in other lists, a page or limit that makes no sense is refused. */
const Whole = z.string().overwrite(asciiDigits).regex(/^[1-9]\d{0,8}$/).meta({
  type: "integer",
  pattern: undefined,
});
export const EventsQuery = z.object({
  page: Whole.optional().meta({ description: "Page, from 1" }),
  limit: Whole.refine((text) => Number(text) <= limits.max, { error: `at most ${limits.max}` })
    .optional().meta({ description: `Rows of a page: ${limits.default}, at most ${limits.max}` }),
  status: z.enum(statuses).optional(),
  event_type: z.string().max(200).optional(),
  entity_id: Id.optional().meta({ description: "Of the events about this record" }),
  ...fileParameters(),
}).transform(({ format, ...query }) => ({ ...query, keyset: parseKeyset({ format }, limits.max) }));

/** Deliveries of one subscription, the newest first. */
export const deliveriesOf = {
  run(
    db: Parameters<List["run"]>[0],
    subscription: string,
    { page = "1", limit = String(limits.default), keyset, times: _, ...filters }: z.output<
      typeof EventsQuery
    >,
  ) {
    return rows.run(db, {
      page: Number(page),
      limit: Number(limit),
      column_filters: {},
      keyset,
      filters: {
        subscription_id: subscription,
        ...Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)),
      },
    });
  },
};

export const WebhookEvent = z.strictObject({
  id: Id,
  subscription_id: Id,
  tenant_id: Id,
  event_type: z.string(),
  payload: z.unknown(),
  status: z.enum(statuses),
  http_status_code: z.int().nullable(),
  error_message: z.string().nullable(),
  retry_count: z.int(),
  created_at: Timestamp,
}).meta({ id: "WebhookEvent" });

export const EventResponse = z.object({ event: WebhookEvent });
export const EventsResponse = z.object({
  events: z.array(WebhookEvent.extend({ shortened: Shortened })),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
});

/** The outcome of an attempt made by hand. */
export const AttemptResponse = z.object({
  event_id: Id,
  status: z.enum(statuses),
  retry_count: z.int(),
});

export const AttemptsResponse = listResponse(z.strictObject({
  is_manual: z.boolean(),
  http_status_code: z.int().nullable(),
  latency_ms: z.int(),
  response_body: z.string().nullable(),
  error_message: z.string().nullable(),
  created_at: Timestamp,
}));
