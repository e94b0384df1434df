/** The refusals of an operation as OpenAPI responses: by status, with their codes and the fields that come along. */
import { type ErrorCode, publicFieldsOf, statusOf } from "../errors/errors.ts";
import { template } from "../i18n/index.ts";
import type { Json, Schemas } from "./openapi-components.ts";

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
  available: number,
  balance: number,
  bin: {
    type: "object",
    properties: { id: { type: "string", format: "uuid" }, code: text },
    required: ["id", "code"],
  },
  branches: { type: "array", items: { type: "object" } },
  bytes_max: number,
  calculated_unit_size: number,
  capacity: { type: ["number", "null"] },
  cod_amount: number,
  count: number,
  current_warehouse_id: textOrNull,
  decimals: number,
  delivery_codes: { type: "array", items: number },
  delivery_ids: ids,
  due: {
    type: "object",
    properties: { cod: number, delivery_fee: number, currency: text },
    required: ["cod", "delivery_fee", "currency"],
  },
  error_count: number,
  errors: rows({ line: number, field: textOrNull, code: text, message: text }),
  expected: number,
  filled_capacity: number,
  handoff_id: textOrNull,
  held: number,
  invalid_ids: ids,
  item: number,
  items_total: number,
  kept_items: rows({ delivery_item_id: { type: "string", format: "uuid" }, quantity: number }),
  line: number,
  lines_max: number,
  manifests: { type: "array", items: { type: "object" } },
  max: number,
  minimum: number,
  missing: { type: "array", items: text },
  missing_zones: ids,
  owed: number,
  price_after: number,
  price_before: number,
  quantity_max: number,
  rejected: { type: "array", items: { type: "object" } },
  remaining_count: number,
  requested: number,
  required: number,
  reserved: number,
  scopes: { type: "array", items: text },
  sealed_at: textOrNull,
  services: { type: "array", items: text },
  setting_references: { type: "array", items: {} },
  status_reason: textOrNull,
  used: number,
  variant_id: textOrNull,
  warehouse: {
    type: "object",
    properties: { id: { type: "string", format: "uuid" }, name: text },
    required: ["id", "name"],
  },
  waybill_id: textOrNull,
};

/** The header that says when to repeat the call. */
const retryLater = [429, 503];

/** Responses that most operations share, by status: their codes say nothing of the single operation. */
const names: Readonly<Record<number, string>> = {
  401: "Unauthorized",
  413: "PayloadTooLarge",
  415: "UnsupportedMediaType",
  429: "TooManyRequests",
  500: "InternalServerError",
  503: "ServiceUnavailable",
};

/** Every refusal once, as a schema of its own, and the responses that are made of them. */
export class Refusals {
  readonly responses: Json = {};

  constructor(private readonly schemas: Schemas) {
    schemas.add("Error", {
      type: "object",
      description:
        "A refusal: nothing was done. `code` never changes; `message` is in the language asked for.",
      properties: { success: { const: false }, code: text, message: text },
      required: ["success", "code", "message"],
    });
  }

  /** The responses of an operation by status; of an endpoint that omits codes only the messages. */
  of(codes: ErrorCode[], omitsCode = false): Json {
    const byStatus: Record<number, ErrorCode[]> = {};
    for (const code of codes) (byStatus[statusOf(code)] ??= []).push(code);
    return Object.fromEntries(
      Object.entries(byStatus).map(([status, list]) => [
        status,
        this.shared(Number(status), this.response(Number(status), list, omitsCode)),
      ]),
    );
  }

  private response(status: number, codes: ErrorCode[], omitsCode: boolean): Json {
    const schemas = omitsCode ? [this.withoutCode()] : codes.map((code) => this.schema(code));
    return {
      description: omitsCode
        ? codes.map((code) => template("en", code)).join("\n\n")
        : codes.map((code) => `\`${code}\``).join(", "),
      ...(retryLater.includes(status) && {
        headers: { "Retry-After": { $ref: "#/components/headers/RetryAfter" } },
      }),
      content: {
        "application/json": { schema: schemas.length === 1 ? schemas[0] : { oneOf: schemas } },
      },
    };
  }

  /** The response, or a reference where it is the usual one of its status. */
  private shared(status: number, response: Json): Json {
    const name = names[status];
    if (!name) return response;
    const usual = this.responses[name] ??= response;
    return JSON.stringify(usual) === JSON.stringify(response)
      ? { $ref: `#/components/responses/${name}` }
      : response;
  }

  private schema(code: ErrorCode): Json {
    const fields = publicFieldsOf(code);
    return this.schemas.add(errorName(code), {
      description: template("en", code),
      allOf: [{ $ref: "#/components/schemas/Error" }],
      type: "object",
      properties: {
        code: { const: code },
        ...Object.fromEntries(fields.map((field) => [field, fieldSchemas[field] ?? text])),
      },
    });
  }

  private withoutCode(): Json {
    return this.schemas.add("ErrorWithoutCode", {
      type: "object",
      description: "A refusal of an endpoint whose answers carry no code.",
      properties: { success: { const: false }, message: text },
      required: ["success", "message"],
    });
  }
}

/** `delivery_not_found`: `DeliveryNotFoundError`. */
function errorName(code: string): string {
  return `${code.split("_").map((word) => word[0].toUpperCase() + word.slice(1)).join("")}Error`;
}
