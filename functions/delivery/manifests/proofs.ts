import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { signReads, signUpload } from "../../../shared/outbound/storage.ts";
import { operationsOrDriver } from "../access.ts";
import {
  AddProofs,
  extensionOf,
  ProofsAdded,
  ProofUpload,
  ProofUploadResponse,
} from "./schemas.ts";

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
    errors: ["manifest_not_found", "manifest_action_not_allowed", "invalid_proof_url"],
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
    errors: ["manifest_not_found", "manifest_action_not_allowed"],
    async run({ db, params, body }) {
      const { path } = await db.call<{ path: string }>("delivery.manifest_proof_place", {
        id: params.manifest_id,
        stage: body.stage,
        kind: body.kind,
        extension: extensionOf(body.content_type),
      });
      return { data: { path, ...await signUpload("proofs", path) } };
    },
  }),
];

interface Proof {
  url: string;
}

/** Proofs with the address where each picture can be fetched for five minutes; null when it is gone. */
export async function withLinks<P extends Proof>(
  proofs: P[],
): Promise<(P & { link: string | null })[]> {
  const paths = proofs.map(({ url }) => url).filter((url) => !url.startsWith("https://"));
  const links = await signReads("proofs", paths);
  return proofs.map((proof) => ({
    ...proof,
    link: proof.url.startsWith("https://") ? proof.url : links.get(proof.url) ?? null,
  }));
}
