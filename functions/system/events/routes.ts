import { anyOf, permission, service } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import {
  EventResponse,
  events,
  EventsResponse,
  MarkEvent,
  PublishEvent,
  PublishQuery,
  Replay,
  ReplayResponse,
} from "./schemas.ts";

const theSystem = anyOf(service(), permission("manage:system"));

/** System events, which modules publish for each other. */
export const systemEvents: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/events",
    summary: "List events of all tenants and of the platform, the newest first",
    access: permission("manage:system"),
    tenant: "none",
    query: events.query,
    response: EventsResponse,
    async run({ db, query }) {
      const { rows, ...page } = await events.run(db, query);
      return { events: rows, ...page };
    },
  }),
  endpoint({
    method: "get",
    path: "/events/:event_id",
    summary: "Read an event with all of its data",
    access: permission("manage:system"),
    tenant: "none",
    params: ids("event_id"),
    response: EventResponse,
    errors: ["event_not_found"],
    run: ({ db, params }) => db.call("integration.event_get", { id: params.event_id }),
  }),
  endpoint({
    method: "post",
    path: "/events",
    summary: "Publish an event",
    access: theSystem,
    tenant: "none",
    query: PublishQuery,
    body: PublishEvent,
    response: EventResponse,
    status: 201,
    run: ({ db, query, body }) =>
      db.call("integration.event_publish", {
        ...body,
        tenant_id: body.tenant_id === undefined ? query.tenant_id : body.tenant_id,
      }),
  }),
  endpoint({
    method: "put",
    path: "/events/:event_id",
    summary: "Say that an event was processed, or failed",
    access: theSystem,
    tenant: "none",
    params: ids("event_id"),
    body: MarkEvent,
    response: EventResponse,
    errors: ["event_not_found"],
    run: ({ db, params, body }) =>
      db.call("integration.event_mark", { ...body, id: params.event_id }),
  }),
  endpoint({
    method: "post",
    path: "/events/replay",
    summary: "Hand events of a span of time to their subscribers once more, or count them",
    access: theSystem,
    tenant: "none",
    body: Replay,
    response: ReplayResponse,
    errors: ["replay_too_large"],
    run: ({ db, body }) => db.call("integration.events_replay", body),
  }),
];
