/** Endpoints to an OpenAPI 3.1 document, from the same schemas that validate the requests. */
import type { z } from "zod";
import { columnsOf } from "../api/csv/columns.ts";
import type { CsvBody } from "../api/csv/read.ts";
import { type AnyEndpoint, impliedCodes, readsOnly } from "../api/endpoint.ts";
import { commonCodes, type ErrorCode, statusOf } from "../errors/errors.ts";
import { listOf } from "../api/list-declaration.ts";
import { describeFields, type Json, Schemas } from "./openapi-components.ts";
import { envelope, headers, info, responses, securitySchemes } from "./openapi-frame.ts";
import { commonParameters, commonParametersOf, shareParameters } from "./openapi-parameters.ts";
import { queryWords, words } from "./openapi-words.ts";
import { Refusals } from "./openapi-refusals.ts";
import { describeWebhooks } from "./openapi-webhooks.ts";
import type { Feature } from "./serve.ts";

/** A function as the document describes it: its endpoints, and a sentence for each first segment of their paths. */
type ServedPart = Pick<Feature, "sections"> & { endpoints: readonly AnyEndpoint[] };

/** The document of one function, served at `/<function>/openapi.json`. */
export function describeFunction(name: string, described: ServedPart): Json {
  return new Description().document(`Barid ${name}`, { [name]: described }, (_, tag) => tag);
}

/** One document of all functions: what clients are generated from. */
export function describeAll(functions: Record<string, ServedPart>): Json {
  return new Description().document("Barid", functions, (name, tag) => `${name}: ${tag}`);
}

/** Several values are sent with commas between. */
const isList = ({ anyOf = [] }: Json): boolean =>
  (anyOf as Json[]).some(({ type }) => type === "array");

type Described = Json & { tags: string[]; parameters: Json[] };

/** A document while it is made: operations first, which leave what they share among the components. */
class Description {
  private readonly schemas = new Schemas();
  private readonly refusals = new Refusals(this.schemas);

  document(
    title: string,
    functions: Record<string, ServedPart>,
    tagged: (name: string, tag: string) => string,
  ): Json {
    this.schemas.add("Success", envelope({ const: true }));
    const paths: Record<string, Record<string, Described>> = {};
    const tags = new Map<string, string>();
    for (const [name, { endpoints, sections }] of Object.entries(functions)) {
      for (const endpoint of endpoints.filter(({ internal }) => !internal)) {
        const path = `/${name}${endpoint.path === "/" ? "" : endpoint.path}`
          .replace(/:(\w+)/g, "{$1}");
        const tag = tagged(name, tagOf(endpoint));
        tags.set(tag, sections[tagOf(endpoint)] ?? "");
        paths[path] = {
          ...paths[path],
          [endpoint.method]: this.operation(path, endpoint, tag),
        };
      }
    }
    for (const [path, methods] of Object.entries(paths)) paths[path] = inOrder(methods);
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    const parameters = shareParameters(operations);
    // Events are subscribed to at one function.
    const tag = tagged("webhooks", "sent-events");
    const events = "webhooks" in functions ? describeWebhooks(this.schemas, tag) : undefined;
    if (events) tags.set(tag, "The requests that subscribers get, one for each type of event.");
    const { document, schemas } = this.schemas.finish({
      paths,
      ...(events && { webhooks: events.webhooks }),
      components: {
        securitySchemes,
        parameters: { ...commonParameters, ...parameters, ...events?.parameters },
        headers,
        responses: { ...responses, ...this.refusals.responses, ...events?.responses },
      },
    });
    // A refusal's fields stand in its message.
    const described = Object.entries(schemas).filter(([name]) => !name.endsWith("Error"));
    describeFields(described);
    describeFields([document.paths, document.webhooks]);
    return {
      openapi: "3.1.0",
      info: info(title),
      servers: [{ url: "/functions/v1" }],
      tags: [...tags].map(([name, description]) => ({ name, description })),
      security: [{ bearer: [] }, { api_key: [] }, { secret_key: [] }],
      ...document,
      components: { schemas, ...document.components },
    };
  }

