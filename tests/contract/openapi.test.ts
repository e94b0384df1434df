/** The API reference is valid OpenAPI 3.1 and leaves nothing out. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { ErrorCode } from "../../shared/errors/errors.ts";
import { translate } from "../../shared/i18n/index.ts";
import { jsonSchemaOf } from "../../shared/schemas/json-schema.ts";
import { slugs } from "../../supabase/local/paths.ts";
import { nobody } from "../support/api.ts";
import { filesIn, textOf } from "../tools/checks/files.ts";
import { operations } from "./functions.ts";

interface Described {
  operationId: string;
  summary: string;
  tags: string[];
  parameters: { name: string; in: string; required: boolean; schema: unknown }[];
  requestBody?: {
    description?: string;
    content: Record<string, { schema: { properties?: object } }>;
  };
  responses: Record<string, { description: string }>;
}
// A type, not an interface: the validator wants something that can be indexed.
type Document = {
  openapi: string;
  tags: { name: string; description: string }[];
  components: { responses: Record<string, { description: string }>; schemas: object };
  paths: Record<string, Record<string, Described>>;
  webhooks?: Record<string, Record<string, Described>>;
};

const documents = new Map(
  await Promise.all(
    slugs.map(async (slug) =>
      [slug as string, (await nobody.get(`/${slug}/openapi.json`)).body as Document] as const
    ),
  ),
);
/** The target of a reference in a document; a part that is no reference is returned as it is. */
function resolved<T>(document: Document, part: T | { $ref: string }): T {
  const ref = (part as { $ref?: string }).$ref;
  if (!ref) return part as T;
  // deno-lint-ignore no-explicit-any -- a document of any shape
  return ref.slice(2).split("/").reduce((at: any, name) => at[name], document);
}
const clients = operations.filter(({ endpoint }) => !endpoint.internal);
function described({ slug, path, endpoint }: typeof clients[number]): Described | undefined {
  const document = documents.get(slug)!;
  const is = document.paths[path.replace(/:(\w+)/g, "{$1}")]?.[endpoint.method];
  if (!is) return undefined;
  const content = is.requestBody?.content["application/json"];
  return {
    ...is,
    parameters: is.parameters.map((parameter) => resolved(document, parameter)),
    ...(content && {
      requestBody: {
        ...is.requestBody,
        content: { "application/json": { schema: resolved(document, content.schema) } },
      },
    }),
    responses: Object.fromEntries(
      Object.entries(is.responses).map((
        [status, response],
      ) => [status, resolved(document, response)]),
    ),
  };
}
const keysOf = (schema: z.ZodType | undefined) =>
  schema
    ? Object.keys(
      (jsonSchemaOf(schema, "input") as { properties?: object })
        .properties ?? {},
    )
    : [];
/** The names of operations of which something is missing. */
const missing = (what: (operation: typeof clients[number], is: Described) => string[]) =>
  clients.flatMap((operation) => {
    const is = described(operation);
    return is ? what(operation, is).map((name) => `${operation.name}: ${name}`) : [];
  });

describe.each([...documents])("/%s/openapi.json", (_, document) => {
  test("is valid OpenAPI 3.1", async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  });
});

