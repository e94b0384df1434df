/** An attempt on request: claimed, sent and recorded while the caller waits. */
import { type Answer, replayed } from "../../../shared/api/endpoint.ts";
import type { Database } from "../../../shared/db/db.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import type { Claimed, SendResult } from "./send.ts";

interface Begun {
  answer?: Record<string, unknown>;
  /** Another call under the same key is at it: its answer comes. */
  busy?: true;
  claimed: Claimed;
}

const lookMs = 200;
/** Longer than an attempt may take. */
const maxWaitMs = 20_000;

export async function attemptByHand(
  db: Database,
  begin: { core: string; input: Record<string, unknown> },
  key: string | undefined,
): Promise<Answer> {
  // The sender's HTTP client is the largest package of this function, and lists need none.
  const { send } = await import("./send.ts");
  const keyed = key === undefined ? {} : { key };
  const claim = () => db.call<Begun>(begin.core, { ...begin.input, ...keyed });
  let begun = await claim();
  for (const stopAt = Date.now() + maxWaitMs; begun.busy; begun = await claim()) {
    if (Date.now() > stopAt) throw new AppError("webhook_sender_failed");
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
  const { answer, claimed } = begun;
  if (answer) return { ...answer, [replayed]: true };
  let result: SendResult;
  try {
    result = await send(claimed);
  } catch (error) {
    log("error", "webhook_not_signed", { event_id: claimed.id, ...describeError(error) });
    const { id, claim_token } = claimed;
    await db.call("integration.attempt_abandon", {
      ...keyed,
      id,
      claim_token,
      error_message: "the sender could not sign",
    });
    throw new AppError("webhook_sender_failed");
  }
  return await db.call("integration.attempt_finish", { ...keyed, result });
}
