/**
 * Receives what was scanned and makes its orders. Up to 20 orders are made by the first statement;
 * more are made in ordered parts of 20, each an invocation of this function with a CPU budget of its
 * own, at most two at a time. What counts in the end is what the database durably holds: a part whose
 * answer was lost is read back, not guessed.
 */
import type { Database } from "../../../shared/db.ts";
import type { ErrorCode } from "../../../shared/errors.ts";
import { type Language, translate } from "../../../shared/i18n/index.ts";
import { log } from "../../../shared/log.ts";
import { callPlatform } from "../../../shared/outbound.ts";
import { textOf } from "../../../shared/reply.ts";

export const ordersPerPart = 20;
const partsAtOnce = 2;
/** What the platform answers when an invocation died or found no room. */
const worthAnotherTry = [502, 503, 504, 546];
const partTimeoutMs = 30_000;

interface Request {
  item_ids: string[];
  destination_branch_id?: string | null;
  destination_address_id?: string | null;
  delivery_service_id?: string | null;
}

interface Failure {
  item_id: string;
  code: string;
  /** What fills the holes of the code's text. */
  params?: Record<string, unknown> | null;
}

interface Outcome {
  created: unknown[];
  failed: (Failure & Record<string, unknown>)[];
  receipt: Record<string, unknown>;
  code: "manifest_receiving_incomplete" | null;
}

type FirstStep = { answer: Outcome; replayed?: boolean } | {
  pending: string[];
  destination: unknown;
};

/** Who asks, as the parts must know it. */
export interface Asker {
  userId: string | null;
  tenantId: string;
}

/** The whole action, ending in the outcome in scan order. */
export async function setDestination(
  db: Database,
  request: Request,
  idempotencyKey: string | undefined,
): Promise<Outcome> {
  const input = { ...request, idempotency_key: idempotencyKey };
  const first = await db.call<FirstStep & { asker?: Asker }>(
    "delivery.manifest_receive_and_order",
    {
      ...input,
      orders_max: ordersPerPart,
    },
  );
  if ("answer" in first) {
    if (first.replayed) db.seen.replayed = true;
    return first.answer;
  }
  const failures = await runParts(first.pending, first.destination, first.asker!);
  const last = await db.call<{ answer: Outcome }>("delivery.manifest_orders_outcome", {
    ...input,
    failures,
  });
  return last.answer;
}

async function runParts(itemIds: string[], destination: unknown, asker: Asker): Promise<Failure[]> {
  const parts: string[][] = [];
  for (let i = 0; i < itemIds.length; i += ordersPerPart) {
    parts.push(itemIds.slice(i, i + ordersPerPart));
  }
  const failures: Failure[] = [];
  // Two runners take the parts in order, so that early items are ordered first.
  const runner = async () => {
    for (let part = parts.shift(); part; part = parts.shift()) {
      failures.push(...await runPart(part, destination, asker));
    }
  };
  await Promise.all(Array.from({ length: partsAtOnce }, runner));
  return failures;
}

async function runPart(item_ids: string[], destination: unknown, asker: Asker): Promise<Failure[]> {
  try {
    const response = await callPlatform(
      `/functions/v1/delivery/internal/manifest-order-parts?tenant_id=${asker.tenantId}`,
      {
        method: "POST",
        body: { item_ids, destination },
        headers: asker.userId ? { "x-acting-user": asker.userId } : {},
      },
      { timeoutMs: partTimeoutMs, retries: 3, retryOn: worthAnotherTry },
    );
    const answer = await response.json();
    if (response.ok) return answer.failures;
    log("error", "order_part_failed", {
      status: response.status,
      code: answer.code,
      items: item_ids.length,
    });
  } catch (error) {
    log("error", "order_part_lost", { error: String(error), items: item_ids.length });
  }
  // Nothing is said about these items here: the outcome finds which of them have their order.
  return [];
}

/** The answer's body: codes become words, and success means that an order exists. */
export function present({ created, failed, receipt, code }: Outcome, language: Language) {
  const rows = failed.map(({ code, params, ...item }) => ({
    ...item,
    error_key: code,
    error_message: textOf(language, code as ErrorCode, { ...item, field: "item_ids", ...params }),
    code,
  }));
  const counts = { created_count: created.length, failed_count: rows.length };
  const texts = [
    ...(code ? [translate(language, code)] : []),
    ...(rows.length > 0 ? [translate(language, "items_failed", counts)] : []),
  ];
  return {
    success: created.length > 0,
    ...(code ? { code } : {}),
    ...(texts.length > 0 ? { message: texts.join(" ") } : {}),
    data: { ...counts, created, failed: rows, receipt },
  };
}
