/** Refusals of payment gateways; part of the table in `errors.ts`. */
import type { Definition } from "./definition.ts";

export const paymentErrors = {
  // Payment gateways
  payment_method_not_found: { status: 404, fields: ["field"] },
  back_ref_required: { status: 400, fields: ["field"] },
  back_ref_not_allowed: { status: 400, fields: ["field"] },
  gateway_not_found: 404,
  gateway_not_configured: { status: 409, fields: ["field"] },
  gateway_incomplete: { status: 400, fields: ["field", "missing"] },
  gateway_unavailable: 503,
  payment_event_not_found: 404,
  payment_event_not_open: 409,
  payment_action_not_possible: { status: 409, fields: ["field", "reason"] },
} as const satisfies Record<string, Definition>;
