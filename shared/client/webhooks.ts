/** Events as Barid's webhooks bring them: verified by Standard Webhooks 1.0 (standardwebhooks). */
import { Webhook, WebhookVerificationError } from "standardwebhooks";

export { WebhookVerificationError };

/** What happened. `GET /webhooks/event-types` lists the types with the fields of `data`. */
export interface BaridEvent {
  /** The same for each attempt: remember it, since an event comes at least once. */
  id: string;
  type: string;
  /** When it happened, ISO 8601. */
  timestamp: string;
  tenant_id: string;
  data: Record<string, unknown>;
}

/**
 * The event in a request to your endpoint. `body` is the text as it came, not parsed and written anew; `secret` is the one that the
 * subscription was made with (`whsec_…`). Throws WebhookVerificationError if Barid did not sign it, or not in the last five minutes.
 */
export function verifyWebhook(
  body: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string,
): BaridEvent {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const named = Object.fromEntries(
    entries.map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
  return new Webhook(secret).verify(body, named) as BaridEvent;
}
