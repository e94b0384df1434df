/** A key of BARID_SECRETS_KEY: what seals with it, and the name that sealed texts carry (see secrets.ts). */
import { createHash } from "node:crypto";

export interface SealingKey {
  id: string;
  bytes: ReturnType<typeof bytesOf>;
}

/** Reads one key of the list. Fails on anything but 32 bytes in base64. */
export function sealingKeyOf(text: string): SealingKey {
  const bytes = bytesOf(text);
  if (bytes.length !== 32) {
    throw new Error("each key of BARID_SECRETS_KEY must be 32 bytes, base64");
  }
  return { id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), bytes };
}

export function bytesOf(base64: string) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
