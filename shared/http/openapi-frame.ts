/** The parts of a document that are the same whatever a function serves. */
import type { Json } from "./openapi-components.ts";

/** The head of a document. */
export const info = (title: string) => ({
  title,
  version: "1",
  description:
    "Delivery operations. Every answer carries `success`; a refusal carries a stable `code` and a " +
    "`message` in the language asked for with `?language=` or Accept-Language (en, ar, ku). In a POST null says " +
    "the same as leaving a field out; in a change it takes a value away, where that may be.",
  contact: { name: "Barid contributors" },
  license: { name: "MIT", identifier: "MIT" },
});

/** The ways to say who calls. */
export const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
  api_key: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "A company's or the system's API key; `Authorization: ApiKey <key>` says the same",
  },
  secret_key: {
    type: "apiKey",
    in: "header",
    name: "apikey",
    description: "The project's secret key, for its own servers; it is taken as a bearer token too",
  },
};

/** The fields of every answer that is no refusal. */
export const envelope = (success: Json): Json => ({
  type: "object",
  properties: {
    success,
    message: { type: "string", description: "In the language asked for." },
    ignored: {
      type: "array",
      items: { type: "string" },
      description:
        "Fields and query parameters that were sent and mean nothing here; absent when there are none.",
    },
  },
  required: ["success", "message"],
});

/** The headers that answers share. */
export const headers: Json = {
  ETag: { schema: { type: "string" }, description: "The version of what was read." },
  RetryAfter: { schema: { type: "integer" }, description: "Seconds to wait." },
};

/** The answers without a body that operations share. */
export const responses: Json = {
  NotModified: { description: "Not changed since the answer with this ETag." },
};