  private operation(path: string, endpoint: AnyEndpoint, tag: string): Described {
    const codes = [
      ...new Set([...(endpoint.errors ?? []), ...impliedCodes(endpoint), ...commonOf(endpoint)]),
    ];
    const success = this.success(endpoint);
    return {
      operationId: `${endpoint.method}_${
        path.slice(1).replace(/[{}]/g, "").replace(/[^a-z0-9A-Z]+/g, "_")
      }`,
      tags: [tag],
      summary: endpoint.summary,
      description: [
        `Who: ${endpoint.access.description}.`,
        endpoint.feature ? `Needs the tenant setting \`${endpoint.feature}.enabled\`.` : "",
      ].filter(Boolean).join(" "),
      ...(endpoint.access.publicAccess ? { security: [] } : {}),
      parameters: [
        ...this.parameters("path", endpoint.params),
        ...this.parameters("query", endpoint.query),
        ...commonParametersOf(endpoint),
      ],
      ...this.requestBody(endpoint),
      responses: {
        [endpoint.status ?? 200]: success,
        ...(endpoint.otherStatus && { [endpoint.otherStatus]: success }),
        ...(readsOnly(endpoint) && typeof endpoint.response !== "string"
          ? { 304: { $ref: "#/components/responses/NotModified" } }
          : {}),
        ...this.refusals.of(codes, endpoint.omitErrorCode),
      },
    };
  }

  private parameters(place: "path" | "query", schema?: z.ZodType): Json[] {
    if (!schema) return [];
    const { properties = {}, required = [] } = this.schemas.of(schema, "change") as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    return Object.entries(properties).map(([name, { description, ...value }]) => ({
      name,
      in: place,
      required: place === "path" || required.includes(name),
      ...describedAs(description ?? queryWords[name] ?? words[name]),
      ...(isList(value) ? { explode: false } : {}),
      schema: value,
    }));
  }

  private requestBody(endpoint: AnyEndpoint): Json {
    if (endpoint.csv) return { requestBody: fileOf(endpoint.csv) };
    if (!endpoint.body) return {};
    // In a POST null stands for a field that may be left out; see `acceptPosted`.
    const schema = endpoint.method === "post"
      ? this.schemas.of(endpoint.body, "post", (schema) => withNulls(schema) as Json)
      : this.schemas.of(endpoint.body, "change");
    return { requestBody: { required: true, content: json(schema) } };
  }

  private success(endpoint: AnyEndpoint): Json {
    if (endpoint.response === "csv") {
      return { description: "The file", content: { "text/csv": { schema: { type: "string" } } } };
    }
    if (endpoint.response === "pdf") {
      return {
        description: "The document",
        content: { "application/pdf": { schema: { type: "string", format: "binary" } } },
      };
    }
    if (endpoint.response === "openmetrics") {
      return {
        description: "The metrics in the text format of OpenMetrics 1.0",
        content: { "application/openmetrics-text": { schema: { type: "string" } } },
      };
    }
    const schema = this.schemas.of(endpoint.response, "answer");
    const list = listOf(endpoint.query);
    if (list?.changes) {
      schema.properties = {
        ...schema.properties as Json,
        next_cursor: { type: ["string", "null"] },
        has_more: { type: "boolean" },
      };
    }
    const forms = schema.anyOf as Json[] | undefined;
    return {
      // A file is said in words: as a second media type it would make every typed answer a text as well.
      description: this.hasFileForm(endpoint)
        ? "Success; with `format=csv` the rows as text/csv"
        : "Success",
      ...((readsOnly(endpoint) || endpoint.version) && {
        headers: { ETag: { $ref: "#/components/headers/ETag" } },
      }),
      content: json(
        forms ? { anyOf: forms.map((form) => this.enveloped(form)) } : this.enveloped(schema),
      ),
    };
  }

