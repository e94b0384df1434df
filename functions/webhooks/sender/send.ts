/** One attempt: opens the secrets, signs the stored bytes, sends them, and says how it went. */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { AddressRefused, AddressUnknown } from "../../../shared/outbound/address-guard.ts";
import { guardedPost } from "../../../shared/outbound/guarded-post.ts";
import { secretPurpose } from "../../../shared/outbound/purposes.ts";
import { unseal } from "../../../shared/outbound/secrets.ts";
import { currentTrace } from "../../../shared/runtime/log.ts";
import { traceHeaders } from "../../../shared/runtime/trace-context.ts";

/** A delivery as the database hands it out. */
export interface Claimed {
  id: string;
  claim_token: string;
  subscription_id: string;
  url: string;
  body: string;
  secrets: string[];
  /** Of the request that caused the event, where the sender claimed it; see `storedTrace`. */
  trace_context?: string | null;
}

/** How an attempt went, as `integration.result_save` takes it. */
export interface SendResult {
  id: string;
  claim_token: string;
  ok: boolean;
  http_status_code?: number;
  latency_ms: number;
  response_body?: string;
  error_message?: string;
  retry_after?: number;
}

const timeoutMs = 15_000;
const keepBytes = 16_384;

/** Fails only when there is nothing to sign with (SealBroken, or no key at all); all else is a result. */
export async function send(claimed: Claimed): Promise<SendResult> {
  const secrets = await Promise.all(
    claimed.secrets.map((secret) => unseal(secret, secretPurpose(claimed.subscription_id))),
  );
  const headers = {
    ...traceHeaders(currentTrace()),
    ...signedHeaders(claimed, secrets, Math.floor(Date.now() / 1000)),
  };
  const began = performance.now();
  const result = { id: claimed.id, claim_token: claimed.claim_token };
  const latency = () => Math.round(performance.now() - began);
  try {
    const { status, headers: answered, body } = await guardedPost(
      claimed.url,
      headers,
      claimed.body,
      { timeoutMs, keepBytes },
    );
    const ok = status >= 200 && status < 300;
    return {
      ...result,
      ok,
      http_status_code: status,
      latency_ms: latency(),
      response_body: body,
      error_message: ok ? undefined : reasonOf(status),
      retry_after: secondsOf(answered.get("retry-after")),
    };
  } catch (error) {
    return { ...result, ok: false, latency_ms: latency(), error_message: wordsOf(error) };
  }
}

/** Standard Webhooks 1.0: the id stays, time and signature are those of the attempt. */
export function signedHeaders(
  { id, body }: { id: string; body: string },
  secrets: string[],
  timestamp: number,
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
    "x-webhook-id": id,
  };
}

function reasonOf(status: number): string {
  if (status >= 300 && status < 400) return `HTTP ${status}: redirects are not followed`;
  return `HTTP ${status}`;
}

function wordsOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  if (error instanceof AddressRefused) return `address refused: ${words}`;
  if (error instanceof AddressUnknown) return `address unknown: ${words}`;
  return words.slice(0, 500);
}

/** Seconds a subscriber asks us to wait; of a date or nonsense nothing. */
function secondsOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) : undefined;
}
