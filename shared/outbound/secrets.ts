/**
 * Seals what is stored and must be used again: signing secrets, credentials of carriers. AES-256-GCM with a
 * key that only the functions know, so that a copy of the database is worth nothing. What a sealed text is
 * for is sealed in as well: one cannot be put in another's place.
 *
 * Form: `s1.<key id>.<base64 of nonce and ciphertext>`. The key id lets keys be exchanged: a new one in
 * front seals, old ones behind it still open.
 */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { secretsKeys } from "../runtime/env.ts";
import { bytesOf, type SealingKey, sealingKeyOf } from "./sealing-key.ts";

/** The sealed text cannot be opened: its key is gone, or it was tampered with. */
export class SealBroken extends Error {}

interface Key extends SealingKey {
  crypto: Promise<CryptoKey>;
}

const keys: Key[] = secretsKeys.map((text) => {
  const key = sealingKeyOf(text);
  return {
    ...key,
    crypto: crypto.subtle.importKey("raw", key.bytes, "AES-GCM", false, ["encrypt", "decrypt"]),
  };
});

const nonceBytes = 12;
const encoded = (text: string) => new TextEncoder().encode(text);

export async function seal(text: string, purpose: string): Promise<string> {
  const key = sealingKey();
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv: nonce, additionalData: encoded(purpose) },
    await key.crypto,
    encoded(text),
  );
  return `s1.${key.id}.${Buffer.concat([nonce, new Uint8Array(sealed)]).toString("base64")}`;
}

/** The text again. Fails with SealBroken. */
export async function unseal(sealed: string, purpose: string): Promise<string> {
  const [form, id, data] = sealed.split(".");
  const key = keys.find((one) => one.id === id);
  if (form !== "s1" || !key || !data) throw new SealBroken("sealed by a key that is not known");
  try {
    const bytes = bytesOf(data);
    const text = await crypto.subtle.decrypt(
      {
        name: "AES-GCM",
        iv: bytes.slice(0, nonceBytes),
        additionalData: encoded(purpose),
      },
      await key.crypto,
      bytes.slice(nonceBytes),
    );
    return new TextDecoder().decode(text);
  } catch {
    throw new SealBroken("not what was sealed");
  }
}

/** The name of the key that seals. */
export function firstKey(): string {
  return sealingKey().id;
}

/** Distinguishes equal secrets from different ones without revealing them; the same for as long as the key is. */
export function printOf(text: string): string {
  return printBy(sealingKey(), text);
}

/** The prints of a secret by all keys: that of now, and those under which it may have been kept before a new key came in front. */
export function printsOf(text: string): string[] {
  return keys.map((key) => printBy(key, text));
}

function printBy({ bytes }: Key, text: string): string {
  return createHmac("sha256", bytes).update(text).digest("hex");
}

function sealingKey(): Key {
  if (!keys[0]) throw new Error("BARID_SECRETS_KEY is not set");
  return keys[0];
}

const randomBytes = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32)));

/** A new secret of 32 random bytes, in hex. */
export function newSecret(): string {
  return randomBytes().toString("hex");
}

/** A new secret of 32 random bytes in the form of Standard Webhooks. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes().toString("base64")}`;
}
