/**
 * Large requests in ordered batches of 20, each an invocation of this function with a CPU budget of its own, at most two at
 * a time. What counts in the end is what the database durably holds: a batch whose answer was lost is read back, not guessed.
 */
import { log } from "../../../shared/runtime/log.ts";
import { callPlatform } from "../../../shared/outbound/fetch.ts";

export const ordersPerBatch = 20;
const batchesAtOnce = 2;
/** The platform's statuses for an invocation that died or found no capacity. */
const worthAnotherTry = [502, 503, 504, 546];
const batchTimeoutMs = 30_000;

/** The caller, as the batches need it. */
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

/** The work left to do in batches, as the first statement of a request answers it. */
export interface Pending {
  pending: string[];
  destination: unknown;
  asker: Asker;
}

/** Has `path` work off the items; the answers of the batches that came. */
export async function runBatches<Answer>(
  path: string,
  { pending, destination, asker }: Pending,
): Promise<Answer[]> {
  const batches: string[][] = [];
  for (let i = 0; i < pending.length; i += ordersPerBatch) {
    batches.push(pending.slice(i, i + ordersPerBatch));
  }
  const answers: Answer[] = [];
  // Two runners take the batches in order, so that early items come first.
  const runner = async () => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) {
      const answer = await runBatch<Answer>(path, batch, destination, asker);
      if (answer) answers.push(answer);
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, runner));
  return answers;
}

async function runBatch<Answer>(
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
      { timeoutMs: batchTimeoutMs, retries: 3, retryOn: worthAnotherTry },
    );
    const answer = await response.json();
    if (response.ok) return answer;
    log("error", "order_batch_failed", {
      status: response.status,
      code: answer.code,
      items: item_ids.length,
    });
  } catch (error) {
    log("error", "order_batch_lost", { error: String(error), items: item_ids.length });
  }
  // Nothing is said about these items here: the outcome finds what became of them.
}
