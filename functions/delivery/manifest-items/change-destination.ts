/** Gives the orders of items another destination, in batches where they are many. */
import { replayed } from "../../../shared/api/endpoint.ts";
import type { Database } from "../../../shared/db/db.ts";
import { type Language, refusalText, translate } from "../../../shared/i18n/index.ts";
import { measureFirst } from "../../../shared/routing/measured.ts";
import { type Failure, ordersPerBatch, type Pending, runBatches } from "./batches.ts";

interface Request {
  item_ids: string[];
  dry_run?: boolean;
}

interface Outcome {
  changed: unknown[];
  failed: Failure[];
}

type FirstStep = { answer: Outcome; replayed?: boolean } | Pending & { since: string };
interface Batch {
  changed: unknown[];
  failures: Failure[];
}

/** The whole action, ending in the outcome in the order sent. */
export async function changeDestination(
  db: Database,
  request: Request,
  idempotency_key: string | undefined,
): Promise<Outcome & { [replayed]?: boolean }> {
  await measureFirst(db, { ...request }, "delivery.manifest_ways_missing");
  const first = await db.call<FirstStep>("delivery.manifest_change_destination", {
    ...request,
    idempotency_key,
    orders_max: ordersPerBatch,
  });
  if ("answer" in first) return { ...first.answer, [replayed]: first.replayed };
  const batches = await runBatches<Batch>("manifest-change-batches", first);
  const last = await db.call<{ answer: Outcome }>("delivery.manifest_changes_outcome", {
    idempotency_key,
    item_ids: request.item_ids,
    since: first.since,
    changed: batches.flatMap(({ changed }) => changed),
    failures: batches.flatMap(({ failures }) => failures),
  });
  return last.answer;
}

/** The answer's body: codes become words, and success means that an order goes where it was sent. */
export function presentChanges({ changed, failed }: Outcome, language: Language) {
  const rows = failed.map(({ item_id, code, params }) => ({
    item_id,
    error_key: code,
    error_message: refusalText(language, code, { field: "item_ids", ...params }),
  }));
  const counts = { changed_count: changed.length, failed_count: rows.length };
  return {
    success: changed.length > 0,
    ...(rows.length > 0 ? { message: translate(language, "items_not_changed", counts) } : {}),
    data: { ...counts, changed, failed: rows },
  };
}
