import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrDriver } from "../access.ts";
import { uploadPlace } from "../proofs/links.ts";
import { ProofUpload, ProofUploadResponse } from "../proofs/schemas.ts";
import { Returned } from "./move-schemas.ts";
import { CashMoveResponse, DeliveryResponse } from "./answer-schemas.ts";
import { Complete, Depart, Fail, Pickup, Retry, Return } from "./schemas.ts";

const params = ids("delivery_id");
const step = {
  method: "post",
  access: operationsOrDriver,
  params,
  response: DeliveryResponse,
} as const;

/** The steps of the driver who has a delivery, or of operations on their behalf; each is one legal move. */
export const deliveryMoves: AnyEndpoint[] = [
  endpoint({
    ...step,
    path: "/deliveries/:delivery_id/pickup",
    summary: "The driver has the parcel: to picked_up; a sender's cash is taken with it",
    body: Pickup,
    response: CashMoveResponse,
    errors: [
      "delivery_not_found",
      "invalid_occurred_at",
      "delivery_status_changed",
      "assignment_ended",
      "invalid_status_transition",
      "assignment_not_accepted",
      "pickup_by_handoff",
      "delivery_is_for_waybill",
      "goods_not_picked",
      "invalid_proof_url",
      "delivery_proof_required",
      "cash_amount_mismatch",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_pickup", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    ...step,
    path: "/deliveries/:delivery_id/depart",
    summary: "Depart: picked_up to in_transit",
    body: Depart,
    errors: [
      "delivery_not_found",
      "invalid_occurred_at",
      "delivery_status_changed",
      "assignment_ended",
      "assignment_not_accepted",
      "invalid_status_transition",
      "return_under_way",
      "goods_not_picked",
      "sender_cash_not_collected",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_depart", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    ...step,
    path: "/deliveries/:delivery_id/complete",
    summary: "Handed over: to delivered; cash is booked, the driver is free",
    body: Complete,
    response: CashMoveResponse,
    errors: [
      "delivery_not_found",
      "invalid_occurred_at",
      "delivery_status_changed",
      "assignment_ended",
      "assignment_not_accepted",
      "invalid_status_transition",
      "invalid_proof_url",
      "delivery_proof_required",
      "amount_is_for_part",
      "cash_amount_mismatch",
      "delivery_has_no_driver",
      "customer_required_for_cod",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_complete", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    ...step,
    path: "/deliveries/:delivery_id/fail",
    summary: "The attempt failed: to failed",
    body: Fail,
    errors: [
      "delivery_not_found",
      "invalid_occurred_at",
      "delivery_status_changed",
      "assignment_ended",
      "assignment_not_accepted",
      "invalid_status_transition",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_fail", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    ...step,
    path: "/deliveries/:delivery_id/retry",
    summary: "Try again: failed to in_transit, or to pending for another driver",
    body: Retry,
    errors: [
      "delivery_not_found",
      "invalid_occurred_at",
      "delivery_status_changed",
      "assignment_ended",
      "assignment_not_accepted",
      "invalid_status_transition",
      "delivery_attempts_exhausted",
      "delivery_has_no_driver",
      "return_through_warehouse",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_retry", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    ...step,
    path: "/deliveries/:delivery_id/return",
    summary: "It comes back: to its warehouse, which then receives it, or to its sender",
    body: Return,
    response: Returned,
    errors: [
      "delivery_not_found",
      "invalid_occurred_at",
      "delivery_status_changed",
      "assignment_ended",
      "assignment_not_accepted",
      "invalid_status_transition",
      "warehouse_not_found",
    ],
    run: ({ db, params, body }) =>
      db.call("delivery.delivery_return", { ...body, id: params.delivery_id }),
  }),
  endpoint({
    method: "post",
    access: operationsOrDriver,
    params,
    path: "/deliveries/:delivery_id/proof-uploads",
    summary: "Get an address to upload one proof to; name its path in the move it proves",
    body: ProofUpload,
    response: ProofUploadResponse,
    confidential: true,
    status: 201,
    errors: ["delivery_not_found", "assignment_ended", "assignment_not_accepted"],
    run: ({ db, params, body }) =>
      uploadPlace(db, "delivery.delivery_proof_place", params.delivery_id, body),
  }),
];
