import { answerWhole } from "../../../shared/api/list.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import type { Keeper } from "../access.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { attemptByHand } from "../sender/by-hand.ts";
import {
  AttemptResponse,
  AttemptsResponse,
  deliveriesOf,
  EventResponse,
  EventsQuery,
  EventsResponse,
} from "./schemas.ts";

interface Attempts {
  attempts: Record<string, unknown>[];
}

/** Webhook deliveries: the event, the subscriber and the outcome. */
export const eventsOf = ({ at, reads, writes, stopped }: Keeper): AnyEndpoint[] => [
  endpoint({
    method: "get",
    path: `${at}/events/:subscriptionId`,
    summary: "List the deliveries of a subscription, the newest first",
    access: reads,
    params: ids("subscriptionId"),
    query: EventsQuery,
    response: EventsResponse,
    async run({ db, params, query }) {
      const { rows: events, ...page } = await deliveriesOf.run(db, params.subscriptionId, query);
      return { events, ...page };
    },
  }),
  endpoint({
    method: "get",
    path: `${at}/events/:eventId/payload`,
    summary: "Read a delivery with all of the data that was sent",
    access: reads,
    params: ids("eventId"),
    response: EventResponse,
    errors: ["webhook_event_not_found"],
    run: ({ db, params }) => db.call("integration.webhook_event_get", { event_id: params.eventId }),
  }),
  endpoint({
    method: "post",
    path: `${at}/events/:eventId/retry`,
    summary: "Send a failed delivery once more, now",
    access: writes,
    params: ids("eventId"),
    response: AttemptResponse,
    message: "webhook_attempt_finished",
    errors: [
      "webhook_event_not_found",
      "webhook_event_not_failed",
      "webhook_sender_failed",
      ...stopped,
    ],
    idempotency: "handler",
    run: ({ db, params, idempotencyKey }) =>
      attemptByHand(
        db,
        { core: "integration.retry_begin", input: { event_id: params.eventId } },
        idempotencyKey,
      ),
  }),
  endpoint({
    method: "get",
    path: `${at}/events/:eventId/attempts`,
    summary: "List the attempts of a delivery, the newest first",
    access: writes,
    params: ids("eventId"),
    response: AttemptsResponse,
    errors: ["webhook_event_not_found"],
    async run({ db, params }) {
      const { attempts } = await db.call<Attempts>("integration.attempts_get", {
        event_id: params.eventId,
      });
      return answerWhole(attempts);
    },
  }),
];
