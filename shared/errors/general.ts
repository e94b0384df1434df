/** Refusals that any function can give; part of the table in `errors.ts`. */
import type { Definition } from "./definition.ts";

export const generalErrors = {
  // Asked wrongly
  validation_failed: { status: 400, fields: ["field"] },
  field_too_large: { status: 400, fields: ["field", "bytes_max"] },
  invalid_uuid: { status: 400, fields: ["field"] },
  invalid_json: 400,
  invalid_column_filters: { status: 400, fields: ["field"] },
  invalid_reference: { status: 400, fields: ["field"] },
  invalid_idempotency_key: 400,
  idempotency_key_required: 400,
  tenant_id_required: 400,
  payload_too_large: 413,
  unsupported_media_type: 415,
  not_found: 404,
  method_not_allowed: 405,

  // Files
  invalid_csv: { status: 400, fields: ["line"] },
  csv_empty: 400,
  csv_too_long: { status: 400, fields: ["lines_max"] },
  unknown_field: { status: 400, fields: ["field", "expected_field"] },
  unknown_column: { status: 400, fields: ["field"] },
  duplicate_column: { status: 400, fields: ["field"] },
  missing_column: { status: 400, fields: ["field"] },
  wrong_cell_count: 400,
  import_has_errors: { status: 400, fields: ["errors", "error_count"] },

  // Not allowed
  unauthorized: 401,
  api_key_expired: 401,
  api_key_revoked: 401,
  api_key_stopped: 401,
  forbidden: { status: 403, fields: ["field"] },
  insufficient_permissions: 403,
  tenant_inactive: 403,
  transfer_manifest_disabled: 403,

  // Clashes
  idempotency_conflict: 409,
  version_conflict: { status: 412, fields: ["current_version"] },
  precondition_not_supported: { status: 400, fields: ["field"] },
  invalid_cursor: { status: 400, fields: ["field"] },
  conflict: 409,

  // Ours to mend
  rate_limited: 429,
  internal_server_error: 500,
  service_unavailable: 503,
  outcome_unknown: 503,
  schema_outdated: 503,
} as const satisfies Record<string, Definition>;
