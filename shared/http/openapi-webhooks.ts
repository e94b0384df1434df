/** The events that Barid sends to subscribers, as the `webhooks` of the API document. */
import { translate } from "../i18n/index.ts";
import type { Json, Schemas } from "./openapi-components.ts";
import eventTypes from "./event-types.json" with { type: "json" };

/** The types that a field of an event's data can have; see integration.event_types. */
const types: Readonly<Record<string, Json>> = {
  uuid: { type: "string", format: "uuid" },
  string: { type: "string" },
  integer: { type: "integer" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  object: { type: "object" },
  array: { type: "array", items: {} },
  timestamp: { type: "string", format: "date-time" },
};

const event: Json = {
  type: "object",
  properties: {
    id: {
      type: "string",
      format: "uuid",
      description: "The same for each attempt: remember it, since an event comes at least once",
    },
    type: { type: "string", description: "What happened" },
    timestamp: { type: "string", format: "date-time", description: "When it happened" },
    tenant_id: { type: "string", format: "uuid" },
    data: { type: "object", description: "The event's own fields; later versions may add some" },
  },
  required: ["id", "type", "timestamp", "tenant_id", "data"],
};

const header = (name: string, description: string, type: string): Json => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type },
});

/** The headers of Standard Webhooks that each request carries. */
const parameters: Record<string, Json> = {
  webhook_id: header("webhook-id", "The event's id", "string"),
  webhook_timestamp: header(
    "webhook-timestamp",
    "When this attempt was signed, in seconds since 1970",
    "integer",
  ),
  webhook_signature: header(
    "webhook-signature",
    "`v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` with the subscription's secret, in Base64; of two, a space is between them",
    "string",
  ),
};

const responses: Record<string, Json> = {
  EventTaken: { description: "Taken" },
  EventUnwanted: { description: "No event is wanted any more: the subscription is switched off" },
  EventRefused: { description: "The event is sent again later" },
};

const refer = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** Each type of event as the request that a subscriber gets, and the components that these share. */
export function describeWebhooks(schemas: Schemas, tag: string) {
  const common = schemas.add("Event", event);
  const webhooks = Object.fromEntries(
    eventTypes.map(({ event_type: type, module, event_data }) => {
      const name = type.replace(".", "_");
      const whose = module ? `the module \`${module}\`` : "the module that it is about";
      const own = {
        type: "object",
        properties: { type: { const: type }, data: dataOf(event_data) },
        required: ["type", "data"],
      };
      return [type, {
        post: {
          operationId: `event_${name}`,
          tags: [tag],
          summary: type,
          description: `${translate("en", `event_${name}`)} Subscriptions of ${whose} hear of it.`,
          security: [],
          parameters: Object.keys(parameters).map((name) => refer("parameters", name)),
          requestBody: {
            required: true,
            content: { "application/json": { schema: { allOf: [common, own] } } },
          },
          responses: {
            "2XX": refer("responses", "EventTaken"),
            410: refer("responses", "EventUnwanted"),
            "4XX": refer("responses", "EventRefused"),
          },
        },
      }];
    }),
  );
  return { webhooks, parameters, responses };
}

function dataOf(fields: Readonly<Record<string, string | undefined>>): Json {
  const properties = Object.entries(fields as Record<string, string>).map(([name, written]) => {
    const { type, ...rest } = types[written.replace("?", "")]!;
    return [name, { type: written.endsWith("?") ? [type, "null"] : type, ...rest }];
  });
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: Object.keys(fields),
  };
}
