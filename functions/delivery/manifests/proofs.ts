import { type AnyEndpoint, endpoint } from "../../../shared/endpoint.ts";
import { supabaseUrl } from "../../../shared/env.ts";
import { AppError } from "../../../shared/errors.ts";
import { describeError, log } from "../../../shared/log.ts";
import { callPlatform, OutboundFailure } from "../../../shared/outbound.ts";
import { ids } from "../../../shared/schemas.ts";
import { itsDriver } from "../people.ts";
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
    access: itsDriver,
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
    access: itsDriver,
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
export async function signUpload(path: string): Promise<{ upload_url: string; token: string }> {
  const { url, token } = await askStorage<{ url: string; token: string }>(
    `/object/upload/sign/proofs/${path}`,
    {},
  );
  return { upload_url: `${supabaseUrl}/storage/v1${url}`, token };
}

interface Proof {
  url: string;
}

/** Proofs with the address where each picture can be fetched for five minutes; null when it is gone. */
export async function withLinks<P extends Proof>(
  proofs: P[],
): Promise<(P & { link: string | null })[]> {
  const paths = proofs.map(({ url }) => url).filter((url) => !url.startsWith("https://"));
  const signed = paths.length === 0
    ? []
    : await askStorage<{ path: string; signedURL: string | null }[]>(
      "/object/sign/proofs",
      { expiresIn: 300, paths },
    );
  const links = new Map(signed.map(({ path, signedURL }) => [path, signedURL]));
  return proofs.map((proof) => {
    const link = links.get(proof.url);
    if (proof.url.startsWith("https://")) return { ...proof, link: proof.url };
    return { ...proof, link: link ? `${supabaseUrl}/storage/v1${link}` : null };
  });
}

async function askStorage<T>(path: string, body: Record<string, unknown>): Promise<T> {
  try {
    const response = await callPlatform(`/storage/v1${path}`, { method: "POST", body }, {
      timeoutMs: 5_000,
      retries: 2,
      retryOn: [502, 503, 504],
    });
    if (!response.ok) throw new OutboundFailure(`storage answered ${response.status}`);
    return await response.json() as T;
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    log("warn", "storage_unavailable", { path, ...describeError(error) });
    throw new AppError("service_unavailable");
  }
}
