/** Addresses where the pictures of proofs are uploaded and fetched. */
import type { z } from "zod";
import type { Database } from "../../../shared/db/db.ts";
import { signReads, signUpload } from "../../../shared/outbound/storage.ts";
import { extensions, type ProofUpload } from "./schemas.ts";

/** An address to upload one proof of a record to, at the path that `core` gives. Fails: what that fails with, service_unavailable. */
export async function uploadPlace(
  db: Database,
  core: string,
  id: string,
  { stage, kind, content_type }: z.output<typeof ProofUpload>,
) {
  const { path } = await db.call<{ path: string }>(core, {
    id,
    stage,
    kind,
    extension: extensions[content_type],
  });
  return { data: { path, ...await signUpload("proofs", path) } };
}

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