describe("the reference", () => {
  test("has every endpoint for clients and no other", () => {
    const listed = [...documents.values()].flatMap(({ paths }) =>
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
      )
    );
    expect(listed.sort()).toEqual(
      clients.map(({ name }) => name.replace(/:(\w+)/g, "{$1}")).sort(),
    );
  });

  test("gives each operation a name of its own and a summary", () => {
    const all = clients.flatMap((operation) => described(operation) ?? []);
    expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(clients.length);
    expect(all.filter(({ summary }) => !(summary?.length > 5))).toEqual([]);
  });

  test("has every schema that the code gives a name", () => {
    const shown = new Set(
      [...documents.values()].flatMap(({ components }) => Object.keys(components.schemas)),
    );
    const named = ["functions", "shared"].flatMap(filesIn).flatMap((file) =>
      [...textOf(file).matchAll(/\.meta\(\s*\{\s*id: "(\w+)"/g)].map(([, name]) => name!)
    );
    expect(named.length).toBeGreaterThan(200);
    const unused = named.filter((name) =>
      !["", "Input", "Change"].some((ending) => shown.has(name + ending))
    );
    expect(unused).toEqual([]);
  });

  test("says a sentence of every group", () => {
    const silent = [...documents].flatMap(([slug, { tags }]) =>
      tags.filter(({ description }) => !/^[A-Z].{10,}\.$/.test(description)).map(({ name }) =>
        `${slug}: ${name}`
      )
    );
    expect(silent).toEqual([]);
  });

  test("has no group without an operation", () => {
    const groups = [...documents].flatMap(([slug, { tags, paths, webhooks = {} }]) => {
      const used = Object.values({ ...paths, ...webhooks }).flatMap(Object.values).flatMap((
        is: Described,
      ) => is.tags);
      return tags.filter(({ name }) => !used.includes(name)).map(({ name }) => `${slug}: ${name}`);
    });
    expect(groups).toEqual([]);
  });

  test("documents every parameter of a path and of a query", () => {
    expect(missing(({ path, endpoint }, is) => [
      ...[...path.matchAll(/:(\w+)/g)].map((match) => match[1])
        .filter((name) =>
          !is.parameters.some((p) => p.in === "path" && p.name === name && p.required)
        ),
      ...keysOf(endpoint.query)
        .filter((name) => !is.parameters.some((p) => p.in === "query" && p.name === name)),
    ])).toEqual([]);
  });

  test("says that pages and limits are numbers, as typed clients send them", () => {
    const named = /^(page|page_size|limit|month|year)$/;
    expect(missing((_, is) =>
      is.parameters.filter((p) => p.in === "query" && named.test(p.name))
        .filter((p) => (p.schema as { type?: string }).type !== "integer")
        .map((p) => p.name)
    )).toEqual([]);
  });

  test("documents every field of a body", () => {
    expect(missing(({ endpoint }, is) => {
      const schema = is.requestBody?.content["application/json"]?.schema;
      if (endpoint.body && !schema) return ["body"];
      return keysOf(endpoint.body).filter((name) =>
        !Object.keys(schema?.properties ?? {}).includes(name)
      );
    })).toEqual([]);
  });

  test("documents every column of a file", () => {
    expect(missing(({ endpoint }, is) => {
      if (!endpoint.csv) return [];
      const { description, content } = is.requestBody!;
      if (!content["text/csv"]) return ["text/csv"];
      return keysOf(endpoint.csv.line).filter((name) => !description!.includes(`\`${name}\``));
    })).toEqual([]);
  });

  test("documents every refusal an endpoint declares", () => {
    expect(missing(({ endpoint }, is) => {
      const text = Object.values(is.responses).map(({ description }) => description).join();
      // Some endpoints keep their codes to themselves and tell the words alone.
      const told = (code: ErrorCode) =>
        endpoint.omitErrorCode ? translate("en", code) : `\`${code}\``;
      return (endpoint.errors ?? []).filter((code) => !text.includes(told(code)));
    })).toEqual([]);
  });
});

test.each([
  ["delivery", "FieldTooLargeError", ["bytes_max"]],
  ["delivery", "DeliveryPriceChangedError", ["price_before", "price_after"]],
  ["delivery", "ItemPricesNotCodError", ["cod_amount", "items_total"]],
  ["storefront", "InsufficientStockError", ["requested", "available"]],
  ["tenants", "ApiKeyLimitReachedError", ["max"]],
])("of %s: %s says that %j are numbers, as they are answered", (slug, name, fields) => {
  const schemas = documents.get(slug)!.components.schemas as Record<
    string,
    { properties: Record<string, unknown> }
  >;
  for (const field of fields) {
    expect(schemas[name]!.properties[field], field).toEqual({ type: "number" });
  }
});
