/** The refusals of an operation as OpenAPI responses: by status, with their codes and the fields that come along. */
import { type ErrorCode, publicFieldsOf, statusOf } from "../errors/errors.ts";
import { template } from "../i18n/index.ts";

type Json = Record<string, unknown>;
type Paths = Record<string, Record<string, { responses: Record<string, unknown> }>>;

const number = { type: "number" };
const ids = { type: "array", items: { type: "string", format: "uuid" } };
const rows = (properties: Json) => ({
  type: "array",
  items: { type: "object", properties, required: Object.keys(properties) },
});
const text = { type: "string" };
const textOrNull = { type: ["string", "null"] };

/** The types of the fields beside a code; the others are texts. */
const fieldSchemas: Readonly<Record<string, Json>> = {
  allowed_delivery_attempts: number,
  allowed_unit_max: number,
  allowed_unit_min: number,
  amount: number,
  attempts_used: number,
  branches: { type: "array", items: { type: "object" } },
  calculated_unit_size: number,
  capacity: { type: ["number", "null"] },
  count: number,
  current_warehouse_id: textOrNull,
  decimals: number,
  delivery_codes: { type: "array", items: number },
  delivery_ids: ids,
  due: number,
  error_count: number,
  errors: rows({ line: number, field: textOrNull, code: text, message: text }),
  expected: number,
  filled_capacity: number,
  handoff_id: textOrNull,
  held: number,
  invalid_ids: ids,
  line: number,
  lines_max: number,
  manifests: { type: "array", items: { type: "object" } },
  missing_zones: ids,
  owed: number,
  quantity_max: number,
  rejected: { type: "array", items: { type: "object" } },
  remaining_count: number,
  scopes: { type: "array", items: text },
  sealed_at: textOrNull,
  services: { type: "array", items: text },
  setting_references: { type: "array", items: {} },
  used: number,
  variant_id: textOrNull,
};

/** The header that says when to repeat the call. */
const retryLater = [429, 503];

/** Refusals by status; of an endpoint that keeps its codes to itself only the words. */
export function refusals(codes: ErrorCode[], keyless = false): Json {
  const byStatus: Record<number, ErrorCode[]> = {};
  for (const code of codes) (byStatus[statusOf(code)] ??= []).push(code);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, list]) => [status, {
      description: list.map((code) => {
        const words = template("en", code);
        return keyless ? words : `\`${code}\`: ${words}`;
      }).join("\n\n"),
      ...(retryLater.includes(Number(status)) && {
        headers: {
          "Retry-After": { schema: { type: "integer" }, description: "Seconds to wait" },
        },
      }),
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["success", ...(keyless ? [] : ["code"]), "message"],
            properties: {
              success: { const: false },
              ...(keyless ? {} : { code: { enum: list } }),
              message: text,
              ...Object.fromEntries(
                list.flatMap(publicFieldsOf).map((field) => [field, fieldSchemas[field] ?? text]),
              ),
            },
          },
        },
      },
    }]),
  );
}

/** Refusals that several operations give alike move to one place; what is left in theirs refers to it. */
export function shareRefusals(paths: Paths): Record<string, unknown> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const places = operations.flatMap(({ responses }) =>
    Object.keys(responses).filter((code) => Number(code) >= 300).map((code) => ({
      responses,
      code,
    }))
  );
  const byText = new Map<string, typeof places>();
  for (const place of places) {
    const text = JSON.stringify(place.responses[place.code]);
    byText.set(text, [...byText.get(text) ?? [], place]);
  }
  const shared: Record<string, unknown> = {};
  for (const alike of [...byText.values()].filter(({ length }) => length > 1)) {
    const [{ responses, code }] = alike;
    const before = Object.keys(shared).filter((name) => name.startsWith(code)).length;
    const name = before ? `${code}_${before + 1}` : code;
    shared[name] = responses[code];
    for (const place of alike) {
      place.responses[place.code] = { $ref: `#/components/responses/${name}` };
    }
  }
  return shared;
}
