/** Endpoints to an OpenAPI 3.1 document, from the same schemas that validate the requests. */
import { z } from "zod";
import { columnsOf } from "../api/csv/columns.ts";
import type { CsvBody } from "../api/csv/read.ts";
import { type AnyEndpoint, impliedCodes, readsOnly } from "../api/endpoint.ts";
import { commonCodes, type ErrorCode, statusOf } from "../errors/errors.ts";
import { listOf } from "../api/list-declaration.ts";
import { refusals, shareRefusals } from "./openapi-refusals.ts";

type Json = Record<string, unknown>;

/** The document of one function, served at `/<function>/openapi.json`. */
export function describeFunction(name: string, endpoints: readonly AnyEndpoint[]): Json {
  return document(`Barid ${name}`, describePaths(name, endpoints, tagOf));
}

/** One document of all functions: what clients are generated from. */
export function describeAll(functions: Record<string, readonly AnyEndpoint[]>): Json {
  const paths = Object.entries(functions).map(([name, endpoints]) =>
    describePaths(name, endpoints, (endpoint) => `${name}: ${tagOf(endpoint)}`)
  );
  return document("Barid", Object.assign({}, ...paths));
}

type Paths = Record<string, Record<string, Described>>;
type Described = Json & { tags: string[]; responses: Record<string, unknown> };

function describePaths(
  name: string,
  endpoints: readonly AnyEndpoint[],
  tagged: (endpoint: AnyEndpoint) => string,
): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints.filter((e) => !e.internal)) {
    const path = `/${name}${endpoint.path === "/" ? "" : endpoint.path}`.replace(/:(\w+)/g, "{$1}");
    const operation = { ...describe(path, endpoint), tags: [tagged(endpoint)] };
    paths[path] = { ...paths[path], [endpoint.method]: operation };
  }
  return paths;
}

function document(title: string, paths: Paths): Json {
  const tags = new Set(
    Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(({ tags }) => tags)),
  );
  return {
    openapi: "3.1.0",
    info: {
      title,
      version: "1",
      description:
        "Delivery operations. Every answer carries `success`; a refusal carries a stable `code` and a " +
        "`message` in the language asked for with `?language=` or Accept-Language (en, ar, ku). In a POST null says " +
        "the same as leaving a field out; in a change it takes a value away, where that may be.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/functions/v1" }],
    tags: [...tags].map((name) => ({
      name,
      description: `Paths below ${name.replace(": ", "/")}`,
    })),
    security: [{ bearer: [] }, { api_key: [] }, { secret_key: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        api_key: { type: "apiKey", in: "header", name: "x-api-key" },
        secret_key: {
          type: "apiKey",
          in: "header",
          name: "apikey",
          description:
            "The project's secret key, for its own servers; it is taken as a bearer token too",
        },
      },
      parameters: commonParameters,
      responses: shareRefusals(paths),
    },
  };
}

function tagOf(endpoint: AnyEndpoint): string {
  return endpoint.path.split("/")[1]?.replace(/^:.*/, "tenant") || "root";
}

function describe(path: string, endpoint: AnyEndpoint): Json & { responses: Json } {
  const codes = [
    ...new Set([...(endpoint.errors ?? []), ...impliedCodes(endpoint), ...commonOf(endpoint)]),
  ];
  return {
    operationId: `${endpoint.method}_${
      path.slice(1).replace(/[{}]/g, "").replace(/[^a-z0-9A-Z]+/g, "_")
    }`,
    summary: endpoint.summary,
    description: [
      `Who: ${endpoint.access.description}.`,
      endpoint.feature ? `Needs the tenant setting \`${endpoint.feature}.enabled\`.` : "",
    ].filter(Boolean).join(" "),
    ...(endpoint.access.publicAccess ? { security: [] } : {}),
    parameters: [
      ...parameters("path", endpoint.params),
      ...parameters("query", endpoint.query),
      ...commonParametersOf(endpoint),
    ],
    ...(endpoint.body
      ? { requestBody: { required: true, content: json(bodyOf(endpoint, endpoint.body)) } }
      : {}),
    ...(endpoint.csv ? { requestBody: fileOf(endpoint.csv) } : {}),
    responses: {
      [endpoint.status ?? 200]: success(endpoint),
      ...(endpoint.otherStatus && { [endpoint.otherStatus]: success(endpoint) }),
      ...(readsOnly(endpoint) && typeof endpoint.response !== "string"
        ? { 304: { description: "Not changed since the answer with this ETag" } }
        : {}),
      ...refusals(codes, endpoint.omitErrorCode),
    },
  };
}

