/**
 * Every refusal Barid can give: its HTTP status and the parameters a client may see beside the
 * message. SQL and TypeScript name a code; its text stands under the same name in `i18n/<function>.<language>.json`.
 */
import type { Definition } from "./definition.ts";
import { generalErrors } from "./general.ts";
import { tenantsErrors } from "./tenants.ts";
import { deliveryErrors } from "./delivery.ts";
import { warehousingErrors } from "./warehousing.ts";
import { webhooksErrors } from "./webhooks.ts";
import { carriersErrors } from "./carriers.ts";
import { paymentErrors } from "./payment.ts";
import { storefrontErrors } from "./storefront.ts";

const definitions = {
  ...generalErrors,
  ...tenantsErrors,
  ...deliveryErrors,
  ...warehousingErrors,
  ...webhooksErrors,
  ...carriersErrors,
  ...paymentErrors,
  ...storefrontErrors,
} satisfies Record<string, Definition>;

export type ErrorCode = keyof typeof definitions;

/** Codes that any endpoint may answer; endpoints declare only what is theirs. */
export const commonCodes: readonly ErrorCode[] = [
  "validation_failed",
  "field_too_large",
  "invalid_uuid",
  "invalid_json",
  "unknown_field",
  "invalid_idempotency_key",
  "tenant_id_required",
  "payload_too_large",
  "unsupported_media_type",
  "unauthorized",
  "api_key_expired",
  "api_key_revoked",
  "api_key_stopped",
  "forbidden",
  "tenant_inactive",
  "tenant_not_found",
  "idempotency_conflict",
  "rate_limited",
  "internal_server_error",
  "service_unavailable",
  "outcome_unknown",
  "schema_outdated",
];

const table: Readonly<Record<string, Definition>> = definitions;

/** All codes, for the catalogue's tests and the reference. */
export const errorCodes = Object.keys(definitions) as ErrorCode[];

export function isErrorCode(word: string): word is ErrorCode {
  return Object.hasOwn(definitions, word);
}

export function statusOf(code: ErrorCode): number {
  const definition = table[code];
  return typeof definition === "number" ? definition : definition.status;
}

export function publicFieldsOf(code: ErrorCode): readonly string[] {
  const definition = table[code];
  return typeof definition === "number" ? [] : definition.fields;
}

/** The params of a refusal by the constraint of this name: the field it is about, where that is one. */
export function paramsOfConstraint(code: ErrorCode): { field?: string } {
  const definition = table[code];
  return typeof definition === "number" || !definition.field ? {} : { field: definition.field };
}

/**
 * A refusal on its way to the client. `params` fill the message and, where declared, the body;
 * `language` is the tenant's, for a client that asked for none.
 */
export class AppError extends Error {
  constructor(
    readonly code: ErrorCode,
    readonly params: Record<string, unknown> = {},
    readonly language?: string,
  ) {
    super(code);
  }
}
