/** Prints a settlement's receipt: begun in the database, drawn here, kept in the storage. */
import { system } from "../../../shared/db/db.ts";
import { supabaseUrl } from "../../../shared/runtime/env.ts";
import type { Job } from "../../../shared/db/jobs.ts";
import { describeError, log } from "../../../shared/runtime/log.ts";
import { putFile } from "../../../shared/outbound/storage.ts";
import { brandOf } from "../../../shared/pdf/values.ts";
import type { ReceiptLanguage } from "./receipt-captions.ts";
import { type Receipt, type ReceiptRow, renderReceipt } from "./receipt-page.ts";
import { receiptBucket } from "./receipts.ts";

/** As the job is queued with (money.receipt_queue). */
const maxAttempts = 3;

interface Named {
  full_name: string;
}

interface Begun {
  tenant_id: string;
  settlement_payment_id: string;
  language: ReceiptLanguage;
  hash: string;
  /** 1, and one more each time that a good receipt is printed anew, into a file of its own. */
  edition: number;
  /** When the settlement was reversed. */
  reversed_at: string | null;
  tenant_name: Record<string, string>;
  brand: { brand_name?: Record<string, string> };
  timezone: string;
  decimals: number;
  snapshot: {
    method: "remit" | "wallet";
    driver: Named | null;
    receiver: Named | null;
    settled_at: string;
    reference: string | null;
    notes: string | null;
    historical?: true;
    /** Both only when some of the cash was missing. */
    counted?: number;
    shortage?: number;
    currency: string;
    collections: (ReceiptRow & { delivery_id: string })[];
    totals: { count: number; amount: number; cod: number; delivery_fee: number };
  };
}

/** Fails so that its job runs again. The last failure is kept, and opening the receipt is refused with it. */
export async function printReceipt(job: Job): Promise<void> {
  const payment = String(job.payload.settlement_payment_id);
  const begun = await system<Begun | null>(
    "select money.receipt_begin($1::text::uuid) as answer",
    [
      payment,
    ],
  );
  if (!begun) return;
  try {
    const name = begun.edition === 1 ? payment : `${payment}.${begun.edition}`;
    const path = `${begun.tenant_id}/${name}.pdf`;
    await putFile(receiptBucket, path, await renderReceipt(receiptOf(begun)), "application/pdf");
    await finish(payment, begun.edition, path, null);
  } catch (error) {
    if (job.attempts < maxAttempts) throw error;
    log("error", "receipt_failed", { settlement_payment_id: payment, ...describeError(error) });
    await finish(payment, begun.edition, null, String(error));
  }
}

const finish = (payment: string, edition: number, path: string | null, reason: string | null) =>
  system(
    "select money.receipt_finish($1::text::uuid, $2::text::integer, $3::text, $4::text) as answer",
    [payment, String(edition), path, reason],
  );

function receiptOf({ snapshot, ...begun }: Begun): Receipt {
  const { method, driver, receiver, settled_at, reference, notes, currency, totals } = snapshot;
  return {
    settlement_payment_id: begun.settlement_payment_id,
    language: begun.language,
    reversed_at: begun.reversed_at,
    timezone: begun.timezone,
    decimals: begun.decimals,
    brand: brandOf(begun, begun.language),
    method,
    driver: driver?.full_name ?? "",
    receiver: receiver?.full_name ?? null,
    settled_at,
    reference,
    notes,
    counted: snapshot.counted,
    shortage: snapshot.shortage,
    historical: snapshot.historical ?? false,
    currency,
    rows: snapshot.collections,
    // The snapshot counts collections.
    totals: { ...totals, count: new Set(snapshot.collections.map((row) => row.delivery_id)).size },
    verify_url:
      `${supabaseUrl}/functions/v1/delivery/cod-settlements/${begun.settlement_payment_id}/verify?hash=${begun.hash}`,
  };
}