/** In a POST null stands for what may be left out; see `acceptPosted`. */
function bodyOf({ method }: AnyEndpoint, body: z.ZodType): Json {
  const schema = schemaOf(body, "input");
  return method === "post" ? withNulls(schema) as Json : schema;
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
function fileOf({ line, linesMax }: CsvBody): Json {
  const { names, required } = columnsOf(line);
  return {
    required: true,
    description:
      `A heading and at most ${linesMax} lines, in UTF-8, with comma, semicolon or tab. Columns: ${
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

function success(endpoint: AnyEndpoint): Json {
  if (endpoint.response === "csv") {
    return { description: "The file", content: { "text/csv": { schema: { type: "string" } } } };
  }
  if (endpoint.response === "pdf") {
    return {
      description: "The document",
      content: { "application/pdf": { schema: { type: "string", format: "binary" } } },
    };
  }
  const schema = schemaOf(endpoint.response, "output");
  const list = listOf(endpoint.query);
  return {
    // A file is said in words: as a second media type it would make every typed answer a text as well.
    description: list ? "Success; with `format=csv` the rows as text/csv" : "Success",
    headers: readsOnly(endpoint) || endpoint.version
      ? { ETag: { schema: { type: "string" }, description: "The version of what was read" } }
      : {},
    content: {
      ...json({
        ...schema,
        properties: {
          success: { const: true },
          message: { type: "string" },
          ignored: {
            type: "array",
            items: { type: "string" },
            description:
              "Fields and query parameters that were sent and mean nothing here; absent when there are none",
          },
          ...(schema.properties as Json),
          ...(list?.changes && {
            next_cursor: { type: ["string", "null"] },
            has_more: { type: "boolean" },
          }),
        },
        required: ["success", "message", ...((schema.required as string[]) ?? [])],
      }),
    },
  };
}

function parameters(place: "path" | "query", schema?: z.ZodType): Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = schemaOf(schema, "input") as {
    properties?: Json;
    required?: string[];
  };
  return Object.entries(properties).map(([name, value]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: value,
  }));
}

/** Parameters of many operations. */
const commonParameters: Record<string, Json> = {
  language: {
    name: "language",
    in: "query",
    required: false,
    description: "Language of messages; goes before Accept-Language",
    schema: { enum: ["en", "ar", "ku"] },
  },
  tenant_id: {
    name: "tenant_id",
    in: "query",
    required: false,
    description: "Another tenant of yours than the token's",
    schema: { type: "string", format: "uuid" },
  },
  idempotency_key: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "The same key and input give the first answer again",
    schema: { type: "string", maxLength: 200 },
  },
  if_match: {
    name: "If-Match",
    in: "header",
    required: false,
    description: "ETag of what you read: refused when the row has changed since",
    schema: { type: "string" },
  },
  if_none_match: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "ETag of what you have: 304 while it is still so",
    schema: { type: "string" },
  },
};

function commonParametersOf(endpoint: AnyEndpoint): Json[] {
  const { tenant = "required", idempotency, version, response } = endpoint;
  const shared = (name: string) => ({ $ref: `#/components/parameters/${name}` });
  const list: Json[] = [shared("language")];
  if (tenant !== "none" && tenant !== "path") list.push(shared("tenant_id"));
  if (readsOnly(endpoint)) {
    if (typeof response !== "string") list.push(shared("if_none_match"));
    return list;
  }
  list.push(
    idempotency === "required"
      ? { ...commonParameters.idempotency_key, required: true }
      : shared("idempotency_key"),
  );
  if (version) list.push(shared("if_match"));
  return list;
}

function json(schema: Json): Json {
  return { "application/json": { schema } };
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    target: "draft-2020-12",
  });
  return rest as Json;
}
