import { can, either, role } from "../../../shared/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import { supabaseUrl } from "../../../shared/env.ts";
import { AppError } from "../../../shared/errors.ts";
import { callPlatform, OutboundFailure } from "../../../shared/outbound.ts";
import { ids } from "../../../shared/schemas.ts";
import {
  AddProofs,
  extensionOf,
  ProofsAdded,
  ProofUpload,
  ProofUploadResponse,
} from "./schemas.ts";

const feature = "transfer_manifest";
const access = either(can("manage:operations:tenant"), role("driver"));

/** Photos and signatures of pickups and deliveries. */
export const manifestProofs: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/transfer-manifests/:manifest_id/proofs",
    summary: "Add photos or a signature to a manifest",
    access,
    feature,
    params: ids("manifest_id"),
    body: AddProofs,
    response: ProofsAdded,
    status: 201,
    errors: ["manifest_not_found", "manifest_action_not_allowed", "invalid_proof_url"],
    run: async ({ db, params, body }) => ({
      data: await db.call("delivery.manifest_proofs_add", { ...body, id: params.manifest_id }),
    }),
  }),
  endpoint({
    method: "post",
    path: "/transfer-manifests/:manifest_id/proof-uploads",
    summary: "Get an address to upload one proof to; name its path when adding the proof",
    access,
    feature,
    params: ids("manifest_id"),
    body: ProofUpload,
    response: ProofUploadResponse,
    status: 201,
    errors: ["manifest_not_found", "manifest_action_not_allowed"],
    async run({ db, params, body }) {
      const { path } = await db.call<{ path: string }>("delivery.manifest_proof_place", {
        id: params.manifest_id,
        stage: body.stage,
        kind: body.kind,
        extension: extensionOf(body.content_type),
      });
      return { data: { path, ...await signUpload(path) } };
    },
  }),
];

/** An address that takes one upload to this path for two hours. */
async function signUpload(path: string): Promise<{ upload_url: string; token: string }> {
  try {
    const response = await callPlatform(
      `/storage/v1/object/upload/sign/proofs/${path}`,
      { method: "POST", body: {} },
      { timeoutMs: 5_000, retries: 2, retryOn: [502, 503, 504] },
    );
    if (!response.ok) throw new OutboundFailure(`storage answered ${response.status}`);
    const { url, token } = await response.json() as { url: string; token: string };
    return { upload_url: `${supabaseUrl}/storage/v1${url}`, token };
  } catch (error) {
    if (error instanceof OutboundFailure) throw new AppError("service_unavailable");
    throw error;
  }
}
