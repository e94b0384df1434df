/**
 * Every refusal Barid can give: its HTTP status and the parameters a client may see beside the
 * message. SQL and TypeScript name a code; its text stands under the same name in `i18n/*.json`.
 */

import { manifestErrors } from "./manifest-errors.ts";
import { packageErrors } from "./package-errors.ts";
import { storeErrors } from "./store-errors.ts";
import { warehouseErrors } from "./warehouse-errors.ts";

type Definition = number | { status: number; fields: readonly string[] };

const definitions = {
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
  forbidden: 403,
  insufficient_permissions: 403,
  tenant_inactive: 403,
  transfer_manifest_disabled: 403,

  // Clashes
  idempotency_conflict: 409,
  version_conflict: { status: 412, fields: ["current_version"] },
  precondition_not_supported: { status: 400, fields: ["field"] },
  invalid_cursor: { status: 400, fields: ["field"] },
  conflict: 409,

  // Tenants and their people
  tenant_not_found: 404,
  user_not_found: 404,
  user_already_member: 409,
  user_being_added: 409,
  account_exists: { status: 409, fields: ["field"] },
  account_not_confirmed: 409,
  invitation_not_found: 404,
  invitation_not_pending: { status: 409, fields: ["status"] },
  mailbox_not_proven: 403,
  user_field_fixed: { status: 409, fields: ["field"] },
  invalid_roles: { status: 400, fields: ["field"] },
  weak_password: { status: 400, fields: ["field"] },
  cannot_deactivate_self: 409,
  api_key_not_found: 404,
  api_key_scope_not_held: { status: 403, fields: ["field", "scopes"] },
  api_key_expiry_past: { status: 400, fields: ["field"] },
  api_key_expiry_too_far: { status: 400, fields: ["field"] },
  api_key_ended: 409,
  api_key_not_a_person: 403,
  last_tenant_admin: 409,

  // The administration of tenants
  tenant_slug_taken: { status: 400, fields: ["field"] },
  invalid_tenant_slug: { status: 400, fields: ["field"] },
  tenant_name_required: { status: 400, fields: ["field"] },
  rbac_forbidden: 403,
  subscription_required: { status: 400, fields: ["field"] },
  subscription_not_found: 404,
  tenant_subscription_disabled: 403,

  // Settings
  manifest_workflow_required: { status: 400, fields: ["field"] },
  currency_in_use: { status: 409, fields: ["field"] },

  // Cash on delivery
  conflicting_selection: { status: 400, fields: ["field"] },
  cod_collection_ids_required: { status: 400, fields: ["field"] },
  cod_collections_not_pending: { status: 400, fields: ["field", "invalid_ids"] },
  mixed_driver_selection: { status: 400, fields: ["field"] },
  driver_id_required: { status: 400, fields: ["field"] },
  no_pending_collections: 400,
  settlement_amount_mismatch: { status: 400, fields: ["currency"] },
  invalid_receiver: { status: 400, fields: ["field"] },
  receiver_required: { status: 400, fields: ["field"] },
  settlement_idempotency_conflict: 409,
  cash_handover_required: { status: 409, fields: ["amount", "currency"] },
  settlement_not_found: 404,
  settlement_already_reversed: 409,
  settlement_not_reversible: 409,
  settlement_receipt_failed: { status: 409, fields: ["receipt_status"] },
  cod_collection_not_found: 404,
  cod_collection_not_settled: 400,
  handover_not_found: 404,
  handover_already_declared: 409,
  handover_not_cancellable: { status: 409, fields: ["from"] },
  handover_not_declared: { status: 409, fields: ["from"] },
  handover_not_in_discrepancy: { status: 409, fields: ["from"] },
  invalid_resolution: { status: 400, fields: ["field"] },
  cash_desk_not_found: { status: 404, fields: ["field"] },
  insufficient_desk_cash: { status: 409, fields: ["held", "currency"] },
  cash_refund_already_paid: 409,
  cash_refund_not_found: 404,
  cash_transfer_not_found: 404,
  cash_transfer_already_reversed: 409,

  // Network: places that manifests and deliveries use
  address_not_found: { status: 404, fields: ["field"] },
  processing_point_not_found: 404,
  processing_point_code_exists: 409,
  processing_point_in_use: { status: 409, fields: ["count", "manifests"] },
  processing_point_inactive: 409,
  institution_not_found: 404,
  branch_not_found: { status: 404, fields: ["field"] },
  branch_code_exists: 409,
  branch_code_ambiguous: { status: 409, fields: ["branches"] },
  branch_in_use: { status: 409, fields: ["count", "manifests"] },
  zone_not_found: { status: 404, fields: ["field"] },
  zone_name_exists: 409,
  zone_tag_not_found: 404,
  zone_tag_name_exists: 409,
  zone_tag_in_use: { status: 409, fields: ["services"] },
  barcode_batch_not_found: 404,
  barcode_serials_exhausted: 409,

  invalid_status_transition: { status: 409, fields: ["from", "to"] },

  // Deliveries
  delivery_not_found: { status: 404, fields: ["field", "delivery_codes", "delivery_ids"] },

  // Deliveries under way, handoffs, their exceptions and receipts
  customer_not_found: { status: 404, fields: ["field"] },
  delivery_place_required: { status: 400, fields: ["field"] },
  customer_required_for_cod: { status: 400, fields: ["field"] },
  customer_required_for_wallet: { status: 400, fields: ["field"] },
  wallet_is_the_senders: { status: 400, fields: ["field"] },
  carrier_code_required: { status: 400, fields: ["field"] },
  staging_warehouse_required: { status: 400, fields: ["field"] },
  service_not_for_returns: { status: 400, fields: ["field"] },
  original_not_delivered: { status: 409, fields: ["field", "status"] },
  return_already_exists: 409,
  return_under_way: { status: 409, fields: ["field", "delivery_ids", "return_delivery_id"] },
  delivery_barcode_taken: 409,
  assignment_not_accepted: { status: 409, fields: ["status"] },
  pickup_by_handoff: { status: 409, fields: ["handoff_id"] },
  delivery_proof_required: { status: 400, fields: ["field", "stage"] },
  cash_amount_mismatch: { status: 400, fields: ["field", "due"] },
  delivery_has_no_driver: 409,
  delivery_attempts_exhausted: {
    status: 409,
    fields: ["field", "attempts_used", "allowed_delivery_attempts"],
  },
  return_through_warehouse: 409,
  delivery_not_executable: 409,
  warehouse_preparation_inconsistent: { status: 409, fields: ["field", "delivery_ids"] },
  delivery_not_in_warehouse: 409,
  handoff_not_found: 404,
  handoff_not_pending: { status: 409, fields: ["status"] },
  delivery_exception_not_found: 404,
  delivery_exception_resolved: 409,
  delivery_item_not_found: { status: 404, fields: ["field"] },
  delivery_ended: { status: 409, fields: ["status"] },
  receiving_order_not_found: 404,
  bin_id_required_for_received_items: { status: 400, fields: ["field"] },
  damaged_too_much: { status: 400, fields: ["field"] },
  received_too_much: { status: 400, fields: ["field", "expected"] },

  // Services and prices
  delivery_service_id_required: { status: 400, fields: ["field"] },
  service_not_found: { status: 404, fields: ["field"] },
  delivery_service_not_available: { status: 400, fields: ["field"] },
  invalid_package: { status: 400, fields: ["field", "item", "name"] },
  unit_size_or_dimensions_required: 400,
  can_not_use_this_delivery_for_this_unit_size: {
    status: 400,
    fields: ["calculated_unit_size", "allowed_unit_min", "allowed_unit_max", "violation"],
  },

  service_code_already_exists: 409,
  delivery_type_not_found: { status: 404, fields: ["field"] },
  delivery_type_code_exists: 409,
  customer_ids_required_for_selected_access_mode: { status: 400, fields: ["field"] },
  invalid_customer_ids: { status: 400, fields: ["field", "invalid_ids"] },
  zone_ids_required_for_selected_zone_mode: { status: 400, fields: ["field"] },
  invalid_zone_ids: { status: 400, fields: ["field"] },
  zone_tag_ids_required_for_tag_selector: { status: 400, fields: ["field"] },
  invalid_zone_tag_ids: { status: 400, fields: ["field"] },
  allowed_delivery_attempts_must_be_positive_integer: { status: 400, fields: ["field"] },
  invalid_unit_range: { status: 400, fields: ["field"] },
  invalid_delivery_time_range: { status: 400, fields: ["field"] },
  delivery_service_type_change_blocked_by_settings: { status: 409, fields: ["setting_references"] },
  delivery_service_in_use: 409,
  delivery_service_in_use_by_settings: { status: 409, fields: ["setting_references"] },
  invalid_coordinates: { status: 400, fields: ["field"] },

  // Drivers and vehicles
  user_not_driver: { status: 409, fields: ["field"] },
  vehicle_not_found: { status: 404, fields: ["field"] },
  vehicle_inactive: { status: 409, fields: ["field"] },
  vehicle_in_use: 409,
  driver_vehicle_taken: { status: 409, fields: ["field"] },
  insufficient_vehicle_capacity: {
    status: 409,
    fields: ["field", "delivery_ids", "capacity", "used"],
  },

  // Assignments. What was asked wrongly is 400; what is not so at this moment, or no longer, is 409.
  // Capacity is judged under the locks of the writing transaction, so it is always the latter.
  duplicate_deliveries: { status: 400, fields: ["field", "delivery_ids"] },
  no_active_child_leg: { status: 400, fields: ["field", "delivery_ids"] },
  delivery_carrier_not_internal: { status: 400, fields: ["field", "delivery_ids"] },
  assignment_driver_required: { status: 400, fields: ["field"] },
  delivery_zone_validation_unavailable: { status: 400, fields: ["field", "delivery_ids"] },
  deliveries_zone_context_incomplete: { status: 400, fields: ["field", "delivery_ids"] },
  driver_not_allowed_in_pickup_zone: {
    status: 400,
    fields: ["field", "delivery_ids", "missing_zones"],
  },
  driver_not_allowed_in_delivery_zone: {
    status: 400,
    fields: ["field", "delivery_ids", "missing_zones"],
  },
  driver_not_allowed_in_zones: { status: 400, fields: ["field", "delivery_ids", "missing_zones"] },
  delivery_status_changed: { status: 409, fields: ["field", "delivery_ids"] },
  delivery_already_assigned: { status: 409, fields: ["field", "delivery_ids"] },
  driver_not_active: { status: 409, fields: ["field"] },
  driver_has_no_vehicle: { status: 409, fields: ["field"] },
  parent_exception_open: { status: 409, fields: ["field", "delivery_ids"] },
  delivery_has_open_exception: { status: 409, fields: ["field", "delivery_ids"] },
  warehouse_item_exception_open: { status: 409, fields: ["field", "delivery_ids"] },
  assignment_not_found: { status: 404, fields: ["field"] },
  bulk_assignment_not_found: 404,
  assignment_not_pending: 409,
  delivery_already_ordered: { status: 409, fields: ["field"] },
  delivery_already_picked_up: 409,
  same_driver: { status: 400, fields: ["field"] },
  nothing_to_hand_over: 409,
  handoff_already_pending: 409,
  invalid_sequence: { status: 400, fields: ["field"] },
  month_and_year_together: { status: 400, fields: ["field"] },

  ...manifestErrors,

  ...warehouseErrors,

  // Events, webhooks and carriers
  event_not_found: 404,
  replay_too_large: { status: 400, fields: ["field"] },
  webhook_url_refused: { status: 400, fields: ["field"] },
  webhook_url_unresolved: { status: 400, fields: ["field"] },
  webhook_subscription_exists: 409,
  webhook_subscription_not_found: 404,
  webhook_subscription_inactive: 409,
  webhook_event_not_found: 404,
  webhook_event_not_failed: 409,
  webhook_sender_failed: 502,
  carrier_not_found: 404,
  carrier_not_enabled: 409,
  carrier_incomplete: { status: 400, fields: ["field", "missing"] },
  carrier_refused: { status: 409, fields: ["reason"] },
  carrier_unavailable: 502,
  carrier_collects_no_cash: { status: 409, fields: ["amount", "currency"] },
  sender_cash_not_collected: { status: 409, fields: ["amount", "currency"] },
  remittance_not_found: 404,
  remittance_exceeds_owed: { status: 409, fields: ["field", "owed", "currency"] },
  remittance_amount_mismatch: { status: 409, fields: ["field", "expected", "currency"] },
  remittance_reference_exists: 409,
  remittance_already_reversed: 409,
  delivery_goes_in_legs: 409,
  delivery_not_external: 409,
  delivery_not_bookable: { status: 409, fields: ["status"] },
  shipment_cash_changes: {
    status: 409,
    fields: ["delivery_id", "carrier_code", "amount", "currency"],
  },
  shipment_with_other_carrier: 409,
  shipment_in_progress: 409,
  shipment_not_found: 404,
  invalid_signature: 401,
  ...storeErrors,

  ...packageErrors,

  // Ours to mend
  rate_limited: 429,
  internal_server_error: 500,
  service_unavailable: 503,
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
  "forbidden",
  "tenant_inactive",
  "tenant_not_found",
  "idempotency_conflict",
  "rate_limited",
  "internal_server_error",
  "service_unavailable",
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
