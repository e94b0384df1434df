import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { operationsOrDriver } from "../access.ts";
import { answerWhole } from "../../../shared/api/list.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import {
  AttemptReasonsQuery,
  AttemptReasonsResponse,
  Outcome,
  OutcomeResponse,
  Undo,
  UndoResponse,
} from "./schemas.ts";

/** Reasons and outcomes of attempts at the door, and the undo of what a driver reported by mistake. */
export const outcomes: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/attempt-reasons",
    summary: "List the reasons for attempts that do not deliver, in the company's order",
    access: operationsOrDriver,
    query: AttemptReasonsQuery,
    response: AttemptReasonsResponse,
    run: async ({ db, query }) =>
      answerWhole(await db.call("delivery.attempt_reasons_read", query)),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/outcome",
    summary:
      "Report the outcome of an attempt at the door: delivered, wholly or in part, exchanged, failed, refused or postponed",
    access: operationsOrDriver,
    params: ids("delivery_id"),
    body: Outcome,
    response: OutcomeResponse,
    errors: [
      "delivery_not_found",
      "invalid_occurred_at",
      "delivery_status_changed",
      "assignment_ended",
      "assignment_not_accepted",
      "invalid_status_transition",
      "outcome_evidence_required",
      "invalid_reference",
      "invalid_postponed_to",
      "invalid_proof_url",
      "delivery_proof_required",
      "amount_is_for_part",
      "cash_amount_mismatch",
      "delivery_has_no_driver",
      "customer_required_for_cod",
      "insufficient_wallet_balance",
      "outcome_not_at_door",
      "order_amount_fixed",
      "partial_items_invalid",
      "item_prices_required",
      "return_already_exists",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.delivery_outcome", { ...body, id: params.delivery_id }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/outcome/undo",
    summary: "Undo the last outcome of a delivery: it is on its way again",
    access: operationsOrDriver,
    params: ids("delivery_id"),
    body: Undo,
    response: UndoResponse,
    errors: [
      "delivery_not_found",
      "assignment_ended",
      "no_outcome_to_undo",
      "carrier_reports_outcome",
      "outcome_already_undone",
      "undo_period_over",
      "outcome_went_on",
      "outcome_is_settled",
      "insufficient_wallet_balance",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.outcome_undo", { ...body, id: params.delivery_id }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/deliveries/:delivery_id/pickup/undo",
    summary: "Undo the pickup of a delivery at its sender's: it waits there for its driver again",
    access: operationsOrDriver,
    params: ids("delivery_id"),
    body: Undo,
    response: UndoResponse,
    errors: [
      "delivery_not_found",
      "assignment_ended",
      "assignment_not_accepted",
      "no_pickup_to_undo",
      "carrier_reports_outcome",
      "undo_period_over",
      "pickup_not_at_sender",
      "pickup_went_on",
      "outcome_is_settled",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.pickup_undo", { ...body, id: params.delivery_id }),
    }),
  }),
];
