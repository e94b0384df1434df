/** Events as Barid's webhooks bring them: verified by Standard Webhooks 1.0 (standardwebhooks). */
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import type { components } from "./events.d.ts";

export { WebhookVerificationError };

/** The `data` of each type of event that Barid writes. Others can be published for a company. */
export type EventData = components["schemas"];
export type EventType = keyof EventData;

/** What happened, of any type: `isEvent` says which, and knows its `data`. */
export interface BaridEvent {
  /** The same for each attempt: remember it, since an event comes at least once. */
  id: string;
  type: string;
  /** When it happened, ISO 8601. */
  timestamp: string;
  tenant_id: string;
  data: Record<string, unknown>;
}

/** An event of this type; of several, one of them. */
export type EventOf<Type extends EventType> = {
  [One in Type]: BaridEvent & { type: One; data: EventData[One] };
}[Type];

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

/** Whether an event is of one of these types; then its `data` has that type's fields. */
export function isEvent<Type extends EventType>(
  event: BaridEvent,
  ...types: Type[]
): event is EventOf<Type> {
  return (types as string[]).includes(event.type);
}
