/** Requests that an endpoint would take, made from its schemas and what a tenant has. */
import { randomUUID } from "node:crypto";
import type { Things } from "../support/everything.ts";
import { csvText } from "../support/files.ts";
import { newBarcode } from "../support/manifests.ts";
import type { Operation } from "./functions.ts";
import { exclusive, hints } from "./hints.ts";
import { type Input, kindOf, type Schema, schemaOf, type Slot } from "./slots.ts";

/** A request that names only what the tenant has; `slot` is filled even where it is optional. */
export function sampleOf(operation: Operation, all: Things, slot?: Slot): Input {
  const things = operation.path.startsWith("/warehousing/")
    ? { ...all, item: all.inventory_item as string }
    : all;
  const path = (part: keyof Input) => (slot?.[0] === part ? slot.slice(1) : []);
  const fill = (part: keyof Input) =>
    value(schemaOf(operation, part) ?? { type: "object" }, part, path(part), things);
  const body = schemaOf(operation, "body");
  const query = fill("query") as Record<string, unknown>;
  const filtered = path("query")[0] === "column_filters";
  if (filtered) {
    query.column_filters = JSON.stringify({ [String(path("query")[1])]: wanted(slot!, things) });
  }
  const input: Input = {
    params: Object.fromEntries(
      [...operation.path.matchAll(/:(\w+)/g)].map((
        [, name],
      ) => [
        name,
        String(
          things[
            kindOf(
              ["params", name],
              name === "id" || operation.slug === "webhooks" ? operation : undefined,
            ) ?? "user"
          ],
        ),
      ]),
    ),
    query: Object.fromEntries(Object.entries(query).map(([key, one]) => [key, String(one)])),
    body: body && fill("body"),
  };
  const asked = slot?.[0] === "body" ? String(slot[1]) : undefined;
  const hinted = (input.body ?? input.query) as Record<string, unknown>;
  for (const [name, hint] of Object.entries(hints[operation.name]?.(things, asked) ?? {})) {
    if (name !== asked) hinted[name] = hint;
  }
  const others = exclusive.find((line) => asked && line.includes(asked)) ?? [];
  for (const other of others.filter((name) => name !== asked && input.body)) {
    delete (input.body as Record<string, unknown>)[other];
  }
  return input;
}

function wanted(slot: Slot, things: Things): unknown {
  return things[kindOf(slot) ?? "item"];
}

function value(
  schema: Schema,
  name: string,
  path: readonly (string | number)[],
  things: Things,
): unknown {
  if (schema.anyOf) {
    const fits = schema.anyOf.find((one) =>
      path.length ? one.properties || one.items : one.type !== "null"
    );
    return value(fits ?? schema.anyOf[0], name, path, things);
  }
  if (schema.properties || schema.type === "object") {
    const keys = new Set([...schema.required ?? [], ...path.slice(0, 1).map(String)]);
    return Object.fromEntries(
      [...keys].filter((key) => schema.properties?.[key]).map((key) => [
        key,
        value(schema.properties![key], key, path[0] === key ? path.slice(1) : [], things),
      ]),
    );
  }
  if (schema.prefixItems) return schema.prefixItems.map((one) => value(one, name, [], things));
  if (schema.type === "array") {
    const length = path.length ? 1 : schema.minItems ?? 0;
    return Array.from({ length }, () => value(schema.items ?? {}, name, path.slice(1), things));
  }
  return simple(schema, name, things);
}

let serial = 0;
function simple(schema: Schema, name: string, things: Things): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (name === "barcode_value") return newBarcode();
  const kind = kindOf(["body", name]);
  if (kind) return things[kind];
  if (name === "email") return `person-${randomUUID()}@barid.test`;
  if (schema.format === "date-time") return "2026-01-01T00:00:00Z";
  if (schema.format === "date") return "2026-01-01";
  switch (schema.type) {
    case "boolean":
      return true;
    case "number":
    case "integer":
      return Math.max(1, schema.minimum ?? 1);
    case "null":
      return null;
    default:
      return `Word ${process.pid}-${++serial}`;
  }
}

/** The same request with something else in a slot. */
export function withValue(input: Input, slot: Slot, put: unknown): Input {
  const copy = structuredClone(input);
  if (slot[1] === "column_filters") {
    copy.query.column_filters = JSON.stringify({ [String(slot[2])]: put });
    return copy;
  }
  // A parameter is one text, whatever it is read as.
  const way = slot[0] === "query" ? slot.slice(0, 2) : slot;
  // deno-lint-ignore no-explicit-any -- walks into a request of any shape
  let at: any = copy;
  for (const step of way.slice(0, -1)) at = at[step];
  at[way.at(-1)!] = slot[0] === "body" ? put : String(put);
  return copy;
}

/** The headers a request cannot do without. */
export function headersOf({ endpoint }: Operation): Record<string, string> {
  const takesKey = endpoint.idempotency === "required" ||
    endpoint.errors?.includes("idempotency_key_required");
  return {
    ...(takesKey ? { "idempotency-key": randomUUID() } : {}),
    ...(endpoint.csv ? { "content-type": "text/csv" } : {}),
  };
}

/** The body as it is sent: an object, or the text of a file with this one line. */
export function bodyOf({ endpoint }: Operation, { body }: Input): unknown {
  const line = body && typeof body === "object" ? body : {};
  return endpoint.csv ? csvText([line]) : body ?? {};
}

/** A text without halves of surrogate pairs, which no URL can carry. */
export function wellFormed(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

/** Path and query of a request. */
export function urlOf({ path }: Operation, { params, query }: Input): string {
  const filled = path.replace(
    /:(\w+)/g,
    (_, name) => encodeURIComponent(wellFormed(params[name])),
  );
  const search = new URLSearchParams(query).toString();
  return search ? `${filled}?${search}` : filled;
}
