import { z } from "zod";
import { defineList, equal, id, since, someOf, until } from "../../../shared/api/list.ts";
import {
  ExactInstant,
  Id,
  Instant,
  JsonObject,
  LongText,
  Timestamp,
} from "../../../shared/schemas/schemas.ts";
import { Shortened } from "../../../shared/schemas/events.ts";
import { maxBytes, maxEventBytes } from "../../../shared/schemas/sizes.ts";

const statuses = ["pending", "processed", "failed"] as const;
const Word = z.string().trim().min(1).max(200);

export const events = defineList({
  view: "integration.system_events_list",
  sort: ["created_at"],
  params: {
    tenant_id: id("tenant_id"),
    event_type: equal("event_type"),
    source_module: equal("source_module"),
    target_module: equal("target_module"),
    status: someOf("status", statuses),
    entity_type: equal("entity_type"),
    entity_id: id("entity_id"),
    date_from: since("created_at"),
    date_to: until("created_at"),
  },
  tally: {
    name: "system_events",
    filters: ["status"],
    readers: "app.has_permission('manage:system')",
    ofAll: true,
  },
  limit: { default: 100, max: 500 },
});

export const PublishEvent = z.object({
  event_type: Word,
  source_module: Word,
  target_module: Word.nullish(),
  entity_type: Word,
  entity_id: Id,
  event_data: maxBytes(maxEventBytes, JsonObject),
  tenant_id: Id.nullish().meta({
    description:
      "Whose event it is; `null`: the platform's. Unsaid: the tenant of the query, else of the token",
  }),
}).meta({ id: "PublishSystemEvent" });
export const PublishQuery = z.object({
  tenant_id: Id.optional().meta({ description: "Whose event it is, where the body says nothing" }),
});

export const MarkEvent = z.object({
  status: z.enum(statuses),
  processed_at: Instant.meta({ description: "Without an offset it is UTC" }).nullish(),
  error_message: LongText.nullish(),
}).meta({ id: "MarkSystemEvent" });

export const Replay = z.object({
  since: ExactInstant,
  until: ExactInstant.optional().describe(
    "To that moment, which belongs to it; to now unless said",
  ),
  event_type: Word.optional(),
  tenant_id: Id.optional(),
  dry_run: z.boolean(),
}).meta({ id: "ReplaySystemEvents" });

const SystemEvent = z.strictObject({
  id: Id,
  tenant_id: Id.nullable(),
  event_type: z.string(),
  source_module: z.string(),
  target_module: z.string().nullable(),
  entity_type: z.string(),
  entity_id: Id,
  event_data: JsonObject,
  status: z.enum(statuses),
  retry_count: z.int(),
  created_at: Timestamp,
  processed_at: Timestamp.nullable(),
  error_message: z.string().nullable(),
}).meta({ id: "SystemEvent" });

export const EventResponse = z.object({ event: SystemEvent });
export const EventsResponse = z.object({
  events: z.array(SystemEvent.extend({ shortened: Shortened })),
  page: z.int(),
  limit: z.int(),
  total: z.int(),
});
export const ReplayResponse = z.object({
  dry_run: z.boolean(),
  events: z.int().describe(
    "Events in that time; deliveries that were made or begun anew, or would be",
  ),
  created: z.int(),
  requeued: z.int(),
});
