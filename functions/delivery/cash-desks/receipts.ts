/** The receipt of a cash transfer, to be signed at the counter. */
import type { Database } from "../../../shared/db/db.ts";
import { pdfFile } from "../../../shared/http/pdf-file.ts";
import type { Language } from "../../../shared/i18n/index.ts";
import { brandOf } from "../../../shared/pdf/values.ts";
import type { PrintedTransfer } from "./receipt-page.ts";

interface Printed {
  transfer: PrintedTransfer;
  payer: string | null;
  tenant_name: Record<string, string>;
  brand: { brand_name?: Record<string, string> };
  timezone: string;
  decimals: number;
}

/** The receipt as a PDF. Fails: cash_transfer_not_found. */
export async function printReceipt(
  db: Database,
  params: { id: string },
  language: () => Language,
): Promise<Response> {
  const { transfer, tenant_name, brand, ...printed } = await db.call<Printed>(
    "money.cash_transfer_receipt",
    params,
  );
  // Drawing is heavy and rare: the other calls of this function start without it.
  const { renderTransferReceipt } = await import("./receipt-page.ts");
  const asked = language();
  const pdf = await renderTransferReceipt({
    ...transfer,
    ...printed,
    brand: brandOf({ brand, tenant_name }, asked),
  }, asked);
  return pdfFile(`cash-${transfer.id}.pdf`, pdf);
}
