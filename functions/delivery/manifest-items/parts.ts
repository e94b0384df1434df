/**
 * Large requests in ordered parts of 20, each an invocation of this function with a CPU budget of its own, at most two at
 * a time. What counts in the end is what the database durably holds: a part whose answer was lost is read back, not guessed.
 */
import { log } from "../../../shared/runtime/log.ts";
import { callPlatform } from "../../../shared/outbound/fetch.ts";

export const ordersPerPart = 20;
const partsAtOnce = 2;
/** The platform's statuses for an invocation that died or found no capacity. */
const worthAnotherTry = [502, 503, 504, 546];
const partTimeoutMs = 30_000;

/** The caller, as the parts need it. */
export interface Asker {
  userId: string | null;
  tenantId: string;
}

export interface Failure {
  item_id: string;
  code: string;
  /** The values for the placeholders in the code's message. */
  params?: Record<string, unknown> | null;
}

/** The work left to do in parts, as the first statement of a request answers it. */
export interface Pending {
  pending: string[];
  destination: unknown;
  asker: Asker;
}

/** Has `path` work off the items; the answers of the parts that came. */
export async function runParts<Answer>(
  path: string,
  { pending, destination, asker }: Pending,
): Promise<Answer[]> {
  const parts: string[][] = [];
  for (let i = 0; i < pending.length; i += ordersPerPart) {
    parts.push(pending.slice(i, i + ordersPerPart));
  }
  const answers: Answer[] = [];
  // Two runners take the parts in order, so that early items come first.
  const runner = async () => {
    for (let part = parts.shift(); part; part = parts.shift()) {
      const answer = await runPart<Answer>(path, part, destination, asker);
      if (answer) answers.push(answer);
    }
  };
  await Promise.all(Array.from({ length: partsAtOnce }, runner));
  return answers;
}

async function runPart<Answer>(
  path: string,
  item_ids: string[],
  destination: unknown,
  asker: Asker,
): Promise<Answer | undefined> {
  try {
    const response = await callPlatform(
      `/functions/v1/delivery/internal/${path}?tenant_id=${asker.tenantId}`,
      {
        method: "POST",
        body: { item_ids, destination },
        headers: asker.userId ? { "x-acting-user": asker.userId } : {},
      },
      { timeoutMs: partTimeoutMs, retries: 3, retryOn: worthAnotherTry },
    );
    const answer = await response.json();
    if (response.ok) return answer;
    log("error", "order_part_failed", {
      status: response.status,
      code: answer.code,
      items: item_ids.length,
    });
  } catch (error) {
    log("error", "order_part_lost", { error: String(error), items: item_ids.length });
  }
  // Nothing is said about these items here: the outcome finds what became of them.
}
