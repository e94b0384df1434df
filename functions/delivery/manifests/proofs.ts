import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { operationsOrDriver } from "../access.ts";
import { uploadPlace } from "../proofs/links.ts";
import { ProofUpload, ProofUploadResponse } from "../proofs/schemas.ts";
import { AddProofs, ProofsAdded } from "./schemas.ts";

const feature = "transfer_manifest";

/** Photos and signatures of pickups and deliveries. */
export const manifestProofs: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/transfer-manifests/:manifest_id/proofs",
    summary: "Add photos or a signature to a manifest",
    access: operationsOrDriver,
    feature,
    params: ids("manifest_id"),
    body: AddProofs,
    response: ProofsAdded,
    status: 201,
    errors: [
      "manifest_not_found",
      "assignment_ended",
      "manifest_action_not_allowed",
      "invalid_proof_url",
    ],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_proofs_add", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifests/:manifest_id/proof-uploads",
    summary: "Get an address to upload one proof to; name its path when adding the proof",
    access: operationsOrDriver,
    feature,
    params: ids("manifest_id"),
    body: ProofUpload,
    response: ProofUploadResponse,
    confidential: true,
    status: 201,
    errors: ["manifest_not_found", "assignment_ended", "manifest_action_not_allowed"],
    run: ({ db, params, body }) =>
      uploadPlace(db, "delivery.manifest_proof_place", params.manifest_id, body),
  }),
];