  /** Lists are files as well, and details that take a format. */
  private hasFileForm(endpoint: AnyEndpoint): boolean {
    return this.parameters("query", endpoint.query).some(({ name }) => name === "format");
  }

  /** An answer, or one of its forms, with the fields that all answers have. */
  private enveloped({ $ref, additionalProperties, ...schema }: Json): Json {
    const named = $ref ? [this.schemas.open({ $ref })] : [];
    return {
      allOf: [this.envelopeOf(schema), ...named],
      ...schema,
      // Beside an allOf, additionalProperties would refuse the envelope.
      ...((named.length > 0 || additionalProperties === false) && { unevaluatedProperties: false }),
    };
  }

  /** Bulk calls say themselves whether anything was done. */
  private envelopeOf({ properties }: Json): Json {
    return "success" in (properties as Json ?? {})
      ? this.schemas.add("Outcome", envelope({ type: "boolean" }))
      : { $ref: "#/components/schemas/Success" };
  }
}

function tagOf(endpoint: AnyEndpoint): string {
  return endpoint.path.split("/")[1]?.replace(/^:.*/, "tenant") || "root";
}

const describedAs = (description: unknown): Json => description ? { description } : {};

/** The operations of a path in the order in which references list methods. */
function inOrder(methods: Record<string, Described>): Record<string, Described> {
  const place = (method: string) => ["get", "post", "put", "patch", "delete"].indexOf(method);
  return Object.fromEntries(Object.entries(methods).sort(([a], [b]) => place(a) - place(b)));
}

function withNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNulls);
  if (schema === null || typeof schema !== "object") return schema;
  const within = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, withNulls(value)]),
  );
  const { properties, required = [] } = within as { properties?: Json; required?: string[] };
  if (!properties) return within;
  const nullable = Object.entries(properties).map(([name, value]) =>
    required.includes(name) || takesNull(value as Json)
      ? [name, value]
      : [name, { anyOf: [value, { type: "null" }] }]
  );
  return { ...within, properties: Object.fromEntries(nullable) };
}

/** Whether a schema takes null already, as one without a type does. */
function takesNull({ type, anyOf, allOf, const: one, enum: some }: Json): boolean {
  if (anyOf) return (anyOf as Json[]).some(takesNull);
  if (allOf) return (allOf as Json[]).every(takesNull);
  if (one !== undefined || some) return one === null || (some as unknown[])?.includes(null);
  return type === undefined || [type].flat().includes("null");
}

/** A file as a body, with the names its heading may have. */
function fileOf({ line, maxLines }: CsvBody): Json {
  const { names, required } = columnsOf(line);
  return {
    required: true,
    description:
      `A heading and at most ${maxLines} lines, in UTF-8, with comma, semicolon or tab. Columns: ${
        names.map((name) => `\`${name}\``).join(", ")
      }. Needed: ${required.map((name) => `\`${name}\``).join(", ")}.`,
    content: { "text/csv": { schema: { type: "string" } } },
  };
}

function commonOf(endpoint: AnyEndpoint): ErrorCode[] {
  const hasBody = endpoint.body || endpoint.csv;
  const hasInput = hasBody || endpoint.query || endpoint.params;
  const { tenant = "required" } = endpoint;
  // The refusals of a call that declares no input.
  const sentAnyway = [
    tenant === "required" && "tenant_id_required",
    tenant !== "none" && "invalid_uuid",
    !readsOnly(endpoint) && "invalid_idempotency_key",
  ].filter(Boolean) as string[];
  return commonCodes.filter((code) => {
    if (endpoint.access.publicAccess && statusOf(code) === 401) return false;
    if (!hasInput && statusOf(code) === 400 && !sentAnyway.includes(code)) return false;
    if (!endpoint.body && code === "unknown_field") return false;
    if (!hasBody && (statusOf(code) === 413 || statusOf(code) === 415)) return false;
    return !(readsOnly(endpoint) && code === "idempotency_conflict");
  });
}

function json(schema: Json): Json {
  return { "application/json": { schema } };
}
