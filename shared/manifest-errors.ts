/** Refusals of manifests, their items and their exceptions; part of the table in `errors.ts`. */

/** The state of a manifest is in the way: the client is told which, and what it is. */
const ofManifest = {
  status: 409,
  fields: ["manifest_id", "manifest_number", "manifest_status"],
} as const;

export const manifestErrors = {
  manifest_not_found: 404,
  item_not_found: 404,
  assignment_ended: 409,
  item_already_has_order: 409,
  item_already_ordered: { status: 409, fields: ["delivery_code", "place", "service"] },
  manifest_bulk_order_creation_not_allowed: ofManifest,
  manifest_arrival_required: ofManifest,
  manifest_delivery_proof_required: ofManifest,
  manifest_bulk_receipt_incomplete: ofManifest,

  // Commits what was received, so it comes with 200 and `data`, never as a refusal.
  manifest_receiving_incomplete: 200,
  one_destination_required: { status: 400, fields: ["field"] },
  invalid_barcode: { status: 400, fields: ["field", "barcode_value"] },
  item_void: 409,
  item_has_open_exception: 409,
  item_status_not_allowed: 409,
  item_has_no_order: 409,
  order_creation_interrupted: 503,
  order_change_interrupted: 503,

  // The life of a manifest and its exceptions
  institution_inactive: 409,
  branch_inactive: 409,
  driver_not_found: { status: 404, fields: ["field"] },
  driver_inactive: 409,
  processing_point_required: { status: 400, fields: ["field"] },
  processing_point_choice_not_allowed: 403,
  manifest_workflow_not_allowed: { status: 403, fields: ["creation_source"] },
  barcode_already_used: { status: 409, fields: ["barcode_value"] },
  manifest_action_not_allowed: ofManifest,
  manifest_has_no_items: ofManifest,
  manifest_pickup_proof_required: ofManifest,
  receive_all_not_allowed: 403,
  manifest_items_missing: { status: 409, fields: [...ofManifest.fields, "remaining_count"] },
  manifest_has_open_exceptions: { status: 409, fields: [...ofManifest.fields, "count"] },
  manifest_items_unfinished: { status: 409, fields: [...ofManifest.fields, "count"] },
  invalid_exception_reason: { status: 400, fields: ["field"] },
  exception_already_open: 409,
  exception_not_open: 409,
  invalid_proof_url: { status: 400, fields: ["field"] },
} as const;
