import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint, versionedBy } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrDriver, staffOrManifestPeople, warehouseOrOperations } from "../access.ts";
import { withLinks } from "../proofs/links.ts";
import {
  AddItems,
  CreateManifest,
  DetailQuery,
  EventsResponse,
  ItemRemoved,
  ItemsAdded,
  ManifestDetailResponse,
  ManifestResponse,
  manifestsList,
  ManifestsResponse,
  MoveManifest,
} from "./schemas.ts";

const feature = "transfer_manifest";
const params = ids("manifest_id");
const version = versionedBy("delivery.transfer_manifests", "manifest_id");
const operations = permission("manage:operations:tenant");

/** Making, reading and filling manifests. What happens to them then: steps.ts, proofs.ts. */
export const manifests: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/transfer-manifests",
    summary: "Make a manifest, with or without items",
    access: anyOf(operations, role("driver", "institution")),
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
    query: manifestsList.query,
    response: ManifestsResponse,
    run: ({ db, query }) => manifestsList.answer(db, query),
  }),
  endpoint({
    method: "get",
    path: "/transfer-manifests/:manifest_id",
    version,
    summary: "Read a manifest with items, counts, proofs and the proofs it needs",
    access: staffOrManifestPeople,
    feature,
    params,
    query: DetailQuery,
    response: ManifestDetailResponse,
    errors: ["manifest_not_found"],
    confidential: (query) => query.get("include")?.includes("proof_links") ?? false,
    async run({ db, params, query }) {
      const wanted = query.include?.split(",") ?? [];
      const manifest = await db.call<{ proofs: { url: string }[] }>("delivery.manifest_get", {
        id: params.manifest_id,
        events: wanted.includes("events"),
      });
      if (!wanted.includes("proof_links")) return { data: manifest };
      return { data: { ...manifest, proofs: await withLinks(manifest.proofs) } };
    },
  }),
  endpoint({
    method: "patch",
    path: "/transfer-manifests/:manifest_id",
    version,
    summary:
      "Send a manifest to another processing point, until its first item is received, or give it to another driver, until it has arrived",
    access: warehouseOrOperations,
    feature,
    params,
    body: MoveManifest,
    response: ManifestResponse,
    errors: [
      "manifest_not_found",
      "manifest_action_not_allowed",
      "processing_point_not_found",
      "processing_point_inactive",
      "driver_not_found",
      "driver_inactive",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_move", { ...body, id: params.manifest_id }),
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
    access: operationsOrDriver,
    feature,
    params,
    body: AddItems,
    response: ItemsAdded,
    status: 201,
    errors: [
      "manifest_not_found",
      "assignment_ended",
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
    access: operationsOrDriver,
    feature,
    params: ids("manifest_id", "item_id"),
    response: ItemRemoved,
    errors: [
      "manifest_not_found",
      "assignment_ended",
      "manifest_action_not_allowed",
      "item_not_found",
    ],
    run: async ({ db, params }) => ({
      data: await db.call("delivery.manifest_item_remove", {
        id: params.manifest_id,
        item_id: params.item_id,
      }),
    }),
  }),
];
