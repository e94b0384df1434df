/**
 * Entity tags (RFC 9110, 8.8.3): `"<version of the row>.<digest of the answer>"`. The whole tag says whether an answer
 * is still the same (If-None-Match); its first part alone says whether the row is (If-Match), because what stands
 * beside the row, a driver's name for instance, is no reason to refuse a change to it.
 */
import { createHash } from "node:crypto";

/** The tag of an answer; without a versioned row, of its text alone. */
export function etagOf(text: string, version: string | null): string {
  // Web Crypto would hand each answer to another thread, which takes longer than the digest.
  const short = createHash("sha256").update(text).digest("base64url").slice(0, 16);
  return `"${version === null ? "" : `${version}.`}${short}"`;
}

/** True when the client has what the tag stands for. */
export function matchesEtag(request: Request, tag: string): boolean {
  return parseTags(request.headers.get("if-none-match")).some((sent) =>
    sent === tag || sent === "*"
  );
}

/** The versions a change is allowed to find, `undefined` when it may find any. */
export function expectedVersions(request: Request): string[] | undefined {
  const tags = parseTags(request.headers.get("if-match"));
  if (!tags.length || tags.includes("*")) return undefined;
  return tags.map((tag) => tag.replaceAll('"', "").split(".")[0]);
}

/** Tags of a header; gateways that compress mark them as weak, which changes nothing of what they stand for. */
function parseTags(header: string | null): string[] {
  return (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, "")).filter(Boolean);
}
