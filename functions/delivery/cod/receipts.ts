import { type AnyEndpoint, endpoint, messageKey, status } from "../../../shared/api/endpoint.ts";
import { AppError } from "../../../shared/errors/errors.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { signReads } from "../../../shared/outbound/storage.ts";
import { cashPeople, cashReaders } from "./access.ts";
import { PrintReceipt, ReceiptResponse, VerifyQuery, VerifyResponse } from "./schemas.ts";

export const receiptBucket = "settlement-receipts";
const linkSeconds = 300;

interface Receipt {
  settlement_payment_id: string;
  receipt_status: "pending" | "in_process" | "success" | "failure";
  storage_path: string | null;
}

/** 202 while it is printed; a fresh link when it is done. */
async function answer({ storage_path, ...receipt }: Receipt) {
  if (receipt.receipt_status !== "success" || storage_path === null) {
    return { ...receipt, [status]: 202, [messageKey]: "receipt_in_work" as const };
  }
  const url = (await signReads(receiptBucket, [storage_path], linkSeconds)).get(storage_path);
  if (!url) throw new AppError("service_unavailable");
  return { ...receipt, url, expires_at: new Date(Date.now() + linkSeconds * 1000).toISOString() };
}

/** Receipts of settlements: printed behind the scenes, opened by links that live five minutes. */
export const codReceipts: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/cod-settlements/:settlement_payment_id/receipt",
    summary: "Open the receipt of a settlement",
    access: cashReaders,
    params: ids("settlement_payment_id"),
    response: ReceiptResponse,
    confidential: true,
    otherStatus: 202,
    errors: ["settlement_not_found", "settlement_receipt_failed"],
    async run({ db, params }) {
      const receipt = await db.call<Receipt>("money.receipt_get", params);
      if (receipt.receipt_status === "failure") {
        throw new AppError("settlement_receipt_failed", { receipt_status: "failure" });
      }
      return await answer(receipt);
    },
  }),
  endpoint({
    method: "post",
    path: "/cod-settlements/:settlement_payment_id/receipt",
    summary:
      "Print a receipt again that failed, or anew in another language; what was printed before stays valid",
    access: cashPeople,
    params: ids("settlement_payment_id"),
    body: PrintReceipt,
    response: ReceiptResponse,
    confidential: true,
    otherStatus: 202,
    errors: ["settlement_not_found"],
    run: async ({ db, params, body }) =>
      await answer(await db.call("money.receipt_retry", { ...body, ...params })),
  }),
  endpoint({
    method: "post",
    path: "/cod-collections/:id/receipt",
    summary: "Print the receipt of one row that was settled before settlements were kept",
    access: cashPeople,
    params: ids("id"),
    response: ReceiptResponse,
    confidential: true,
    otherStatus: 202,
    errors: ["cod_collection_not_found", "cod_collection_not_settled", "settlement_not_found"],
    run: async ({ db, params }) => await answer(await db.call("money.receipt_backfill", params)),
  }),
  endpoint({
    method: "get",
    path: "/cod-settlements/:settlement_payment_id/verify",
    summary: "Whether a printed receipt says the truth: its QR code names this address",
    access: cashReaders,
    params: ids("settlement_payment_id"),
    query: VerifyQuery,
    response: VerifyResponse,
    errors: ["settlement_not_found"],
    run: ({ db, params, query }) => db.call("money.receipt_verify", { ...params, ...query }),
  }),
];
