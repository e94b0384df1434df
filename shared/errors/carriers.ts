/** Refusals of carriers and their shipments; part of the table in `errors.ts`. */
import type { Definition } from "./definition.ts";

export const carriersErrors = {
  carrier_not_found: { status: 404, fields: ["field"] },
  carrier_not_enabled: 409,
  carrier_incomplete: { status: 400, fields: ["field", "missing"] },
  carrier_refused: { status: 409, fields: ["reason"] },
  carrier_unavailable: 502,
  carrier_collects_no_cash: { status: 409, fields: ["amount", "currency"] },
  remittance_not_found: 404,
  remittance_exceeds_owed: { status: 409, fields: ["field", "owed", "currency"] },
  remittance_amount_mismatch: { status: 409, fields: ["field", "expected", "currency"] },
  charges_exceed_remittance: { status: 400, fields: ["field", "amount", "currency"] },
  remittance_reference_exists: 409,
  remittance_already_reversed: 409,
  shipment_cash_changes: {
    status: 409,
    fields: ["delivery_id", "carrier_code", "amount", "currency"],
  },
  shipment_with_other_carrier: 409,
  shipment_in_progress: 409,
  shipment_not_found: 404,
} as const satisfies Record<string, Definition>;
