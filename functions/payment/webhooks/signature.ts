/** The signature of an event: HMAC-SHA256 over the bytes as they came, lower-case hex. */
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { system } from "../../../shared/db/db.ts";
import { log } from "../../../shared/runtime/log.ts";
import { gatewayPurpose } from "../../../shared/outbound/purposes.ts";
import { SealBroken, unseal } from "../../../shared/outbound/secrets.ts";

interface Signer {
  tenant_id: string;
  secret: string | null;
  previous: string | null;
}

/** True when the secret made this signature of these bytes. Takes as long for a wrong one as for the right one. */
export function isSignedBy(secret: string, raw: Uint8Array, signature: string): boolean {
  if (!/^[0-9a-f]{64}$/.test(signature)) return false;
  const expected = createHmac("sha256", secret).update(raw).digest();
  return timingSafeEqual(expected, Buffer.from(signature, "hex"));
}

/**
 * The account a body claims to be of, found without parsing it: nothing is believed before the signature
 * is right, and this only chooses whose secrets are tried.
 */
export function claimedAccount(raw: Uint8Array): string {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("latin1");
  return /"account_id"\s*:\s*"([\w-]{1,64})"/.exec(text)?.[1] ?? "";
}

/** The tenants whose secret, the current or the one before, made this signature. */
export async function signersOf(
  code: string,
  account: string,
  raw: Uint8Array,
  signature: string,
): Promise<string[]> {
  if (!/^[0-9a-f]{64}$/.test(signature)) return [];
  const signers = await system<Signer[]>(
    "select money.gateway_signers($1::text, $2::text) as answer",
    [code, account],
  );
  const found: string[] = [];
  for (const { tenant_id, secret, previous } of signers) {
    for (const sealed of [secret, previous]) {
      if (sealed && isSignedBy(await opened(sealed, tenant_id, code), raw, signature)) {
        found.push(tenant_id);
        break;
      }
    }
  }
  return found;
}

/** A secret sealed by a key that is gone signs nothing. */
async function opened(sealed: string, tenantId: string, code: string): Promise<string> {
  try {
    return await unseal(sealed, gatewayPurpose(tenantId, code));
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    log("error", "gateway_secret_broken", { tenant: tenantId, gateway: code });
    return crypto.randomUUID();
  }
}
