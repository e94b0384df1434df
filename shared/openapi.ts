/** Endpoints to an OpenAPI 3.1 document, from the same schemas that judge the requests. */
import { z } from "zod";
import { type AnyEndpoint, impliedCodes, readsOnly } from "./endpoint.ts";
import { commonCodes, type ErrorCode, publicFieldsOf, statusOf } from "./errors.ts";
import { translate } from "./i18n/index.ts";
import { listOf } from "./list.ts";

type Json = Record<string, unknown>;

/** The document of one function, served at `/<function>/openapi.json`. */
export function describeFunction(name: string, endpoints: readonly AnyEndpoint[]): Json {
  const paths: Record<string, Json> = {};
  const forClients = endpoints.filter((e) => !e.internal);
  for (const endpoint of forClients) {
    const path = `/${name}${endpoint.path === "/" ? "" : endpoint.path}`.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [endpoint.method]: describe(path, endpoint) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: `Barid ${name}`,
      version: "1",
      description:
        "Delivery operations. Every answer carries `success`; a refusal carries a stable `code` and a " +
        "`message` in the language asked for with `?language=` or Accept-Language (en, ar, ku).",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/functions/v1" }],
    tags: [...new Set(forClients.map((e) => tagOf(e)))].map((tag) => ({ name: tag })),
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
      schemas: { Failure: failure() },
    },
  };
}

function tagOf(endpoint: AnyEndpoint): string {
  return endpoint.path.split("/")[1]?.replace(/^:.*/, "tenant") || "root";
}

function describe(path: string, endpoint: AnyEndpoint): Json {
  const codes = [
    ...new Set([...(endpoint.errors ?? []), ...impliedCodes(endpoint), ...commonOf(endpoint)]),
  ];
  return {
    operationId: `${endpoint.method}_${
      path.slice(1).replace(/[{}]/g, "").replace(/[^a-z0-9A-Z]+/g, "_")
    }`,
    tags: [tagOf(endpoint)],
    summary: endpoint.summary,
    description: [
      `Who: ${endpoint.access.says}.`,
      endpoint.feature ? `Needs the tenant setting \`${endpoint.feature}.enabled\`.` : "",
    ].filter(Boolean).join(" "),
    ...(endpoint.access.open ? { security: [] } : {}),
    parameters: [
      ...parameters("path", endpoint.params),
      ...parameters("query", endpoint.query),
      ...commonParameters(endpoint),
    ],
    ...(endpoint.body
      ? { requestBody: { required: true, content: json(schemaOf(endpoint.body, "input")) } }
      : {}),
    responses: {
      [endpoint.status ?? 200]: success(endpoint),
      ...(readsOnly(endpoint) && typeof endpoint.response !== "string"
        ? { 304: { description: "Not changed since the answer with this ETag" } }
        : {}),
      ...refusals(codes),
    },
  };
}

function commonOf(endpoint: AnyEndpoint): ErrorCode[] {
  const hasInput = endpoint.body || endpoint.query || endpoint.params;
  return commonCodes.filter((code) => {
    if (endpoint.access.open && statusOf(code) === 401) return false;
    if (!hasInput && statusOf(code) === 400) return false;
    if (!endpoint.body && (statusOf(code) === 413 || statusOf(code) === 415)) return false;
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
    description: "Success",
    content: {
      ...json({
        ...schema,
        properties: {
          success: { const: true },
          message: { type: "string" },
          ...(schema.properties as Json),
          ...(list?.changes && {
            next_cursor: { type: ["string", "null"] },
            has_more: { type: "boolean" },
          }),
        },
        required: ["success", "message", ...((schema.required as string[]) ?? [])],
      }),
      ...(list && { "text/csv": { schema: { type: "string" } } }),
    },
  };
}

function refusals(codes: ErrorCode[]): Json {
  const byStatus: Record<number, ErrorCode[]> = {};
  for (const code of codes) (byStatus[statusOf(code)] ??= []).push(code);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, list]) => [status, {
      description: list.map((code) => `\`${code}\`: ${translate("en", code)}`).join("\n\n"),
      content: json({
        allOf: [{ $ref: "#/components/schemas/Failure" }, {
          type: "object",
          properties: {
            code: { enum: list },
            ...Object.fromEntries(list.flatMap(publicFieldsOf).map((field) => [field, {}])),
          },
        }],
      }),
    }]),
  );
}

function failure(): Json {
  return {
    type: "object",
    required: ["success", "code", "message"],
    properties: {
      success: { const: false },
      code: { type: "string" },
      message: { type: "string" },
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

function commonParameters(endpoint: AnyEndpoint): Json[] {
  const list: Json[] = [
    { name: "language", in: "query", required: false, schema: { enum: ["en", "ar", "ku"] } },
  ];
  if ((endpoint.tenant ?? "required") !== "none" && endpoint.tenant !== "path") {
    list.push({
      name: "tenant_id",
      in: "query",
      required: false,
      schema: { type: "string", format: "uuid" },
    });
  }
  if (!readsOnly(endpoint)) {
    list.push({
      name: "Idempotency-Key",
      in: "header",
      required: endpoint.idempotency === "required",
      schema: { type: "string", maxLength: 200 },
    });
    if (endpoint.version) {
      list.push({
        name: "If-Match",
        in: "header",
        required: false,
        description: "ETag of what you read: refused when the row has changed since",
        schema: { type: "string" },
      });
    }
  } else if (typeof endpoint.response !== "string") {
    list.push({
      name: "If-None-Match",
      in: "header",
      required: false,
      description: "ETag of what you have: 304 while it is still so",
      schema: { type: "string" },
    });
  }
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
