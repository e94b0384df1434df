/** Parameters of an operation, and where those that many have stand once. */
import { type AnyEndpoint, readsOnly } from "../api/endpoint.ts";
import { rowsOf } from "../api/fields.ts";
import type { Json } from "./openapi-components.ts";

/** Parameters of many operations. */
export const commonParameters: Record<string, Json> = {
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
  fields: {
    name: "fields",
    in: "query",
    required: false,
    description:
      "Fields of the rows, or of the one row, separated by commas: only these and the row's key are sent",
    schema: { type: "string", maxLength: 2000 },
    example: "id,status",
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

/** Those of its parameters that every operation of its kind has. */
export function commonParametersOf(endpoint: AnyEndpoint): Json[] {
  const { tenant = "required", idempotency, version, response } = endpoint;
  const shared = (name: string) => ({ $ref: `#/components/parameters/${name}` });
  const list: Json[] = [shared("language")];
  if (tenant !== "none" && tenant !== "path") list.push(shared("tenant_id"));
  if (readsOnly(endpoint)) {
    if (rowsOf(endpoint)) list.push(shared("fields"));
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

type Operations = { parameters?: Json[] }[];

/** Parameters that several operations take alike move to one place: of each name the form that most of them take. */
export function shareParameters(operations: Operations): Json {
  const forms = new Map<string, { parameter: Json; used: number }>();
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters)) {
    if (parameter.$ref) continue;
    const text = JSON.stringify(parameter);
    const form = forms.get(text) ?? { parameter, used: 0 };
    forms.set(text, { ...form, used: form.used + 1 });
  }
  const shared: Json = {};
  const names = new Map<string, string>();
  for (const [text, { parameter, used }] of [...forms].sort(([, a], [, b]) => b.used - a.used)) {
    const name = parameter.in === "query"
      ? `${parameter.name}`
      : `${parameter.in}_${parameter.name}`;
    if (used < 2 || name in shared) continue;
    shared[name] = parameter;
    names.set(text, name);
  }
  for (const operation of operations) {
    operation.parameters = operation.parameters?.map((parameter) => {
      const name = names.get(JSON.stringify(parameter));
      return name ? { $ref: `#/components/parameters/${name}` } : parameter;
    });
  }
  return Object.fromEntries(
    Object.entries(shared).sort(([one], [other]) => one.localeCompare(other, "en")),
  );
}
