/**
 * Receives what was scanned and makes its orders. Up to 20 orders are made by the first statement; more are made in
 * batches.
 */
import { replayed } from "../../../shared/api/endpoint.ts";
import type { Database } from "../../../shared/db/db.ts";
import { type Language, refusalText, translate } from "../../../shared/i18n/index.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { type Failure, ordersPerBatch, type Pending, runBatches } from "./batches.ts";

interface Request {
  item_ids: string[];
  destination_branch_id?: string | null;
  destination_address_id?: string | null;
  delivery_service_id?: string | null;
}

interface Outcome {
  created: unknown[];
  failed: (Failure & Record<string, unknown>)[];
  receipt: {
    manifests: { manifest_number: string; status: string; remaining_count: number }[];
  } & Record<string, unknown>;
  code: "manifest_receiving_incomplete" | null;
}

type FirstStep = { answer: Outcome; replayed?: boolean } | Pending;

/** The whole action, ending in the outcome in scan order. */
export async function setDestination(
  db: Database,
  request: Request,
  idempotencyKey: string | undefined,
): Promise<Outcome & { [replayed]?: boolean }> {
  await measureFirst(db, { ...request }, "delivery.manifest_ways_missing");
  const input = { ...request, idempotency_key: idempotencyKey };
  const first = await db.call<FirstStep>("delivery.manifest_receive_and_order", {
    ...input,
    orders_max: ordersPerBatch,
  });
  if ("answer" in first) return { ...first.answer, [replayed]: first.replayed };
  const batches = await runBatches<{ failures: Failure[] }>("manifest-order-batches", first);
  const last = await db.call<{ answer: Outcome }>("delivery.manifest_orders_outcome", {
    ...input,
    destination: first.destination,
    failures: batches.flatMap(({ failures }) => failures),
  });
  return last.answer;
}

/** The answer's body: codes become words, and success means that an order exists. */
export function present({ created, failed, receipt, code }: Outcome, language: Language) {
  const rows = failed.map(({ code, params, ...item }) => ({
    ...item,
    error_key: code,
    error_message: refusalText(language, code, { ...item, field: "item_ids", ...params }),
    code,
  }));
  const counts = { created_count: created.length, failed_count: rows.length };
  const texts = [
    ...(code ? [translate(language, code, { ...counts, manifests: waiting(receipt) })] : []),
    ...(rows.length > 0 ? [translate(language, "items_failed", counts)] : []),
  ];
  return {
    success: created.length > 0,
    ...(code ? { code } : {}),
    ...(texts.length > 0 ? { message: texts.join(" ") } : {}),
    data: { ...counts, created, failed: rows, receipt },
  };
}

/** The manifests that are still being received, each with how many items it waits for. */
function waiting({ manifests }: Outcome["receipt"]): string {
  return manifests.filter(({ status }) => status === "receiving")
    .map(({ manifest_number, remaining_count }) => `${manifest_number} (${remaining_count})`)
    .join(", ");
}
