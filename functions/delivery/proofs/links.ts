import { signReads } from "../../../shared/outbound/storage.ts";

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
