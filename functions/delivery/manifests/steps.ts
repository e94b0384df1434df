import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrDriver, warehouseOrOperations } from "../access.ts";
import {
  Cancel,
  CompleteReceiving,
  ItemsReceived,
  ManifestResponse,
  ReceiveItems,
  StartReceiving,
  StepWithProof,
} from "./schemas.ts";

const feature = "transfer_manifest";
const params = ids("manifest_id");
const step = { method: "post", feature, params, response: ManifestResponse } as const;

/** The steps of a manifest from its draft to its end; each is one legal move. */
export const manifestSteps: AnyEndpoint[] = [
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/pickup",
    summary: "The driver has the parcels: draft to picked_up",
    access: operationsOrDriver,
    body: StepWithProof,
    errors: [
      "manifest_not_found",
      "assignment_ended",
      "invalid_status_transition",
      "manifest_has_no_items",
      "manifest_pickup_proof_required",
      "invalid_proof_url",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_pickup", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/depart",
    summary: "Depart: picked_up to in_transit",
    access: operationsOrDriver,
    errors: ["manifest_not_found", "assignment_ended", "invalid_status_transition"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_depart", { id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/arrive",
    summary: "The driver is at the processing point: to awaiting_receipt",
    access: operationsOrDriver,
    body: StepWithProof,
    errors: [
      "manifest_not_found",
      "assignment_ended",
      "invalid_status_transition",
      "invalid_proof_url",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_arrive", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/start-receiving",
    summary: "Begin to receive: awaiting_receipt to receiving",
    access: warehouseOrOperations,
    body: StartReceiving,
    errors: [
      "manifest_not_found",
      "invalid_status_transition",
      "receive_all_not_allowed",
      "manifest_arrival_required",
      "manifest_delivery_proof_required",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_start_receiving", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifests/:manifest_id/receive-items",
    summary: "Receive items, also late ones",
    access: warehouseOrOperations,
    feature,
    params,
    body: ReceiveItems,
    response: ItemsReceived,
    errors: [
      "manifest_not_found",
      "manifest_action_not_allowed",
      "item_not_found",
      "item_void",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_receive_items", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/complete-receiving",
    summary: "End receiving: to received or received_with_exceptions",
    access: warehouseOrOperations,
    body: CompleteReceiving,
    errors: ["manifest_not_found", "invalid_status_transition", "manifest_items_missing"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_complete_receiving", {
        ...body,
        id: params.manifest_id,
      }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/start-processing",
    summary: "Begin to process what was received",
    access: warehouseOrOperations,
    errors: ["manifest_not_found", "invalid_status_transition"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_start_processing", { id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/complete",
    summary: "End a manifest whose every item has its order or is void",
    access: warehouseOrOperations,
    errors: [
      "manifest_not_found",
      "invalid_status_transition",
      "manifest_has_open_exceptions",
      "manifest_items_unfinished",
    ],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_complete", { id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/cancel",
    summary: "Cancel a manifest until receiving begins; a driver only their drafts",
    access: operationsOrDriver,
    body: Cancel,
    errors: ["manifest_not_found", "assignment_ended", "invalid_status_transition"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_cancel", { ...body, id: params.manifest_id }),
    }),
  }),
];
