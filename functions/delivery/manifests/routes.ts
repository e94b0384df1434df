import { can, either, role } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import { pagination } from "../../../shared/list.ts";
import { ids } from "../../../shared/schemas.ts";
import { scanners, staffOrManifestPeople } from "../people.ts";
import {
  AddItems,
  Cancel,
  CompleteReceiving,
  CreateManifest,
  DetailQuery,
  EventsResponse,
  ItemRemoved,
  ItemsAdded,
  ItemsReceived,
  ManifestDetailResponse,
  ManifestResponse,
  manifests,
  ManifestsResponse,
  ReceiveItems,
  StartReceiving,
  StepWithProof,
} from "./schemas.ts";

const feature = "transfer_manifest";
const params = ids("manifest_id");
const operations = can("manage:operations:tenant");
/** The driver who has the manifest, or operations on his behalf. */
const itsDriver = either(operations, role("driver"));
const step = { method: "post", feature, params, response: ManifestResponse } as const;

/** The life of a manifest, from a draft to its end. Proofs stand in proofs.ts. */
export const manifestLife: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/transfer-manifests",
    summary: "Make a manifest, with or without items",
    access: either(operations, role("driver", "institution")),
    feature,
    body: CreateManifest,
    response: ManifestDetailResponse,
    status: 201,
    errors: [
      "manifest_workflow_not_allowed",
      "processing_point_choice_not_allowed",
      "institution_not_found",
      "institution_inactive",
      "driver_not_found",
      "driver_inactive",
      "branch_not_found",
      "branch_inactive",
      "processing_point_required",
      "processing_point_not_found",
      "processing_point_inactive",
      "address_not_found",
      "invalid_barcode",
      "barcode_already_used",
    ],
    run: async ({ db, body }) => ({ data: await db.call("delivery.manifest_create", body) }),
  }),
  endpoint({
    method: "get",
    path: "/transfer-manifests",
    summary: "List manifests; drivers and institutions see their own",
    access: staffOrManifestPeople,
    feature,
    query: manifests.query,
    response: ManifestsResponse,
    async run({ db, query }) {
      const page = await manifests.run(db, query);
      return { data: page.rows, pagination: pagination(page) };
    },
  }),
  endpoint({
    method: "get",
    path: "/transfer-manifests/:manifest_id",
    summary: "Read a manifest with items, counts, proofs and the proofs it needs",
    access: staffOrManifestPeople,
    feature,
    params,
    query: DetailQuery,
    response: ManifestDetailResponse,
    errors: ["manifest_not_found"],
    run: async ({ db, params, query }) => ({
      data: await db.call("delivery.manifest_get", {
        id: params.manifest_id,
        events: query.include === "events",
      }),
    }),
  }),
  endpoint({
    method: "get",
    path: "/transfer-manifests/:manifest_id/events",
    summary: "Read a manifest's history, oldest first",
    access: staffOrManifestPeople,
    feature,
    params,
    response: EventsResponse,
    errors: ["manifest_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_events_get", { id: params.manifest_id }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifests/:manifest_id/items",
    summary: "Scan items into a draft",
    access: itsDriver,
    feature,
    params,
    body: AddItems,
    response: ItemsAdded,
    status: 201,
    errors: [
      "manifest_not_found",
      "manifest_action_not_allowed",
      "invalid_barcode",
      "barcode_already_used",
      "branch_not_found",
      "branch_inactive",
      "address_not_found",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_items_add", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    method: "delete",
    path: "/transfer-manifests/:manifest_id/items/:item_id",
    summary: "Take an item off a draft",
    access: itsDriver,
    feature,
    params: ids("manifest_id", "item_id"),
    response: ItemRemoved,
    errors: ["manifest_not_found", "manifest_action_not_allowed", "item_not_found"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_item_remove", {
        id: params.manifest_id,
        item_id: params.item_id,
      }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/pickup",
    summary: "The driver has the parcels: draft to picked_up",
    access: itsDriver,
    body: StepWithProof,
    errors: [
      "manifest_not_found",
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
    summary: "The driver is on his way: picked_up to in_transit",
    access: itsDriver,
    errors: ["manifest_not_found", "invalid_status_transition"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_depart", { id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/arrive",
    summary: "The driver is at the processing point: to awaiting_receipt",
    access: itsDriver,
    body: StepWithProof,
    errors: ["manifest_not_found", "invalid_status_transition", "invalid_proof_url"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_arrive", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/start-receiving",
    summary: "Begin to receive: awaiting_receipt to receiving",
    access: scanners,
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
    access: scanners,
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
    access: scanners,
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
    access: scanners,
    errors: ["manifest_not_found", "invalid_status_transition"],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_start_processing", { id: params.manifest_id }),
    }),
  }),
  endpoint({
    ...step,
    path: "/transfer-manifests/:manifest_id/complete",
    summary: "End a manifest whose every item has its order or is void",
    access: scanners,
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
    summary: "Call a manifest off before it arrives; a driver only his drafts",
    access: itsDriver,
    body: Cancel,
    errors: ["manifest_not_found", "invalid_status_transition"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_cancel", { ...body, id: params.manifest_id }),
    }),
  }),
];
